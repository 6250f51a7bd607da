/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race detector: a step of three streams passes under every seed, and with any one of
 * its waits left out it is told under every seed.
 */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "cuda/rig/rig.h"

enum { SEEDS = 1000, FAULT_SEEDS = 25, N = 500, BYTES = N * 4, ROUNDS = 2 };
enum { COMPUTE, IN, OUT };

/* The waits of a round, in their order; each can be left out. */
enum wait {
	WAIT_IN_FOR_READERS, /* what comes in lies where the last round's kernels read */
	WAIT_COMPUTE_FOR_IN,
	WAIT_COMPUTE_FOR_OUT, /* the result is written where the last round's still goes
				 out */
	WAIT_OUT_FOR_COMPUTE,
	WAIT_HOST_FOR_IN, /* before the host writes the pinned memory anew */
	WAIT_HOST_FOR_OUT, /* before the host reads the result */
	WAITS
};

struct step {
	struct rig *rig;
	enum wait left_out;
	sl_cu_event read, brought, written, gone;
};

static void want(sl_cu_result r)
{
	assert_int_equal(r, SL_CU_SUCCESS);
}

static void order(const struct step *s, enum wait w, sl_cu_stream stream, sl_cu_event e)
{
	if (s->left_out != w)
		want(cuStreamWaitEvent(stream, e, 0));
}

static void host_waits(const struct step *s, enum wait w, sl_cu_event e)
{
	if (s->left_out != w)
		want(cuEventSynchronize(e));
}

/* y = x + x, and the result goes back to the host. */
static void one_round(const struct step *s, int round)
{
	struct rig *r = s->rig;
	sl_cu_ptr x = r->card + 4096;
	sl_cu_ptr y = r->card + 65536;
	float *in = (float *)(void *)r->pinned;
	float *out = in + N;
	host_waits(s, WAIT_HOST_FOR_IN, s->brought);
	fake_host_touch(in, BYTES, true);
	for (int i = 0; i < N; i++)
		in[i] = (float)(i + round);
	order(s, WAIT_IN_FOR_READERS, r->stream[IN], s->read);
	want(cuMemcpyAsync(x, (uintptr_t)in, BYTES, r->stream[IN]));
	want(cuEventRecord(s->brought, r->stream[IN]));
	order(s, WAIT_COMPUTE_FOR_IN, r->stream[COMPUTE], s->brought);
	order(s, WAIT_COMPUTE_FOR_OUT, r->stream[COMPUTE], s->gone);
	long long n = N;
	want(rig_launch(r, "sl_sample_add", 4, 128, r->stream[COMPUTE],
		(void *[]){&x, &x, &y, &n}));
	want(cuEventRecord(s->read, r->stream[COMPUTE]));
	want(cuEventRecord(s->written, r->stream[COMPUTE]));
	order(s, WAIT_OUT_FOR_COMPUTE, r->stream[OUT], s->written);
	want(cuMemcpyAsync((uintptr_t)out, y, BYTES, r->stream[OUT]));
	want(cuEventRecord(s->gone, r->stream[OUT]));
}

static void look_at_result(const struct step *s)
{
	const float *out = (const float *)(void *)s->rig->pinned + N;
	host_waits(s, WAIT_HOST_FOR_OUT, s->gone);
	fake_host_touch(out, BYTES, false);
	for (int i = 0; i < N && s->left_out == WAITS; i++)
		assert_true(out[i] == 2 * (float)(i + ROUNDS - 1));
}

static void run(uint64_t seed, enum wait left_out, char *complaint, size_t size)
{
	struct rig r;
	struct step s = {.rig = &r, .left_out = left_out};
	want(rig_open(&r, seed));
	want(cuEventCreate(&s.read, 0));
	want(cuEventCreate(&s.brought, 0));
	want(cuEventCreate(&s.written, 0));
	want(cuEventCreate(&s.gone, 0));
	for (int round = 0; round < ROUNDS; round++)
		one_round(&s, round);
	look_at_result(&s);
	want(cuEventDestroy_v2(s.read));
	want(cuEventDestroy_v2(s.brought));
	want(cuEventDestroy_v2(s.written));
	want(cuEventDestroy_v2(s.gone));
	rig_close(&r);
	snprintf(complaint, size, "%s", fake_complaint());
	assert_int_equal(fake_alive((char[300]){0}, 300), 0);
}

static void a_right_step_passes_under_a_thousand_seeds(void **state)
{
	(void)state;
	char complaint[300];
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		run(seed, WAITS, complaint, sizeof complaint);
		if (complaint[0] != '\0')
			fail_msg("seed %d: %s", (int)seed, complaint);
	}
}

static const char *const parts[WAITS] = {
	[WAIT_IN_FOR_READERS] = "sl_sample_add",
	[WAIT_COMPUTE_FOR_IN] = "sl_sample_add",
	[WAIT_COMPUTE_FOR_OUT] = "a copy",
	[WAIT_OUT_FOR_COMPUTE] = "sl_sample_add",
	[WAIT_HOST_FOR_IN] = "the host",
	[WAIT_HOST_FOR_OUT] = "the host",
};

static void each_wait_that_is_left_out_is_told_under_every_seed(void **state)
{
	(void)state;
	for (int w = 0; w < WAITS; w++) {
		for (uint64_t seed = 0; seed < FAULT_SEEDS; seed++) {
			char complaint[300];
			run(seed, (enum wait)w, complaint, sizeof complaint);
			if (strstr(complaint, "nothing orders the two") == NULL &&
				strstr(complaint, "that nobody wrote") == NULL)
				fail_msg("wait %d, seed %d: not told: %s", w, (int)seed,
					complaint);
			if (strstr(complaint, parts[w]) == NULL)
				fail_msg("wait %d: told as: %s", w, complaint);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_right_step_passes_under_a_thousand_seeds),
		SL_TEST(each_wait_that_is_left_out_is_told_under_every_seed),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

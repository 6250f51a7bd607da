/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race detector: a step of three streams passes under every seed, and with any one of
 * its waits left out it is told under every seed.
 */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "cuda/rig/rig.h"

enum {
	SEEDS = 1000,
	FAULT_SEEDS = 25,
	N = 500,
	BYTES = N * 4,
	OUT_AT = 8192,
	ROUNDS = 2
};
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
	float *out = (float *)(void *)(r->pinned + OUT_AT);
	host_waits(s, WAIT_HOST_FOR_IN, s->brought);
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
	const float *out = (const float *)(void *)(s->rig->pinned + OUT_AT);
	float sum = 0;
	host_waits(s, WAIT_HOST_FOR_OUT, s->gone);
	for (int i = 0; i < N; i++)
		sum += out[i];
	if (s->left_out == WAITS)
		assert_true(sum == N * (N - 1) + 2 * N * (ROUNDS - 1));
}

static void run(struct fake_options o, enum wait left_out, char *complaint, size_t size)
{
	struct rig r;
	o.keep = true;
	fake_reset(&o);
	want(rig_build(&r));
	struct step s = {.rig = &r, .left_out = left_out};
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
		run((struct fake_options){.seed = seed}, WAITS, complaint,
			sizeof complaint);
		if (complaint[0] != '\0')
			fail_msg("seed %d: %s", (int)seed, complaint);
	}
}

static bool is_told(const char *complaint)
{
	static const char *const texts[] = {
		"nothing orders the two", "that nobody wrote", "nobody waits for that"};
	for (size_t i = 0; i < SL_COUNT(texts); i++)
		if (strstr(complaint, texts[i]) != NULL)
			return true;
	return false;
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
			run((struct fake_options){.seed = seed}, (enum wait)w, complaint,
				sizeof complaint);
			if (!is_told(complaint))
				fail_msg("wait %d, seed %d: not told: %s", w, (int)seed,
					complaint);
			if (strstr(complaint, parts[w]) == NULL)
				fail_msg("wait %d: told as: %s", w, complaint);
		}
	}
}

static void each_wait_that_the_driver_leaves_out_is_told(void **state)
{
	(void)state;
	char complaint[300];
	run((struct fake_options){.seed = 1}, WAITS, complaint, sizeof complaint);
	uint64_t waits = fake_waits();
	assert_true(waits >= WAITS);
	unsigned told = 0;
	for (uint64_t n = 1; n <= waits; n++) {
		run((struct fake_options){.seed = n, .leave_out = n}, WAITS, complaint,
			sizeof complaint);
		told += is_told(complaint);
	}
	/* The rig's own waits at its end stand for each other, but for one. */
	assert_true(told + RIG_STREAMS > waits);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_right_step_passes_under_a_thousand_seeds),
		SL_TEST(each_wait_that_is_left_out_is_told_under_every_seed),
		SL_TEST(each_wait_that_the_driver_leaves_out_is_told),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

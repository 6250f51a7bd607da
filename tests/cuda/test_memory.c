/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on the test driver: the card's and pinned, and who may touch it when. */
#include "harness/harness.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/rig/rig.h"

static void want(sl_cu_result r)
{
	assert_int_equal(r, SL_CU_SUCCESS);
}

static void want_complaint(const char *part)
{
	if (strstr(fake_complaint(), part) == NULL)
		fail_msg("complaint: %s", fake_complaint());
}

static void want_nothing_left(void)
{
	char text[300];
	fake_alive(text, sizeof text);
	assert_string_equal(text, "");
}

static void close_quiet(struct rig *r)
{
	rig_close(r);
	want_nothing_left();
	assert_string_equal(fake_complaint(), "");
}

static void write_one(void *ctx)
{
	*(uint8_t *)ctx = 9;
}

static void a_host_function_touches_pinned_memory_in_its_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rig r;
		want(rig_open(&r, seed));
		want(cuMemsetD8Async(r.card, 7, 4096, r.stream[0]));
		want(cuMemcpyAsync((uintptr_t)r.pinned, r.card, 4096, r.stream[0]));
		want(cuLaunchHostFunc(r.stream[0], write_one, r.pinned));
		want(cuStreamSynchronize(r.stream[0]));
		assert_int_equal(r.pinned[0], 9);
		close_quiet(&r);
		want(rig_open(&r, seed));
		want(cuMemcpyAsync((uintptr_t)r.pinned, (uintptr_t)r.pinned + 8192, 4096,
			r.stream[0]));
		want(cuLaunchHostFunc(r.stream[1], write_one, r.pinned));
		want(cuStreamSynchronize(r.stream[1]));
		want_complaint("nobody waits for that");
		rig_close(&r);
	}
}

static void memory_given_back_too_early_is_told(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rig r;
		want(rig_open(&r, seed));
		want(cuMemsetD8Async(r.card, 7, 4096, r.stream[0]));
		want(cuMemUnmap(r.card, RIG_BYTES));
		want(cuMemAddressFree(r.card, RIG_BYTES));
		r.card = 0;
		rig_close(&r);
		assert_string_not_equal(fake_complaint(), "");
		want_nothing_left();
		want(rig_open(&r, seed));
		want(cuMemsetD8Async((uintptr_t)r.pinned, 7, 4096, r.stream[0]));
		want(cuMemFreeHost(r.pinned));
		r.pinned = NULL;
		rig_close(&r);
		assert_string_not_equal(fake_complaint(), "");
	}
}

static void kernels_must_not_read_what_nobody_wrote(void **state)
{
	(void)state;
	struct rig r;
	int n = 10;
	want(rig_open(&r, 0));
	want(cuMemsetD8Async(r.card, 1, 40, r.stream[0]));
	void *params[] = {&r.card, &n};
	want(rig_launch(&r, "sl_sample_read", 1, 1, r.stream[0], params));
	want(cuStreamSynchronize(r.stream[0]));
	assert_string_equal(fake_complaint(), "");
	n = 11;
	want(rig_launch(&r, "sl_sample_read", 1, 1, r.stream[0], params));
	want(cuStreamSynchronize(r.stream[0]));
	want_complaint("that nobody wrote");
	rig_close(&r);
}

static void the_host_cannot_touch_the_card_s_addresses(void **state)
{
	(void)state;
	struct rig r;
	want(rig_open(&r, 0));
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)(uintptr_t)r.card = 1;
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	close_quiet(&r);
}

static void the_card_has_so_much_memory_and_no_more(void **state)
{
	(void)state;
	struct fake_options o = {.keep = true, .bytes = RIG_BYTES};
	struct rig r;
	fake_reset(&o);
	want(rig_build(&r));
	struct sl_cu_mem_prop prop = {.type = 1, .location = {1, 0}};
	sl_cu_mem mem = 0;
	assert_int_equal(
		cuMemCreate(&mem, RIG_BYTES, &prop, 0), SL_CU_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemCreate(&mem, 4096, &prop, 0), SL_CU_ERROR_INVALID_VALUE);
	size_t left = 1;
	size_t total = 0;
	want(cuMemGetInfo_v2(&left, &total));
	assert_int_equal(left, 0);
	assert_int_equal(total, RIG_BYTES);
	close_quiet(&r);
}

/* The detector knows bytes by the memory they lie in. */
static void one_memory_at_two_addresses_is_one(void **state)
{
	(void)state;
	struct sl_cu_mem_access access = {{SL_CU_MEM_LOCATION_TYPE_DEVICE, 0},
		SL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	for (int ordered = 0; ordered < 2; ordered++) {
		struct rig r;
		sl_cu_ptr again = 0;
		want(rig_open(&r, 0));
		want(cuMemAddressReserve(&again, RIG_BYTES, 0, 0, 0));
		want(cuMemMap(again, RIG_BYTES, 0, r.mem, 0));
		assert_int_equal(cuMemsetD8Async(again, 1, 64, r.stream[0]),
			SL_CU_ERROR_INVALID_VALUE);
		want_complaint("neither the card's nor pinned");
		want(cuMemSetAccess(again, RIG_BYTES, &access, 1));
		fake_reset(&(struct fake_options){.keep = true});
		want(cuMemsetD8Async(r.card, 5, 64, r.stream[0]));
		if (ordered == 1)
			want(rig_order(&r, r.stream[0], r.stream[1]));
		want(cuMemcpyAsync((uintptr_t)r.pinned, again, 64, r.stream[1]));
		want(cuCtxSynchronize());
		if (ordered == 1)
			assert_int_equal(r.pinned[63], 5);
		want(cuMemUnmap(again, RIG_BYTES));
		want(cuMemAddressFree(again, RIG_BYTES));
		rig_close(&r);
		want_nothing_left();
		if (ordered == 1)
			assert_string_equal(fake_complaint(), "");
		else
			want_complaint("nothing orders the two");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_host_function_touches_pinned_memory_in_its_order),
		SL_TEST(memory_given_back_too_early_is_told),
		SL_TEST(kernels_must_not_read_what_nobody_wrote),
		SL_TEST(the_host_cannot_touch_the_card_s_addresses),
		SL_TEST(the_card_has_so_much_memory_and_no_more),
		SL_TEST(one_memory_at_two_addresses_is_one),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The test driver itself: what it refuses, counts, loses and finds wrong. */
#include "harness/harness.h"

#include <string.h>

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

/* y = x + x on one stream, whatever the calls say. */
static sl_cu_result work(struct rig *r)
{
	sl_cu_stream s = r->stream[0];
	sl_cu_ptr y = r->card + 8192;
	long long n = 64;
	sl_cu_result all[] = {
		cuMemsetD8Async(r->card, 0, 4096, s),
		cuMemcpyAsync(r->card, (uintptr_t)r->pinned, 256, s),
		rig_launch(r, "sl_sample_add", 1, 64, s,
			(void *[]){&r->card, &r->card, &y, &n}),
		rig_order(r, s, r->stream[1]),
		cuMemcpyAsync((uintptr_t)r->pinned + 4096, y, 256, r->stream[1]),
		cuStreamSynchronize(r->stream[1]),
	};
	for (size_t i = 0; i < SL_COUNT(all); i++)
		if (all[i] != SL_CU_SUCCESS)
			return all[i];
	return SL_CU_SUCCESS;
}

static void work_gives_its_result(void **state)
{
	(void)state;
	struct rig r;
	want(rig_open(&r, 3));
	float *x = (float *)(void *)r.pinned;
	x[63] = 21;
	want(work(&r));
	assert_true(x[1024 + 63] == 42);
	close_quiet(&r);
}

static void each_call_may_fail_and_nothing_is_left(void **state)
{
	(void)state;
	struct rig r;
	want(rig_open(&r, 0));
	want(work(&r));
	uint64_t calls = fake_calls();
	close_quiet(&r);
	assert_true(calls > 20);
	static const unsigned codes[] = {
		SL_CU_ERROR_OUT_OF_MEMORY, SL_CU_ERROR_LAUNCH_FAILED};
	for (uint64_t n = 1; n <= calls; n++) {
		for (size_t c = 0; c < SL_COUNT(codes); c++) {
			struct fake_options o = {
				.seed = n, .fail_at = n, .code = codes[c], .keep = true};
			fake_reset(&o);
			sl_cu_result e = rig_build(&r);
			if (e == SL_CU_SUCCESS)
				e = work(&r);
			assert_int_equal(e, codes[c]);
			rig_close(&r);
			want_nothing_left();
		}
	}
}

static void note(void *ctx)
{
	*(int *)ctx += 1;
}

static void a_lost_device_stays_lost_and_runs_no_host_function(void **state)
{
	(void)state;
	struct rig r;
	int called = 0;
	want(rig_open(&r, 1));
	int bad = RIG_BYTES / 4;
	want(rig_launch(
		&r, "sl_fault_past_end", 1, 1, r.stream[0], (void *[]){&r.card, &bad}));
	assert_int_equal(cuStreamSynchronize(r.stream[0]), SL_CU_ERROR_ILLEGAL_ADDRESS);
	want_complaint("no live memory");
	assert_int_equal(cuLaunchHostFunc(r.stream[0], note, &called),
		SL_CU_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuEventQuery(r.event), SL_CU_ERROR_ILLEGAL_ADDRESS);
	rig_close(&r);
	assert_int_equal(called, 0);
	want_nothing_left();
}

static void a_host_function_runs_in_order_and_may_not_call_the_driver(void **state)
{
	(void)state;
	struct rig r;
	int called = 0;
	want(rig_open(&r, 5));
	want(cuLaunchHostFunc(r.stream[0], note, &called));
	want(cuStreamSynchronize(r.stream[0]));
	assert_int_equal(called, 1);
	assert_string_equal(fake_complaint(), "");
	want(cuLaunchHostFunc(r.stream[0],
		(sl_cu_host_fn)(void (*)(void))cuStreamSynchronize, r.stream[1]));
	want(cuStreamSynchronize(r.stream[0]));
	want_complaint("from a host function");
	rig_close(&r);
}

static void work_of_a_destroyed_stream_still_runs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rig r;
		want(rig_open(&r, seed));
		want(cuMemsetD8Async(r.card, 7, 4096, r.stream[2]));
		want(rig_order(&r, r.stream[2], r.stream[1]));
		want(cuStreamDestroy_v2(r.stream[2]));
		r.stream[2] = NULL;
		want(cuMemcpyAsync((uintptr_t)r.pinned, r.card, 4096, r.stream[1]));
		want(cuEventRecord(r.event, r.stream[1]));
		want(cuEventSynchronize(r.event));
		assert_int_equal(r.pinned[4095], 7);
		close_quiet(&r);
	}
}

static void what_is_left_at_the_context_s_end_is_told(void **state)
{
	(void)state;
	struct rig r;
	sl_cu_event e = NULL;
	want(rig_open(&r, 0));
	want(cuEventCreate(&e, 0));
	rig_close(&r);
	want_complaint("still 1 events");
	want(cuInit(0));
	want(cuCtxSetCurrent(NULL));
	cuEventDestroy_v2(e);
	want_nothing_left();
}

static void calls_that_a_card_refuses_are_refused(void **state)
{
	(void)state;
	struct rig r;
	sl_cu_function f = NULL;
	want(rig_open(&r, 0));
	sl_cu_stream s = r.stream[0];
	want(cuModuleGetFunction(&f, r.module, "sl_sample_dynamic"));
	void *params[] = {&r.card};
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 50000, s, params, NULL),
		SL_CU_ERROR_INVALID_VALUE);
	want(cuFuncSetAttribute(
		f, SL_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000));
	want(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 50000, s, params, NULL));
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, s, params, NULL),
		SL_CU_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, s, params, NULL),
		SL_CU_ERROR_INVALID_VALUE);
	assert_int_equal(
		cuModuleGetFunction(&f, r.module, "sl_none"), SL_CU_ERROR_NOT_FOUND);
	sl_cu_module m = NULL;
	assert_int_equal(cuModuleLoadData(&m, "nonsense"), SL_CU_ERROR_INVALID_IMAGE);
	want(cuCtxSetCurrent(NULL));
	assert_int_equal(cuEventQuery(r.event), SL_CU_ERROR_INVALID_CONTEXT);
	want(cuCtxSetCurrent(r.ctx));
	char heap[64];
	assert_int_equal(
		cuMemcpyAsync(r.card, (uintptr_t)heap, 64, s), SL_CU_ERROR_INVALID_VALUE);
	want_complaint("neither the card's nor pinned");
	rig_close(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(work_gives_its_result),
		SL_TEST(each_call_may_fail_and_nothing_is_left),
		SL_TEST(a_lost_device_stays_lost_and_runs_no_host_function),
		SL_TEST(a_host_function_runs_in_order_and_may_not_call_the_driver),
		SL_TEST(work_of_a_destroyed_stream_still_runs),
		SL_TEST(what_is_left_at_the_context_s_end_is_told),
		SL_TEST(calls_that_a_card_refuses_are_refused),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

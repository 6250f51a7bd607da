/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <string.h>
#include <sys/mman.h>
#include <stdio.h>

#include "base/alloc.h"
#include "device/device.h"
#include "device/sim/sim.h"
#include "device/wrap/wrap.h"

#define MIB ((uint64_t)1 << 20)
#define PAGES (5 * MIB / 4096 + 1)

static void an_unknown_name_is_refused_with_the_names_there_are(void **state)
{
	struct sl_device *d = NULL;

	(void)state;
	sl_assert_fails(sl_device_create("gpu", &d), SL_E_USAGE, "there are: cpu");
	assert_null(d);
	sl_device_destroy(NULL);
}

static void every_page_of_an_arena_is_there_at_the_start(void **state)
{
	static unsigned char there[PAGES];
	struct sl_device *d = NULL;
	struct sl_device_arena a = {0};

	(void)state;
	sl_assert_ok(sl_device_create("cpu", &d));
	sl_assert_ok(sl_device_arena_create(d, 5 * MIB + 4096, &a));
	assert_int_equal(mincore(a.base, a.bytes, there), 0);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(there[i] & 1, 1);
	sl_device_arena_destroy(d, &a);
	sl_device_destroy(d);
}

static void a_system_that_has_no_more_is_said_at_the_start(void **state)
{
	struct sl_device *d = NULL;
	struct sl_device_arena a = {0};

	(void)state;
	sl_assert_ok(sl_device_create("cpu", &d));
	/* All of physical memory cannot be available: this program is in it. */
	sl_assert_fails(
		sl_device_arena_create(d, sl_device_bytes(d) & ~(uint64_t)4095, &a),
		SL_E_NOMEM_DEVICE, "smaller --budget");
	sl_device_destroy(d);
}

static void a_limit_counts_all_arenas_together(void **state)
{
	struct sl_device *cpu = NULL, *d = NULL;
	struct sl_device_arena a = {0}, b = {0};

	(void)state;
	sl_assert_ok(sl_device_create("cpu", &cpu));
	sl_assert_ok(sl_device_limit_create(cpu, 8192, &d));
	assert_true(sl_device_bytes(d) == 8192);
	sl_assert_ok(sl_device_arena_create(d, 4096, &a));
	sl_assert_fails(sl_device_arena_create(d, 8192, &b), SL_E_NOMEM_DEVICE,
		"4096 of the 8192");
	sl_assert_ok(sl_device_arena_create(d, 4096, &b));
	sl_device_arena_destroy(d, &a);
	sl_assert_ok(sl_device_arena_create(d, 4096, &a));
	sl_device_arena_destroy(d, &a);
	sl_device_arena_destroy(d, &b);
	sl_device_destroy(d);
}

struct heard {
	char calls[256];
};

static void hear(void *ctx, const char *call, uint64_t arg)
{
	struct heard *h = ctx;
	size_t used = strlen(h->calls);

	(void)snprintf(h->calls + used, sizeof(h->calls) - used, "%s %llu;", call,
		(unsigned long long)arg);
}

static void a_trace_tells_each_call(void **state)
{
	struct sl_device *cpu = NULL, *d = NULL;
	struct sl_device_arena a = {0};
	struct sl_stream *s = NULL;
	struct heard h = {""};

	(void)state;
	sl_assert_ok(sl_device_create("cpu", &cpu));
	sl_assert_ok(sl_device_trace_create(cpu, hear, &h, &d));
	sl_assert_ok(sl_device_arena_create(d, 8192, &a));
	sl_assert_ok(sl_device_stream_create(d, &s));
	sl_assert_ok(sl_device_sync(d, s));
	sl_device_stream_destroy(d, s);
	sl_device_arena_destroy(d, &a);
	sl_device_destroy(d);
	assert_string_equal(h.calls, "arena_create 8192;stream_create 0;sync 0;");
}

static sl_status nothing(void *ctx)
{
	(void)ctx;
	return SL_OK;
}

static sl_status use_all(void *ctx)
{
	struct sl_device *d = NULL;
	struct sl_stream *s = NULL;
	struct sl_fence *f = NULL;
	void *p = NULL, *q = NULL;
	sl_status st;

	(void)ctx;
	SL_TRY(sl_device_create("cpu", &d));
	SL_TRY_OUT(sl_device_stream_create(d, &s));
	SL_TRY_OUT(sl_device_fence_create(d, &f));
	SL_TRY_OUT(sl_device_submit(d, s, nothing, NULL));
	SL_TRY_OUT(sl_device_fence_record(d, f, s));
	SL_TRY_OUT(sl_device_fence_wait(d, f));
	SL_TRY_OUT(sl_device_stream_wait(d, s, f));
	SL_TRY_OUT(sl_device_pinned_create(d, 64, &p));
	SL_TRY_OUT(sl_device_pinned_create(d, 64, &q));
	SL_TRY_OUT(sl_device_fill(d, s, p, 7, 64));
	SL_TRY_OUT(sl_device_copy(d, s, q, p, 64));
	st = sl_device_sync(d, s);
out:
	sl_device_fence_destroy(d, f);
	sl_device_stream_destroy(d, s);
	sl_device_pinned_destroy(d, q);
	sl_device_pinned_destroy(d, p);
	sl_device_destroy(d);
	return st;
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
	(void)state;
	assert_true(sl_torture(use_all, NULL) >= 7);
}

static sl_status not_called(void *ctx)
{
	*(bool *)ctx = true;
	return SL_FAIL(SL_E_LOST, "work was done");
}

static void timing_only_reserves_addresses_and_leaves_work_undone(void **state)
{
	struct sl_device *d = NULL;
	struct sl_device_arena a = {0};
	struct sl_stream *s = NULL;
	bool called = false;

	(void)state;
	sl_assert_ok(sl_device_sim_create_mode(true, &d));
	assert_string_equal(sl_device_name(d), "sim");
	/* More than the machines that test this have; TSan leaves no room for a lot more.
	 */
	sl_assert_ok(sl_device_arena_create(d, (uint64_t)1 << 38, &a));
	assert_non_null(a.base);
	sl_assert_ok(sl_device_stream_create(d, &s));
	sl_assert_ok(sl_device_submit(d, s, not_called, &called));
	sl_assert_ok(sl_device_sync(d, s));
	assert_false(called);
	sl_device_stream_destroy(d, s);
	sl_device_arena_destroy(d, &a);
	sl_device_destroy(d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_unknown_name_is_refused_with_the_names_there_are),
		SL_TEST(every_page_of_an_arena_is_there_at_the_start),
		SL_TEST(a_system_that_has_no_more_is_said_at_the_start),
		SL_TEST(a_limit_counts_all_arenas_together),
		SL_TEST(a_trace_tells_each_call),
		SL_TEST(every_failed_allocation_is_an_error_without_leak),
		SL_TEST(timing_only_reserves_addresses_and_leaves_work_undone),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

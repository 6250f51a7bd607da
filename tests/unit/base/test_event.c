/* SPDX-License-Identifier: Apache-2.0 */
/* The trace ring. */
#include "harness/harness.h"

#include <string.h>

#include "base/event.h"
#include "base/thread.h"

static void events_come_back_in_order(void **state)
{
	struct sl_event_ring *r = NULL;
	struct sl_event a;
	struct sl_event b;

	(void)state;
	sl_assert_ok(sl_event_ring_create(4, &r));
	assert_false(sl_event_at(r, 0, &a));
	sl_event_emit(r, SL_EV_OP_BEGIN, 7, 1);
	sl_event_emit_on(r, UINT16_MAX, SL_EV_MOVE, UINT32_MAX, UINT64_MAX);
	assert_int_equal(sl_event_count(r), 2);
	assert_true(sl_event_at(r, 0, &a));
	assert_true(sl_event_at(r, 1, &b));
	assert_false(sl_event_at(r, 2, &b));
	assert_int_equal(a.kind, SL_EV_OP_BEGIN);
	assert_int_equal(a.id, 7);
	assert_int_equal(b.kind, SL_EV_MOVE);
	assert_int_equal(a.channel, 0);
	assert_int_equal(b.channel, UINT16_MAX);
	assert_int_equal(b.id, UINT32_MAX);
	assert_int_equal(b.arg, UINT64_MAX);
	assert_true(b.at_ns >= a.at_ns);
	sl_event_ring_destroy(r);
}

static void the_oldest_are_overwritten(void **state)
{
	struct sl_event_ring *r = NULL;
	struct sl_event e;

	(void)state;
	sl_assert_ok(sl_event_ring_create(4, &r));
	for (uint32_t i = 0; i < 11; i++)
		sl_event_emit(r, SL_EV_STEP, i, 0);
	assert_int_equal(sl_event_count(r), 11);
	for (size_t i = 0; i < 4; i++) {
		assert_true(sl_event_at(r, i, &e));
		assert_int_equal(e.id, 7 + i);
	}
	assert_false(sl_event_at(r, 4, &e));
	sl_event_ring_destroy(r);
}

static void no_ring_records_nothing(void **state)
{
	struct sl_event e;

	(void)state;
	sl_event_emit(NULL, SL_EV_STEP, 1, 1);
	assert_int_equal(sl_event_count(NULL), 0);
	assert_false(sl_event_at(NULL, 0, &e));
	sl_event_ring_destroy(NULL);
	sl_event_dump();
}

static void emit(void *ctx, int64_t chunk)
{
	sl_event_emit(ctx, SL_EV_WAIT, (uint32_t)chunk, 0);
}

static void writers_at_once_lose_nothing(void **state)
{
	struct sl_event_ring *r = NULL;
	struct sl_pool *pool = NULL;
	struct sl_event e;
	char seen[1024] = {0};

	(void)state;
	sl_assert_ok(sl_event_ring_create(1024, &r));
	sl_assert_ok(sl_pool_create(4, &pool));
	sl_pool_run(pool, 1024, emit, r);
	for (size_t i = 0; sl_event_at(r, i, &e); i++)
		seen[e.id] = 1;
	assert_null(memchr(seen, 0, sizeof(seen)));
	sl_pool_destroy(pool);
	sl_event_ring_destroy(r);
}

static void kinds_have_names_and_sizes_are_checked(void **state)
{
	struct sl_event_ring *r = NULL;

	(void)state;
	for (int i = 0; i < SL_EV_COUNT; i++)
		assert_string_not_equal(
			sl_event_kind_name((enum sl_event_kind)i), "unknown");
	assert_string_equal(sl_event_kind_name(SL_EV_COUNT), "unknown");
	sl_assert_fails(sl_event_ring_create(0, &r), SL_E_INVALID, "power of two");
	sl_assert_fails(sl_event_ring_create(6, &r), SL_E_INVALID, "power of two");
	sl_assert_fails(sl_event_ring_create((size_t)1 << 63, &r), SL_E_INVALID, "");
}

static sl_status create(void *ctx)
{
	struct sl_event_ring *r = NULL;

	(void)ctx;
	SL_TRY(sl_event_ring_create(8, &r));
	sl_event_ring_destroy(r);
	return SL_OK;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(sl_torture(create, NULL), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(events_come_back_in_order),
		SL_TEST(the_oldest_are_overwritten),
		SL_TEST(no_ring_records_nothing),
		SL_TEST(writers_at_once_lose_nothing),
		SL_TEST(kinds_have_names_and_sizes_are_checked),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

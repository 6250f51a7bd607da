/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include "base/rng.h"
#include "sim/engine.h"

struct log {
	struct sl_sim sim;
	uint64_t seen[64];
	uint64_t when[64];
	int n;
};

static sl_status note(void *ctx, uint64_t arg)
{
	struct log *l = ctx;

	l->when[l->n] = l->sim.now_ns;
	l->seen[l->n++] = arg;
	return SL_OK;
}

static void events_happen_by_time_and_ties_in_the_order_they_were_asked_for(void **state)
{
	(void)state;
	static const uint64_t at[] = {30, 10, 20, 10, 30, 10};
	static const uint64_t want[] = {1, 3, 5, 2, 0, 4};
	struct log l = {0};

	for (uint64_t i = 0; i < SL_COUNT(at); i++)
		sl_assert_ok(sl_sim_at(&l.sim, at[i], note, &l, i));
	sl_assert_ok(sl_sim_run(&l.sim));
	assert_int_equal(l.n, SL_COUNT(want));
	for (int i = 0; i < l.n; i++) {
		assert_int_equal(l.seen[i], want[i]);
		assert_int_equal(l.when[i], at[want[i]]);
	}
	sl_sim_finish(&l.sim);
}

static sl_status ask_for_more(void *ctx, uint64_t arg)
{
	struct log *l = ctx;

	SL_TRY(note(ctx, arg));
	/* In the past: it happens now, behind what was asked for before. */
	SL_TRY(sl_sim_at(&l->sim, 1, note, l, arg + 1));
	return sl_sim_at(&l->sim, 9, note, l, arg + 2);
}

static void an_event_may_ask_for_others(void **state)
{
	(void)state;
	struct log l = {0};

	sl_assert_ok(sl_sim_at(&l.sim, 5, ask_for_more, &l, 100));
	sl_assert_ok(sl_sim_at(&l.sim, 5, note, &l, 7));
	sl_assert_ok(sl_sim_run(&l.sim));
	assert_int_equal(l.n, 4);
	assert_int_equal(l.seen[1], 7);
	assert_int_equal(l.seen[2], 101);
	assert_int_equal(l.when[2], 5);
	assert_int_equal(l.when[3], 9);
	sl_sim_finish(&l.sim);
}

static sl_status check_order(void *ctx, uint64_t arg)
{
	struct log *l = ctx;

	assert_true(l->sim.now_ns == arg && arg >= l->when[0]);
	l->when[0] = arg;
	l->n++;
	return SL_OK;
}

static void a_thousand_random_events_are_in_order(void **state)
{
	(void)state;
	struct sl_rng rng = {.key = {.seed = 5}};
	struct log l = {0};

	for (int i = 0; i < 1000; i++) {
		uint64_t at = sl_rng_below(&rng, 300);

		sl_assert_ok(sl_sim_at(&l.sim, at, check_order, &l, at));
	}
	sl_assert_ok(sl_sim_run(&l.sim));
	assert_int_equal(l.n, 1000);
	sl_sim_finish(&l.sim);
}

static sl_status refuse(void *ctx, uint64_t arg)
{
	(void)ctx;
	return SL_FAIL(SL_E_IO, "event %d", (int)arg);
}

static void the_first_failure_ends_the_run(void **state)
{
	(void)state;
	struct log l = {0};

	sl_assert_ok(sl_sim_at(&l.sim, 1, refuse, &l, 1));
	sl_assert_ok(sl_sim_at(&l.sim, 2, note, &l, 2));
	sl_assert_fails(sl_sim_run(&l.sim), SL_E_IO, "event 1");
	assert_int_equal(l.n, 0);
	sl_sim_finish(&l.sim);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(events_happen_by_time_and_ties_in_the_order_they_were_asked_for),
		SL_TEST(an_event_may_ask_for_others),
		SL_TEST(a_thousand_random_events_are_in_order),
		SL_TEST(the_first_failure_ends_the_run),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

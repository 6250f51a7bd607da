/* SPDX-License-Identifier: Apache-2.0 */
/* Random sound plans, carried out with late copies and poisoned free memory: the bytes
 * are right. */
#include "harness/engine_rig.h"
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"

#define TIER_BYTES ((uint64_t)16 << 20)
#define BUDGET ((uint64_t)36 * 4096)

struct totals {
	int plans;
	uint64_t out, in, moved, again;
};

/* A trace and two plans for it; SL_E_INFEASIBLE if the dice fell badly. */
static sl_status roll(
	struct sl_rng *rng, struct sl_trace *t, struct sl_plan *a, struct sl_plan *b)
{
	SL_TRY(sl_random_trace(rng, 6 + (uint32_t)sl_rng_below(rng, 30), TIER_BYTES, t));
	SL_TRY(sl_random_plan(rng, t, BUDGET, a));
	return sl_random_plan(rng, t, BUDGET, b);
}

static void run_plans(struct totals *sum, const struct sl_trace *t,
	const struct sl_plan *a, const struct sl_plan *b, struct sl_pool *pool)
{
	const struct sl_plan *plans[] = {a, b, a};
	struct sl_rig_opts o = {.budget = BUDGET,
		.tier_bytes = TIER_BYTES,
		.pool = pool,
		.delays = pool == NULL};
	struct sl_rig rig = {0};
	struct sl_engine_stats stats;

	sl_assert_ok(sl_rig_open(&rig, &o, t, a));
	for (size_t i = 0; i < SL_COUNT(plans); i++) {
		sl_assert_ok(sl_engine_adopt(rig.engine, t, plans[i]));
		sl_assert_ok(sl_rig_compare(&rig));
		sl_assert_ok(sl_rig_step(&rig));
		sl_assert_ok(sl_rig_step(&rig));
		sl_assert_ok(sl_rig_compare(&rig));
	}
	sl_engine_stats(rig.engine, &stats);
	assert_true(stats.peak_device_bytes <= BUDGET + 8192);
	assert_true(stats.peak_tier_bytes[0] <= TIER_BYTES);
	sum->plans++;
	sum->out += stats.swap_out_bytes;
	sum->in += stats.swap_in_bytes;
	sum->moved += stats.move_bytes;
	sum->again += stats.recompute_ops;
	sl_rig_close(&rig);
}

static void roll_and_run(uint64_t seed, struct sl_pool *pool)
{
	struct sl_rng rng = {.key = {.seed = seed}};
	struct totals sum = {0};

	for (int i = 0; i < 60; i++) {
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_plan a = SL_PLAN_INIT, b = SL_PLAN_INIT;
		sl_status st = roll(&rng, &t, &a, &b);

		if (st == SL_OK)
			run_plans(&sum, &t, &a, &b, pool);
		else
			sl_assert_fails(st, SL_E_INFEASIBLE, "");
		sl_plan_finish(&a);
		sl_plan_finish(&b);
		sl_trace_finish(&t);
	}
	print_message(
		"%d plans, %llu runs again\n", sum.plans, (unsigned long long)sum.again);
	/* The dice made plans, and those had something of everything. */
	assert_true(sum.plans > 20);
	assert_true(sum.out > 0 && sum.in > 0 && sum.moved > 0 && sum.again > 0);
}

static void contents_are_right_under_random_plans_and_late_copies(void **state)
{
	(void)state;
	roll_and_run(11, NULL);
}

static void contents_are_right_where_pages_change_places(void **state)
{
	struct sl_pool *pool = NULL;

	(void)state;
	sl_assert_ok(sl_pool_create(2, &pool));
	roll_and_run(11, pool);
	sl_pool_destroy(pool);
}

struct case_ctx {
	struct sl_trace t;
	struct sl_plan a, b;
};

static sl_status open_step_adopt(void *ctx)
{
	struct case_ctx *c = ctx;
	struct sl_rig_opts o = {.budget = BUDGET, .tier_bytes = TIER_BYTES};
	struct sl_rig rig = {0};
	sl_status st;

	SL_TRY_OUT(sl_rig_open(&rig, &o, &c->t, &c->a));
	SL_TRY_OUT(sl_rig_step(&rig));
	st = sl_engine_adopt(rig.engine, &c->t, &c->b);
	if (st != SL_OK) {
		/* A plan that was not adopted leaves the old one in force. */
		sl_status again = sl_rig_step(&rig);
		if (again == SL_OK)
			again = sl_rig_compare(&rig);
		if (again != SL_OK)
			fail_msg("%s", sl_last_error());
		goto out;
	}
	SL_TRY_OUT(sl_rig_step(&rig));
	SL_TRY_OUT(sl_rig_compare(&rig));
out:
	sl_rig_close(&rig);
	return st;
}

static void find_case(struct case_ctx *c, uint64_t seed)
{
	struct sl_rng rng = {.key = {.seed = seed}};

	for (;;) {
		*c = (struct case_ctx){.t = SL_TRACE_INIT};
		if (roll(&rng, &c->t, &c->a, &c->b) == SL_OK)
			return;
		sl_plan_finish(&c->a);
		sl_plan_finish(&c->b);
		sl_trace_finish(&c->t);
	}
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
	struct case_ctx c;

	(void)state;
	find_case(&c, 5);
	assert_true(sl_torture(open_step_adopt, &c) > 20);
	sl_plan_finish(&c.a);
	sl_plan_finish(&c.b);
	sl_trace_finish(&c.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(contents_are_right_under_random_plans_and_late_copies),
		SL_TEST(contents_are_right_where_pages_change_places),
		SL_TEST(every_failed_allocation_is_an_error_without_leak),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

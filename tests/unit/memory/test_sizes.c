/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by size: kept, carried over, made; and sizes that do not fit. */
#include "harness/harness.h"

#include <stdio.h>

#include "memory/policy/policy.h"
#include "memory/sizes.h"
#include "unit/memory/gen.h"

/* Steps of a small transformer by rows. */
struct shop {
	const struct sl_mem_policy *policy;
	uint32_t traces, plans;
	bool unsound; /* plans forget their actions */
};

static sl_status make_trace(void *ctx, int64_t size, struct sl_trace *out)
{
	struct shop *shop = ctx;
	struct gen g = gen_training(3, 32, (uint64_t)size, 1 << 30);

	shop->traces++;
	if (gen_end(&g) != SL_OK) {
		sl_trace_finish(&g.t);
		return gen_end(&g);
	}
	*out = g.t;
	return SL_OK;
}

static sl_status make_plan(
	void *ctx, const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	struct shop *shop = ctx;

	shop->plans++;
	SL_TRY(sl_policy_plan(shop->policy, t, budget, out));
	if (shop->unsound)
		out->n_actions = 0;
	return SL_OK;
}

static uint64_t peak_of(int64_t size)
{
	struct shop shop = {0};
	struct sl_trace t = SL_TRACE_INIT;
	uint64_t peak = 0;

	sl_assert_ok(make_trace(&shop, size, &t));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &t, &peak));
	sl_trace_finish(&t);
	return peak;
}

static uint64_t least_of(int64_t size)
{
	struct shop shop = {0};
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_least_budget least = {0};

	sl_assert_ok(make_trace(&shop, size, &t));
	sl_assert_ok(sl_trace_least_budget(&t, &least));
	sl_trace_finish(&t);
	return least.bytes;
}

static struct sl_sizes *open_shop(
	struct shop *shop, uint64_t budget, uint32_t plans, double slack)
{
	const struct sl_sizes_opts opts = {.source = {shop, make_trace, make_plan},
		.budget_bytes = budget,
		.grid = 8,
		.most_plans = plans,
		.slack = slack};
	struct sl_sizes *s = NULL;

	shop->policy = shop->policy ? shop->policy : &sl_mem_policy_belady;
	sl_assert_ok(sl_sizes_create(&opts, &s));
	return s;
}

static struct sl_sizes_found get(struct sl_sizes *s, int64_t size, enum sl_sizes_how how)
{
	struct sl_sizes_found f = {0};

	sl_assert_ok(sl_sizes_get(s, size, &f));
	assert_int_equal(f.how, how);
	assert_true(f.size >= size && f.size < size + 8 && f.size % 8 == 0);
	sl_assert_ok(sl_plan_check(f.trace, f.plan, f.plan->budget, NULL));
	return f;
}

static void a_class_is_planned_once(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, peak_of(100), 0, -1);

	(void)get(s, 65, SL_SIZES_PLANNED);
	(void)get(s, 72, SL_SIZES_HIT);
	(void)get(s, 73, SL_SIZES_PLANNED);
	(void)get(s, 64, SL_SIZES_PLANNED);
	(void)get(s, 71, SL_SIZES_HIT);
	assert_int_equal(shop.traces, 3);
	assert_int_equal(shop.plans, 3);
	assert_int_equal(sl_sizes_counts(s).hits, 2);
	sl_sizes_destroy(s);
}

static void what_was_used_longest_ago_goes(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, peak_of(100), 2, -1);

	(void)get(s, 8, SL_SIZES_PLANNED);
	(void)get(s, 16, SL_SIZES_PLANNED);
	(void)get(s, 8, SL_SIZES_HIT);
	(void)get(s, 24, SL_SIZES_PLANNED); /* 16 goes */
	(void)get(s, 8, SL_SIZES_HIT);
	(void)get(s, 16, SL_SIZES_PLANNED);
	assert_int_equal(sl_sizes_counts(s).dropped, 2);
	sl_sizes_destroy(s);
}

static void a_plan_is_carried_over_where_it_costs_nothing(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, peak_of(100), 0, 0.02);
	struct sl_sizes_found f;

	/* Nothing moves at 96, so it does not at 80. */
	(void)get(s, 96, SL_SIZES_PLANNED);
	f = get(s, 80, SL_SIZES_CARRIED);
	assert_int_equal(f.plan->price_ns, f.base_ns);
	(void)get(s, 88, SL_SIZES_CARRIED);
	(void)get(s, 80, SL_SIZES_HIT);
	(void)get(s, 160, SL_SIZES_PLANNED);
	/* That of 160 is for too little room: 136 gets its own. */
	f = get(s, 136, SL_SIZES_PLANNED);
	assert_true(f.plan->n_actions > 0);
	sl_sizes_destroy(s);
}

static void carrying_over_is_proven_by_the_checker(void **state)
{
	(void)state;
	struct shop shop = {.policy = &sl_mem_policy_belady};
	struct sl_trace large = SL_TRACE_INIT, small = SL_TRACE_INIT;
	struct sl_plan plan = SL_PLAN_INIT, carried = SL_PLAN_INIT;
	uint64_t budget = peak_of(64), peak = 0;

	sl_assert_ok(make_trace(&shop, 80, &large));
	sl_assert_ok(make_trace(&shop, 64, &small));
	sl_assert_ok(make_plan(&shop, &large, budget, &plan));
	assert_true(plan.n_actions > 0);
	large.ops[3].kind = "other";
	assert_int_equal(
		sl_sizes_carry(&large, &plan, &small, budget, &carried), SL_E_NO);
	large.ops[3].kind = small.ops[3].kind;
	sl_assert_ok(sl_sizes_carry(&large, &plan, &small, budget, &carried));
	assert_int_equal(carried.n_actions, plan.n_actions);
	sl_assert_ok(sl_plan_check(&small, &carried, budget, &peak));
	assert_int_equal(peak, carried.peak);
	sl_plan_finish(&carried);
	/* The other way round values would overlap. */
	sl_plan_finish(&plan);
	plan = SL_PLAN_INIT;
	sl_assert_ok(make_plan(&shop, &small, budget, &plan));
	assert_int_equal(
		sl_sizes_carry(&small, &plan, &large, UINT64_MAX, &carried), SL_E_NO);
	assert_null(carried.value_offset);
	sl_plan_finish(&plan);
	sl_trace_finish(&large);
	sl_trace_finish(&small);
}

static void what_cannot_fit_is_refused_and_larger_sizes_unseen(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, least_of(160), 0, -1);
	struct sl_sizes_found f;
	struct sl_sizes_view v;

	(void)get(s, 160, SL_SIZES_PLANNED);
	sl_assert_fails(sl_sizes_get(s, 200, &f), SL_E_INFEASIBLE, "of 200 does not fit");
	sl_assert_fails(sl_sizes_get(s, 4000, &f), SL_E_INFEASIBLE,
		"a smaller one does not): cut it to 160");
	assert_int_equal(shop.traces, 2);
	sl_assert_ok(sl_sizes_look(s, 300, &v));
	assert_int_equal(v.verdict, SL_SIZES_REFUSED);
	assert_int_equal(sl_sizes_counts(s).refused, 2);
	sl_sizes_destroy(s);
}

/* From a few sizes on, a larger one is known to fit, or not, before it is seen. */
static void unseen_sizes_are_judged_by_the_sizes_seen(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, least_of(480), 0, -1);
	struct sl_sizes_found f;
	struct sl_sizes_view v;

	sl_assert_ok(sl_sizes_look(s, 400, &v));
	assert_true(v.verdict == SL_SIZES_UNSURE && v.largest == 0);
	for (int64_t x = 160; x <= 320; x += 32)
		(void)get(s, x, SL_SIZES_PLANNED);
	sl_assert_ok(sl_sizes_look(s, 320, &v));
	assert_int_equal(v.verdict, SL_SIZES_KNOWN);
	sl_assert_ok(sl_sizes_look(s, 440, &v));
	assert_int_equal(v.verdict, SL_SIZES_FITS);
	assert_true(v.least_bytes >= least_of(440));
	assert_true(v.peak_bytes > v.least_bytes);
	assert_true(v.largest >= 440 && v.largest <= 480);
	sl_assert_ok(sl_sizes_look(s, 800, &v));
	assert_int_equal(v.verdict, SL_SIZES_UNLIKELY);
	(void)get(s, 440, SL_SIZES_PLANNED);
	/* Its trace has the last word. */
	sl_assert_fails(sl_sizes_get(s, 800, &f), SL_E_INFEASIBLE, "cut it to 440");
	sl_assert_ok(sl_sizes_look(s, 800, &v));
	assert_int_equal(v.verdict, SL_SIZES_REFUSED);
	assert_int_equal(shop.traces, 8);
	sl_sizes_destroy(s);
}

static void a_plan_from_outside_is_not_trusted(void **state)
{
	(void)state;
	struct shop shop = {.unsound = true};
	struct sl_sizes *s = open_shop(&shop, least_of(160), 0, -1);
	struct sl_sizes_found f;

	assert_int_equal(sl_sizes_get(s, 160, &f), SL_E_NO);
	shop.unsound = false;
	(void)get(s, 160, SL_SIZES_PLANNED);
	sl_sizes_destroy(s);
}

static void sizes_that_are_none_are_a_mistake_of_use(void **state)
{
	(void)state;
	struct shop shop = {0};
	struct sl_sizes *s = open_shop(&shop, peak_of(100), 0, -1);
	struct sl_sizes_found f;

	assert_int_equal(sl_sizes_get(s, 0, &f), SL_E_USAGE);
	assert_int_equal(sl_sizes_get(s, INT64_MAX, &f), SL_E_USAGE);
	sl_sizes_destroy(s);
	assert_int_equal(
		sl_sizes_create(&(struct sl_sizes_opts){.grid = -1}, &s), SL_E_USAGE);
}

static sl_status three_sizes(void *ctx)
{
	struct shop *shop = ctx;
	const struct sl_sizes_opts opts = {.source = {shop, make_trace, make_plan},
		.budget_bytes = 1 << 20,
		.most_plans = 2,
		.slack = 0.02};
	struct sl_sizes *s = NULL;
	struct sl_sizes_found f;
	sl_status st;

	SL_TRY(sl_sizes_create(&opts, &s));
	SL_TRY_OUT(sl_sizes_get(s, 32, &f));
	SL_TRY_OUT(sl_sizes_get(s, 24, &f));
	SL_TRY_OUT(sl_sizes_get(s, 40, &f));
out:
	sl_sizes_destroy(s);
	return st;
}

static void planning_by_size_survives_every_failed_allocation(void **state)
{
	(void)state;
	struct shop shop = {.policy = &sl_mem_policy_keep};

	assert_true(sl_torture(three_sizes, &shop) > 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_class_is_planned_once),
		SL_TEST(what_was_used_longest_ago_goes),
		SL_TEST(a_plan_is_carried_over_where_it_costs_nothing),
		SL_TEST(carrying_over_is_proven_by_the_checker),
		SL_TEST(what_cannot_fit_is_refused_and_larger_sizes_unseen),
		SL_TEST(unseen_sizes_are_judged_by_the_sizes_seen),
		SL_TEST(a_plan_from_outside_is_not_trusted),
		SL_TEST(sizes_that_are_none_are_a_mistake_of_use),
		SL_TEST(planning_by_size_survives_every_failed_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

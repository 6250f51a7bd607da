/* SPDX-License-Identifier: Apache-2.0 */
/* belady: every budget from B* on works, none below it does, and what it refuses it
 * explains. */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define BELADY (&sl_mem_policy_belady)

static void plan_at(const struct sl_trace *t, uint64_t budget, struct sl_plan *p)
{
	sl_assert_ok(sl_policy_plan(BELADY, t, budget, p));
	assert_true(p->peak <= budget);
	assert_int_equal(p->budget, budget);
	assert_string_equal(p->policy, "belady");
}

/* Every budget from the least one to the unbudgeted peak, in uneven steps. */
static void climb(const struct sl_trace *t, uint64_t steps)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0, peak = 0;

	sl_assert_ok(sl_policy_least(BELADY, t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, t, &peak));
	for (uint64_t i = 0; i <= steps; i++) {
		plan_at(t, least + (peak - least) * i / steps, &p);
		sl_plan_finish(&p);
	}
	if (least > SL_PAGE_BYTES)
		sl_assert_fails(sl_policy_plan(BELADY, t, least - SL_PAGE_BYTES, &p),
			SL_E_INFEASIBLE, "use --budget");
}

static void random_traces_plan_at_every_budget_from_the_least_on(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 150; seed++) {
		struct gen g = gen_random(seed, 1 + (uint32_t)(seed % 40));

		sl_assert_ok(gen_end(&g));
		climb(&g.t, 9);
		sl_trace_finish(&g.t);
	}
}

static void training_plans_at_every_budget_from_the_least_on(void **state)
{
	(void)state;
	struct gen g = gen_training(6, 64, 64, 1 << 28);

	sl_assert_ok(gen_end(&g));
	climb(&g.t, 40);
	sl_trace_finish(&g.t);
}

static void the_binding_op_fills_the_arena_at_the_least_budget(void **state)
{
	(void)state;
	struct gen g = gen_training(6, 64, 64, 1 << 28);
	struct sl_least_budget least = {0};
	struct sl_plan p = SL_PLAN_INIT;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_least_budget(&g.t, &least));
	plan_at(&g.t, least.bytes, &p);
	assert_int_equal(p.peak, least.bytes);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void with_the_unbudgeted_peak_nothing_moves(void **state)
{
	(void)state;
	struct gen g = gen_training(3, 64, 64, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
	plan_at(&g.t, peak, &p);
	assert_int_equal(p.n_actions, 0);
	sl_plan_finish(&p);
	plan_at(&g.t, peak - SL_PAGE_BYTES, &p);
	assert_true(p.n_actions > 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void the_same_trace_and_budget_give_the_same_plan(void **state)
{
	(void)state;
	struct sl_buf text[2] = {SL_BUF_INIT, SL_BUF_INIT};

	for (int i = 0; i < 2; i++) {
		struct gen g = gen_training(6, 64, 64, 1 << 28);
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_ok(gen_end(&g));
		plan_at(&g.t, 1 << 20, &p);
		sl_assert_ok(sl_plan_print(&p, &g.t, &text[i]));
		sl_plan_finish(&p);
		sl_trace_finish(&g.t);
	}
	assert_string_equal(sl_buf_text(&text[0]), sl_buf_text(&text[1]));
	sl_buf_finish(&text[0]);
	sl_buf_finish(&text[1]);
}

static void below_the_least_budget_the_message_names_op_parts_and_remedy(void **state)
{
	(void)state;
	struct gen g = gen_training(6, 64, 64, 1 << 28);
	struct sl_least_budget b = {0};
	struct sl_plan p = SL_PLAN_INIT;
	char want[256];

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_least_budget(&g.t, &b));
	(void)snprintf(want, sizeof(want),
		"op %u (%s) needs in %llu + out %llu + workspace %llu + immovable %llu; "
		"use "
		"--budget %llu or more",
		b.binding_op, g.t.ops[b.binding_op].kind,
		(unsigned long long)b.op_in_bytes, (unsigned long long)b.op_out_bytes,
		(unsigned long long)b.op_workspace_bytes,
		(unsigned long long)b.immovable_bytes, (unsigned long long)b.bytes);
	sl_assert_fails(
		sl_policy_plan(BELADY, &g.t, b.bytes - 4096, &p), SL_E_INFEASIBLE, want);
	sl_trace_finish(&g.t);
}

static void without_a_tier_the_least_is_that_of_keep(void **state)
{
	(void)state;
	struct gen g = gen_training(3, 64, 64, 0);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0, peak = 0;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(BELADY, &g.t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &peak));
	assert_int_equal(least, peak);
	sl_assert_fails(sl_policy_plan(BELADY, &g.t, least - 4096, &p), SL_E_INFEASIBLE,
		"without a tier");
	sl_trace_finish(&g.t);
}

static void a_tier_that_is_too_small_is_named(void **state)
{
	(void)state;
	struct gen g = gen_training(3, 64, 64, 65536);
	struct sl_least_budget b = {0};
	struct sl_plan p = SL_PLAN_INIT;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_least_budget(&g.t, &b));
	sl_assert_fails(sl_policy_plan(BELADY, &g.t, b.bytes, &p), SL_E_INFEASIBLE,
		"tier disk of 65536");
	sl_trace_finish(&g.t);
}

static void the_faster_tier_is_filled_first(void **state)
{
	(void)state;
	struct gen g = gen_random(3, 30);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0, to_host = 0;

	sl_assert_ok(gen_end(&g));
	assert_string_equal(g.t.tiers[1].name, "host");
	sl_assert_ok(sl_policy_least(BELADY, &g.t, &least));
	plan_at(&g.t, least, &p);
	for (uint32_t i = 0; i < p.n_starts; i++)
		to_host += p.starts[i].tier == 2;
	for (uint32_t i = 0; i < p.n_actions; i++)
		to_host += p.actions[i].kind == SL_ACTION_OUT && p.actions[i].tier == 2;
	assert_true(to_host > 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

/* Less than twice what any swapping plan must bring back at half the memory. */
static void traffic_stays_near_the_bytes_that_cannot_stay(void **state)
{
	(void)state;
	struct gen g = gen_training(12, 256, 512, 1 << 30);
	struct sl_least_budget b = {0};
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	uint64_t budget;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_trace_least_budget(&g.t, &b));
	budget = b.live_peak_bytes / 2;
	plan_at(&g.t, budget, &p);
	sl_assert_ok(sl_plan_price(&g.t, &p, &price));
	assert_true(price.swap_in_bytes >= b.live_peak_bytes - budget);
	assert_true(price.swap_in_bytes <= (b.live_peak_bytes - budget) * 3 / 2);
	assert_int_equal(p.price_ns, price.iter_ns);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_traces_plan_at_every_budget_from_the_least_on),
		SL_TEST(training_plans_at_every_budget_from_the_least_on),
		SL_TEST(the_binding_op_fills_the_arena_at_the_least_budget),
		SL_TEST(with_the_unbudgeted_peak_nothing_moves),
		SL_TEST(the_same_trace_and_budget_give_the_same_plan),
		SL_TEST(below_the_least_budget_the_message_names_op_parts_and_remedy),
		SL_TEST(without_a_tier_the_least_is_that_of_keep),
		SL_TEST(a_tier_that_is_too_small_is_named),
		SL_TEST(the_faster_tier_is_filled_first),
		SL_TEST(traffic_stays_near_the_bytes_that_cannot_stay),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

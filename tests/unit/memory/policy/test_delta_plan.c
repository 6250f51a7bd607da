/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by delta: the link decides between drops and copies, neither way alone is faster,
 * and all forms are sound. */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "unit/memory/policy/plan_by.h"
#include "unit/memory/policy/tp_util.h"

/* Of x1 to x3 the first is the oldest, and its copies hide. */
static void who_has_the_least_h_leaves(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	struct sl_plan p = SL_PLAN_INIT;

	gen_tier(&g, "host", 1000 * MB, 20000 * MB);
	g.t.links[0].latency_ns = g.t.links[1].latency_ns = 0;
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_delta, &g.t, 400 * MB, &p));
	assert_string_equal(p.policy, "delta");
	assert_int_equal(p.n_actions, 2);
	assert_int_equal(p.actions[0].kind, SL_ACTION_OUT);
	assert_int_equal(p.actions[0].value, 0);
	assert_int_equal(p.actions[1].kind, SL_ACTION_IN);
	assert_int_equal(p.stall_ns, 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void price_at(const char *policy, struct gen *g, uint64_t budget, uint64_t rate,
	struct sl_plan_price *out)
{
	struct sl_plan p = SL_PLAN_INIT;

	g->t.links[0].bytes_per_s = g->t.links[1].bytes_per_s = rate;
	(void)plan_by(&g->t, policy, budget, &p);
	sl_assert_ok(sl_plan_price(&g->t, &p, out));
	sl_plan_finish(&p);
}

static struct gen job(uint64_t *budget)
{
	struct gen g = gen_training(10, 64, 2048, 1ull << 31);
	uint64_t keep = 0;

	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
	*budget = keep * 6 / 10;
	return g;
}

static void a_slow_link_drops_and_a_fast_one_copies(void **state)
{
	(void)state;
	uint64_t budget;
	struct gen g = job(&budget);
	struct sl_plan_price slow = {0}, fast = {0};

	price_at("delta:alone=0", &g, budget, 20000000, &slow);
	price_at("delta:alone=0", &g, budget, 1000000000000, &fast);
	assert_true(slow.recompute_ops > 0);
	assert_true(slow.swap_in_bytes * 10 < fast.swap_in_bytes);
	assert_true(fast.swap_in_bytes > 0);
	assert_true(fast.recompute_ns * 10 < slow.recompute_ns);
	sl_trace_finish(&g.t);
}

static void it_is_no_slower_than_either_way_alone(void **state)
{
	(void)state;
	uint64_t budget;
	struct gen g = job(&budget);

	for (uint64_t rate = 20000000; rate < 1000000000000; rate *= 5) {
		struct sl_plan_price mixed = {0}, drops = {0}, copies = {0}, dtr = {0};

		price_at("delta", &g, budget, rate, &mixed);
		price_at("delta:swap=0", &g, budget, rate, &drops);
		price_at("delta:redo=0", &g, budget, rate, &copies);
		price_at("dtr", &g, budget, rate, &dtr);
		assert_true(mixed.iter_ns <= drops.iter_ns);
		assert_true(mixed.iter_ns <= copies.iter_ns);
		/* Another rule, which may be lucky. */
		assert_true(mixed.iter_ns <= dtr.iter_ns + dtr.iter_ns / 50);
	}
	sl_trace_finish(&g.t);
}

static const char *const forms[] = {"delta", "delta:alone=0", "delta:alone=0,knapsack=1",
	"delta:swap=0", "delta:redo=0,window=0", "delta:alone=0,weights=0,window=32"};

/* sl_policy_apply checks each plan. */
static void every_form_is_sound_on_any_trace(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct gen g = gen_random(seed, 6 + (uint32_t)seed % 40);
		uint64_t least = 0;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_delta, &g.t, &least));
		for (size_t i = 0; i < SL_COUNT(forms) * 3; i++) {
			struct sl_policy_choice c;
			struct sl_plan p = SL_PLAN_INIT;

			sl_assert_ok(sl_policy_parse(forms[i % SL_COUNT(forms)], &c));
			sl_assert_ok(sl_policy_apply(
				&c, &g.t, least + least * (i / SL_COUNT(forms)) / 4, &p));
			sl_plan_finish(&p);
		}
		sl_trace_finish(&g.t);
	}
}

static void what_is_immovable_never_leaves(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	struct sl_plan p = SL_PLAN_INIT;

	gen_tier(&g, "host", 1000 * MB, 20000 * MB);
	g.t.values[0].immovable = g.t.values[2].immovable = true;
	sl_assert_ok(gen_end(&g));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_delta, &g.t, 450 * MB, &p));
	assert_true(p.n_actions > 0);
	for (uint32_t i = 0; i < p.n_actions; i++) {
		assert_int_not_equal(p.actions[i].value, 0);
		assert_int_not_equal(p.actions[i].value, 2);
	}
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(who_has_the_least_h_leaves),
		SL_TEST(a_slow_link_drops_and_a_fast_one_copies),
		SL_TEST(it_is_no_slower_than_either_way_alone),
		SL_TEST(every_form_is_sound_on_any_trace),
		SL_TEST(what_is_immovable_never_leaves),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay and the price of a plan share no code and must agree to the nanosecond: on
 * random sound plans over two tiers, and on those of every policy.
 */
#include "harness/engine_rig.h"
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "memory/replay.h"
#include "unit/memory/gen.h"

#define TIER_BYTES ((uint64_t)16 << 20)

static void agree(const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_replay_job job = {.trace = t, .plan = p, .iterations = 2};
	struct sl_replay_opts o = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result r;
	struct sl_replay_total total = {0};
	struct sl_plan_price price;
	uint64_t moved = 0;

	sl_assert_ok(sl_plan_price(t, p, &price));
	sl_assert_ok(sl_replay(&o, &r, &total));
	assert_int_equal(r.base_iter_ns, price.base_iter_ns);
	assert_int_equal(r.first_iter_ns, price.iter_ns);
	assert_int_equal(r.steady_iter_ns, price.iter_ns);
	assert_int_equal(r.stall_ns, 2 * price.stall_ns);
	assert_int_equal(r.recompute_ns, 2 * price.recompute_ns);
	assert_int_equal(r.swap_out_bytes, 2 * price.swap_out_bytes);
	assert_int_equal(r.swap_in_bytes, 2 * price.swap_in_bytes);
	assert_int_equal(r.move_bytes, 2 * price.move_bytes);
	assert_int_equal(r.peak_bytes, p->peak);
	assert_true(r.held_peak_bytes <= r.peak_bytes);
	assert_int_equal(total.held_peak_bytes, r.held_peak_bytes);
	for (uint32_t i = 0; i < total.n_links; i++)
		moved += total.links[i].bytes;
	assert_int_equal(moved, r.swap_out_bytes + r.swap_in_bytes);
	sl_replay_total_finish(&total);
}

/* How the tiers' links are drawn: duplex, rates that leave fractions, delays. */
static void draw_times(struct sl_rng *rng, struct sl_trace *t)
{
	bool half = sl_rng_below(rng, 2) > 0;

	for (uint32_t i = 0; i < t->n_ops; i++)
		t->ops[i].dur_ns = sl_rng_below(rng, 20000);
	for (uint32_t i = 0; i < t->n_links; i++) {
		t->links[i].bytes_per_s = 1000000000 + sl_rng_below(rng, 3000000000);
		t->links[i].latency_ns = sl_rng_below(rng, 500);
		t->links[i].half_duplex = half;
	}
}

static void random_plans_take_the_time_they_are_priced_at(void **state)
{
	struct sl_rng rng = {.key = {.seed = 77}};
	int sound = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_ok(sl_random_trace(&rng, 4 + (uint32_t)i % 40, TIER_BYTES, &t));
		draw_times(&rng, &t);
		if (sl_random_plan(&rng, &t, 131072 + 4096 * sl_rng_below(&rng, 20),
			    &p) == SL_OK) {
			for (uint32_t k = 0; k < p.n_actions; k++)
				p.actions[k].delay_ns = sl_rng_below(&rng, 3) == 0
								? sl_rng_below(&rng, 9000)
								: 0;
			agree(&t, &p);
			sound++;
		}
		sl_plan_finish(&p);
		sl_trace_finish(&t);
	}
	assert_true(sound > 200);
}

static void of_every_policy(const struct sl_trace *t)
{
	for (size_t k = 0; sl_policy_at(k) != NULL; k++) {
		uint64_t least = 0;

		sl_assert_ok(sl_policy_least(sl_policy_at(k), t, &least));
		for (uint64_t more = 0; more < 3; more++) {
			struct sl_plan p = SL_PLAN_INIT;

			sl_assert_ok(sl_policy_plan(sl_policy_at(k), t,
				sl_align_up(least + more * least / 3, 4096), &p));
			agree(t, &p);
			sl_plan_finish(&p);
		}
	}
}

static void policies_plans_take_the_time_they_are_priced_at(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct gen g = gen_random(seed, 30);

		sl_assert_ok(gen_end(&g));
		for (uint32_t i = 0; seed % 2 == 0 && i < g.t.n_links; i++)
			g.t.links[i].half_duplex = true;
		of_every_policy(&g.t);
		sl_trace_finish(&g.t);
	}
}

static void a_training_step_takes_the_time_it_is_priced_at(void **state)
{
	(void)state;
	struct gen g = gen_training(4, 64, 128, (uint64_t)1 << 30);

	sl_assert_ok(gen_end(&g));
	of_every_policy(&g.t);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_plans_take_the_time_they_are_priced_at),
		SL_TEST(policies_plans_take_the_time_they_are_priced_at),
		SL_TEST(a_training_step_takes_the_time_it_is_priced_at),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* demand and autoswap on random traces: sound plans at every budget, and the replay takes
 * what the price says. */
#include "harness/harness.h"

#include "memory/policy/policy.h"
#include "memory/replay.h"
#include "unit/memory/gen.h"

#define WEIGHTS 12
#define OPS 25
#define SEEDS 120

static const char *const choices[] = {"demand", "demand:pipeline=0", "demand:pipeline=1",
	"autoswap", "autoswap:score=3", "autoswap:score=4,stick=0"};

/* A chain of ops that read none, one or two weights, some of them again and again; with
 * some seeds one is written and a second tier is there. */
static struct gen inference(uint64_t seed)
{
	struct gen g = {.t = SL_TRACE_INIT, .rng = {.key = {.seed = seed}}};
	uint32_t x;

	gen_tier(&g, "disk", 1 << 24, 1000000000);
	if (seed % 3 == 0)
		gen_tier(&g, "host", 200000, 10000000000);
	for (int i = 0; i < WEIGHTS; i++)
		(void)gen_random_value(&g, SL_CLASS_PARAM, SL_NO_ID);
	x = gen_value(&g, SL_CLASS_INPUT, 8192);
	gen_op(&g, "feed", 0, GEN_NONE, GEN_L(x, GEN_E),
		seed % 4 == 0 ? GEN_L(WEIGHTS - 1, GEN_E) : GEN_NONE);
	for (int i = 0; i < OPS; i++) {
		uint32_t y =
			gen_value(&g, SL_CLASS_ACT, 64 + sl_rng_below(&g.rng, 20000));
		uint32_t a = (uint32_t)sl_rng_below(&g.rng, WEIGHTS);
		uint32_t b = (uint32_t)sl_rng_below(&g.rng, WEIGHTS);
		uint64_t kind = sl_rng_below(&g.rng, 4);

		gen_op(&g, "op", kind == 0 ? 5000 : 0,
			kind == 0   ? GEN_L(x, GEN_E)
			: kind == 1 ? GEN_L(a, x, GEN_E)
				    : GEN_L(a, b, x, GEN_E),
			GEN_L(y, GEN_E), GEN_NONE);
		x = y;
	}
	return g;
}

static void want_replayed(const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_replay_job job = {.trace = t, .plan = p, .iterations = 1};
	struct sl_replay_opts opts = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result result = {0};
	struct sl_replay_total total = {0};

	sl_assert_ok(sl_replay(&opts, &result, &total));
	assert_int_equal(total.end_ns, p->price_ns);
	sl_replay_total_finish(&total);
}

/* How many of the plans are not the net's. */
static uint64_t plan_all(const struct sl_trace *t, const char *choice)
{
	struct sl_policy_choice c;
	uint64_t least = 0, keep = 0, own = 0;

	sl_assert_ok(sl_policy_parse(choice, &c));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, t, &keep));
	for (uint64_t k = 0; k < 5; k++) {
		uint64_t pages = keep > least ? (keep - least) / 4096 : 0;
		uint64_t budget = least + pages * k / 5 * 4096;
		struct sl_plan p = SL_PLAN_INIT, net = SL_PLAN_INIT;

		sl_assert_ok(sl_policy_apply(&c, t, budget, &p));
		sl_assert_ok(sl_policy_plan(&sl_mem_policy_belady, t, budget, &net));
		own += p.n_actions != net.n_actions || p.price_ns != net.price_ns;
		want_replayed(t, &p);
		sl_plan_finish(&p);
		sl_plan_finish(&net);
	}
	return own;
}

static void random_traces_get_sound_plans_that_replay_as_priced(void **state)
{
	(void)state;
	uint64_t own[SL_COUNT(choices)] = {0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct gen g = seed % 2 ? inference(seed) : gen_random(seed, OPS);

		sl_assert_ok(gen_end(&g));
		for (size_t i = 0; i < SL_COUNT(choices); i++)
			own[i] += plan_all(&g.t, choices[i]);
		sl_trace_finish(&g.t);
	}
	for (size_t i = 0; i < SL_COUNT(choices); i++)
		assert_true(own[i] >= 10); /* else it is the net that is tested */
}

/* Layers {0, 1} and {2, 3, 0}: the second one takes 0 in by its last op, while the first
 * still holds it. */
static void a_weight_of_the_layer_before_comes_once_that_is_over(void **state)
{
	(void)state;
	struct gen g = {.t = SL_TRACE_INIT};

	gen_tier(&g, "disk", 1 << 24, 1000000000);
	for (int i = 0; i < 4; i++)
		(void)gen_value(&g, SL_CLASS_PARAM, 16384);
	for (int i = 0; i < 4; i++)
		(void)gen_value(&g, SL_CLASS_ACT, 4096);
	gen_op(&g, "feed", 0, GEN_NONE, GEN_L(4, GEN_E), GEN_NONE);
	gen_op(&g, "op", 0, GEN_L(0, 1, 4, GEN_E), GEN_L(5, GEN_E), GEN_NONE);
	gen_op(&g, "op", 0, GEN_L(2, 3, 5, GEN_E), GEN_L(6, GEN_E), GEN_NONE);
	gen_op(&g, "op", 0, GEN_L(2, 0, 6, GEN_E), GEN_L(7, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	for (int i = 0; i < 3; i++)
		(void)plan_all(&g.t, choices[i]);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_traces_get_sound_plans_that_replay_as_priced),
		SL_TEST(a_weight_of_the_layer_before_comes_once_that_is_over),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

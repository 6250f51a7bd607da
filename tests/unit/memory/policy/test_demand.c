/* SPDX-License-Identifier: Apache-2.0 */
/* demand: the published example to the number, the ring, and plans that keep to it. */
#include "harness/harness.h"

#include <stdio.h>

#include "memory/policy/demand.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/plan_by.h"

#define MB ((uint64_t)1 << 20)
#define MS UINT64_C(1000000)
#define LAYERS 5

/* 2 MB/ms from the disk, 8 MB/ms to the device, 3 ms a kernel. */
static const uint64_t sizes[LAYERS] = {4, 4, 8, 2, 6};

static void example(struct sl_demand_layer layers[LAYERS])
{
	for (int i = 0; i < LAYERS; i++)
		layers[i] = (struct sl_demand_layer){.bytes = sizes[i] * MB,
			.read_ns = sizes[i] * MS / 2,
			.copy_ns = sizes[i] * MS / 8,
			.kernel_ns = 3 * MS};
}

static void want(enum sl_demand_mode mode, bool two_stages, uint64_t ring, uint64_t ms,
	uint64_t megabytes)
{
	const struct sl_demand_how how = {mode, two_stages, ring * MB};
	struct sl_demand_layer layers[LAYERS];
	uint64_t ns = 0;

	example(layers);
	sl_assert_ok(sl_demand_ns(layers, LAYERS, &how, &ns));
	assert_int_equal(ns, ms * MS);
	assert_int_equal(sl_demand_bytes(layers, LAYERS, &how), megabytes * MB);
}

static void the_published_example_is_met_to_the_number(void **state)
{
	(void)state;
	struct sl_demand_layer layers[LAYERS];

	example(layers);
	assert_int_equal(sl_demand_preload_ns(layers, LAYERS), 15 * MS);
	want(SL_DEMAND_SEQ, false, 0, 30, 16);
	want(SL_DEMAND_SYNC, false, 0, 20, 32);
	want(SL_DEMAND_SYNC, true, 0, 18, 16);
	want(SL_DEMAND_ASYNC, true, 8, 22, 8);
	want(SL_DEMAND_ASYNC, true, 10, 21, 10);
	want(SL_DEMAND_ASYNC, true, 16, 17, 16);
}

static void the_trade_off_ends_where_kernels_bind(void **state)
{
	(void)state;
	const struct sl_demand_how how = {.two_stages = true};
	struct sl_demand_layer layers[LAYERS];
	struct sl_demand_knee knee = {0};

	example(layers);
	sl_assert_ok(sl_demand_knee(layers, LAYERS, &how, MB, 40 * MB, &knee));
	assert_int_equal(knee.ns, 17 * MS);
	assert_true(knee.ring_bytes > 10 * MB && knee.ring_bytes <= 16 * MB);
	sl_assert_ok(sl_demand_knee(layers, LAYERS, &how, MB, 10 * MB, &knee));
	assert_int_equal(knee.ns, 21 * MS);
	sl_assert_fails(sl_demand_knee(layers, LAYERS, &how, MB, 7 * MB, &knee),
		SL_E_INFEASIBLE, "a ring at most");
}

/* Three stages: the two rings and engines are each other's limits. */
static void a_copy_waits_for_its_ring_and_its_read(void **state)
{
	(void)state;
	struct sl_demand_layer layers[LAYERS];
	uint64_t last = UINT64_MAX;

	example(layers);
	for (uint64_t ring = 8; ring <= 32; ring++) {
		const struct sl_demand_how how = {SL_DEMAND_ASYNC, false, ring * MB};
		uint64_t ns = 0;

		sl_assert_ok(sl_demand_ns(layers, LAYERS, &how, &ns));
		assert_true(ns >= 2 * MS + MS / 2 + 15 * MS && ns <= 30 * MS);
		last = ns;
	}
	/* The third layer is read and copied at 9 ms, half a ms after the second. */
	assert_int_equal(last, 18 * MS);
}

/* Random layers through rings of any size from the largest on: nothing overlaps. */
static void whole_layers_pass_the_ring_without_overlap(void **state)
{
	(void)state;
	enum { N = 40 };
	struct sl_rng rng = {.key = {.seed = 47}};

	for (int round = 0; round < 500; round++) {
		struct sl_demand_layer layers[N] = {0};
		uint64_t offset[N], most = 0;
		size_t gone[N];

		for (int i = 0; i < N; i++) {
			layers[i].bytes = sl_rng_below(&rng, 20);
			most = layers[i].bytes > most ? layers[i].bytes : most;
		}
		most += sl_rng_below(&rng, 30);
		sl_assert_ok(sl_ring_plan(layers, N, most, offset, gone));
		for (size_t i = 0; i < N; i++) {
			assert_true(gone[i] <= i && offset[i] + layers[i].bytes <= most);
			for (size_t k = gone[i]; layers[i].bytes > 0 && k < i; k++)
				assert_true(layers[k].bytes == 0 ||
					    offset[k] + layers[k].bytes <= offset[i] ||
					    offset[i] + layers[i].bytes <= offset[k]);
		}
	}
}

static void a_layer_above_the_ring_is_refused_with_its_bytes(void **state)
{
	(void)state;
	const struct sl_demand_how how = {SL_DEMAND_ASYNC, true, 7 * MB};
	struct sl_demand_layer layers[LAYERS];
	uint64_t ns;

	example(layers);
	sl_assert_fails(sl_demand_ns(layers, LAYERS, &how, &ns), SL_E_INFEASIBLE,
		"layer 2 has 8388608 bytes");
}

#define DISK_RATE (2 * MB * 1000) /* 2 MB a ms */

/* The example as a trace: weights 0 to 4, a page between layers. */
static struct sl_trace network(void)
{
	struct gen g = {.t = SL_TRACE_INIT};

	gen_tier(&g, "disk", 64 * MB, DISK_RATE);
	for (int i = 0; i < LAYERS; i++)
		(void)gen_value(&g, SL_CLASS_PARAM, sizes[i] * MB);
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t y = gen_value(&g, SL_CLASS_ACT, 4096);

		gen_op(&g, "matmul", 0, i > 0 ? GEN_L(i, y - 1, GEN_E) : GEN_L(i, GEN_E),
			GEN_L(y, GEN_E), GEN_NONE);
	}
	sl_assert_ok(gen_end(&g));
	for (uint32_t i = 0; i < g.t.n_links; i++)
		g.t.links[i].latency_ns = 0;
	for (uint32_t i = 0; i < g.t.n_ops; i++)
		g.t.ops[i].dur_ns = 3 * MS;
	return g.t;
}

#define BETWEEN UINT64_C(8192) /* two activations at a time */

static void want_plan(
	const struct sl_trace *t, const char *text, uint64_t buffers, uint64_t ms)
{
	struct sl_plan p = SL_PLAN_INIT;

	assert_int_equal(plan_by(t, text, buffers * MB + BETWEEN, &p), ms * MS);
	assert_string_equal(p.policy, "demand");
	sl_plan_finish(&p);
}

/* What the formulas say is what the checked plan costs. */
static void plans_take_the_published_times(void **state)
{
	(void)state;
	struct sl_trace t = network();

	want_plan(&t, "demand:pipeline=0", 8, 15 + 12);
	want_plan(&t, "demand:pipeline=1", 16, 18);
	want_plan(&t, "demand", 8, 22);
	want_plan(&t, "demand", 10, 21);
	want_plan(&t, "demand", 16, 17);
	sl_trace_finish(&t);
}

static void the_least_budget_of_a_pipeline_is_its_buffers(void **state)
{
	(void)state;
	static const uint64_t buffers[] = {8, 16, 8};
	struct sl_trace t = network();
	uint64_t least = 0;

	for (int mode = SL_DEMAND_SEQ; mode <= SL_DEMAND_ASYNC; mode++) {
		sl_assert_ok(sl_demand_least(&t, (enum sl_demand_mode)mode, &least));
		assert_int_equal(least, buffers[mode] * MB + BETWEEN);
	}
	sl_trace_finish(&t);
}

/* Weights 0 and 1; the first one is read again at the end (a tied embedding), and op 1
 * and 2 share the second. */
static struct sl_trace tied(void)
{
	struct gen g = {.t = SL_TRACE_INIT};

	gen_tier(&g, "disk", 64 * MB, DISK_RATE);
	(void)gen_value(&g, SL_CLASS_PARAM, 4 * MB);
	(void)gen_value(&g, SL_CLASS_PARAM, 2 * MB);
	for (int i = 0; i < 4; i++)
		(void)gen_value(&g, SL_CLASS_ACT, 4096);
	gen_op(&g, "embedding", 0, GEN_L(0, GEN_E), GEN_L(2, GEN_E), GEN_NONE);
	gen_op(&g, "matmul", 0, GEN_L(1, 2, GEN_E), GEN_L(3, GEN_E), GEN_NONE);
	gen_op(&g, "matmul", 0, GEN_L(1, 3, GEN_E), GEN_L(4, GEN_E), GEN_NONE);
	gen_op(&g, "matmul", 0, GEN_L(0, 4, GEN_E), GEN_L(5, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	return g.t;
}

static void what_is_read_twice_comes_twice_or_stays_for_both(void **state)
{
	(void)state;
	struct sl_trace t = tied();
	uint64_t ins[2] = {0};

	for (uint64_t mb = 4; mb < 6; mb++) {
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_ok(
			sl_policy_plan(&sl_mem_policy_demand, &t, mb * MB + BETWEEN, &p));
		for (uint32_t i = 0; i < p.n_actions; i++)
			if (p.actions[i].kind == SL_ACTION_IN)
				ins[p.actions[i].value]++;
		sl_plan_finish(&p);
	}
	assert_int_equal(ins[0], 4);
	assert_int_equal(ins[1], 2);
	sl_trace_finish(&t);
}

static void a_training_gets_the_plan_of_the_net(void **state)
{
	(void)state;
	struct gen g = gen_training(2, 32, 16, 1 << 24);
	struct sl_plan p = SL_PLAN_INIT, q = SL_PLAN_INIT;
	uint64_t least = 0;

	sl_assert_ok(gen_end(&g));
	sl_assert_fails(sl_demand_least(&g.t, SL_DEMAND_ASYNC, &least), SL_E_INFEASIBLE,
		"trains");
	sl_assert_ok(sl_policy_least(&sl_mem_policy_demand, &g.t, &least));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_demand, &g.t, least, &p));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_belady, &g.t, least, &q));
	assert_string_equal(p.policy, "demand");
	assert_int_equal(p.price_ns, q.price_ns);
	sl_plan_finish(&p);
	sl_plan_finish(&q);
	sl_trace_finish(&g.t);
}

static sl_status plan_network(void *ctx)
{
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = sl_policy_plan(&sl_mem_policy_demand, ctx, 10 * MB + BETWEEN, &p);

	sl_plan_finish(&p);
	return st;
}

static void planning_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct sl_trace t = network();

	assert_true(sl_torture(plan_network, &t) > 20);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_example_is_met_to_the_number),
		SL_TEST(the_trade_off_ends_where_kernels_bind),
		SL_TEST(a_copy_waits_for_its_ring_and_its_read),
		SL_TEST(whole_layers_pass_the_ring_without_overlap),
		SL_TEST(a_layer_above_the_ring_is_refused_with_its_bytes),
		SL_TEST(plans_take_the_published_times),
		SL_TEST(the_least_budget_of_a_pipeline_is_its_buffers),
		SL_TEST(what_is_read_twice_comes_twice_or_stays_for_both),
		SL_TEST(a_training_gets_the_plan_of_the_net),
		SL_TEST(planning_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

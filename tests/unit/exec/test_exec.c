/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/exec/exec.c: order, hooks, failures, and the peak that plans promise. */
#include "harness/graph_rig.h"
#include "harness/harness.h"
#include "harness/random_graph.h"

#include <stdio.h>
#include <string.h>

#include "memory/policy/policy.h"
#include "sluice/ops.h"

static const struct sl_type row = {SL_F32, {.rank = 1, .dim = {4}}};

/* x -> relu -> y, in place, at offset 64 of a small arena. */
struct tiny {
	struct sl_graph *g;
	struct sl_program *p;
	_Alignas(64) uint8_t arena[256];
	uint64_t offsets[4];
	char log[128];
	uint32_t fail_before, fail_after;
};

static void note(struct tiny *t, const char *what, uint32_t op)
{
	size_t n = strlen(t->log);

	snprintf(t->log + n, sizeof(t->log) - n, "%s%u ", what, op);
}

static sl_status before(void *ctx, uint32_t op)
{
	struct tiny *t = ctx;

	note(t, "b", op);
	return op == t->fail_before ? SL_FAIL(SL_E_IO, "no entry") : SL_OK;
}

static sl_status after(void *ctx, uint32_t op)
{
	struct tiny *t = ctx;

	note(t, "a", op);
	return op == t->fail_after ? SL_FAIL(SL_E_IO, "no exit") : SL_OK;
}

static sl_status feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	const float numbers[] = {-1, 2, -3, 4};

	(void)name;
	(void)part;
	note(ctx, "feed", 0);
	memcpy(data, numbers, sl_type_bytes(type));
	return SL_OK;
}

static sl_status fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	const float want[] = {0, 2, 0, 4};

	(void)part;
	assert_string_equal(name, "y");
	assert_memory_equal(data, want, sl_type_bytes(type));
	note(ctx, "fetch", 0);
	return SL_OK;
}

static void tiny_begin(struct tiny *t)
{
	*t = (struct tiny){.fail_before = UINT32_MAX, .fail_after = UINT32_MAX};
	sl_assert_ok(sl_graph_create(&t->g));
	sl_graph_scope(t->g, "block");
	sl_output(t->g, "y", sl_relu(t->g, sl_input(t->g, "x", &row, NULL)));
	sl_assert_ok(sl_program_seal(t->g, 1, &t->p));
	t->offsets[1] = 64;
}

static sl_status tiny_run(struct tiny *t)
{
	const struct sl_hook hooks[2] = {{.ctx = t, .before = before},
		{.ctx = t, .before = before, .after = after}};
	const struct sl_exec x = {
		.program = t->p,
		.arena = t->arena,
		.storage_offset = t->offsets,
		.hooks = hooks,
		.n_hooks = 2,
		.run = {.feed = feed, .fetch = fetch, .io_ctx = t},
	};

	return sl_exec_step(&x);
}

static void tiny_end(struct tiny *t)
{
	sl_program_destroy(t->p);
	sl_graph_destroy(t->g);
}

static void hooks_are_called_around_each_op_in_order(void **state)
{
	struct tiny t;

	(void)state;
	tiny_begin(&t);
	sl_assert_ok(tiny_run(&t));
	assert_string_equal(t.log, "b0 b0 feed0 a0 b1 b1 a1 b2 b2 fetch0 a2 ");
	tiny_end(&t);
}

static void a_failing_hook_ends_the_step_and_the_op_is_named(void **state)
{
	struct tiny t;

	(void)state;
	tiny_begin(&t);
	t.fail_before = 1;
	sl_assert_fails(tiny_run(&t), SL_E_IO, "op 1 (relu in block): no entry");
	assert_string_equal(t.log, "b0 b0 feed0 a0 b1 ");
	tiny_end(&t);
	tiny_begin(&t);
	t.fail_after = 0;
	sl_assert_fails(tiny_run(&t), SL_E_IO, "op 0 (feed in block): no exit");
	assert_string_equal(t.log, "b0 b0 feed0 a0 ");
	tiny_end(&t);
}

static void check_peak(const struct sl_graph_rig_opts *o)
{
	struct sl_graph_rig rig = {0};
	struct sl_engine_stats stats;

	sl_assert_ok(sl_graph_rig_open(&rig, o));
	sl_assert_ok(sl_graph_rig_step(&rig));
	sl_engine_stats(rig.engine, &stats);
	assert_int_equal(stats.peak_device_bytes, rig.plan.peak);
	assert_true(rig.plan.peak <= o->budget);
	sl_graph_rig_close(&rig);
}

static void the_engine_reaches_the_peak_of_its_plan_and_no_more(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sl_graph_rig_opts o = {
			.policy = "keep", .budget = UINT64_MAX, .seed = seed};
		const struct sl_program_tier tier = sl_graph_rig_tier(SL_RIG_HOST);
		struct sl_trace t = SL_TRACE_INIT;
		struct sl_program *p = NULL;
		struct sl_graph *g = NULL;
		uint64_t least;

		sl_assert_ok(sl_random_graph(
			&(struct sl_random_graph_opts){.seed = seed}, &g));
		sl_assert_ok(sl_program_seal(g, 1, &p));
		o.program = p;
		check_peak(&o);
		sl_assert_ok(sl_program_trace(p, &tier, 1, NULL, &t));
		sl_assert_ok(sl_policy_least(sl_policy_find("belady"), &t, &least));
		o.policy = "belady";
		o.tier = SL_RIG_HOST;
		for (o.budget = least; o.budget <= least * 2; o.budget += least / 2)
			check_peak(&o);
		sl_trace_finish(&t);
		sl_program_destroy(p);
		sl_graph_destroy(g);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(hooks_are_called_around_each_op_in_order),
		SL_TEST(a_failing_hook_ends_the_step_and_the_op_is_named),
		SL_TEST(the_engine_reaches_the_peak_of_its_plan_and_no_more),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

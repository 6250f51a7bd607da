/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/exec/export.c: the trace says what the program does. */
#include "harness/graph_rig.h"
#include "harness/harness.h"
#include "harness/random_graph.h"

#include <string.h>

#include "memory/policy/policy.h"

static struct sl_program *seal_random(uint64_t seed, struct sl_graph **g)
{
	struct sl_program *p = NULL;

	sl_assert_ok(sl_random_graph(&(struct sl_random_graph_opts){.seed = seed}, g));
	sl_assert_ok(sl_program_seal(*g, 2, &p));
	return p;
}

static struct sl_trace trace_of(const struct sl_program *p, enum sl_rig_tier tier)
{
	const struct sl_program_tier info = sl_graph_rig_tier(tier);
	struct sl_trace t = SL_TRACE_INIT;

	sl_assert_ok(sl_program_trace(p, &info, tier != SL_RIG_NONE, NULL, &t));
	return t;
}

/* What may run twice in an iteration: nothing that reaches outside or updates a value
 * that persists. */
static void check_pure(const struct sl_program *p, const struct sl_program_op *op,
	const struct sl_trace_op *t, int *in_place)
{
	static const char *const never[] = {"feed", "fetch", "sgd", "momentum", "adam",
		"adamw", "stats_update", "assign", "accumulate", "step_next"};
	bool persists = false;

	for (uint32_t i = 0; i < op->n_changed; i++)
		persists = persists || op->changed[i] < p->n_persistent;
	assert_true(!(t->pure && persists));
	for (size_t i = 0; i < SL_COUNT(never); i++)
		assert_false(t->pure && strcmp(t->kind, never[i]) == 0);
	if (strcmp(t->kind, "dropout") == 0 || strcmp(t->kind, "relu") == 0) {
		assert_true(t->pure);
		*in_place += op->n_changed > 0;
	}
}

static void check_op(const struct sl_program_op *op, const struct sl_trace_op *t)
{
	assert_string_equal(t->kind, op->info.op->name);
	assert_string_equal(t->scope[0] == '-' ? "" : t->scope, op->scope);
	assert_int_equal(t->workspace_bytes, op->prepared.workspace_bytes);
	assert_int_equal(t->n_in, op->n_read);
	assert_int_equal(t->n_out, op->n_born);
	assert_int_equal(t->n_mutates, op->n_changed);
	assert_memory_equal(t->in, op->read, op->n_read * sizeof(*op->read));
	assert_memory_equal(t->out, op->born, op->n_born * sizeof(*op->born));
	assert_memory_equal(
		t->mutates, op->changed, op->n_changed * sizeof(*op->changed));
	assert_true(t->dur_ns > 0);
}

static void traces_are_valid_and_match_their_programs(void **state)
{
	int in_place = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sl_graph *g = NULL;
		struct sl_program *p = seal_random(seed, &g);
		struct sl_trace t = trace_of(p, SL_RIG_HOST);

		sl_assert_ok(sl_trace_check(&t));
		assert_int_equal(t.n_ops, p->n_ops);
		assert_int_equal(t.n_values, p->n_storages);
		for (uint32_t i = 0; i < p->n_ops; i++) {
			check_op(&p->ops[i], &t.ops[i]);
			check_pure(p, &p->ops[i], &t.ops[i], &in_place);
		}
		for (uint32_t i = 0; i < p->n_storages; i++)
			if (i != p->n_persistent)
				assert_int_equal(t.values[i].bytes, p->storages[i].bytes);
		sl_trace_finish(&t);
		sl_program_destroy(p);
		sl_graph_destroy(g);
	}
	assert_true(in_place > 0);
}

static void only_the_bounce_buffer_is_immovable_with_and_without_tiers(void **state)
{
	struct sl_graph *g = NULL;
	struct sl_program *p = seal_random(3, &g);
	struct sl_trace t = trace_of(p, SL_RIG_DISK), none = trace_of(p, SL_RIG_NONE);

	(void)state;
	for (uint32_t i = 0; i < t.n_values; i++) {
		assert_int_equal(t.values[i].immovable, i == p->n_persistent);
		assert_int_equal(none.values[i].immovable, t.values[i].immovable);
		assert_int_equal(none.values[i].bytes, t.values[i].bytes);
	}
	assert_int_equal(t.values[p->n_persistent].bytes, SL_BOUNCE_BYTES);
	assert_int_equal(none.n_tiers, 0);
	assert_int_equal(t.n_tiers, 1);
	assert_int_equal(t.n_links, 2);
	sl_trace_finish(&none);
	sl_trace_finish(&t);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

static void the_least_budget_is_the_largest_working_set_and_the_bounce_buffer(
	void **state)
{
	struct sl_graph *g = NULL;
	struct sl_program *p = seal_random(4, &g);
	struct sl_trace t = trace_of(p, SL_RIG_DISK);
	struct sl_least_budget least;
	uint64_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sl_program_op *op = &p->ops[i];
		uint64_t sum = (op->prepared.workspace_bytes + 63) / 64 * 64;

		for (uint32_t k = 0; k < op->n_read; k++)
			sum += p->storages[op->read[k]].bytes;
		for (uint32_t k = 0; k < op->n_born; k++)
			sum += p->storages[op->born[k]].bytes;
		for (uint32_t k = 0; k < op->n_changed; k++)
			sum += p->storages[op->changed[k]].bytes;
		most = sum > most ? sum : most;
	}
	sl_assert_ok(sl_trace_least_budget(&t, &least));
	assert_int_equal(least.immovable_bytes, SL_BOUNCE_BYTES);
	assert_true(least.bytes >= most + SL_BOUNCE_BYTES);
	assert_true(least.bytes <= most + SL_BOUNCE_BYTES + 4096);
	sl_trace_finish(&t);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

/* The trace goes through its text form and back unchanged. */
static void the_text_of_a_trace_reads_back_as_the_same_trace(void **state)
{
	struct sl_graph *g = NULL;
	struct sl_program *p = seal_random(5, &g);
	struct sl_trace t = trace_of(p, SL_RIG_DISK), back = SL_TRACE_INIT;
	struct sl_buf text = SL_BUF_INIT, again = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_trace_print(&t, &text));
	sl_assert_ok(sl_trace_parse("trace", sl_buf_text(&text), text.len, &back));
	sl_assert_ok(sl_trace_print(&back, &again));
	assert_string_equal(sl_buf_text(&text), sl_buf_text(&again));
	sl_buf_finish(&text);
	sl_buf_finish(&again);
	sl_trace_finish(&back);
	sl_trace_finish(&t);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

static void every_op_has_a_select_line(void **state)
{
	struct sl_graph *g = NULL;
	struct sl_program *p = seal_random(6, &g);
	struct sl_trace t = trace_of(p, SL_RIG_NONE);
	struct sl_plan plan = SL_PLAN_INIT;

	(void)state;
	sl_assert_ok(sl_policy_plan(sl_policy_find("keep"), &t, UINT64_MAX, &plan));
	sl_assert_ok(sl_program_select_lines(p, &plan));
	assert_int_equal(plan.n_selects, p->n_ops);
	for (uint32_t i = 0; i < p->n_ops; i++) {
		assert_int_equal(plan.selects[i].op, i);
		assert_string_equal(plan.selects[i].kernel, p->ops[i].kernel->name);
		assert_int_equal(plan.selects[i].threads, 2);
		assert_int_equal(plan.selects[i].workspace_bytes,
			p->ops[i].prepared.workspace_bytes);
	}
	sl_plan_finish(&plan);
	sl_trace_finish(&t);
	sl_program_destroy(p);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(traces_are_valid_and_match_their_programs),
		SL_TEST(only_the_bounce_buffer_is_immovable_with_and_without_tiers),
		SL_TEST(the_least_budget_is_the_largest_working_set_and_the_bounce_buffer),
		SL_TEST(the_text_of_a_trace_reads_back_as_the_same_trace),
		SL_TEST(every_op_has_a_select_line),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

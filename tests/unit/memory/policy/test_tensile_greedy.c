/* SPDX-License-Identifier: Apache-2.0 */
/* The published scheduler: what is recomputed, when it stops, several jobs on one
 * channel, and that a plan's curve is what its tasks make of it. */
#include "harness/harness.h"

#include <string.h>

#include "unit/memory/policy/tp_util.h"

/*
 * v0 is made in 10 ms, v1 in 2 ms and v2 in 5 ms, from v3 that persists; op 3 makes v4,
 * the peak at 17 to 27; after 10 ms all are used.
 */
static struct gen three(void)
{
	static const uint64_t ms[3] = {10, 2, 5};
	struct gen g = TP_EMPTY;

	for (int i = 0; i < 3; i++)
		(void)tp_value(&g, SL_CLASS_ACT, 100);
	(void)tp_value(&g, SL_CLASS_CONST, 100);
	(void)tp_value(&g, SL_CLASS_ACT, 500);
	for (uint32_t i = 0; i < 3; i++)
		tp_op(&g, ms[i], GEN_L(3, GEN_E), GEN_L(i, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_NONE, GEN_L(4, GEN_E), GEN_NONE);
	TP_PAUSE(&g, 10);
	tp_op(&g, 10, GEN_L(0, 1, 2, GEN_E), GEN_NONE, GEN_NONE);
	return g;
}

static void what_saves_most_bytes_a_second_is_recomputed_first(void **state)
{
	(void)state;
	static const uint32_t order[3] = {1, 2, 0};
	static const uint64_t redo_ms[4] = {0, 2, 7, 17};

	for (uint32_t n = 1; n <= 3; n++) {
		struct gen g = three();
		struct sl_tp p = {0};
		struct sl_tp_options opt = {.max_rounds = 1 + n};
		struct sl_tp_job *j = tp_plan(&p, &g, NO_WIRE, &opt);

		assert_int_equal(j->redos, n);
		assert_int_equal(j->state[order[n - 1]], SL_TP_REDONE);
		assert_int_equal(j->redo_ns, redo_ms[n] * MS);
		assert_int_equal(p.peak, (900 - 100 * n) * MB);
		tp_end(&p, &g);
	}
}

static void a_recomputed_value_is_dropped_after_the_use_before(void **state)
{
	(void)state;
	struct gen g = three();
	struct sl_tp p = {0};
	struct sl_tp_job *j =
		tp_plan(&p, &g, NO_WIRE, &(struct sl_tp_options){.max_rounds = 2});

	assert_int_equal(j->n_tasks, 2);
	tp_want(j, 0, (struct sl_tp_task){1, SL_ACTION_DROP, 1, 0, 12, 12});
	tp_want(j, 1, (struct sl_tp_task){1, SL_ACTION_RECOMPUTE, 4, 0, 37, 39});
	assert_int_equal(sl_tp_level(j, 30 * MS), 300 * MB);
	assert_int_equal(sl_tp_level(j, 37 * MS), 400 * MB);
	tp_end(&p, &g);
}

static void recomputing_stops_below_the_target(void **state)
{
	(void)state;
	static const uint64_t targets[] = {1000, 800, 750, 600};
	static const uint32_t redos[] = {0, 2, 2, 3};

	for (size_t i = 0; i < SL_COUNT(targets); i++) {
		struct gen g = three();
		struct sl_tp p = {0};
		struct sl_tp_options opt = {.target_bytes = targets[i] * MB};

		assert_int_equal(tp_plan(&p, &g, NO_WIRE, &opt)->redos, redos[i]);
		tp_end(&p, &g);
	}
}

enum spoil { IMPURE, CHANGED, DYING, FIXED, SPOILS };

/* v3 changes before the last use, or is borne by a new op 0 and dies after v2. */
static struct gen spoiled(enum spoil how)
{
	struct gen g = three();
	struct sl_trace_op *ops;

	if (how == CHANGED)
		tp_op(&g, 1, GEN_NONE, GEN_NONE, GEN_L(3, GEN_E));
	if (how == DYING)
		tp_op(&g, 1, GEN_NONE, GEN_L(3, GEN_E), GEN_NONE);
	ops = g.t.ops;
	if (how == IMPURE)
		ops[1].pure = false;
	if (how == FIXED)
		g.t.values[1].immovable = true;
	if (how == CHANGED || how == DYING) {
		struct sl_trace_op last = ops[6];
		size_t to = how == CHANGED ? 4 : 0;

		memmove(ops + to + 1, ops + to, (6 - to) * sizeof(last));
		ops[to] = last;
	}
	if (how == DYING)
		g.t.values[3].cls = SL_CLASS_ACT;
	return g;
}

static void only_what_gives_the_same_bytes_again_is_recomputed(void **state)
{
	(void)state;
	static const uint32_t redos[SPOILS] = {2, 0, 0, 2};

	for (int how = 0; how < SPOILS; how++) {
		struct gen g = spoiled((enum spoil)how);
		struct sl_tp p = {0};
		struct sl_tp_job *j =
			tp_plan(&p, &g, NO_WIRE, &(struct sl_tp_options){0});

		assert_int_not_equal(j->state[1], SL_TP_REDONE);
		assert_int_equal(j->redos, redos[how]);
		tp_end(&p, &g);
	}
}

static void a_source_of_a_recomputation_is_not_taken_away(void **state)
{
	(void)state;
	struct gen g = TP_EMPTY;
	struct sl_tp p = {0};
	struct sl_tp_job *j;

	for (int i = 0; i < 3; i++)
		(void)tp_value(&g, SL_CLASS_ACT, i == 2 ? 500 : 100);
	tp_op(&g, 10, GEN_NONE, GEN_L(0, GEN_E), GEN_NONE);
	tp_op(&g, 1, GEN_L(0, GEN_E), GEN_L(1, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_NONE, GEN_L(2, GEN_E), GEN_NONE);
	TP_PAUSE(&g, 10);
	tp_op(&g, 10, GEN_L(0, 1, GEN_E), GEN_NONE, GEN_NONE);
	j = tp_plan(&p, &g, NO_WIRE, &(struct sl_tp_options){0});
	assert_int_equal(j->state[1], SL_TP_REDONE);
	assert_int_equal(j->state[0], SL_TP_SOURCE);
	assert_int_equal(j->redos, 1);
	tp_end(&p, &g);
}

/* 150 small values wait over a large one that stays; each swap wins a millionth. */
static void after_a_hundred_rounds_next_to_no_gain_is_the_end(void **state)
{
	(void)state;
	struct gen g = TP_EMPTY, h = TP_EMPTY;
	struct sl_tp p = {0};

	for (uint32_t i = 0; i < 150; i++) {
		(void)tp_value(&g, SL_CLASS_ACT, 1);
		tp_op(&g, 1, GEN_NONE, GEN_L(i, GEN_E), GEN_NONE);
	}
	(void)tp_value(&g, SL_CLASS_ACT, 1000000);
	tp_op(&g, 10, GEN_NONE, GEN_L(150, GEN_E), GEN_NONE);
	TP_PAUSE(&g, 100);
	for (uint32_t i = 0; i < 150; i++)
		tp_op(&g, 1, GEN_L(i, GEN_E), GEN_NONE, GEN_NONE);
	assert_int_equal(
		tp_plan(&p, &g, WIRE, &(struct sl_tp_options){NO_REDO})->swaps, 101);
	assert_int_equal(p.rounds, 101);
	/* A gain of a thousandth goes on; the last one has no time before the peak. */
	sl_tp_finish(&p);
	h = g;
	h.t.values[150].bytes = 850 * MB;
	assert_int_equal(
		tp_plan(&p, &h, WIRE, &(struct sl_tp_options){NO_REDO})->swaps, 149);
	assert_int_equal(p.peak, 851 * MB);
	tp_end(&p, &h);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_saves_most_bytes_a_second_is_recomputed_first),
		SL_TEST(a_recomputed_value_is_dropped_after_the_use_before),
		SL_TEST(recomputing_stops_below_the_target),
		SL_TEST(only_what_gives_the_same_bytes_again_is_recomputed),
		SL_TEST(a_source_of_a_recomputation_is_not_taken_away),
		SL_TEST(after_a_hundred_rounds_next_to_no_gain_is_the_end),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

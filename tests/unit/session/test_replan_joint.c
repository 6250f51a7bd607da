/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/replan.c: plans that others made, and what they are told. */
#include "harness/harness.h"

#include "unit/session/replan_rig.h"

/* Everything stays where it is, or v0 goes down and comes back. */
static void make_plan(const struct rig *g, bool swaps, struct sl_plan *out)
{
	sl_assert_ok(sl_plan_begin(out, &g->t, 16 * BLOCK, "test"));
	out->value_offset[0] = 0;
	if (swaps)
		sl_assert_ok(add_pair(out, 0));
	sl_assert_ok(sl_plan_seal(out, &g->t));
}

static const struct sl_plan *offer_plan(struct rig *g, bool swaps)
{
	struct sl_plan plan = SL_PLAN_INIT;

	make_plan(g, swaps, &plan);
	sl_replan_offer(g->r, &plan);
	return step(g, 250);
}

static void a_plan_of_others_is_counted_apart(void **state)
{
	const struct sl_plan *taken;
	struct rig g;

	(void)state;
	rig_open(&g);
	taken = offer_plan(&g, false);
	assert_non_null(taken);
	sl_replan_adopted(g.r, true);
	assert_ptr_equal(sl_replan_plan(g.r), taken);
	assert_int_equal(stats_of(&g).price_ns, 1000);
	assert_int_equal(stats_of(&g).plans + stats_of(&g).adopted, 0);
	assert_int_equal(stats_of(&g).joint, 1);
	assert_int_equal(sl_replan_version(g.r), 0);
	/* Copies of 8192 ns that 500 hide. */
	assert_null(offer_plan(&g, true));
	assert_ptr_equal(sl_replan_plan(g.r), taken);
	assert_int_equal(stats_of(&g).joint, 1);
	rig_close(&g);
}

/* With one of others' in force another part of the links is those others' business. */
static void a_part_of_the_links_alone_replaces_no_plan_of_others(void **state)
{
	uint64_t before;
	struct rig g;

	(void)state;
	rig_open(&g);
	(void)step(&g, 250);
	(void)step(&g, 250);
	assert_null(finish_plan(&g, 250));
	assert_int_equal(sl_replan_version(g.r), 1);
	assert_non_null(offer_plan(&g, false));
	sl_replan_adopted(g.r, true);
	sl_replan_channel(g.r, 500000);
	before = stats_of(&g).steps_meanwhile;
	for (int i = 0; i < 1000; i++)
		assert_null(step(&g, 250));
	assert_int_equal(stats_of(&g).steps_meanwhile, before);
	assert_int_equal(stats_of(&g).plans, 1);
	/* A drift does, as ever. */
	while (stats_of(&g).steps_meanwhile == before)
		assert_null(step(&g, 500));
	assert_null(finish_plan(&g, 500)); /* and is no cheaper */
	assert_int_equal(stats_of(&g).plans, 2);
	rig_close(&g);
}

/* The trace for others: latest times, and all of the links. */
static void others_get_the_latest_times(void **state)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_trace t = SL_TRACE_INIT;
	struct rig g;

	(void)state;
	rig_open(&g);
	sl_replan_channel(g.r, 250000);
	(void)step(&g, 500);
	(void)step(&g, 500);
	assert_non_null(finish_plan(&g, 500));
	sl_replan_adopted(g.r, true);
	sl_assert_ok(sl_replan_print(g.r, &text));
	sl_assert_ok(sl_trace_parse("trace", sl_buf_text(&text), text.len, &t));
	assert_int_equal(t.n_ops, OPS);
	assert_int_equal(t.ops[0].dur_ns, 475);
	assert_int_equal(t.links[0].bytes_per_s, 1000000000);
	sl_trace_finish(&t);
	sl_buf_finish(&text);
	rig_close(&g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_plan_of_others_is_counted_apart),
		SL_TEST(a_part_of_the_links_alone_replaces_no_plan_of_others),
		SL_TEST(others_get_the_latest_times),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

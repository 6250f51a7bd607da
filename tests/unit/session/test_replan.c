/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/replan.c: when a training gets new plans, and that it never waits
 * for them. */
#include "harness/harness.h"

#include "unit/session/replan_rig.h"

static void the_first_measured_step_gives_the_second_plan(void **state)
{
	const struct sl_plan *offer;
	struct rig g;

	(void)state;
	rig_open(&g);
	assert_null(step(&g, 250)); /* warms up */
	assert_null(step(&g, 250));
	offer = finish_plan(&g, 250);
	/* No time has changed: the same plan, which is no cheaper. */
	assert_null(offer);
	assert_int_equal(stats_of(&g).plans, 1);
	assert_ptr_equal(sl_replan_plan(g.r), &g.first);
	rig_close(&g);
}

static void a_plan_of_others_is_offered_unless_it_is_dear(void **state)
{
	struct sl_plan other = SL_PLAN_INIT;
	const struct sl_plan *offer;
	struct rig g;

	(void)state;
	rig_open(&g);
	assert_null(step(&g, 250));
	sl_assert_ok(sl_policy_plan(&policy, &g.t, 16 * BLOCK, &other));
	sl_replan_offer(g.r, &other);
	assert_int_equal(other.n_values, 0);
	offer = step(&g, 250);
	assert_non_null(offer);
	assert_int_equal(offer->n_actions, 2);
	sl_replan_adopted(g.r, true);
	assert_ptr_equal(sl_replan_plan(g.r), offer);
	/* Copies that nothing hides. */
	sl_assert_ok(sl_policy_plan(&policy, &g.t, 16 * BLOCK, &other));
	other.actions[0].delay_ns = 1000000;
	sl_replan_offer(g.r, &other);
	offer = step(&g, 250);
	assert_null(offer);
	rig_close(&g);
}

static void only_a_drift_gives_a_third(void **state)
{
	const struct sl_plan *offer;
	uint64_t before;
	struct rig g;

	(void)state;
	rig_open(&g);
	assert_null(step(&g, 250));
	assert_null(step(&g, 250));
	assert_null(finish_plan(&g, 250));
	for (int i = 0; i < 1000; i++)
		assert_null(step(&g, 322)); /* 28.8 % over 250 */
	assert_int_equal(stats_of(&g).plans, 1);
	assert_int_equal(sem_trywait(&g.done), -1);
	/* Its plan has no swap any more, and so is the cheaper one. */
	before = stats_of(&g).steps_meanwhile;
	while (stats_of(&g).steps_meanwhile == before)
		assert_null(step(&g, 500));
	offer = finish_plan(&g, 500);
	assert_non_null(offer);
	assert_int_equal(offer->n_actions, 0);
	sl_replan_adopted(g.r, true);
	assert_ptr_equal(sl_replan_plan(g.r), offer);
	assert_int_equal(stats_of(&g).adopted, 1);
	assert_int_equal(stats_of(&g).price_ns, 4 * 475);
	rig_close(&g);
}

static void a_gradual_one_makes_a_third_without_a_drift(void **state)
{
	struct rig g;

	(void)state;
	rig_open_with(&g, true);
	assert_null(step(&g, 250));
	assert_null(step(&g, 250));
	assert_null(finish_plan(&g, 250));
	assert_null(step(&g, 250));
	assert_null(finish_plan(&g, 250));
	assert_int_equal(stats_of(&g).plans, 2);
	for (int i = 0; i < 100; i++)
		assert_null(step(&g, 250));
	assert_int_equal(stats_of(&g).plans, 2);
	assert_int_equal(sem_trywait(&g.done), -1);
	rig_close(&g);
}

static void steps_go_on_while_a_plan_is_made(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	(void)step(&g, 250);
	(void)step(&g, 250);
	/* The thread waits for leave: a step that waited for it would wait for ever. */
	for (int i = 0; i < 500; i++)
		assert_null(step(&g, 250));
	assert_int_equal(stats_of(&g).steps_meanwhile, 500);
	(void)finish_plan(&g, 250);
	rig_close(&g);
}

static void a_plan_that_cannot_be_made_changes_nothing(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	(void)step(&g, 250);
	assert_null(step(&g, 1000000));
	assert_null(finish_plan(&g, 250));
	assert_ptr_equal(sl_replan_plan(g.r), &g.first);
	assert_int_equal(stats_of(&g).plans, 0);
	assert_int_equal(stats_of(&g).failed, 1);
	rig_close(&g);
}

/* A block out and in at 1 GB/s is 8192 ns, of which ops hide 500; at half the rate twice
 * that. */
static void a_link_that_is_slower_than_stored_counts_at_the_next_plan(void **state)
{
	uint64_t before, after;
	struct rig g;

	(void)state;
	rig_open(&g);
	before = stats_of(&g).price_ns;
	for (int i = 0; i < 2; i++)
		g.links[i] = (struct sl_engine_link){1, BLOCK, 2 * BLOCK};
	assert_null(step(&g, 250));
	assert_null(step(&g, 250));
	assert_null(finish_plan(&g, 250));
	after = stats_of(&g).price_ns;
	/* 0.9 x 2 + 0.1 = 1.9 times as long */
	assert_in_range(after, before + BLOCK, before + 2 * BLOCK);
	rig_close(&g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_first_measured_step_gives_the_second_plan),
		SL_TEST(a_plan_of_others_is_offered_unless_it_is_dear),
		SL_TEST(only_a_drift_gives_a_third),
		SL_TEST(a_gradual_one_makes_a_third_without_a_drift),
		SL_TEST(steps_go_on_while_a_plan_is_made),
		SL_TEST(a_link_that_is_slower_than_stored_counts_at_the_next_plan),
		SL_TEST(a_plan_that_cannot_be_made_changes_nothing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

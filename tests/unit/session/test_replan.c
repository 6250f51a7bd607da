/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/replan.c: when a training gets new plans, and that it never waits
 * for them. */
#include "harness/harness.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "session/replan.h"

#define OPS 4
#define BLOCK 4096u

/* Four ops of 250 ns, and a policy whose plan swaps only while they are so short. */
struct rig {
	struct sl_trace t;
	struct sl_plan first;
	struct sl_replan *r;
	struct sl_engine_link links[2];
	sem_t begin, done;
};

static sl_status add_pair(struct sl_plan *p, uint32_t op)
{
	SL_TRY(sl_plan_add_action(p,
		&(struct sl_action){
			.op = op, .phase = SL_AFTER, .kind = SL_ACTION_OUT, .tier = 1}));
	return sl_plan_add_action(p, &(struct sl_action){.op = op + 1,
					     .phase = SL_AFTER,
					     .kind = SL_ACTION_IN,
					     .tier = 1,
					     .channel = 1});
}

/* Below 1500 ns in all it swaps, above a millisecond it gives up. */
static sl_status plan(const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	uint64_t sum = 0;

	SL_TRY(sl_plan_begin(out, t, budget, "test"));
	for (uint32_t i = 0; i < t->n_ops; i++)
		sum += t->ops[i].dur_ns;
	out->value_offset[0] = 0;
	if (sum > 1000000)
		return SL_FAIL(SL_E_INFEASIBLE, "no such plan");
	return sum < 1500 ? add_pair(out, 0) : SL_OK;
}

static const struct sl_mem_policy policy = {
	.name = "test", .source = "-", .summary = "-", .plan = plan};

static void wait_for_leave(void *ctx)
{
	struct rig *g = ctx;

	sem_wait(&g->begin);
	sem_post(&g->done);
}

static void rig_open(struct rig *g)
{
	const uint32_t v0 = 0;
	struct sl_trace_op op = {
		.kind = "x", .scope = "", .dur_ns = 250, .n_in = 1, .pure = true};
	struct sl_trace_link link = {.to = 1, .bytes_per_s = 1000000000};

	*g = (struct rig){.t = SL_TRACE_INIT};
	op.in = (uint32_t[]){v0};
	sl_assert_ok(sl_trace_add_tier(&g->t, "host", 64 * BLOCK));
	sl_assert_ok(sl_trace_add_link(&g->t, &link));
	link = (struct sl_trace_link){.from = 1, .bytes_per_s = 1000000000};
	sl_assert_ok(sl_trace_add_link(&g->t, &link));
	sl_assert_ok(sl_trace_add_value(&g->t, &(struct sl_trace_value){.bytes = BLOCK,
						       .align = BLOCK,
						       .alias = SL_NO_ID,
						       .cls = SL_CLASS_PARAM}));
	for (int i = 0; i < OPS; i++) {
		op.n_in = i == 0 || i == 3;
		sl_assert_ok(sl_trace_add_op(&g->t, &op));
	}
	sl_assert_ok(sl_policy_plan(&policy, &g->t, 16 * BLOCK, &g->first));
	assert_int_equal(g->first.n_actions, 2);
	sem_init(&g->begin, 0, 0);
	sem_init(&g->done, 0, 0);
	sl_assert_ok(sl_replan_create(
		&(struct sl_replan_opts){
			.trace = &g->t,
			.plan = &g->first,
			.policy = {.policy = &policy},
			.budget = 16 * BLOCK,
			.share = 1,
			.hook = wait_for_leave,
			.hook_ctx = g,
		},
		&g->r));
}

static void rig_close(struct rig *g)
{
	sl_replan_destroy(g->r);
	sl_plan_finish(&g->first);
	sl_trace_finish(&g->t);
	sem_destroy(&g->begin);
	sem_destroy(&g->done);
}

/* A step whose ops take so long; gives what the boundary before the next one offers. */
static const struct sl_plan *step(struct rig *g, uint64_t each)
{
	for (int i = 0; i < OPS; i++)
		sl_replan_times(g->r)[i] = each;
	sl_replan_measured(g->r, g->links);
	return sl_replan_boundary(g->r);
}

static struct sl_replan_stats stats_of(const struct rig *g)
{
	struct sl_replan_stats s;

	sl_replan_stats(g->r, &s);
	return s;
}

/* Lets the planning thread go, and takes steps until its plan was looked at. */
static const struct sl_plan *finish_plan(struct rig *g, uint64_t each)
{
	struct sl_replan_stats before = stats_of(g), now = before;
	const struct sl_plan *offer = NULL;

	sem_post(&g->begin);
	sem_wait(&g->done);
	while (now.plans + now.failed == before.plans + before.failed) {
		offer = step(g, each);
		now = stats_of(g);
	}
	return offer;
}

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
		SL_TEST(steps_go_on_while_a_plan_is_made),
		SL_TEST(a_link_that_is_slower_than_stored_counts_at_the_next_plan),
		SL_TEST(a_plan_that_cannot_be_made_changes_nothing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

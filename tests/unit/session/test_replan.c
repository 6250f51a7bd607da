/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/replan.c and watch.c: when a training gets new plans, and that it
 * never waits for them. */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "session/session_int.h"
#include "sluice/memory.h"

#define OPS 4
#define BLOCK 4096u

/* Four ops of 250 ns, and a policy whose plan swaps only while they are so short. */
struct rig {
	struct sl_trace t;
	struct sl_plan first;
	struct sl_replan *r;
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
	sl_replan_measured(g->r);
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

/* Sessions. */

static void tight(int model, struct sl_session_config *config)
{
	uint64_t peak, least;

	assert_true(sl_session_small(model, config));
	sl_assert_ok(sl_session_bounds(config, &peak, &least));
	config->budget_bytes = (least + (peak - least) / 4) / 4096 * 4096;
	config->steps = 12;
}

static void new_plans_change_no_bit(void **state)
{
	struct sl_session_config config;
	struct sl_session_run on, off;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		tight(i, &config);
		config.replan_drift = 0.01;
		sl_assert_ok(sl_session_run_all(&config, &on));
		config.no_replan = true;
		sl_assert_ok(sl_session_run_all(&config, &off));
		assert_memory_equal(on.losses, off.losses, sizeof(on.losses));
		assert_string_equal(on.summary.digest, off.summary.digest);
		assert_int_equal(off.summary.replans, 0);
		assert_true(on.summary.peak_device_bytes <= config.budget_bytes);
	}
}

struct gate {
	sem_t leave;
	struct sl_session *s;
};

static void wait_at_gate(void *ctx)
{
	struct gate *g = ctx;

	sem_wait(&g->leave);
}

static void open_gate(void *ctx, const struct sl_step_report *r)
{
	struct gate *g = ctx;

	assert_true(r->predicted_iter_ms > 0);
	if (r->step == r->steps)
		sem_post(&g->leave);
}

/* The policy comes back only when all steps are done. */
static void a_slow_policy_holds_no_step_up(void **state)
{
	struct sl_session_config config;
	struct sl_replan_stats stats;
	struct sl_summary summary;
	struct gate g = {0};
	const struct sl_session_events events = {.ctx = &g, .step = open_gate};

	(void)state;
	tight(3, &config);
	sem_init(&g.leave, 0, 0);
	sl_assert_ok(sl_session_open(&config, &g.s));
	g.s->machine.replan_hook = wait_at_gate;
	g.s->machine.replan_hook_ctx = &g;
	sl_assert_ok(sl_session_prepare(g.s, &events));
	assert_non_null(g.s->machine.replan);
	sl_assert_ok(sl_session_train(g.s, &summary));
	sl_replan_stats(g.s->machine.replan, &stats);
	/* Steps 1 and 2 came before the plan was asked for, 3 asked for it. */
	assert_int_equal(stats.steps_meanwhile, config.steps - 3);
	assert_int_equal(stats.plans, 0);
	sl_session_close(g.s);
	sem_destroy(&g.leave);
}

static bool is_watched(const struct sl_session_config *config)
{
	struct sl_session *s = NULL;
	bool watched;

	sl_assert_ok(sl_session_open(config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	watched = s->machine.replan != NULL;
	sl_session_close(s);
	return watched;
}

static void store_plan(const struct sl_session_config *config, const char *path)
{
	const struct sl_planner_device device = {0};
	struct sl_buf text = SL_BUF_INIT;
	struct sl_planner *p = NULL;
	struct sl_plan_report r;

	sl_assert_ok(sl_planner_open(config, &device, &p));
	sl_assert_ok(sl_planner_plan(p, NULL, config->budget_bytes, &r, &text));
	sl_assert_ok(sl_fs_write(path, sl_buf_text(&text), text.len));
	sl_buf_finish(&text);
	sl_planner_close(p);
}

static void only_a_plan_that_moves_something_and_was_not_stored_is_watched(void **state)
{
	struct sl_session_config config, free_run;

	(void)state;
	tight(1, &config);
	free_run = config;
	free_run.budget_bytes = 0;
	assert_false(is_watched(&free_run));
	free_run.budget_bytes = (uint64_t)1 << 30;
	assert_false(is_watched(&free_run));
	assert_true(is_watched(&config));
	config.no_replan = true;
	assert_false(is_watched(&config));
	config.no_replan = false;
	config.plan_path = sl_test_path("plan");
	store_plan(&config, config.plan_path);
	assert_false(is_watched(&config));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_first_measured_step_gives_the_second_plan),
		SL_TEST(only_a_drift_gives_a_third),
		SL_TEST(steps_go_on_while_a_plan_is_made),
		SL_TEST(a_plan_that_cannot_be_made_changes_nothing),
		SL_TEST(new_plans_change_no_bit),
		SL_TEST(a_slow_policy_holds_no_step_up),
		SL_TEST(only_a_plan_that_moves_something_and_was_not_stored_is_watched),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

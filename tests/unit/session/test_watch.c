/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/watch.c: new plans in sessions change no bit and hold no step up.
 */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <semaphore.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/units.h"
#include "session/session_int.h"
#include "sluice/memory.h"

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

static uint64_t arena_of(const struct sl_session_config *config, uint64_t *planned)
{
	struct sl_session *s = NULL;
	uint64_t bytes;

	sl_assert_ok(sl_session_open(config, &s));
	sl_assert_ok(sl_session_prepare(s, NULL));
	bytes = s->machine.arena_bytes;
	*planned = s->machine.planned_peak;
	sl_session_close(s);
	return bytes;
}

static void later_plans_may_use_all_of_the_budget(void **state)
{
	struct sl_session_config config;
	uint64_t planned, bytes;

	(void)state;
	tight(1, &config);
	assert_int_equal(arena_of(&config, &planned), config.budget_bytes);
	config.no_replan = true;
	bytes = arena_of(&config, &planned);
	assert_int_equal(bytes, sl_align_up(planned, 4096));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(new_plans_change_no_bit),
		SL_TEST(a_slow_policy_holds_no_step_up),
		SL_TEST(later_plans_may_use_all_of_the_budget),
		SL_TEST(only_a_plan_that_moves_something_and_was_not_stored_is_watched),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

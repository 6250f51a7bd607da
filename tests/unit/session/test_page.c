/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of plans: what is drawn is what the plan does. */
#include "harness/harness.h"
#include "session/page_int.h"

#include <string.h>

static struct sl_planner *open_planner(const char *model)
{
	struct sl_session_config config = {.model = model, .batch = 8};
	struct sl_planner_device device = {
		.link_bytes_per_s = 200000000, .disk_bytes_per_s = 200000000};
	struct sl_planner *p = NULL;

	sl_assert_ok(sl_planner_open(&config, &device, &p));
	return p;
}

static void plan(struct sl_planner *p, uint64_t budget, struct sl_plan *out)
{
	struct sl_policy_choice choice;

	sl_assert_ok(sl_planner_policy(NULL, budget, &choice));
	sl_assert_ok(sl_policy_apply(
		&choice, &p->trace, budget > 0 ? budget : UINT64_MAX, out));
}

/* But no less than the least budget. */
static uint64_t share_of(const struct sl_planner *p, double share)
{
	uint64_t bytes = sl_planner_share(p, share);

	return bytes > p->least.bytes ? bytes : p->least.bytes;
}

static bool meet(const struct sl_page_box *a, const struct sl_page_box *b)
{
	return a->from_ns < b->to_ns && b->from_ns < a->to_ns &&
	       a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static uint32_t of_origin(const struct sl_page *g, enum sl_page_origin origin)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_boxes; i++)
		n += g->boxes[i].origin == origin;
	return n;
}

static void no_two_values_share_bytes_at_a_time(void **state)
{
	static const double shares[] = {1, 0.5, 0.3};
	static const char *const models[] = {
		"lenet5", "convnet", "gpt2:layers=2,width=32"};

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct sl_planner *p = open_planner(models[i / 3]);
		struct sl_plan made = SL_PLAN_INIT;
		struct sl_page g = {0};

		plan(p, share_of(p, shares[i % 3]), &made);
		sl_assert_ok(sl_page_gather(p, &made, &g));
		for (uint32_t a = 0; a < g.n_boxes; a++) {
			assert_true(g.boxes[a].offset + g.boxes[a].bytes <= made.peak);
			assert_true(g.boxes[a].to_ns <= g.iter_ns);
			for (uint32_t b = a + 1; b < g.n_boxes; b++)
				assert_false(meet(&g.boxes[a], &g.boxes[b]));
		}
		sl_page_finish(&g);
		sl_plan_finish(&made);
		sl_planner_close(p);
	}
}

static void each_copy_in_and_run_again_has_its_box(void **state)
{
	struct sl_planner *p = open_planner("convnet");
	struct sl_plan made = SL_PLAN_INIT;
	struct sl_page g = {0};
	uint32_t in = 0, again = 0;

	(void)state;
	plan(p, sl_planner_share(p, 0.4), &made);
	sl_assert_ok(sl_page_gather(p, &made, &g));
	for (uint32_t i = 0; i < made.n_actions; i++) {
		const struct sl_action *a = &made.actions[i];

		in += a->kind == SL_ACTION_IN;
		again += a->kind == SL_ACTION_RECOMPUTE && a->offset != SL_NO_OFFSET;
	}
	assert_true(in + again > 0);
	assert_int_equal(of_origin(&g, SL_PAGE_CAME_IN), in);
	assert_int_equal(of_origin(&g, SL_PAGE_AGAIN), again);
	assert_true(g.iter_ns == made.price_ns);
	sl_page_finish(&g);
	sl_plan_finish(&made);
	sl_planner_close(p);
}

static void a_page_is_whole_and_an_impossible_budget_is_said(void **state)
{
	struct sl_planner *p = open_planner("convnet");
	struct sl_page_config c = {.budget_bytes = share_of(p, 0.4)};
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_planner_page(p, &c, &text));
	assert_int_equal(strncmp(sl_buf_text(&text), "<!doctype html>", 15), 0);
	assert_non_null(strstr(sl_buf_text(&text), "</html>"));
	c.budget_bytes = 4096;
	sl_assert_fails(sl_planner_page(p, &c, &text), SL_E_INFEASIBLE, "4096");
	sl_buf_finish(&text);
	sl_planner_close(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(no_two_values_share_bytes_at_a_time),
		SL_TEST(each_copy_in_and_run_again_has_its_box),
		SL_TEST(a_page_is_whole_and_an_impossible_budget_is_said),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

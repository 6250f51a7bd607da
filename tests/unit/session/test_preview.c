/* SPDX-License-Identifier: Apache-2.0 */
/* Previews of plans: one budget, a share of the peak, and the curve. */
#include "harness/harness.h"
#include "sluice/memory.h"

static const struct sl_session_config lenet = {.model = "lenet5", .batch = 32};

static struct sl_planner *open_planner(void)
{
	struct sl_planner_device device = {0};
	struct sl_planner *p = NULL;

	sl_assert_ok(sl_planner_open(&lenet, &device, &p));
	return p;
}

static void more_budget_is_never_slower(void **state)
{
	struct sl_planner *p = open_planner();
	struct sl_plan_report rows[11];
	size_t n = 11;

	(void)state;
	sl_assert_ok(sl_planner_front(p, NULL, 100000000, rows, &n));
	assert_int_equal(n, 11);
	assert_int_equal(rows[0].budget_bytes, rows[0].least_budget_bytes);
	assert_int_equal(rows[10].budget_bytes, rows[10].unbudgeted_peak_bytes);
	assert_int_equal(rows[10].iter_ns, rows[10].base_iter_ns);
	assert_true(rows[0].iter_ns > rows[0].base_iter_ns);
	for (size_t i = 0; i < n; i++) {
		assert_true(rows[i].feasible);
		assert_true(rows[i].peak_bytes <= rows[i].budget_bytes);
		assert_true(rows[i].held_peak_bytes <= rows[i].peak_bytes);
		assert_true(
			rows[i].bound_ns <= rows[i].iter_ns || rows[i].recompute_ops > 0);
		assert_true(i == 0 || rows[i].iter_ns <= rows[i - 1].iter_ns);
		assert_true(i == 0 || rows[i].budget_bytes > rows[i - 1].budget_bytes);
	}
	sl_planner_close(p);
}

static void without_time_the_curve_is_still_whole(void **state)
{
	struct sl_planner *p = open_planner();
	struct sl_plan_report rows[5];
	size_t n = 5;

	(void)state;
	sl_assert_ok(sl_planner_front(p, "belady", 0, rows, &n));
	assert_int_equal(n, 5);
	for (size_t i = 1; i < n; i++)
		assert_true(rows[i].iter_ns <= rows[i - 1].iter_ns);
	n = 1;
	sl_assert_fails(sl_planner_front(p, NULL, 0, rows, &n), SL_E_INVALID, "");
	n = SL_FRONT_MAX + 1;
	sl_assert_fails(sl_planner_front(p, NULL, 0, rows, &n), SL_E_INVALID, "");
	sl_planner_close(p);
}

static void a_policy_with_one_budget_has_a_curve_of_one_row(void **state)
{
	struct sl_planner *p = open_planner();
	struct sl_plan_report rows[11];
	size_t n = 11;

	(void)state;
	sl_assert_ok(sl_planner_front(p, "keep", 0, rows, &n));
	assert_int_equal(n, 1);
	assert_int_equal(rows[0].budget_bytes, rows[0].unbudgeted_peak_bytes);
	sl_planner_close(p);
}

static void a_share_of_the_peak_is_whole_blocks(void **state)
{
	struct sl_planner *p = open_planner();
	struct sl_plan_report r;

	(void)state;
	sl_assert_ok(sl_planner_plan(p, NULL, 0, &r, NULL));
	assert_int_equal(sl_planner_share(p, 1), r.unbudgeted_peak_bytes);
	assert_int_equal(
		sl_planner_share(p, 0.5), r.unbudgeted_peak_bytes / 2 / 4096 * 4096);
	assert_int_equal(sl_planner_share(p, 1e-9), 4096);
	sl_planner_close(p);
}

static void bytes_below_are_those_that_the_plan_moved_there(void **state)
{
	struct sl_planner *p = open_planner();
	struct sl_plan_report r;

	(void)state;
	sl_assert_ok(sl_planner_plan(p, "belady", sl_planner_share(p, 0.6), &r, NULL));
	assert_true(r.feasible);
	assert_true(r.disk_bytes > 0 && r.host_bytes == 0);
	assert_true(r.swap_out_bytes > 0);
	sl_assert_ok(sl_planner_plan(p, NULL, 4096, &r, NULL));
	assert_false(r.feasible);
	sl_assert_fails(sl_planner_infeasible(p), SL_E_INFEASIBLE, "");
	sl_planner_close(p);
}

static sl_status draw(void *ctx)
{
	struct sl_plan_report rows[3];
	size_t n = 3;

	SL_TRY(sl_planner_front(ctx, NULL, 0, rows, &n));
	return rows[n - 1].feasible ? SL_OK : SL_FAIL(SL_E_INVALID, "no plan");
}

static void a_curve_survives_every_failing_allocation(void **state)
{
	static const struct sl_session_config tiny = {
		.model = "mlp:sizes=64-32-8", .batch = 32, .optim = "sgd"};
	struct sl_planner_device device = {0};
	struct sl_planner *p = NULL;

	(void)state;
	sl_assert_ok(sl_planner_open(&tiny, &device, &p));
	assert_true(sl_torture(draw, p) > 20);
	sl_planner_close(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(more_budget_is_never_slower),
		SL_TEST(without_time_the_curve_is_still_whole),
		SL_TEST(a_policy_with_one_budget_has_a_curve_of_one_row),
		SL_TEST(a_share_of_the_peak_is_whole_blocks),
		SL_TEST(bytes_below_are_those_that_the_plan_moved_there),
		SL_TEST(a_curve_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

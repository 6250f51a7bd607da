/* SPDX-License-Identifier: Apache-2.0 */
/* Several jobs planned together: who gets how much, and what is said if it is too little.
 */
#include "harness/harness.h"

#include "memory/policy/jobs.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/jobs_util.h"

#define DISK ((uint64_t)1 << 30)
#define MS 1000000u
#define MIB ((uint64_t)1 << 20)

static void equal_jobs_get_equal_budgets(void **state)
{
	struct jobs_rig r = {0};

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(2, 64, 160, DISK));
	for (unsigned percent = 20; percent <= 110; percent += 15) {
		jobs_plan(&r, r.sum_peaks * percent / 100);
		assert_int_equal(r.jobs[0].budget, r.jobs[1].budget);
		assert_int_equal(r.jobs[0].iter_ns, r.jobs[1].iter_ns);
		jobs_check(&r);
		jobs_forget(&r);
	}
	jobs_finish(&r);
}

static void with_enough_for_all_nothing_moves(void **state)
{
	struct jobs_rig r = {0};

	(void)state;
	jobs_add(&r, gen_training(2, 64, 32, DISK));
	jobs_add(&r, gen_training(3, 32, 64, DISK));
	jobs_plan(&r, r.sum_peaks);
	for (size_t i = 0; i < r.n; i++) {
		assert_int_equal(r.jobs[i].iter_ns, r.jobs[i].base_ns);
		assert_true(r.jobs[i].budget <= r.peaks[i]);
	}
	jobs_check(&r);
	jobs_finish(&r);
}

/* Two weights that are read in turn, with time enough between them to change places. */
static struct gen patient(void)
{
	struct gen g = {.t = SL_TRACE_INIT, .st = SL_OK};
	uint32_t a, b;

	gen_tier(&g, "disk", DISK, 2000000000);
	a = gen_value(&g, SL_CLASS_PARAM, MIB);
	b = gen_value(&g, SL_CLASS_PARAM, MIB);
	for (int i = 0; i < 2; i++) {
		gen_op(&g, "think", 0, GEN_NONE, GEN_NONE, GEN_NONE);
		gen_op(&g, "read", 0, GEN_L(i ? b : a, GEN_E), GEN_NONE, GEN_NONE);
	}
	for (uint32_t i = 0; i < g.t.n_ops; i++)
		g.t.ops[i].dur_ns = 20 * MS;
	return g;
}

static void a_job_that_gains_nothing_gets_its_least(void **state)
{
	struct jobs_rig r = {0};

	(void)state;
	jobs_add(&r, patient());
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	assert_int_equal(r.peaks[0], 2 * MIB);
	jobs_plan(&r, r.sum_peaks * 9 / 10);
	assert_int_equal(r.jobs[0].least_bytes, MIB);
	assert_int_equal(r.jobs[0].budget, MIB);
	assert_int_equal(r.jobs[0].iter_ns, r.jobs[0].base_ns);
	assert_int_equal(r.jobs[1].iter_ns, r.jobs[1].base_ns);
	jobs_check(&r);
	jobs_finish(&r);
}

static void weight_buys_time(void **state)
{
	struct jobs_rig r = {0};
	uint64_t before;

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_plan(&r, r.sum_peaks / 2);
	before = r.jobs[1].iter_ns;
	jobs_forget(&r);
	r.jobs[1].weight = 20;
	jobs_plan(&r, r.sum_peaks / 2);
	assert_true(r.jobs[1].iter_ns < before);
	assert_true(r.jobs[1].iter_ns < r.jobs[0].iter_ns);
	jobs_check(&r);
	jobs_finish(&r);
}

static void one_that_moves_nothing_leaves_its_share_of_the_link(void **state)
{
	struct jobs_rig r = {0};
	struct sl_plan_price price;

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(1, 32, 16, 0));
	jobs_plan(&r, r.sum_peaks / 2);
	/* The whole link is job 0's, so the prediction is the price of its own trace. */
	sl_assert_ok(sl_plan_price(&r.gens[0].t, &r.jobs[0].plan, &price));
	assert_true(price.swap_in_bytes > 0);
	assert_int_equal(r.jobs[0].iter_ns, price.iter_ns);
	jobs_forget(&r);
	jobs_finish(&r);
}

static void too_little_for_all_says_what_each_one_needs(void **state)
{
	struct jobs_rig r = {0};
	char want[160];
	uint64_t least[2];

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(2, 32, 64, DISK));
	r.jobs[0].name = "big";
	r.jobs[1].name = "small";
	for (size_t i = 0; i < 2; i++)
		sl_assert_ok(
			sl_policy_least(&sl_mem_policy_tensile, &r.gens[i].t, &least[i]));
	(void)snprintf(want, sizeof(want),
		"2 jobs together need %llu bytes at least, the budget is 8192; each "
		"one's "
		"part: big %llu, small %llu",
		(unsigned long long)(least[0] + least[1]), (unsigned long long)least[0],
		(unsigned long long)least[1]);
	sl_assert_fails(jobs_try(&r, 8192 + 5), SL_E_INFEASIBLE, want);
	sl_assert_fails(jobs_try(&r, least[0] + least[1] - 1), SL_E_INFEASIBLE, "small");
	assert_int_equal(r.jobs[0].plan.n_ops, 0);
	jobs_plan(&r, least[0] + least[1]);
	assert_int_equal(r.jobs[0].budget, least[0]);
	assert_int_equal(r.jobs[1].budget, least[1]);
	jobs_check(&r);
	jobs_finish(&r);
}

static void the_same_jobs_get_the_same_plans(void **state)
{
	struct jobs_rig r = {0};
	struct sl_buf text[2] = {SL_BUF_INIT, SL_BUF_INIT};

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(2, 96, 64, DISK));
	for (int k = 0; k < 2; k++) {
		jobs_plan(&r, r.sum_peaks * 45 / 100);
		for (size_t i = 0; i < r.n; i++)
			sl_assert_ok(
				sl_plan_print(&r.jobs[i].plan, &r.gens[i].t, &text[k]));
		jobs_forget(&r);
	}
	assert_true(text[0].len > 1000);
	assert_string_equal(sl_buf_text(&text[0]), sl_buf_text(&text[1]));
	for (int k = 0; k < 2; k++)
		sl_buf_finish(&text[k]);
	jobs_finish(&r);
}

static void any_policy_plans_jointly(void **state)
{
	struct jobs_rig r = {0};

	(void)state;
	jobs_add(&r, gen_training(3, 64, 96, DISK));
	jobs_add(&r, gen_training(2, 96, 64, DISK));
	for (size_t i = 0; sl_policy_at(i) != NULL; i++) {
		struct sl_policy_choice usual = sl_policy_usual(sl_policy_at(i));

		sl_assert_ok(sl_policy_jobs(&usual, r.jobs, r.n, r.sum_peaks));
		r.budget = r.sum_peaks;
		jobs_check(&r);
		jobs_forget(&r);
	}
	sl_assert_ok(sl_policy_jobs(&r.choice, NULL, 0, 0));
	jobs_finish(&r);
}

/* Few budgets to choose from, so few allocations: three weights, hurriedly. */
static struct gen few_pages(void)
{
	struct gen g = {.t = SL_TRACE_INIT, .st = SL_OK};

	gen_tier(&g, "disk", DISK, 2000000000);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t w = gen_value(&g, SL_CLASS_PARAM, 4096);

		gen_op(&g, "read", 0, GEN_L(w, GEN_E), GEN_NONE, GEN_NONE);
	}
	return g;
}

static sl_status plan_tightly(void *ctx)
{
	struct jobs_rig *r = ctx;
	sl_status st = jobs_try(r, r->sum_peaks * 3 / 5);

	jobs_forget(r);
	return st;
}

static void no_memory_is_an_error_and_leaks_nothing(void **state)
{
	struct jobs_rig r = {0};

	(void)state;
	jobs_add(&r, few_pages());
	jobs_add(&r, few_pages());
	r.choice.options[1] = 0; /* effort: its search is tortured elsewhere */
	assert_true(sl_torture(plan_tightly, &r) > 100);
	jobs_finish(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(equal_jobs_get_equal_budgets),
		SL_TEST(with_enough_for_all_nothing_moves),
		SL_TEST(a_job_that_gains_nothing_gets_its_least),
		SL_TEST(weight_buys_time),
		SL_TEST(one_that_moves_nothing_leaves_its_share_of_the_link),
		SL_TEST(too_little_for_all_says_what_each_one_needs),
		SL_TEST(the_same_jobs_get_the_same_plans),
		SL_TEST(any_policy_plans_jointly),
		SL_TEST(no_memory_is_an_error_and_leaks_nothing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

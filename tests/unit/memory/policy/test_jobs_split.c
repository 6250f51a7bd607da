/* SPDX-License-Identifier: Apache-2.0 */
/* Splits of a budget by hand-made curves. */
#include "harness/harness.h"

#include "memory/policy/jobs_int.h"

#define MAX_JOBS 4u

struct rig {
	struct sl_jobs_member jobs[MAX_JOBS];
	struct sl_jobs_part parts[MAX_JOBS];
	size_t n;
};

/* Slowdowns in percent at 10, 20, ... bytes; 0 ends them. The base is 100 ns. */
static void add(struct rig *r, const uint64_t slow[6])
{
	struct sl_jobs_part *p = &r->parts[r->n];

	r->jobs[r->n] = (struct sl_jobs_member){.base_ns = 100};
	*p = (struct sl_jobs_part){.job = &r->jobs[r->n++], .weight = 1};
	for (uint32_t i = 0; i < 6 && slow[i] > 0; i++, p->curve.n++)
		p->curve.points[i] = (struct sl_jobs_point){.bytes = 10 * (i + 1),
			.quick_ns = slow[i],
			.slow = sl_jobs_slow(p, slow[i])};
}

#define CURVE(...) ((const uint64_t[6]){__VA_ARGS__})

static void split(struct rig *r, uint64_t budget)
{
	sl_jobs_group(r->parts, r->n);
	sl_jobs_split(r->parts, r->n, budget);
}

static void bytes_go_where_they_are_worth_most(void **state)
{
	struct rig r = {0};

	(void)state;
	add(&r, CURVE(300, 150, 120, 110));
	add(&r, CURVE(200, 180, 160, 140));
	split(&r, 20);
	assert_int_equal(r.parts[0].curve.at, 0);
	split(&r, 30);
	assert_int_equal(r.parts[0].curve.at, 1);
	assert_int_equal(r.parts[1].curve.at, 0);
	split(&r, 50); /* 30 for 10 bytes, then 20 */
	assert_int_equal(r.parts[0].curve.at, 2);
	assert_int_equal(r.parts[1].curve.at, 1);
	split(&r, 1000);
	assert_int_equal(r.parts[0].curve.at, 3);
	assert_int_equal(r.parts[1].curve.at, 3);
}

static void a_flat_stretch_hides_no_fall_behind_it(void **state)
{
	struct rig r = {0};

	(void)state;
	add(&r, CURVE(300, 300, 100));
	add(&r, CURVE(200, 150, 130));
	split(&r, 40); /* 200 for 20 bytes, before 50 for 10 */
	assert_int_equal(r.parts[0].curve.at, 2);
	assert_int_equal(r.parts[1].curve.at, 0);
	split(&r, 35); /* that does not fit, this does */
	assert_int_equal(r.parts[0].curve.at, 0);
	assert_int_equal(r.parts[1].curve.at, 1);
}

static void what_gains_nothing_is_not_given(void **state)
{
	struct rig r = {0};

	(void)state;
	add(&r, CURVE(100, 100, 100));
	add(&r, CURVE(150, 160, 140));
	split(&r, 1000);
	assert_int_equal(r.parts[0].curve.at, 0);
	assert_int_equal(r.parts[1].curve.at, 2);
}

static void equal_curves_step_together_or_not_at_all(void **state)
{
	struct rig r = {0};

	(void)state;
	add(&r, CURVE(300, 150));
	add(&r, CURVE(200, 190));
	add(&r, CURVE(300, 150));
	split(&r, 40);
	assert_int_equal(r.parts[2].curve.like, 0);
	assert_int_equal(r.parts[0].curve.count, 2);
	assert_int_equal(r.parts[2].curve.count, 0);
	assert_int_equal(r.parts[0].curve.at, 0);
	assert_int_equal(r.parts[1].curve.at, 1);
	assert_int_equal(r.parts[2].curve.at, 0);
	split(&r, 50);
	assert_int_equal(r.parts[0].curve.at, 1);
	assert_int_equal(r.parts[1].curve.at, 0);
	assert_int_equal(r.parts[2].curve.at, 1);
	r.parts[2].weight = 2; /* not alike any more */
	split(&r, 50);
	assert_int_equal(r.parts[0].curve.count, 1);
}

static void full_plans_correct_the_guesses_beside_them(void **state)
{
	struct rig r = {0};
	struct sl_jobs_point *x = r.parts[0].curve.points;

	(void)state;
	add(&r, CURVE(500, 300, 200, 120));
	x[1].full_ns = 150; /* a quarter of the loss of 200 is left */
	x[1].slow = 1.5;
	sl_jobs_guess(&r.parts[0]);
	assert_true(x[0].slow > 1.999 && x[0].slow < 2.001);
	assert_true(x[1].slow > 1.499 && x[1].slow < 1.501);
	assert_true(x[3].slow > 1.049 && x[3].slow < 1.051);
}

static void plain_splits_take_the_point_below_their_part(void **state)
{
	struct rig r = {0};

	(void)state;
	add(&r, CURVE(300, 200, 150));
	add(&r, CURVE(300, 200));
	r.parts[0].seeds[SL_JOBS_EQUAL] = 29;
	r.parts[1].seeds[SL_JOBS_EQUAL] = 500;
	r.parts[1].seeds[SL_JOBS_BY_PEAK] = 9;
	assert_true(sl_jobs_split_plainly(r.parts, 2, SL_JOBS_EQUAL));
	assert_int_equal(r.parts[0].curve.at, 1);
	assert_int_equal(r.parts[1].curve.at, 1);
	assert_false(sl_jobs_split_plainly(r.parts, 2, SL_JOBS_BY_PEAK));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(bytes_go_where_they_are_worth_most),
		SL_TEST(a_flat_stretch_hides_no_fall_behind_it),
		SL_TEST(what_gains_nothing_is_not_given),
		SL_TEST(equal_curves_step_together_or_not_at_all),
		SL_TEST(full_plans_correct_the_guesses_beside_them),
		SL_TEST(plain_splits_take_the_point_below_their_part),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

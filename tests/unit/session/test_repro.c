/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a reproduction: budgets searched for, warm and cold, alone and in company. */
#include "harness/harness.h"

#include "session/repro_int.h"
#include "sluice/repro.h"

#define MODEL "mlp:sizes=64-256-256-10"

static void a_search_ends_at_the_limit(void **state)
{
	(void)state;
	struct sl_repro_job j;
	struct sl_repro_ask ask = {.kind = SL_REPRO_WARM, .copies = 1};
	struct sl_repro_point free_one, dear, below, every;

	sl_assert_ok(sl_repro_open(MODEL, 64, &j));
	sl_assert_ok(sl_repro_search(&j, &ask, &free_one));
	assert_true(free_one.level > 0 && free_one.level <= SL_REPRO_LEVELS);
	assert_true(free_one.eor <= 0 && free_one.next_msr > free_one.msr - 0.01);
	ask.every = true;
	sl_assert_ok(sl_repro_search(&j, &ask, &every));
	assert_true(every.level <= free_one.level && every.eor <= 0);
	ask.eor_limit = 1e9;
	sl_assert_ok(sl_repro_search(&j, &ask, &dear));
	assert_int_equal(dear.level, 0);
	assert_true(dear.msr > free_one.msr && dear.eor > 0);
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_WARM, 1, every.level - 1, &below));
	assert_true(below.eor > 0);
	sl_repro_close(&j);
}

static void cold_plans_are_priced_with_true_times(void **state)
{
	(void)state;
	struct sl_repro_job j;
	struct sl_repro_point at;

	sl_assert_ok(sl_repro_open(MODEL, 64, &j));
	/* Where nothing moves, wrong predictions cost nothing: unless they are priced. */
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_COLD, 1, SL_REPRO_LEVELS, &at));
	assert_true(at.eor == 0);
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_COLD, 1, 8, &at));
	assert_true(j.plans[SL_REPRO_COLD][8]->price_ns !=
		    (uint64_t)((1 + at.eor) * (double)j.base_ns));
	sl_repro_close(&j);
}

static uint64_t sum_of(const struct sl_trace *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->n_ops; i++)
		sum += t->ops[i].dur_ns;
	return sum;
}

/* Predictions are wrong; beside others ops take longer, and a link is a part of one. */
static void latencies_are_predicted_then_measured_beside_others(void **state)
{
	(void)state;
	const struct sl_trace *t;
	struct sl_trace cold, alone, beside;
	struct sl_repro_point at;
	struct sl_repro_job j;

	sl_assert_ok(sl_repro_open(MODEL, 64, &j));
	t = &j.planner->trace;
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_COLD, 2, 32, &at));
	sl_assert_ok(sl_repro_predict(&j, &cold));
	sl_assert_ok(sl_repro_predict(&j, &alone));
	sl_assert_ok(sl_repro_predict(&j, &beside));
	sl_assert_ok(sl_repro_correct(&j, NULL, 1, &alone));
	sl_assert_ok(sl_repro_correct(&j, j.plans[SL_REPRO_COLD][32], 2, &beside));
	for (uint32_t i = 0; i < t->n_ops; i++) {
		uint64_t ns = t->ops[i].dur_ns;

		assert_true(cold.ops[i].dur_ns >= ns / 4 && cold.ops[i].dur_ns <= 4 * ns);
		assert_in_range(
			alone.ops[i].dur_ns, ns * 9 / 10, ns + (3 * ns + 10) / 10);
	}
	assert_true(sum_of(&cold) != sum_of(t));
	assert_true(sum_of(&beside) > sum_of(&alone) + sum_of(t) / 4);
	for (uint32_t i = 0; i < t->n_links; i++) {
		assert_int_equal(
			beside.links[i].bytes_per_s, t->links[i].bytes_per_s / 2);
		assert_int_equal(alone.links[i].bytes_per_s, t->links[i].bytes_per_s);
	}
	sl_repro_forget(&cold);
	sl_repro_forget(&alone);
	sl_repro_forget(&beside);
	sl_repro_close(&j);
}

static void copies_hide_behind_each_other(void **state)
{
	(void)state;
	struct sl_repro_job j;
	struct sl_repro_point one, three, greedy;

	sl_assert_ok(sl_repro_open(MODEL, 64, &j));
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_WARM, 1, 32, &one));
	sl_assert_ok(sl_repro_measure(&j, SL_REPRO_WARM, 3, 32, &three));
	assert_true(one.msr == three.msr && one.eor > 0);
	sl_assert_ok(sl_repro_greedy(&j, 2, &greedy));
	assert_true(greedy.msr >= 0 && greedy.msr < 1);
	sl_repro_close(&j);
}

static void crossing_the_boundary_saves_more(void **state)
{
	(void)state;
	struct sl_repro_job j;
	double with, without;

	sl_assert_ok(sl_repro_open(MODEL, 64, &j));
	sl_assert_ok(sl_repro_most(&j, true, &with));
	sl_assert_ok(sl_repro_most(&j, false, &without));
	assert_true(with > without + 0.1);
	sl_repro_close(&j);
}

static sl_status no_row(void *ctx, const struct sl_repro_row *row)
{
	(void)ctx;
	(void)row;
	return SL_FAIL(SL_E_NO, "no row is finished");
}

static void a_stop_is_heard(void **state)
{
	(void)state;
	static const volatile sig_atomic_t stop = 1;

	sl_assert_fails(
		sl_repro_tensile(&(struct sl_repro_opts){.stop = &stop, .row = no_row}),
		SL_E_INTERRUPTED, "");
}

struct heard {
	uint32_t figures, until;
};

static sl_status hear(void *ctx, const struct sl_repro_figure *f)
{
	struct heard *h = ctx;

	assert_true(f->subject[0] != '\0' && f->figure[0] != '\0');
	return ++h->figures == h->until ? SL_FAIL(SL_E_WRITE, "full") : SL_OK;
}

static void salus_ends_at_a_stop_and_where_nobody_listens(void **state)
{
	volatile sig_atomic_t stop = 1;
	struct heard h = {.until = 3};
	struct sl_repro_opts opts = {.quick = true,
		.stop = &stop,
		.ctx = &h,
		.figure = hear,
		.jobs = "tests/corpus/jobs/small.csv"};

	(void)state;
	sl_assert_fails(sl_repro_salus(&opts), SL_E_INTERRUPTED, "stopped");
	assert_int_equal(h.figures, 0);
	stop = 0;
	sl_assert_fails(sl_repro_salus(&opts), SL_E_WRITE, "full");
	assert_int_equal(h.figures, 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_search_ends_at_the_limit),
		SL_TEST(cold_plans_are_priced_with_true_times),
		SL_TEST(latencies_are_predicted_then_measured_beside_others),
		SL_TEST(copies_hide_behind_each_other),
		SL_TEST(crossing_the_boundary_saves_more),
		SL_TEST(a_stop_is_heard),
		SL_TEST(salus_ends_at_a_stop_and_where_nobody_listens),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: expected figures, the ageing bound, and logs decided again. */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/rng.h"
#include "share/decision_check.h"
#include "share/policy/policy.h"
#include "share/sim.h"

#define SALUS "../shared/data/jobs/salus100.csv"
#define SECOND ((sl_ns)1000000000)

struct result {
	struct sl_jobsim_table table;
	struct sl_jobsim sim;
};

static sl_status simulate(struct result *r, const char *csv, size_t len,
	const char *policy, const struct sl_share_rules *rules)
{
	*r = (struct result){.sim = {.policy = sl_job_policy_find(policy),
				     .rules = *rules,
				     .keep_log = true,
				     .keep_spans = true}};
	SL_TRY(sl_jobsim_table_parse(&r->table, "jobs", csv, len));
	return sl_jobsim_run(&r->sim, &r->table);
}

static void finish(struct result *r)
{
	sl_jobsim_finish(&r->sim);
	sl_jobsim_table_finish(&r->table);
}

static void the_published_rows_of_salus100_are_exact(void **state)
{
	/* Minutes: makespan, queue, completion, 95th percentile, longest completion. */
	static const struct {
		const char *policy;
		double want[5];
	} rows[] = {
		{"fifo", {302.93, 167.51, 170.54, 249.48, 257.46}},
		{"srtf", {302.93, 44.28, 49.97, 182.24, 302.93}},
		{"pack", {302.93, 136.19, 139.51, 274.35, 284.87}},
		{"fair", {302.93, 87.24, 115.71, 260.04, 296.81}},
	};
	struct sl_share_rules rules = {
		.capacity_bytes = (uint64_t)14 << 30, .max_wait_ns = 21600 * SECOND};
	struct sl_buf csv = SL_BUF_INIT;

	(void)state;
	if (sl_fs_read(SALUS, 1 << 20, &csv) != SL_OK)
		sl_test_skip(SALUS " is not there");
	for (size_t i = 0; i < SL_COUNT(rows); i++) {
		struct result r;
		const struct sl_jobsim_sum *s = &r.sim.sum;

		sl_assert_ok(simulate(&r, csv.data, csv.len, rows[i].policy, &rules));
		double got[5] = {s->makespan_s, s->queue_s, s->jct_s, s->p95_s, s->max_s};
		for (int k = 0; k < 5; k++)
			if (fabs(got[k] / 60 - rows[i].want[k]) > 0.00501)
				fail_msg("%s, figure %d: %.4f, expected %.2f",
					rows[i].policy, k, got[k] / 60, rows[i].want[k]);
		finish(&r);
	}
	sl_buf_finish(&csv);
}

/* Shares never add up to more than one, in a lane or in all, and to each job's length. */
static void check_spans(const struct result *r)
{
	double *had = calloc(r->table.n + 1, sizeof(*had));

	assert_non_null(had);
	for (size_t i = 0; i < r->sim.n_spans; i++) {
		const struct sl_jobsim_span *p = &r->sim.spans[i];
		double sum = 0;

		had[p->job] += p->share * (double)(p->to_ns - p->from_ns);
		for (size_t k = 0; i % 29 == 0 && k < r->sim.n_spans; k++)
			if (r->sim.spans[k].from_ns <= p->from_ns &&
				p->from_ns < r->sim.spans[k].to_ns)
				sum += r->sim.spans[k].share;
		assert_true(sum < 1 + 1e-9);
	}
	for (size_t i = 0; i < r->table.n; i++)
		assert_true(fabs(had[i] - (double)r->table.jobs[i].length_ns) < 1000);
	free(had);
}

static void random_table(struct sl_buf *csv, struct sl_rng *rng)
{
	size_t n = 1 + sl_rng_below(rng, 40);

	sl_assert_ok(
		sl_buf_puts(csv, "submit_s,iterations,ms_per_iteration,persistent_mb,"
				 "ephemeral_mb,priority,deadline_s,declared_s\n"));
	for (size_t i = 0; i < n; i++)
		sl_assert_ok(sl_buf_printf(csv, "%u.%03u,%u,%u,%u,%u,%u,%s,%s\n",
			(unsigned)sl_rng_below(rng, 60),
			(unsigned)sl_rng_below(rng, 1000),
			(unsigned)(1 + sl_rng_below(rng, 30)),
			(unsigned)(1 + sl_rng_below(rng, 900)),
			(unsigned)sl_rng_below(rng, 4), (unsigned)sl_rng_below(rng, 9),
			(unsigned)(20 - sl_rng_below(rng, 12) / 11),
			sl_rng_below(rng, 9) ? "" : "50",
			sl_rng_below(rng, 4) ? "5" : ""));
}

static void random_jobs_all_end_with_sound_decisions_that_repeat(void **state)
{
	static const sl_ns waits[] = {0, 3 * SECOND, 20 * SECOND};

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sl_rng rng = {.key = {.seed = seed}};
		struct sl_buf csv = SL_BUF_INIT;
		struct sl_share_rules rules = {.capacity_bytes = (uint64_t)16 << 20,
			.lanes = (uint32_t)sl_rng_below(&rng, 3),
			.max_wait_ns = waits[seed % 3],
			.quantum_ns = (sl_ns)(seed % 4) * SECOND,
			.park_bytes_per_s = seed % 8 < 4 ? 0 : (uint64_t)64 << 20};

		random_table(&csv, &rng);
		for (size_t i = 0; sl_job_policy_at(i); i++) {
			const struct sl_job_policy *p = sl_job_policy_at(i);
			struct result r;

			sl_assert_ok(simulate(&r, csv.data, csv.len, p->name, &rules));
			check_spans(&r);
			sl_assert_ok(sl_log_replay(&r.sim.log, p));
			finish(&r);
		}
		sl_buf_finish(&csv);
	}
}

/* One long job, and short ones that alone fill the device for ever. */
static void adversary(struct sl_buf *csv, bool large)
{
	sl_assert_ok(sl_buf_puts(csv, "job_id,submit_s,iterations,ms_per_iteration,"
				      "persistent_mb,ephemeral_mb,priority\n"
				      "first,0,12,1000,1,5,20\n"));
	sl_assert_ok(sl_buf_printf(csv, "long,1,100,1000,%d,5,20\n", large ? 8 : 1));
	for (int i = 0; i < 400; i++)
		sl_assert_ok(sl_buf_printf(
			csv, "s%d,%d,10,1000,1,5,%d\n", i, 2 + 10 * i, large ? 20 : 5));
}

/* The long one comes second. */
static const struct sl_jobsim_job *long_one(const struct result *r)
{
	assert_int_equal(r->table.n, 402);
	return &r->table.jobs[1];
}

static void the_long_job_waits_no_longer_than_the_bound(void **state)
{
	/* A + R: when the long job comes of age, at 301 s, at most three jobs are
	 * resident, each with at most 12 s of service owed. */
	static const sl_ns bound = (300 + 3 * 12) * SECOND;

	(void)state;
	for (int large = 0; large < 2; large++) {
		struct sl_buf csv = SL_BUF_INIT;
		struct sl_share_rules rules = {.capacity_bytes = (uint64_t)14 << 20,
			.max_wait_ns = 300 * SECOND};

		adversary(&csv, large);
		for (size_t i = 0; sl_job_policy_at(i); i++) {
			const char *name = sl_job_policy_at(i)->name;
			const struct sl_jobsim_job *j;
			struct result r;

			sl_assert_ok(simulate(&r, csv.data, csv.len, name, &rules));
			j = long_one(&r);
			if (j->first_ns - j->submit_ns > bound)
				fail_msg("%s: the long job waits %.1f s", name,
					(double)(j->first_ns - j->submit_ns) * 1e-9);
			/* Where all waits count they stay within it, to its end. */
			if (!sl_job_policy_at(i)->turns && r.sim.sum.lanes == 1)
				assert_true(
					j->end_ns - j->submit_ns - j->length_ns <= bound);
			finish(&r);
		}
		sl_buf_finish(&csv);
	}
}

/* Three jobs that fit one at a time, the second arrives just after the first. */
static void residents_move_away_for_equals_after_a_quantum(void **state)
{
	static const char table[] =
		"submit_s,iterations,ms_per_iteration,persistent_mb,ephemeral_mb\n"
		"0,30,1000,8,2\n1,30,1000,8,2\n";
	struct sl_share_rules rules = {.capacity_bytes = (uint64_t)12 << 20,
		.quantum_ns = 10 * SECOND,
		.park_bytes_per_s = (uint64_t)16 << 20};
	struct result r;

	(void)state;
	sl_assert_ok(simulate(&r, table, sizeof(table) - 1, "fair", &rules));
	/* Away and back takes a second, so a stay is 20; then the other has its turn. */
	assert_int_equal(r.table.jobs[1].first_ns, 21 * SECOND);
	assert_int_equal(r.sim.sum.parks, 2);
	assert_int_equal(r.table.jobs[0].end_ns, (21 + 20 + 1 + 10) * SECOND);
	sl_assert_ok(sl_log_replay(&r.sim.log, r.sim.policy));
	finish(&r);
	rules.quantum_ns = 0;
	sl_assert_ok(simulate(&r, table, sizeof(table) - 1, "fair", &rules));
	assert_int_equal(r.table.jobs[1].first_ns, 30 * SECOND);
	assert_int_equal(r.sim.sum.parks, 0);
	finish(&r);
}

static void without_ageing_the_same_stream_starves_it(void **state)
{
	struct sl_buf csv = SL_BUF_INIT;
	struct sl_share_rules rules = {.capacity_bytes = (uint64_t)14 << 20};
	struct result r;

	(void)state;
	adversary(&csv, true);
	sl_assert_ok(simulate(&r, csv.data, csv.len, "srtf", &rules));
	assert_true(long_one(&r)->first_ns > 3900 * SECOND);
	finish(&r);
	sl_buf_finish(&csv);
}

static sl_status all_of_it(void *ctx)
{
	struct sl_buf csv = SL_BUF_INIT, text = SL_BUF_INIT;
	struct sl_share_rules rules = {.capacity_bytes = (uint64_t)14 << 20};
	struct sl_log back = {0};
	struct result r = {0};
	sl_status st;

	SL_TRY_OUT(sl_fs_read("tests/corpus/jobs/small.csv", 1 << 20, &csv));
	SL_TRY_OUT(simulate(&r, csv.data, csv.len, ctx, &rules));
	SL_TRY_OUT(sl_jobsim_jobs_csv(&r.table, &text));
	SL_TRY_OUT(sl_jobsim_spans_csv(&r.sim, &r.table, &text));
	SL_TRY_OUT(sl_jobsim_svg(&r.sim, &r.table, &text));
	sl_buf_clear(&text);
	SL_TRY_OUT(sl_log_print(&r.sim.log, &text));
	SL_TRY_OUT(sl_log_parse("log", text.data, text.len, &back));
	SL_TRY_OUT(sl_log_replay(&back, r.sim.policy));
out:
	sl_log_finish(&back);
	finish(&r);
	sl_buf_finish(&text);
	sl_buf_finish(&csv);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	static char names[][8] = {"fair", "srtf", "pack"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(names); i++)
		assert_true(sl_torture(all_of_it, names[i]) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_rows_of_salus100_are_exact),
		SL_TEST(random_jobs_all_end_with_sound_decisions_that_repeat),
		SL_TEST(the_long_job_waits_no_longer_than_the_bound),
		SL_TEST(without_ageing_the_same_stream_starves_it),
		SL_TEST(residents_move_away_for_equals_after_a_quantum),
		SL_TEST(every_allocation_may_fail),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

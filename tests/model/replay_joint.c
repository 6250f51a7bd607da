/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three jobs planned together and replayed over a grid of relative phases: all of them
 * stay within the budget, whenever they begin, and the split is no slower than plain
 * ones.
 */
#include "harness/harness.h"

#include <math.h>

#include "base/units.h"
#include "memory/replay.h"
#include "session/planner_int.h"
#include "unit/memory/policy/jobs_util.h"

#define PHASES 8u
#define ITERATIONS 3u
#define DISK ((uint64_t)1 << 32)

/* Bytes over rates are within the time, wire by wire; jobs have links of equal rates. */
static void wires_carry_what_they_can(
	const struct sl_trace *t, const struct sl_replay_total *total)
{
	for (uint32_t i = 0; i < total->n_links; i++) {
		const struct sl_replay_link *l = &total->links[i];
		double ns = (double)l->bytes * 1e9 / (double)t->links[0].bytes_per_s;

		/* Every copy's end is rounded down to a nanosecond. */
		assert_true(ns <= (double)l->busy_ns * (1 + 1e-3));
		assert_true(l->busy_ns <= total->end_ns);
	}
}

static uint64_t replay_once(const struct jobs_rig *r, const struct sl_replay_opts *o)
{
	struct sl_replay_result results[JOINT_JOBS];
	struct sl_replay_total total = {0};
	uint64_t held;

	sl_assert_ok(sl_replay(o, results, &total));
	assert_true(total.held_peak_bytes <= r->budget);
	for (size_t i = 0; i < r->n; i++) {
		assert_true(results[i].peak_bytes <= r->jobs[i].budget);
		assert_true(results[i].held_peak_bytes <= results[i].peak_bytes);
	}
	wires_carry_what_they_can(r->jobs[0].trace, &total);
	held = total.held_peak_bytes;
	sl_replay_total_finish(&total);
	return held;
}

/* All phases of jobs 1 and 2 against job 0, on one device and on one each. */
static void replay_phases(const struct jobs_rig *r)
{
	struct sl_replay_job jobs[JOINT_JOBS];
	struct sl_replay_opts o = {.jobs = jobs, .n_jobs = (uint32_t)r->n};
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < r->n; i++)
		jobs[i] = (struct sl_replay_job){.trace = r->jobs[i].trace,
			.plan = &r->jobs[i].plan,
			.iterations = ITERATIONS};
	for (uint32_t k = 0; k < 2 * PHASES * PHASES; k++) {
		uint64_t held;

		o.own_compute = k % 2 > 0;
		jobs[1].phase_ns = r->jobs[1].iter_ns * (k / 2 % PHASES) / PHASES;
		jobs[2].phase_ns = r->jobs[2].iter_ns * (k / 2 / PHASES) / PHASES;
		held = replay_once(r, &o);
		least = held < least ? held : least;
		most = held > most ? held : most;
	}
	/* Phases matter, or this would show nothing. */
	assert_true(least < most);
}

struct split {
	uint64_t budgets[JOINT_JOBS];
	struct sl_plan plans[JOINT_JOBS];
	struct sl_trace_link links[JOINT_JOBS][4];
	struct sl_trace views[JOINT_JOBS];
};

static void set_share(struct split *s, const struct jobs_rig *r, size_t i, double share)
{
	s->views[i] = *r->jobs[i].trace;
	s->views[i].links = s->links[i];
	assert_true(s->views[i].n_links <= 4);
	for (uint32_t k = 0; k < s->views[i].n_links; k++) {
		s->links[i][k] = r->jobs[i].trace->links[k];
		s->links[i][k].bytes_per_s =
			(uint64_t)((double)s->links[i][k].bytes_per_s * share);
	}
}

/* Sum of slowdowns, each job with its share among those that move bytes. */
static double slow_of(struct split *s, const struct jobs_rig *r)
{
	struct sl_plan_price price;
	size_t movers = 0;
	double sum = 0;
	sl_status st;

	for (size_t i = 0; i < r->n; i++) {
		set_share(s, r, i, 1.0 / (double)r->n);
		st = sl_policy_apply(
			&r->choice, &s->views[i], s->budgets[i], &s->plans[i]);
		if (st == SL_E_INFEASIBLE) {
			while (i-- > 0)
				sl_plan_finish(&s->plans[i]);
			return INFINITY;
		}
		sl_assert_ok(st);
		sl_assert_ok(sl_plan_price(&s->views[i], &s->plans[i], &price));
		movers += price.swap_in_bytes + price.swap_out_bytes > 0;
	}
	for (size_t i = 0; i < r->n; i++) {
		set_share(s, r, i, movers > 0 ? 1.0 / (double)movers : 1);
		sl_assert_ok(sl_plan_price(&s->views[i], &s->plans[i], &price));
		sum += (double)price.iter_ns / (double)price.base_iter_ns;
		sl_plan_finish(&s->plans[i]);
	}
	return sum;
}

static void compare_splits(const struct jobs_rig *r)
{
	struct split equal = {0}, by_peak = {0};
	double joint = 0, plain[2] = {0};

	for (size_t i = 0; i < r->n; i++) {
		joint += (double)r->jobs[i].iter_ns / (double)r->jobs[i].base_ns;
		equal.budgets[i] = r->budget / r->n;
		by_peak.budgets[i] = (uint64_t)((double)r->budget * (double)r->peaks[i] /
						(double)r->sum_peaks);
	}
	plain[0] = slow_of(&equal, r);
	plain[1] = slow_of(&by_peak, r);
	print_message("slowdowns of 3: joint %.4f, equal %.4f, by peak %.4f\n", joint,
		plain[0], plain[1]);
	assert_true(joint <= plain[0]);
	assert_true(joint <= plain[1]);
}

static void check(struct jobs_rig *r)
{
	for (unsigned percent = 60; percent >= 40; percent -= 20) {
		jobs_plan(r, r->sum_peaks * percent / 100);
		jobs_check(r);
		replay_phases(r);
		compare_splits(r);
		jobs_forget(r);
	}
}

static void training_traces_share_one_budget_whatever_their_phase(void **state)
{
	static const uint32_t sizes[][3][3] = {
		{{4, 128, 512}, {3, 256, 64}, {6, 64, 256}},
		{{2, 64, 1024}, {5, 96, 96}, {3, 192, 32}},
	};

	(void)state;
	for (size_t k = 0; k < SL_COUNT(sizes); k++) {
		struct jobs_rig r = {0};

		for (size_t i = 0; i < 3; i++)
			jobs_add(&r, gen_training(sizes[k][i][0], sizes[k][i][1],
					     sizes[k][i][2], DISK));
		check(&r);
		jobs_finish(&r);
	}
}

static struct sl_planner *open_model(const char *model, int64_t batch, bool half)
{
	const struct sl_session_config config = {.model = model, .batch = batch};
	const struct sl_planner_device device = {.half_duplex = half};
	struct sl_planner *p = NULL;

	sl_assert_ok(sl_planner_open(&config, &device, &p));
	return p;
}

static void models_share_one_budget_whatever_their_phase(void **state)
{
	static const char *const models[] = {"convnet", "unet:width=8,input=3x32x32",
		"gpt2:layers=3,width=64,context=64,vocab=256"};
	static const int64_t batches[] = {64, 8, 8};

	(void)state;
	for (int half = 0; half < 2; half++) {
		struct jobs_rig r = {
			.choice = sl_policy_usual(&sl_mem_policy_tensile), .n = 3};
		struct sl_planner *planners[3];

		for (size_t i = 0; i < 3; i++) {
			planners[i] = open_model(models[i], batches[i], half > 0);
			r.jobs[i].trace = &planners[i]->trace;
			r.peaks[i] = planners[i]->unbudgeted_peak;
			r.sum_peaks += r.peaks[i];
		}
		check(&r);
		for (size_t i = 0; i < 3; i++)
			sl_planner_close(planners[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(training_traces_share_one_budget_whatever_their_phase),
		SL_TEST(models_share_one_budget_whatever_their_phase),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

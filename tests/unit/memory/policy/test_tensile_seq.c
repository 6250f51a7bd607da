/* SPDX-License-Identifier: Apache-2.0 */
/* The published scheduler: several jobs on one channel, a plan's curve is what its tasks
 * make of it, and it survives every failing allocation. */
#include "harness/harness.h"

#include "unit/memory/policy/tp_util.h"

/* The i-th copy of any job, NULL past the last. */
static const struct sl_tp_task *copy_at(const struct sl_tp *p, uint32_t i)
{
	for (uint32_t job = 0; job < p->n_jobs; job++) {
		for (uint32_t k = 0; k < p->jobs[job].n_tasks; k++) {
			const struct sl_tp_task *a = &p->jobs[job].tasks[k];

			if ((a->kind == SL_ACTION_OUT || a->kind == SL_ACTION_IN) &&
				i-- == 0)
				return a;
		}
	}
	return NULL;
}

/* How many pairs of copies, of any jobs, meet in time. */
static uint32_t count_clashes(const struct sl_tp *p)
{
	uint32_t clashes = 0;

	for (uint32_t i = 0; copy_at(p, i); i++) {
		const struct sl_tp_task *a = copy_at(p, i), *b;

		for (uint32_t k = i + 1; (b = copy_at(p, k)) != NULL; k++)
			clashes += a->start_ns < b->end_ns && b->start_ns < a->end_ns;
	}
	return clashes;
}

static void two_jobs_never_use_the_channel_at_the_same_time(void **state)
{
	(void)state;
	struct gen g = tp_chain();
	const struct sl_trace *traces[2] = {&g.t, &g.t};
	const struct sl_tp_wire wires[2] = {*WIRE, *WIRE};

	for (int own = 0; own < 2; own++) {
		struct sl_tp_options opt = {NO_REDO, .channel_per_job = own};
		struct sl_tp p = {0};

		sl_assert_ok(sl_tp_init(&p, traces, wires, 2, &opt));
		sl_assert_ok(sl_tp_run(&p));
		assert_true(p.jobs[0].n_tasks >= 4 && p.jobs[1].n_tasks >= 4);
		assert_int_equal(p.peak, p.jobs[0].peak + p.jobs[1].peak);
		assert_int_equal(p.peak, 800 * MB);
		assert_int_equal(count_clashes(&p) > 0, own);
		sl_tp_finish(&p);
	}
	sl_trace_finish(&g.t);
}

/* What its first task and its life say about a value at a time before any task. */
static bool here_at_first(const struct sl_tp_job *j, uint32_t v, uint64_t at)
{
	uint32_t i = 0;

	if (!sl_tp_persists(j, v))
		return sl_tp_start(j, j->x.first[v]) <= at;
	while (i < j->n_tasks && j->tasks[i].value != v)
		i++;
	return i == j->n_tasks || j->tasks[i].kind != SL_ACTION_IN;
}

/* A value's tasks alone say when it is on the device. */
static bool held_at(const struct sl_tp_job *j, uint32_t v, uint64_t at)
{
	bool here = here_at_first(j, v, at);

	for (uint32_t i = 0; i < j->n_tasks; i++) {
		const struct sl_tp_task *a = &j->tasks[i];
		bool comes = a->kind == SL_ACTION_IN || a->kind == SL_ACTION_RECOMPUTE;

		if (a->value == v &&
			(a->kind == SL_ACTION_OUT ? a->end_ns : a->start_ns) <= at)
			here = comes;
	}
	return here && (sl_tp_persists(j, v) || at < sl_tp_end(j, j->x.first[v + 1] - 1));
}

static uint64_t bytes_at(const struct sl_tp_job *j, uint64_t at)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < j->t->n_ops; k++) {
		if (j->op_end[k] <= at && at < j->op_end[k + 1])
			sum += sl_room_workspace(&j->t->ops[k]);
	}
	for (uint32_t v = 0; v < j->t->n_values; v++) {
		bool used = j->x.first[v] < j->x.first[v + 1] || sl_tp_persists(j, v);

		if (used && j->t->values[v].alias == SL_NO_ID && held_at(j, v, at))
			sum += sl_room_value(&j->t->values[v]);
	}
	return sum;
}

static void check_job(const struct sl_tp_job *j)
{
	uint64_t peak = 0;

	for (size_t i = 0; i < j->n_events; i++) {
		uint64_t at = j->events[i].at_ns, sum = bytes_at(j, at);

		assert_int_equal(sum, sl_tp_level(j, at));
		peak = sum > peak ? sum : peak;
	}
	assert_int_equal(peak, j->peak);
	for (uint32_t v = 0; v < j->t->n_values; v++) {
		for (uint32_t u = j->x.first[v]; u < j->x.first[v + 1]; u++) {
			assert_true(held_at(j, v, sl_tp_start(j, u)));
			assert_true(held_at(j, v, sl_tp_end(j, u) - 1));
		}
	}
}

static void the_tasks_make_the_curve_and_every_use_finds_its_value(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 120; seed++) {
		struct gen g = seed % 6 ? gen_random(seed, 1 + (uint32_t)(seed % 40))
					: gen_training(2, 32, 16, 1 << 26);
		struct sl_tp_wire wire = sl_tp_wire_of(&g.t);
		struct sl_tp_options opt = {.skip_worthless = seed & 1,
			.retry_swaps = seed & 2,
			.early_close = seed & 4,
			.no_cross_iteration = seed & 8};
		struct sl_tp p = {0};
		struct sl_tp_job *j = tp_plan(&p, &g, &wire, &opt);

		check_job(j);
		assert_int_equal(count_clashes(&p), 0);
		tp_end(&p, &g);
	}
}

static sl_status plan_two(void *ctx)
{
	const struct sl_trace *traces[2] = {ctx, ctx};
	const struct sl_tp_wire wires[2] = {*WIRE, *WIRE};
	struct sl_tp_options opt = {.skip_worthless = true};
	struct sl_tp p = {0};
	sl_status st = sl_tp_init(&p, traces, wires, 2, &opt);

	if (st == SL_OK)
		st = sl_tp_run(&p);
	sl_tp_finish(&p);
	return st;
}

static void it_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct gen g = tp_chain();

	assert_true(sl_torture(plan_two, &g.t) > 15);
	sl_trace_finish(&g.t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(two_jobs_never_use_the_channel_at_the_same_time),
		SL_TEST(the_tasks_make_the_curve_and_every_use_finds_its_value),
		SL_TEST(it_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

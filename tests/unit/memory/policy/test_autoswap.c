/* SPDX-License-Identifier: Apache-2.0 */
/* autoswap: the published example, to the number, and what each score and mode does. */
#include "harness/harness.h"

#include <stdio.h>

#include "memory/policy/autoswap.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"
#include "unit/memory/policy/plan_by.h"

/*
 * Weights 20; m a1(30), w a1, m a2(40), r a1, w a2, m a3(30), r a2, w a3, m g(10), r a3,
 * w g, f a3, r a2, w g, f a2, r a1, w g, f a1, f g: an op an event, a nanosecond each. A
 * free is a last read.
 */
enum { WEIGHTS, A1, A2, A3, G };

struct event {
	char what; /* Malloc, Write, Read or Free */
	uint32_t value;
};

static const struct event events[] = {{'m', A1}, {'w', A1}, {'m', A2}, {'r', A1},
	{'w', A2}, {'m', A3}, {'r', A2}, {'w', A3}, {'m', G}, {'r', A3}, {'w', G},
	{'f', A3}, {'r', A2}, {'w', G}, {'f', A2}, {'r', A1}, {'w', G}, {'f', A1},
	{'f', G}};
static const uint64_t want_load[] = {50, 50, 90, 90, 90, 120, 120, 120, 130, 130, 130,
	130, 100, 100, 100, 60, 60, 60, 30};

/* rate 0: no copy takes any time. */
static struct sl_trace example(uint64_t rate)
{
	static const uint64_t bytes[] = {20, 30, 40, 30, 10};
	struct gen g = {.t = SL_TRACE_INIT};

	gen_tier(&g, "host", 1 << 20, rate > 0 ? rate : 1000000000000);
	for (uint32_t i = 0; i < g.t.n_links; i++)
		g.t.links[i].latency_ns = 0;
	for (uint32_t v = 0; v <= G; v++)
		sl_assert_ok(sl_trace_add_value(&g.t,
			&(struct sl_trace_value){.bytes = bytes[v],
				.align = 1,
				.alias = SL_NO_ID,
				.cls = v == WEIGHTS ? SL_CLASS_PARAM : SL_CLASS_ACT}));
	for (size_t i = 0; i < SL_COUNT(events); i++) {
		uint32_t v = events[i].value;
		struct sl_trace_op op = {
			.kind = "event", .dur_ns = 1, .in = &v, .out = &v, .mutates = &v};

		op.n_out = events[i].what == 'm';
		op.n_mutates = events[i].what == 'w';
		op.n_in = events[i].what == 'r' || events[i].what == 'f';
		sl_assert_ok(sl_trace_add_op(&g.t, &op));
	}
	sl_assert_ok(gen_end(&g));
	return g.t;
}

struct fixture {
	struct sl_trace t;
	struct sl_gaps g;
	struct sl_as a;
};

static void open(struct fixture *f, enum sl_as_score score, uint64_t rate)
{
	*f = (struct fixture){.t = example(rate)};
	sl_assert_ok(sl_gaps_init(&f->g, &f->t));
	sl_assert_ok(sl_as_init(&f->a, &f->g));
	f->a.limit = 95;
	f->a.score = score;
	sl_gaps_levels(&f->g, f->a.level);
}

static void close(struct fixture *f)
{
	sl_as_finish(&f->a);
	sl_gaps_finish(&f->g);
	sl_trace_finish(&f->t);
}

static void want_pair(const struct sl_as_pair *x, uint32_t v, uint32_t from, uint32_t to)
{
	assert_int_equal(x->gap->value, v);
	assert_int_equal(x->gap->from_op, from);
	assert_int_equal(x->gap->to_op, to);
}

static void the_published_example_is_met_to_the_number(void **state)
{
	(void)state;
	struct fixture f;

	for (int score = 0; score < SL_AS_SCORES; score++) {
		open(&f, (enum sl_as_score)score, 0);
		for (size_t i = 0; i < SL_COUNT(want_load); i++)
			assert_int_equal(f.a.level[i], want_load[i]);
		assert_int_equal(sl_as_peak(&f.a), 8);
		sl_as_list(&f.a, 8);
		assert_int_equal(f.a.n, 3);
		want_pair(&f.a.list[0], A1, 3, 15);
		want_pair(&f.a.list[1], A2, 6, 12);
		want_pair(&f.a.list[2], A3, 7, 9);
		assert_true(f.a.list[0].aoa == 360 && f.a.list[1].aoa == 240 &&
			    f.a.list[2].aoa == 60);
		assert_true(f.a.list[0].wdoa == 225 && f.a.list[1].wdoa == 165 &&
			    f.a.list[2].wdoa == 35);
		assert_true(sl_as_choose(&f.a));
		for (uint32_t i = 0; i < f.g.n; i++)
			assert_int_equal(f.g.gaps[i].fate == SL_FATE_SWAP,
				f.g.gaps[i].from_op == 3 ||
					(f.g.gaps[i].from_op == 6 &&
						f.g.gaps[i].value == A2));
		assert_int_equal(f.a.level[sl_as_peak(&f.a)], 90);
		close(&f);
	}
}

/* At 10 bytes a ns a1 is 3 ns on its way, each way; a2 4; a3 3. */
static void both_copies_count_against_an_absence_once(void **state)
{
	(void)state;
	struct fixture f;

	open(&f, SL_AS_AOA, 10000000000);
	sl_as_list(&f.a, 8);
	assert_true(f.a.list[0].doa == 12 - 6 && f.a.list[0].aoa == 6 * 30);
	assert_true(f.a.list[1].doa == 6 - 8 && f.a.list[1].aoa == -2.0 / 40);
	assert_true(f.a.list[2].doa == 2 - 6 && f.a.list[2].aoa == -4.0 / 30);
	close(&f);
}

/* Out one after the other: a1 [4, 7), a2 [7, 11); in: a2 [8, 12) is not out by then. */
static void without_overhead_what_does_not_fit_stays(void **state)
{
	(void)state;
	struct fixture f;

	open(&f, SL_AS_AOA, 10000000000);
	assert_true(sl_as_choose(&f.a));
	sl_as_time(&f.a, false);
	for (uint32_t i = 0; i < f.g.n; i++) {
		const struct sl_gap *gap = &f.g.gaps[i];

		assert_int_equal(
			gap->fate == SL_FATE_SWAP, gap->value == A1 && gap->from_op == 3);
		if (gap->fate == SL_FATE_SWAP) {
			assert_int_equal(gap->hold, 7);
			assert_int_equal(gap->arrive, 12);
		}
	}
	assert_int_equal(f.a.level[6], 120);
	assert_int_equal(f.a.level[8], 100);
	close(&f);
}

static void sticking_to_the_limit_ops_wait_for_copies(void **state)
{
	(void)state;
	struct fixture f;
	uint32_t n = 0;

	open(&f, SL_AS_AOA, 10000000000);
	assert_true(sl_as_choose(&f.a));
	sl_as_time(&f.a, true);
	for (uint32_t i = 0; i < f.t.n_ops; i++)
		assert_true(f.a.level[i] <= 95);
	for (uint32_t i = 0; i < f.g.n; i++) {
		const struct sl_gap *gap = &f.g.gaps[i];

		if (gap->fate != SL_FATE_SWAP)
			continue;
		n++;
		/* Op 5 is the first one over the limit, op 8 that of a2. */
		assert_int_equal(gap->hold, gap->value == A1 ? 5 : 8);
		assert_true(gap->hold <= gap->arrive && gap->arrive <= gap->to_op);
	}
	assert_int_equal(n, 2);
	close(&f);
}

/* A policy's options by text; the plan's price in *ns. */
static void a_budget_is_met_and_time_is_what_it_costs(void **state)
{
	(void)state;
	struct gen g = gen_training(4, 64, 256, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t keep = 0;

	sl_assert_ok(gen_end(&g));
	for (uint32_t i = 0; i < g.t.n_links; i++)
		g.t.links[i].bytes_per_s = 64000000000;
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
	for (int score = 0; score < SL_AS_SCORES; score++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "autoswap:score=%d", score);
		(void)plan_by(&g.t, text, keep / 4096 * 3 / 4 * 4096, &p);
		assert_string_equal(p.policy, "autoswap");
		assert_true(p.n_actions > 0);
		sl_plan_finish(&p);
	}
	sl_trace_finish(&g.t);
}

static uint64_t moved(const struct sl_trace *t, const struct sl_plan *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->n_actions; i++)
		if (p->actions[i].kind == SL_ACTION_OUT)
			bytes += t->values[p->actions[i].value].bytes;
	return bytes;
}

static void without_overhead_nothing_stalls(void **state)
{
	(void)state;
	struct gen g = gen_training(4, 64, 256, 1 << 28);
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t keep = 0;

	sl_assert_ok(gen_end(&g));
	for (uint32_t i = 0; i < g.t.n_links; i++)
		g.t.links[i] = (struct sl_trace_link){.from = g.t.links[i].from,
			.to = g.t.links[i].to,
			.bytes_per_s = 64000000000};
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g.t, &keep));
	(void)plan_by(&g.t, "autoswap:stick=0", keep / 4096 * 9 / 10 * 4096, &p);
	assert_true(moved(&g.t, &p) > 0);
	assert_int_equal(p.stall_ns, 0);
	sl_plan_finish(&p);
	sl_trace_finish(&g.t);
}

static void small_values_stay_below_a_floor(void **state)
{
	(void)state;
	struct fixture f;

	open(&f, SL_AS_AOA, 0);
	f.a.floor_bytes = 31;
	sl_as_list(&f.a, 8);
	assert_int_equal(f.a.n, 1);
	want_pair(&f.a.list[0], A2, 6, 12);
	assert_false(sl_as_choose(&f.a));
	close(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_example_is_met_to_the_number),
		SL_TEST(both_copies_count_against_an_absence_once),
		SL_TEST(without_overhead_what_does_not_fit_stays),
		SL_TEST(sticking_to_the_limit_ops_wait_for_copies),
		SL_TEST(a_budget_is_met_and_time_is_what_it_costs),
		SL_TEST(without_overhead_nothing_stalls),
		SL_TEST(small_values_stay_below_a_floor),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

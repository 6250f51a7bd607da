/* SPDX-License-Identifier: Apache-2.0 */
/* Traces at the far ends of what the format allows: policies plan soundly or say that the
 * budget is infeasible, and no sum of times or bytes wraps. */
#include "harness/harness.h"

#include <string.h>

#include "base/rng.h"
#include "fuzz/hostile_trace.h"
#include "memory/place.h"
#include "memory/policy/policy.h"
#include "memory/replay.h"

#define HEAD "trace 1\njob 0 name=t iterations=0\n"
#define DISK \
	"tier disk bytes=1152921504606846976\n" \
	"link device disk bytes_per_s=1000000000\nlink disk device " \
	"bytes_per_s=1000000000\n"

static const char *const choices[] = {"tensile", "tensile:effort=0",
	"tensile:published=1", "tensile:cross=0", "tensile:redo=0", "vdnn", "capuchin",
	"mimose", "chen", "chen:greedy=1", "dtr", "dtr:score=1", "autoswap",
	"autoswap:score=3", "autoswap:score=4,stick=0", "demand", "demand:pipeline=0",
	"demand:pipeline=1", "belady", "g10", "g10:host=0,eager=0,wait=0",
	"joint:effort=1"};

/* Each policy at budgets from below what works to above the peak; how many plans run ops
 * again. */
static uint32_t plan_everywhere(const struct sl_trace *t)
{
	struct sl_least_budget least = {0};
	uint32_t again = 0;
	uint64_t peak = 0;

	sl_assert_ok(sl_trace_least_budget(t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, t, &peak));
	for (size_t i = 0; i < SL_COUNT(choices); i++) {
		struct sl_policy_choice c;

		sl_assert_ok(sl_policy_parse(choices[i], &c));
		for (uint64_t k = 0; k <= 16; k++) {
			struct sl_plan p = SL_PLAN_INIT;
			struct sl_plan_price price = {0};
			uint64_t budget =
				least.bytes / 2 + (peak - least.bytes / 2) / 16 * k;
			sl_status st = sl_policy_apply(&c, t, budget, &p);

			if (st == SL_OK)
				sl_assert_ok(sl_plan_price(t, &p, &price));
			else
				sl_assert_fails(st, SL_E_INFEASIBLE, "");
			again += price.recompute_ops;
			sl_plan_finish(&p);
		}
	}
	return again;
}

static uint32_t plan_text(const char *text)
{
	struct sl_trace t = SL_TRACE_INIT;
	uint32_t again;

	sl_assert_ok(sl_trace_parse("hand.trace", text, strlen(text), &t));
	again = plan_everywhere(&t);
	sl_trace_finish(&t);
	return again;
}

/* v1 could be had again from v0, but v0 is dead by then. */
#define REBORN(how) \
	HEAD "value v0 bytes=4096 align=4096 class=act " how "\n" \
	     "value v1 bytes=16384 align=4096 class=act\n" \
	     "value v2 bytes=4096 align=4096 class=act\n" \
	     "op 0 kind=a dur_ns=10 out=v0\nop 1 kind=b dur_ns=10 in=v0 out=v1\n" \
	     "op 2 kind=c dur_ns=90000 out=v2\n" \
	     "op 3 kind=d dur_ns=10 in=v2 workspace=16384\nop 4 kind=e dur_ns=10 " \
	     "in=v1\n"

/* A tier that nobody would use if there is another way. */
#define SLOW "tier disk bytes=1048576\nlink device disk bytes_per_s=1000\n"

static void what_cannot_move_is_not_borne_a_second_time(void **state)
{
	(void)state;
	assert_true(plan_text(REBORN("immovable=0")) > 0);
	assert_int_equal(plan_text(REBORN("immovable=1")), 0);
	assert_int_equal(plan_text(REBORN("external=1")), 0);
}

/* A tier too small for what would have to leave: recomputing makes it. */
static void what_recomputing_makes_feasible_does_not_fail_for_want_of_a_tier(void **state)
{
	static const char text[] = REBORN("immovable=0") "op 5 kind=f dur_ns=10 in=v1\n";
	static const char tier[] =
		"tier disk bytes=4096\nlink device disk bytes_per_s=1000000000\n";
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf all = SL_BUF_INIT;
	uint64_t least, peak;

	(void)state;
	sl_assert_ok(sl_buf_printf(&all, HEAD "%s%s", tier, text + strlen(HEAD)));
	sl_assert_ok(sl_trace_parse("hand.trace", all.data, all.len, &t));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_tensile, &t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &t, &peak));
	assert_true(least < peak);
	for (; least <= peak; least += 4096) {
		struct sl_plan p = SL_PLAN_INIT;

		sl_assert_ok(sl_policy_plan(&sl_mem_policy_tensile, &t, least, &p));
		assert_int_equal(p.budget, least);
		sl_plan_finish(&p);
	}
	sl_trace_finish(&t);
	sl_buf_finish(&all);
}

/* Chains of two runs, with and without a tier for the rest. */
static sl_status plan_again(void *ctx)
{
	const struct sl_trace *t = ctx;
	struct sl_policy_choice c;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price = {0};
	sl_status st;

	sl_assert_ok(sl_policy_parse("tensile", &c));
	SL_TRY_OUT(sl_policy_apply(&c, t, 24576, &p));
	SL_TRY_OUT(sl_plan_price(t, &p, &price));
	assert_true(price.recompute_ops >= 2);
out:
	sl_plan_finish(&p);
	return st;
}

static void planning_to_recompute_survives_every_failed_allocation(void **state)
{
	static const char *const texts[] = {REBORN(""), REBORN("") SLOW};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(texts); i++) {
		struct sl_trace t = SL_TRACE_INIT;

		sl_assert_ok(
			sl_trace_parse("hand.trace", texts[i], strlen(texts[i]), &t));
		assert_true(sl_torture(plan_again, &t) > 100);
		sl_trace_finish(&t);
	}
}

static void ops_of_no_length_do_not_turn_time_round(void **state)
{
	(void)state;
	struct sl_buf text = SL_BUF_INIT;

	sl_assert_ok(sl_buf_puts(&text, HEAD DISK));
	for (int i = 0; i < 12; i++)
		sl_assert_ok(sl_buf_printf(
			&text, "value v%d bytes=4096 align=4096 class=act\n", i));
	for (int i = 0; i < 8; i++)
		sl_assert_ok(sl_buf_printf(&text, "op %d kind=a out=v%d\n", i, i));
	for (int i = 8; i < 12; i++)
		sl_assert_ok(sl_buf_printf(&text,
			"op %d kind=conv dur_ns=90000 in=v%d out=v%d\n", i, 11 - i, i));
	(void)plan_text(sl_buf_text(&text));
	sl_buf_finish(&text);
}

/* Forty tensors of 4 PiB over a link of a byte a second: 5e24 ns a copy. */
static void times_without_end_stay_at_the_end_of_time(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_buf text = SL_BUF_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	struct sl_replay_job job = {.trace = &t, .plan = &p, .iterations = 1};
	struct sl_replay_result result = {0};
	struct sl_replay_total total = {0};
	struct sl_least_budget least;

	sl_assert_ok(sl_buf_puts(&text,
		HEAD "tier disk bytes=1152921504606846976\n"
		     "link device disk bytes_per_s=1 latency_ns=1099511627776\n"
		     "link disk device bytes_per_s=1 latency_ns=1099511627776\n"));
	for (int i = 0; i < 40; i++)
		sl_assert_ok(sl_buf_printf(&text,
			"value v%d bytes=4503599627370496 align=4096 class=%s\n", i,
			i < 20 ? "param" : "act"));
	for (int i = 0; i < 20; i++)
		sl_assert_ok(sl_buf_printf(&text,
			"op %d kind=matmul dur_ns=18014398509481984 in=v%d out=v%d\n", i,
			i, 20 + i));
	for (int i = 0; i < 20; i++)
		sl_assert_ok(sl_buf_printf(&text,
			"op %d kind=sgd dur_ns=9007199254740992 in=v%d mutates=v%d\n",
			20 + i, 39 - i, 19 - i));
	sl_assert_ok(sl_trace_parse("hand.trace", text.data, text.len, &t));
	(void)plan_everywhere(&t);
	sl_assert_ok(sl_trace_least_budget(&t, &least));
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_belady, &t, least.bytes, &p));
	sl_assert_ok(sl_plan_price(&t, &p, &price));
	assert_true(price.iter_ns == UINT64_MAX);
	sl_assert_fails(sl_replay(&(struct sl_replay_opts){.jobs = &job, .n_jobs = 1},
				&result, &total),
		SL_E_LIMIT, "584 years");
	sl_replay_total_finish(&total);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	sl_buf_finish(&text);
}

static void any_trace_is_planned_soundly_or_infeasible(void **state)
{
	(void)state;
	struct sl_rng rng = {.key = {.seed = 20240}};
	uint32_t again = 0, planned = 0;

	for (int i = 0; i < 40; i++) {
		uint8_t data[400];
		struct hostile h = {.b = {data, sizeof(data)}};

		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)sl_rng_next(&rng);
		if (hostile_trace(&h, 20) == SL_OK) {
			planned++;
			again += plan_everywhere(&h.t);
		}
		sl_trace_finish(&h.t);
	}
	assert_true(planned > 20);
	assert_true(again > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_move_is_not_borne_a_second_time),
		cmocka_unit_test(
			what_recomputing_makes_feasible_does_not_fail_for_want_of_a_tier),
		cmocka_unit_test(planning_to_recompute_survives_every_failed_allocation),
		cmocka_unit_test(ops_of_no_length_do_not_turn_time_round),
		cmocka_unit_test(times_without_end_stay_at_the_end_of_time),
		cmocka_unit_test(any_trace_is_planned_soundly_or_infeasible),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recompute lines: one sound plan and one broken one for each of their rules. */
#include "harness/harness.h"

#include "memory/replay.h"
#include "unit/memory/plan_util.h"

/*
 * Pages. Op 1 bears v3 and v4 from the fed v2 and the weight v0; op 2 changes v3 in
 * place; op 5 needs both; op 6 updates v0 and its moment v1.
 */
#define TRACE \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=65536\n" \
	"link device disk bytes_per_s=1000000000\n" \
	"link disk device bytes_per_s=1000000000\n" \
	"value v0 bytes=4096 align=4096 class=param\n" \
	"value v1 bytes=4096 align=4096 class=state\n" \
	"value v2 bytes=4096 align=4096 class=input\n" \
	"value v3 bytes=4096 align=4096 class=act\n" \
	"value v4 bytes=4096 align=4096 class=act\n" \
	"value v5 bytes=4096 align=4096 class=act\n" \
	"value v6 bytes=4096 align=4096 class=act\n" \
	"value v7 bytes=4096 align=4096 class=grad\n" \
	"op 0 kind=feed dur_ns=1000 out=v2 pure=0\n" \
	"op 1 kind=norm dur_ns=1000 workspace=64 in=v2,v0 out=v3,v4\n" \
	"op 2 kind=relu dur_ns=1000 mutates=v3\n" \
	"op 3 kind=half dur_ns=1000 in=v3 out=v5\n" \
	"op 4 kind=half dur_ns=1000 in=v5 out=v6\n" \
	"op 5 kind=grad dur_ns=1000 in=v3,v4,v6 out=v7\n" \
	"op 6 kind=adam dur_ns=1000 in=v7 mutates=v0,v1\n" \
	"op 7 kind=last dur_ns=1000 in=v2\n"

#define PLAN \
	"plan 1 budget=65536 policy=hand order=seal\n" \
	"place v0 region=P offset=0\nplace v1 region=P offset=4096\n" \
	"place v2 region=lane offset=8192\nplace v3 region=lane offset=12288\n" \
	"place v4 region=lane offset=16384\nplace v5 region=lane offset=20480\n" \
	"place v6 region=lane offset=24576\nplace v7 region=lane offset=28672\n" \
	"place w1 region=lane offset=32768\n"
#define LINE(position, rest) position " delay_ns=0 " rest "\n"
#define DROP3 LINE("after 3", "drop v3")
#define DROP4 LINE("after 3", "drop v4")
#define AGAIN3(w) LINE("before 5", "recompute v3 again=1 offset=36864 workspace=" w)
#define NORM AGAIN3("40960")
#define BOTH NORM LINE("before 5", "recompute v4 again=1 offset=16384")
#define RELU LINE("before 5", "recompute v3 again=2 offset=-")

/* What carries the plan out in virtual time comes to the same. */
static sl_status replay(const struct sl_trace *t, const struct sl_plan *p,
	const struct sl_plan_price *price)
{
	struct sl_replay_job job = {.trace = t, .plan = p};
	struct sl_replay_opts o = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result r;
	struct sl_replay_total total = {0};

	SL_TRY(sl_replay(&o, &r, &total));
	sl_replay_total_finish(&total);
	assert_int_equal(r.first_iter_ns, price->iter_ns);
	assert_int_equal(r.recompute_ns, price->recompute_ns);
	assert_int_equal(r.recompute_ops, price->recompute_ops);
	assert_int_equal(r.stall_ns, price->stall_ns);
	assert_int_equal(r.peak_bytes, p->peak);
	return SL_OK;
}

static sl_status price_text(const char *text, struct sl_plan_price *price)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st;

	sl_assert_ok(sl_trace_parse("hand.trace", TRACE, strlen(TRACE), &t));
	sl_assert_ok(plan_parse(&t, text, &p));
	st = sl_plan_check(&t, &p, 65536, NULL);
	if (st == SL_OK)
		st = sl_plan_price(&t, &p, price);
	if (st == SL_OK)
		st = replay(&t, &p, price);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
	return st;
}

static const struct {
	const char *text;
	uint64_t iter_ns, recompute_ns;
} sound[] = {
	/* v3 by op 1 and op 2; v4 is overwritten with the same bits */
	{PLAN DROP3 NORM RELU, 10000, 2000},
	{PLAN DROP3 DROP4 BOTH RELU, 10000, 2000},
	/* the first run's place and workspace are free again */
	{PLAN DROP3 LINE("before 5", "recompute v3 again=1 offset=12288 workspace=32768")
			RELU,
		10000, 2000},
	/* the last two accesses of v3, and one of v5, are those of a group */
	{PLAN LINE("after 4", "drop v5")
			LINE("after 5", "recompute v5 again=3 offset=20480 workspace=-"),
		9000, 1000},
	/* a copy of the newest content serves as well as a run */
	{PLAN LINE("after 2", "out v3 tier=disk channel=0 offset=0")
			LINE("after 2", "in v3 tier=disk channel=1 offset=36864")
				LINE("after 3", "drop-clean v3")
					LINE("before 5", "in v3 tier=disk channel=1 "
							 "offset=12288"),
		/* out 3000..7096, in ..11192, op 3 ..12192, op 4 ..13192, in ..17288 */
		20288, 0},
	/* copies of what is overwritten with the same bits stay current */
	{PLAN DROP3 LINE("after 3", "out v4 tier=disk channel=0 offset=0")
			LINE("after 3", "in v4 tier=disk channel=1 offset=16384")
				NORM RELU LINE("before 5", "drop-clean v4")
					LINE("before 5", "in v4 tier=disk channel=1 "
							 "offset=16384"),
		/* out 4000..8096, in ..12192, norm ..13192, relu ..14192, in ..18288 */
		21288, 2000},
	/* bytes that a copy still reads hold up the run: v3 leaves 4000..8096 */
	{PLAN LINE("after 3", "out v3 tier=disk channel=0 offset=0") LINE(
		 "before 5", "recompute v3 again=1 offset=12288 workspace=40960") RELU,
		13096, 2000},
};

static void sound_plans_pass_and_a_run_costs_its_ops_duration(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(sound); i++) {
		struct sl_plan_price price = {0};

		sl_assert_ok(price_text(sound[i].text, &price));
		assert_int_equal(price.base_iter_ns, 8000);
		assert_int_equal(price.iter_ns, sound[i].iter_ns);
		assert_int_equal(price.recompute_ns, sound[i].recompute_ns);
		assert_int_equal(price.recompute_ops, sound[i].recompute_ns / 1000);
		assert_int_equal(
			price.stall_ns, sound[i].iter_ns - 8000 - sound[i].recompute_ns);
	}
}

static const struct {
	const char *text;
	const char *part;
} broken[] = {
	/* contents */
	{PLAN DROP3 NORM, "op 5 (grad): v3 has the content of op 1; op 5 needs that of "
			  "op 2"},
	{PLAN DROP3 RELU, "recompute v3: v3 is not on the device"},
	{PLAN DROP3 RELU NORM, "v3 is not on the device"},
	{PLAN DROP3 NORM RELU RELU, "alone has a line of its own"},
	{PLAN DROP4 LINE("before 5", "recompute v4 again=1 offset=16384 workspace=40960"),
		"v3 has the content of op 2; op 1 needs that of op 1"},
	{PLAN DROP3 LINE("before 7", "recompute v3 again=1 offset=36864 workspace=40960"),
		"op 5 (grad): v3 is not on the device"},
	{PLAN LINE("after 5", "drop v3") LINE("after 5", "drop v4") LINE(
		 "before 7", "recompute v3 again=1 offset=36864 workspace=40960")
			LINE("before 7", "recompute v4 again=1 offset=16384"),
		"v0 has the content of op 6; op 1 needs that of the start"},
	{PLAN DROP3 LINE("after 3", "out v2 tier=disk channel=0 offset=0") NORM RELU,
		"v2 is not on the device"},
	/* what may run twice */
	{PLAN LINE("after 1", "drop v2")
			LINE("before 7", "recompute v2 again=0 offset=0"),
		"op 0 (feed) is not pure"},
	{PLAN LINE("after 6", "recompute v1 again=6 offset=-"),
		"op 6 writes v0, which persists"},
	{PLAN LINE("before 1", "recompute v3 again=1 offset=36864 workspace=40960"),
		"op 1 has not run yet"},
	{PLAN LINE("before 4", "recompute v6 again=4 offset=24576"),
		"op 4 has not run yet"},
	/* the lines of a group */
	{PLAN NORM RELU, "v3 is on the device already"},
	{PLAN DROP3 NORM NORM RELU, "v3 is on the device already"},
	{PLAN DROP3 DROP4 NORM RELU, "v4 is not on the device"},
	{PLAN LINE("after 4", "drop v6") LINE(
		 "before 5", "recompute v6 again=1 offset=24576 workspace=40960"),
		"op 1 does not bear v6"},
	{PLAN DROP3 NORM LINE("before 5", "recompute v3 again=2 offset=12288"),
		"op 2 does not bear v3"},
	/* addresses */
	{PLAN DROP3 AGAIN3("-") RELU, "w1 has no place"},
	{PLAN DROP3 AGAIN3("0") RELU, "w1 would lie on bytes that v0 holds"},
	{PLAN DROP3 AGAIN3("36864") RELU, "w1 would lie on bytes that v3 holds"},
	{PLAN DROP3 AGAIN3("65536") RELU, "w1 at 65536 ends beyond the budget"},
	{PLAN DROP3 LINE("before 5", "recompute v3 again=1 offset=0 workspace=40960"),
		"v3 would lie on bytes that v0 holds"},
	{PLAN DROP3 LINE("before 5", "recompute v3 again=1 offset=- workspace=40960"),
		"v3 has no place"},
	{PLAN DROP3 NORM LINE("before 5", "recompute v3 again=2 offset=- workspace=0"),
		"w2 has a place but no bytes"},
	{PLAN DROP3 DROP4 NORM LINE(
		 "before 5", "recompute v4 again=1 offset=16384 workspace=40960") RELU,
		"first line of a group"},
	/* life and copies */
	{PLAN DROP3 NORM RELU LINE("after 5", "drop v3"), "v3 is not alive"},
	{PLAN DROP3, "op 5 (grad): v3 is not on the device"},
	{PLAN LINE("after 5", "recompute v5 again=3 offset=20480"),
		"v5 is on the device already"},
	{PLAN LINE("after 4", "drop v5") LINE("after 5",
		 "recompute v5 again=3 offset=20480") LINE("after 5", "drop v5"),
		"v5 is not alive"},
	{PLAN LINE("after 3", "out v3 tier=disk channel=0 offset=0")
			NORM RELU LINE("before 5", "drop-clean v3"),
		"no current copy below"},
	{PLAN LINE("before 5", "recompute v3 again=2 offset=- iter=+1"),
		"iter=+1 is reserved"},
};

static void every_broken_plan_is_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(broken); i++) {
		struct sl_plan_price price;

		sl_assert_fails(
			price_text(broken[i].text, &price), SL_E_NO, broken[i].part);
	}
}

static void the_peak_has_places_and_workspaces_of_runs(void **state)
{
	(void)state;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	sl_assert_ok(sl_trace_parse("hand.trace", TRACE, strlen(TRACE), &t));
	sl_assert_ok(plan_parse(&t, PLAN DROP3 NORM RELU, &p));
	assert_int_equal(p.peak, 40960 + 64);
	sl_assert_ok(sl_plan_check(&t, &p, p.peak, &peak));
	assert_int_equal(peak, 40960 + 64);
	sl_plan_finish(&p);
	sl_assert_ok(plan_parse(&t, PLAN DROP3 AGAIN3("32768") RELU, &p));
	assert_int_equal(p.peak, 36864 + 4096);
	sl_plan_finish(&p);
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sound_plans_pass_and_a_run_costs_its_ops_duration),
		SL_TEST(every_broken_plan_is_refused_with_the_reason),
		SL_TEST(the_peak_has_places_and_workspaces_of_runs),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

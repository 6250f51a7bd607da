/* SPDX-License-Identifier: Apache-2.0 */
/* Replays by hand: 1 GB/s is a byte a nanosecond, a page is 4096 ns and 100 ns latency.
 */
#include "harness/harness.h"

#include "memory/replay.h"
#include "unit/memory/plan_util.h"

#define MAX_JOBS 3u

struct rig {
	struct sl_trace traces[MAX_JOBS];
	struct sl_plan plans[MAX_JOBS];
	struct sl_replay_job jobs[MAX_JOBS];
	struct sl_replay_result results[MAX_JOBS];
	struct sl_replay_total total;
	struct sl_replay_opts opts;
};

static void add_job(struct rig *r, const char *trace, const char *plan, uint64_t phase_ns)
{
	uint32_t i = r->opts.n_jobs++;

	r->traces[i] = SL_TRACE_INIT;
	r->plans[i] = SL_PLAN_INIT;
	sl_assert_ok(sl_trace_parse("hand.trace", trace, strlen(trace), &r->traces[i]));
	sl_assert_ok(plan_parse(&r->traces[i], plan, &r->plans[i]));
	r->jobs[i] = (struct sl_replay_job){
		.trace = &r->traces[i], .plan = &r->plans[i], .phase_ns = phase_ns};
	r->opts.jobs = r->jobs;
}

static void play(struct rig *r)
{
	sl_replay_total_finish(&r->total);
	sl_assert_ok(sl_replay(&r->opts, r->results, &r->total));
}

static void finish(struct rig *r)
{
	sl_replay_total_finish(&r->total);
	for (uint32_t i = 0; i < r->opts.n_jobs; i++) {
		sl_plan_finish(&r->plans[i]);
		sl_trace_finish(&r->traces[i]);
	}
}

static void one_job_swaps_as_its_plan_says(void **state)
{
	(void)state;
	struct rig r = {0};
	const struct sl_replay_result *x = &r.results[0];

	/* As priced: out v0 1000..5196; in v1 3000..7196, in v0 ..11392; op 3 ..12392;
	 * out v1 ..16588. */
	add_job(&r, PLAN_TRACE, PLAN_SWAP, 0);
	r.jobs[0].iterations = 3;
	play(&r);
	assert_int_equal(x->first_iter_ns, 16588);
	assert_int_equal(x->steady_iter_ns, 16588);
	assert_int_equal(x->end_ns, 3 * 16588);
	assert_int_equal(x->stall_ns, 3 * 12588);
	assert_int_equal(x->turn_ns, 0);
	assert_int_equal(x->swap_ins, 6);
	assert_int_equal(x->passive_swap_ins, 6);
	assert_int_equal(x->swap_in_bytes, 3 * 8192);
	assert_int_equal(x->peak_bytes, r.plans[0].peak);
	/* While op 1 runs: v0 still leaves; v2, v3, workspace, v4 that never moves. */
	assert_int_equal(x->held_peak_bytes, 3 * 4096 + 64 + 64);
	assert_int_equal(r.total.n_links, 2);
	assert_string_equal(r.total.links[0].from, "device");
	assert_string_equal(r.total.links[0].to, "disk");
	assert_int_equal(r.total.links[1].bytes, 3 * 8192);
	assert_int_equal(r.total.links[1].busy_ns, 3 * 8192);
	assert_int_equal(r.total.compute_ns, 3 * 4000);
	finish(&r);
}

static void bare_jobs_take_turns_on_one_device(void **state)
{
	(void)state;
	struct rig r = {0};

	add_job(&r, PLAN_TRACE, PLAN_SWAP, 0);
	add_job(&r, PLAN_TRACE, PLAN_SWAP, 500);
	r.opts.bare = true;
	play(&r);
	/* a 0..1000, b 1000..2000, a ..3000: in turn, each waits for three ops of the
	 * other but for b's phase. */
	assert_int_equal(r.results[0].end_ns, 7000);
	assert_int_equal(r.results[0].turn_ns, 3000);
	assert_int_equal(r.results[1].end_ns, 8000);
	assert_int_equal(r.results[1].first_iter_ns, 7500);
	assert_int_equal(r.results[1].turn_ns, 3500);
	assert_int_equal(r.results[1].stall_ns, 0);
	assert_int_equal(r.total.compute_ns, 8000);
	assert_int_equal(r.total.n_links, 0);
	r.opts.own_compute = true;
	play(&r);
	assert_int_equal(r.results[0].end_ns, 4000);
	assert_int_equal(r.results[1].end_ns, 4500);
	assert_int_equal(r.results[1].turn_ns, 0);
	/* Four pages and v4 while op 1 or op 3 runs (v0 v1 v2 v3, workspace 64). */
	assert_int_equal(r.results[0].held_peak_bytes, 4 * 4096 + 64 + 64);
	assert_int_equal(r.total.held_peak_bytes, 2 * (4 * 4096 + 64) + 64 + 64);
	finish(&r);
}

/* Brings v1 in for op 1, on a wire of its own job's queue. */
#define PAIR_TRACE \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=16384\n" \
	"link disk device bytes_per_s=1000000000\n" \
	"value v0 bytes=4096 align=4096 class=param\n" \
	"value v1 bytes=4096 align=4096 class=param\n" \
	"op 0 kind=a dur_ns=100 in=v0\nop 1 kind=b dur_ns=100 in=v1\n"
#define PAIR_PLAN \
	PLAN_HEAD "place v0 region=P offset=0\nstart v1 tier=disk offset=0\n" \
		  "before 0 delay_ns=0 in v1 tier=disk channel=0 offset=4096\n" \
		  "after 1 delay_ns=0 drop-clean v1\n"

static void two_jobs_share_the_wire_between_them(void **state)
{
	(void)state;
	struct rig r = {0};

	/* Both copy from 0 at half speed until 8192; then one op after the other. */
	add_job(&r, PAIR_TRACE, PAIR_PLAN, 0);
	add_job(&r, PAIR_TRACE, PAIR_PLAN, 0);
	play(&r);
	assert_int_equal(r.results[0].end_ns, 8292);
	assert_int_equal(r.results[1].end_ns, 8392);
	assert_int_equal(r.results[1].turn_ns, 200);
	assert_int_equal(r.total.n_links, 1);
	assert_int_equal(r.total.links[0].bytes, 8192);
	assert_int_equal(r.total.links[0].busy_ns, 8192);
	/* b begins when a has 1096 left: shared until 5192, b's 3000 left until 8192. */
	r.jobs[1].phase_ns = 3000;
	play(&r);
	assert_int_equal(r.results[0].end_ns, 5292);
	assert_int_equal(r.results[1].end_ns, 8292);
	assert_int_equal(r.total.held_peak_bytes, 4 * 4096);
	r.jobs[1].phase_ns = 9000;
	play(&r);
	assert_int_equal(r.results[0].end_ns, 4196);
	assert_int_equal(r.results[1].first_iter_ns, 4196);
	assert_int_equal(r.total.held_peak_bytes, 3 * 4096);
	finish(&r);
}

static void a_swap_in_that_is_there_in_time_is_not_passive(void **state)
{
	(void)state;
	struct rig r = {0};

	add_job(&r, PAIR_TRACE, PAIR_PLAN, 0);
	r.traces[0].ops[0].dur_ns = 4096;
	play(&r);
	assert_int_equal(r.results[0].swap_ins, 1);
	assert_int_equal(r.results[0].passive_swap_ins, 0);
	assert_int_equal(r.results[0].stall_ns, 0);
	r.traces[0].ops[0].dur_ns = 4095;
	play(&r);
	assert_int_equal(r.results[0].passive_swap_ins, 1);
	assert_int_equal(r.results[0].stall_ns, 1);
	finish(&r);
}

struct spans {
	struct sl_replay_span seen[32];
	int n;
};

static sl_status see(void *ctx, const struct sl_replay_span *s)
{
	struct spans *x = ctx;

	x->seen[x->n++] = *s;
	return x->n < 32 ? SL_OK : SL_FAIL(SL_E_LIMIT, "too many spans");
}

static void spans_tell_what_happened_when_it_is_over(void **state)
{
	(void)state;
	static const struct sl_replay_span want[] = {
		{SL_REPLAY_OP, 0, 0, 0, 0, 0, 0, 100, 0, 8192},
		{SL_REPLAY_IN, 0, 0, 1, 0, 0, 0, 4096, 4096, 8192},
		{SL_REPLAY_OP, 0, 0, 1, 0, 4096, 4096, 4196, 0, 8192},
	};
	struct rig r = {0};
	struct spans spans = {0};

	add_job(&r, PAIR_TRACE, PAIR_PLAN, 0);
	r.opts.span = see;
	r.opts.ctx = &spans;
	play(&r);
	assert_int_equal(spans.n, SL_COUNT(want));
	for (int i = 0; i < spans.n; i++) {
		const struct sl_replay_span *s = &spans.seen[i];

		assert_int_equal(s->kind, want[i].kind);
		assert_int_equal(s->id, want[i].id);
		assert_int_equal(s->asked_ns, want[i].asked_ns);
		assert_int_equal(s->begin_ns, want[i].begin_ns);
		assert_int_equal(s->end_ns, want[i].end_ns);
		assert_int_equal(s->bytes, want[i].bytes);
		assert_int_equal(s->held_bytes, want[i].held_bytes);
	}
	r.jobs[0].iterations = 40;
	spans.n = 0;
	sl_replay_total_finish(&r.total);
	sl_assert_fails(sl_replay(&r.opts, r.results, &r.total), SL_E_LIMIT, "spans");
	finish(&r);
}

static void a_plan_that_is_not_sound_is_refused(void **state)
{
	(void)state;
	struct rig r = {0};

	add_job(&r, PAIR_TRACE,
		PLAN_HEAD "place v0 region=P offset=0\n"
			  "start v1 tier=disk offset=0\n",
		0);
	sl_assert_fails(sl_replay(&r.opts, r.results, &r.total), SL_E_NO, "v1");
	finish(&r);
}

static sl_status replay_all(void *ctx)
{
	struct rig *r = ctx;
	struct sl_replay_total total = {0};
	sl_status st = sl_replay(&r->opts, r->results, &total);

	sl_replay_total_finish(&total);
	return st;
}

static void no_memory_is_an_error_and_leaks_nothing(void **state)
{
	(void)state;
	struct rig r = {0};

	add_job(&r, PLAN_TRACE, PLAN_SWAP, 0);
	add_job(&r, PAIR_TRACE, PAIR_PLAN, 10);
	assert_true(sl_torture(replay_all, &r) > 10);
	finish(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(one_job_swaps_as_its_plan_says),
		SL_TEST(bare_jobs_take_turns_on_one_device),
		SL_TEST(two_jobs_share_the_wire_between_them),
		SL_TEST(a_swap_in_that_is_there_in_time_is_not_passive),
		SL_TEST(spans_tell_what_happened_when_it_is_over),
		SL_TEST(a_plan_that_is_not_sound_is_refused),
		SL_TEST(no_memory_is_an_error_and_leaks_nothing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of profile_steps.c, profile_table.c and profile_trace.c: tables of steps whose
 * events are made up. */
#include "harness/harness.h"

#include <string.h>

#include "base/buf.h"
#include "session/profile_int.h"

#define MS 1000000

/* Two products of one kernel and a sum; the peaks allow 1 ms, 2 ms and 0.5 ms. */
static const struct sl_profile_op ops[] = {
	{"matmul", "gemm", "fc1", "[2, 3]", 1e9, 1e6},
	{"matmul", "gemm", "fc2", "[3, 4]", 2e9, 1e6},
	{"add", "vec", "fc2", "[2, 4]", 1e6, 5e7},
};

static void begin(struct sl_profile *p, size_t steps)
{
	sl_assert_ok(sl_profile_init(p, SL_COUNT(ops), steps));
	memcpy(p->ops, ops, sizeof(ops));
	p->peak = (struct sl_peak){1e12, 1e11};
}

static struct sl_event at(int64_t ms, enum sl_event_kind kind, uint32_t id, uint64_t arg)
{
	return (struct sl_event){.at_ns = ms * MS, .kind = kind, .id = id, .arg = arg};
}

static struct sl_event copy(int64_t ms, enum sl_event_kind kind, uint32_t channel)
{
	return (struct sl_event){.at_ns = ms * MS,
		.kind = kind,
		.id = 1,
		.arg = 5000000,
		.channel = channel};
}

/* 40 ms: 10 in op 0, again 2 of it, 8 waiting, 10 in op 1, 4 in op 2, 6 in none. */
static void a_step(struct sl_profile *p)
{
	const struct sl_event events[] = {
		at(90, SL_EV_OP_BEGIN, 1, 0), /* of the step before */
		at(101, SL_EV_OP_BEGIN, 0, 0),
		copy(105, SL_EV_OUT_BEGIN, 0),
		copy(106, SL_EV_IN_BEGIN, 1),
		at(111, SL_EV_OP_END, 0, 0),
		copy(115, SL_EV_OUT_END, 0),
		copy(117, SL_EV_IN_END, 1),
		at(119, SL_EV_WAIT, 1, 8 * MS),
		at(120, SL_EV_OP_BEGIN, 0, 1),
		at(122, SL_EV_OP_END, 0, 1),
		at(123, SL_EV_MOVE, 2, 4096),
		at(124, SL_EV_OP_BEGIN, 1, 0),
		at(134, SL_EV_OP_END, 1, 0),
		at(134, SL_EV_OP_BEGIN, 2, 0),
		at(138, SL_EV_OP_END, 2, 0),
		at(139, SL_EV_STEP, 0, 0),
	};

	sl_assert_ok(sl_profile_add_step(
		p, (sl_ns)100 * MS, (sl_ns)140 * MS, events, SL_COUNT(events)));
}

static void assert_near(double a, double b)
{
	assert_true(a - b < 1e-6 * (1 + b) && b - a < 1e-6 * (1 + b));
}

static void a_step_is_ops_waits_runs_again_and_the_rest(void **state)
{
	struct sl_profile p;
	const struct sl_profile_summary *s = &p.summary;

	(void)state;
	begin(&p, 1);
	a_step(&p);
	sl_assert_ok(sl_profile_sum_up(&p));
	assert_near(s->step_ms, 40);
	assert_near(s->op_ms, 24);
	assert_near(s->again_ms, 2);
	assert_near(s->wait_ms, 8);
	assert_near(s->gap_ms, 6);
	assert_near(s->again_ops, 1);
	assert_near(s->moved_bytes, 4096);
	assert_near(s->flops, 3.001e9);
	assert_near(s->peak_fraction, 3.001e9 / 0.040 / 1e12);
	assert_near(s->roofline, 3.5 / 24);
	sl_profile_finish(&p);
}

static void copies_are_told_by_channel(void **state)
{
	struct sl_profile p;
	const struct sl_profile_channel *c = p.summary.channels;

	(void)state;
	begin(&p, 2);
	a_step(&p);
	a_step(&p);
	sl_assert_ok(sl_profile_sum_up(&p));
	assert_near(c[0].copies, 1);
	assert_near(c[0].ms, 10);
	assert_near(c[0].wait_ms, 0);
	assert_near(c[1].bytes, 5000000);
	assert_near(c[1].ms, 11);
	assert_near(c[1].wait_ms, 8);
	sl_profile_finish(&p);
}

static void rows_are_groups_with_the_longest_first(void **state)
{
	struct sl_profile p;
	struct sl_profile_row *rows;
	size_t n;

	(void)state;
	begin(&p, 1);
	a_step(&p);
	sl_assert_ok(sl_profile_rows(&p, SL_PROFILE_BY_KERNEL, &rows, &n));
	assert_int_equal(n, 2);
	assert_string_equal(rows[0].kernel, "gemm");
	assert_null(rows[0].scope);
	assert_null(rows[0].shapes);
	assert_int_equal(rows[0].ops, 2);
	assert_near(rows[0].ms, 22);
	assert_near(rows[0].again_ms, 2);
	assert_near(rows[0].share, 22.0 / 26);
	assert_near(rows[0].flops, 3e9);
	assert_near(rows[0].roofline, 3.0 / 20);
	assert_string_equal(rows[1].kernel, "vec");
	assert_string_equal(rows[1].scope, "fc2");
	assert_near(rows[1].roofline, 0.5 / 4);
	sl_profile_rows_free(rows);
	sl_profile_finish(&p);
}

static void every_grouping_has_the_same_sums(void **state)
{
	struct sl_profile p;

	(void)state;
	begin(&p, 1);
	a_step(&p);
	for (size_t by = 0; sl_profile_by_name(by) != NULL; by++) {
		double ms = 0, share = 0, flops = 0, bytes = 0;
		struct sl_profile_row *rows;
		uint32_t count = 0;
		size_t n;

		sl_assert_ok(sl_profile_rows(&p, (enum sl_profile_by)by, &rows, &n));
		for (size_t i = 0; i < n; i++) {
			ms += rows[i].ms;
			share += rows[i].share;
			flops += rows[i].flops;
			bytes += rows[i].bytes;
			count += rows[i].ops;
		}
		assert_near(ms, 26);
		assert_near(share, 1);
		assert_near(flops, 3.001e9);
		assert_near(bytes, 5.2e7);
		assert_int_equal(count, 3);
		assert_int_equal(n, by == SL_PROFILE_BY_NODE ? 3 : 2);
		sl_profile_rows_free(rows);
	}
	sl_profile_finish(&p);
}

static void times_are_medians_over_the_steps(void **state)
{
	struct sl_profile p;
	struct sl_profile_row *rows;
	size_t n;

	(void)state;
	begin(&p, 3);
	for (int i = 0; i < 3; i++) {
		/* 1, 2 and 30 ms */
		const int64_t took[] = {1, 30, 2};
		const struct sl_event events[] = {
			at(1, SL_EV_OP_BEGIN, 2, 0),
			at(1 + took[i], SL_EV_OP_END, 2, 0),
		};

		sl_assert_ok(sl_profile_add_step(
			&p, 0, (sl_ns)(took[i] + 5) * MS, events, SL_COUNT(events)));
	}
	sl_assert_ok(sl_profile_sum_up(&p));
	assert_near(p.summary.step_ms, 7);
	assert_near(p.summary.step_ms_min, 6);
	assert_near(p.summary.gap_ms, 5);
	sl_assert_ok(sl_profile_rows(&p, SL_PROFILE_BY_OP, &rows, &n));
	assert_string_equal(rows[0].op, "add");
	assert_near(rows[0].ms, 2);
	sl_profile_rows_free(rows);
	sl_profile_finish(&p);
}

static void pairs_that_are_torn_do_not_count(void **state)
{
	const struct sl_event events[] = {
		at(1, SL_EV_OP_END, 0, 0), /* no beginning */
		copy(2, SL_EV_IN_END, 3),
		at(3, SL_EV_OP_BEGIN, 1, 0), /* no end */
		at(4, SL_EV_OP_END, 2, 0),
		at(5, SL_EV_OP_BEGIN, 77, 0), /* no such op */
		at(6, SL_EV_OP_END, 77, 0),
		copy(7, SL_EV_IN_BEGIN, 77), /* no such channel */
		copy(8, SL_EV_IN_END, 77),
		at(9, SL_EV_WAIT, 77, MS),
	};
	struct sl_profile p;

	(void)state;
	begin(&p, 1);
	sl_assert_ok(
		sl_profile_add_step(&p, 0, (sl_ns)10 * MS, events, SL_COUNT(events)));
	sl_assert_ok(sl_profile_sum_up(&p));
	assert_near(p.summary.op_ms, 0);
	assert_near(p.summary.wait_ms, 1);
	assert_near(p.summary.gap_ms, 9);
	sl_profile_finish(&p);
}

static void a_profile_takes_no_more_steps_than_it_has_room_for(void **state)
{
	struct sl_profile p;

	(void)state;
	begin(&p, 1);
	sl_assert_fails(sl_profile_sum_up(&p), SL_E_INVALID, "no step");
	a_step(&p);
	sl_assert_fails(sl_profile_add_step(&p, 0, 1, NULL, 0), SL_E_LIMIT, "1 steps");
	sl_profile_finish(&p);
}

static void a_timeline_has_a_track_for_each_kind(void **state)
{
	static const char *const want[] = {
		"\"name\":\"matmul\",\"cat\":\"op\",\"pid\":0,\"tid\":1,"
		"\"ts\":1e+03,\"dur\":1e+04",
		"\"name\":\"matmul\",\"cat\":\"again\",\"pid\":0,\"tid\":2,"
		"\"ts\":2e+04,\"dur\":2e+03",
		"\"name\":\"for disk to device\",\"cat\":\"wait\",\"pid\":0,"
		"\"tid\":3,\"ts\":1.1e+04,\"dur\":8e+03",
		"\"name\":\"w\",\"cat\":\"out\",\"pid\":0,\"tid\":4,"
		"\"ts\":5e+03,\"dur\":1e+04",
		"\"name\":\"w\",\"cat\":\"in\",\"pid\":0,\"tid\":5,"
		"\"ts\":6e+03,\"dur\":1.1e+04",
		"\"name\":\"step 1\",\"cat\":\"step\",\"pid\":0,\"tid\":0,"
		"\"ts\":0,\"dur\":4e+04",
		"\"name\":\"copies disk to device\"",
	};
	static const char *names[] = {"v", "w"};
	struct sl_buf text = SL_BUF_INIT;
	struct sl_profile p;

	(void)state;
	begin(&p, 1);
	sl_assert_fails(sl_profile_timeline(&p, &text), SL_E_INVALID, "no timeline");
	p.values = names;
	p.n_values = 2;
	p.summary.n_channels = 2;
	p.summary.channels[0] = (struct sl_profile_channel){"device", "disk", 0, 0, 0, 0};
	p.summary.channels[1] = (struct sl_profile_channel){"disk", "device", 0, 0, 0, 0};
	a_step(&p);
	sl_assert_ok(sl_profile_timeline(&p, &text));
	for (size_t i = 0; i < SL_COUNT(want); i++)
		if (strstr(sl_buf_text(&text), want[i]) == NULL)
			fail_msg("no %s in %s", want[i], sl_buf_text(&text));
	sl_buf_finish(&text);
	sl_profile_finish(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_step_is_ops_waits_runs_again_and_the_rest),
		SL_TEST(copies_are_told_by_channel),
		SL_TEST(rows_are_groups_with_the_longest_first),
		SL_TEST(every_grouping_has_the_same_sums),
		SL_TEST(times_are_medians_over_the_steps),
		SL_TEST(pairs_that_are_torn_do_not_count),
		SL_TEST(a_profile_takes_no_more_steps_than_it_has_room_for),
		SL_TEST(a_timeline_has_a_track_for_each_kind),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

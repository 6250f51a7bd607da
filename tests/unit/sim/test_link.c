/* SPDX-License-Identifier: Apache-2.0 */
/* Times by hand: at 1 GB/s a byte takes a nanosecond. */
#include "harness/harness.h"

#include "sim/link.h"

#define GB ((uint64_t)1000000000)

struct copy {
	struct sl_sim *sim;
	uint64_t start_ns, end_ns;
	bool held;
	struct sl_transfer t;
};

static sl_status started(void *ctx)
{
	struct copy *c = ctx;

	c->start_ns = c->sim->now_ns;
	return SL_OK;
}

static sl_status done(void *ctx)
{
	struct copy *c = ctx;

	c->end_ns = c->sim->now_ns;
	return SL_OK;
}

static bool may_start(void *ctx)
{
	return !((struct copy *)ctx)->held;
}

/* Four channels of one link: 0 and 1 one way, 2 and 3 the other. */
struct rig {
	struct sl_sim sim;
	struct sl_link link;
	struct sl_channel ch[4];
	struct copy copies[8];
	uint64_t rate, latency;
	int n;
};

static void begin(struct rig *r, bool half, uint64_t rate, uint64_t latency)
{
	*r = (struct rig){.rate = rate, .latency = latency};
	sl_link_init(&r->link, &r->sim, half);
	for (int i = 0; i < 4; i++)
		sl_channel_init(&r->ch[i], &r->link, i / 2);
}

static struct copy *send(struct rig *r, int channel, uint64_t at, uint64_t bytes)
{
	struct copy *c = &r->copies[r->n++];

	c->sim = &r->sim;
	c->t = (struct sl_transfer){.bytes = bytes,
		.bytes_per_s = r->rate,
		.latency_ns = r->latency,
		.not_before_ns = at,
		.ctx = c,
		.may_start = may_start,
		.started = started,
		.done = done};
	sl_assert_ok(sl_channel_push(&r->ch[channel], &c->t));
	return c;
}

static void finish(struct rig *r)
{
	sl_assert_ok(sl_sim_run(&r->sim));
	sl_sim_finish(&r->sim);
}

static void alone_a_transfer_takes_latency_and_its_bytes(void **state)
{
	(void)state;
	struct rig r;
	struct copy *c;

	begin(&r, false, 3 * GB, 100);
	c = send(&r, 0, 50, 1000);
	finish(&r);
	assert_int_equal(c->start_ns, 50);
	assert_int_equal(c->end_ns, 50 + 100 + 333); /* 333.3 rounded down */
	assert_int_equal(r.link.lane[0].busy_ns, 333);
}

static void two_that_overlap_share_the_wire(void **state)
{
	(void)state;
	struct rig r;
	struct copy *a, *b;

	/* a alone to 500 (500 left); both at half to 1100, when b's 300 are over; a has
	 * 200 left, alone to 1300. */
	begin(&r, false, GB, 0);
	a = send(&r, 0, 0, 1000);
	b = send(&r, 1, 500, 300);
	finish(&r);
	assert_int_equal(b->end_ns, 1100);
	assert_int_equal(a->end_ns, 1300);
	assert_int_equal(r.link.lane[0].busy_ns, 1300);
	assert_int_equal(r.link.lane[0].bytes, 1300);
}

static void three_at_once_end_together_at_a_third_of_the_speed(void **state)
{
	(void)state;
	struct rig r;
	struct copy *c[3];

	begin(&r, true, GB, 10);
	for (int i = 0; i < 3; i++)
		c[i] = send(&r, i, 0, 1000);
	finish(&r);
	for (int i = 0; i < 3; i++)
		assert_int_equal(c[i]->end_ns, 3010);
}

static void directions_are_apart_in_full_duplex_and_share_in_half(void **state)
{
	(void)state;
	struct rig r;
	struct copy *out, *in;

	begin(&r, false, GB, 0);
	out = send(&r, 0, 0, 1000);
	in = send(&r, 2, 0, 1000);
	finish(&r);
	assert_int_equal(out->end_ns, 1000);
	assert_int_equal(in->end_ns, 1000);
	begin(&r, true, GB, 0);
	out = send(&r, 0, 0, 1000);
	in = send(&r, 2, 400, 1000);
	finish(&r);
	/* out: 400 alone, 600 at half to 1600; in: 600 done then, 400 alone to 2000. */
	assert_int_equal(out->end_ns, 1600);
	assert_int_equal(in->end_ns, 2000);
}

static void a_channel_is_first_in_first_out_also_past_one_that_must_wait(void **state)
{
	(void)state;
	struct rig r;
	struct copy *a, *b, *c;

	begin(&r, false, GB, 7);
	a = send(&r, 0, 100, 50);
	b = send(&r, 0, 0, 50);
	c = send(&r, 1, 0, 10);
	finish(&r);
	assert_int_equal(c->end_ns, 17);
	assert_int_equal(a->start_ns, 100);
	assert_int_equal(a->end_ns, 157);
	assert_int_equal(b->start_ns, 157);
	assert_int_equal(b->end_ns, 214);
}

static sl_status let_go(void *ctx, uint64_t arg)
{
	struct rig *r = ctx;

	r->copies[0].held = false;
	return sl_channel_kick(&r->ch[arg]);
}

static void what_may_not_start_waits_for_a_kick(void **state)
{
	(void)state;
	struct rig r;
	struct copy *c;

	begin(&r, false, GB, 0);
	r.copies[0].held = true;
	c = send(&r, 3, 0, 20);
	sl_assert_ok(sl_sim_at(&r.sim, 40, let_go, &r, 3));
	finish(&r);
	assert_int_equal(c->start_ns, 40);
	assert_int_equal(c->end_ns, 60);
}

static void many_sharers_lose_no_time_to_rounding(void **state)
{
	(void)state;
	struct rig r;
	uint64_t end = 0;

	/* Seven staggered thirds of a nanosecond: the wire is never idle. */
	begin(&r, true, 3 * GB, 0);
	for (int i = 0; i < 7; i++)
		(void)send(&r, i % 4, (uint64_t)i, 1000);
	finish(&r);
	for (int i = 0; i < r.n; i++)
		end = r.copies[i].end_ns > end ? r.copies[i].end_ns : end;
	assert_in_range(end, 7000 / 3 - 7, 7000 / 3 + 1);
	assert_int_equal(r.link.lane[0].bytes, 7000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(alone_a_transfer_takes_latency_and_its_bytes),
		SL_TEST(two_that_overlap_share_the_wire),
		SL_TEST(three_at_once_end_together_at_a_third_of_the_speed),
		SL_TEST(directions_are_apart_in_full_duplex_and_share_in_half),
		SL_TEST(a_channel_is_first_in_first_out_also_past_one_that_must_wait),
		SL_TEST(what_may_not_start_waits_for_a_kick),
		SL_TEST(many_sharers_lose_no_time_to_rounding),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

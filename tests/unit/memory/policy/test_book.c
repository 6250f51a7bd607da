/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of copies, on a trace small enough to know the answers. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/gaps.h"

#define KB 4096u
/*
 * A forward chain a, b, c with its way back. v0 weight; v1 = a(v0), v2 = b(v1), changed
 * in place by c, v3 = d(v2); back: e reads v3, f reads v2, g reads v1, u updates v0.
 */
#define TRACE \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=1048576\n" \
	"link device disk bytes_per_s=4096000000 latency_ns=0\n" \
	"link disk device bytes_per_s=4096000000 latency_ns=0\n" \
	"value v0 bytes=4096 align=4096 class=param\n" \
	"value v1 bytes=8192 align=4096 class=act\n" \
	"value v2 bytes=8192 align=4096 class=act\n" \
	"value v3 bytes=4096 align=4096 class=act\n" \
	"op 0 kind=a dur_ns=1000 in=v0 out=v1\n" \
	"op 1 kind=b dur_ns=1000 in=v1 out=v2\n" \
	"op 2 kind=c dur_ns=100 mutates=v2 pure=1\n" \
	"op 3 kind=d dur_ns=5000 in=v2 out=v3 workspace=4096\n" \
	"op 4 kind=e dur_ns=5000 in=v3\n" \
	"op 5 kind=f dur_ns=1000 in=v2\n" \
	"op 6 kind=g dur_ns=1000 in=v1\n" \
	"op 7 kind=u dur_ns=1000 mutates=v0 pure=0\n"

struct rig {
	struct sl_trace t;
	struct sl_gaps g;
};

static void begin(struct rig *r)
{
	r->t = SL_TRACE_INIT;
	sl_assert_ok(sl_trace_parse("hand.trace", TRACE, strlen(TRACE), &r->t));
	sl_assert_ok(sl_gaps_init(&r->g, &r->t));
}

static void end(struct rig *r)
{
	sl_gaps_finish(&r->g);
	sl_trace_finish(&r->t);
}

static struct sl_gap *gap_at(struct rig *r, uint32_t v, uint32_t from)
{
	for (uint32_t i = r->g.first[v]; i < r->g.first[v + 1]; i++) {
		if (r->g.gaps[i].from_op == from)
			return &r->g.gaps[i];
	}
	fail_msg("v%u has no gap after op %u", v, from);
	return NULL;
}

static void copies_are_booked_backwards_from_their_deadlines(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	/* Each takes 2 us; op 4 lasts 5 us before op 5, so v2 starts within op 4 and v1,
	 * wanted a microsecond later, queues behind it. */
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_SWAP);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_SWAP);
	sl_assert_ok(sl_gaps_book(&r.g, 16 * KB, 0, false));
	assert_int_equal(gap_at(&r, 2, 3)->arrive, 4);
	assert_int_equal(gap_at(&r, 1, 1)->arrive, 4);
	assert_int_equal(gap_at(&r, 1, 1)->hold, 4); /* 2 us from 2000 on, within op 3 */
	sl_assert_ok(sl_gaps_book(&r.g, 0, 0, false));
	assert_int_equal(gap_at(&r, 2, 3)->arrive, 5); /* no bytes to be early with */
	assert_int_equal(gap_at(&r, 1, 1)->hold, 2);
	end(&r);
}

static void copies_in_are_booked_between_those_out_on_one_wire(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	r.t.links[0].half_duplex = r.t.links[1].half_duplex = true;
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_SWAP);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_SWAP);
	/* v1 with 5 us for its copy before 13,100. v2 goes out from 7,100 to 9,100 and v1
	 * itself from 2,000 to 4,000: too long for all but the time before that. */
	sl_assert_ok(sl_gaps_book(&r.g, 16 * KB, 150, false));
	assert_int_equal(gap_at(&r, 1, 1)->arrive, 4);
	sl_assert_ok(sl_gaps_book(&r.g, 16 * KB, 150, true));
	assert_int_equal(gap_at(&r, 1, 1)->arrive, 2);
	end(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(copies_are_booked_backwards_from_their_deadlines),
		SL_TEST(copies_in_are_booked_between_those_out_on_one_wire),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which copies are in the way, on moments set by hand, and what their weights change. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/choose.h"
#include "memory/policy/late.h"

/* A KB of 4096 bytes takes 1000 ns to copy. v0 weight; v1 and v2, twice as large, are
 * born by ops 1 and 3 and read last by 6 and 5; 7 updates v0. Ops begin at 0, 1000, 2000,
 * 2100, 7100, 12100, 13100 and 14100 ns. */
#define TRACE(duplex) \
	"trace 1\njob 0 name=t iterations=0\ntier disk bytes=1048576\n" \
	"link device disk bytes_per_s=4096000000 latency_ns=0 duplex=" duplex "\n" \
	"link disk device bytes_per_s=4096000000 latency_ns=0 duplex=" duplex "\n" \
	"value v0 bytes=4096 align=4096 class=param\n" \
	"value v1 bytes=8192 align=4096 class=act\n" \
	"value v2 bytes=8192 align=4096 class=act\n" \
	"op 0 kind=a dur_ns=1000 in=v0\n" \
	"op 1 kind=b dur_ns=1000 out=v1\n" \
	"op 2 kind=c dur_ns=100\n" \
	"op 3 kind=d dur_ns=5000 out=v2 workspace=8192\n" \
	"op 4 kind=e dur_ns=5000\n" \
	"op 5 kind=f dur_ns=1000 in=v2\n" \
	"op 6 kind=g dur_ns=1000 in=v1\n" \
	"op 7 kind=u dur_ns=1000 mutates=v0 pure=0\n"

struct rig {
	struct sl_trace t;
	struct sl_gaps g;
	uint64_t blame[4];
};

static void begin(struct rig *r, const char *text)
{
	r->t = SL_TRACE_INIT;
	sl_assert_ok(sl_trace_parse("hand.trace", text, strlen(text), &r->t));
	sl_assert_ok(sl_gaps_init(&r->g, &r->t));
	assert_int_equal(r->g.n, 4);
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

static void swap(struct rig *r, uint32_t v, uint32_t from, uint32_t hold, uint32_t arrive)
{
	struct sl_gap *gap = gap_at(r, v, from);

	sl_gap_set(gap, SL_FATE_SWAP);
	gap->hold = hold;
	gap->arrive = arrive;
}

static uint64_t blame(struct rig *r, uint32_t v, uint32_t from)
{
	sl_gaps_dirt(&r->g);
	sl_assert_ok(sl_gaps_late(&r->g, r->blame, r->blame));
	return r->blame[gap_at(r, v, from) - r->g.gaps];
}

static void copies_in_time_are_in_nobodys_way(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, TRACE("full"));
	swap(&r, 1, 1, 4, 4); /* out 2000 to 4000, in 7100 to 9100 */
	assert_int_equal(blame(&r, 1, 1), 0);
	assert_int_equal(blame(&r, 0, 0), 0); /* it stays */
	end(&r);
}

static void who_is_directly_in_front_of_a_late_copy_shares_its_blame(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, TRACE("full"));
	swap(&r, 2, 3, 5, 5); /* in 12100 to 14100, 2000 late */
	swap(&r, 1, 1, 4, 6); /* in behind it to 16100, 3000 late */
	assert_int_equal(blame(&r, 1, 1), 3000);
	assert_int_equal(blame(&r, 2, 3), 3000);
	end(&r);
}

static void a_pause_ends_the_blame(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, TRACE("full"));
	swap(&r, 1, 1, 4, 4);
	swap(&r, 2, 3, 5, 5);
	assert_int_equal(blame(&r, 1, 1), 0);
	assert_int_equal(blame(&r, 2, 3), 2000);
	end(&r);
}

static void ways_that_share_a_wire_are_in_each_others_way(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, TRACE("half"));
	swap(&r, 2, 3, 5, 5); /* out 7100 to 9100 */
	gap_at(&r, 2, 3)->fate = SL_FATE_KEEP;
	swap(&r, 1, 1, 2, 3); /* out 2000 to 4000, due at 2000; in behind it */
	assert_int_equal(blame(&r, 1, 1), 2000);
	swap(&r, 2, 3, 4, 5); /* out 7100 to 9100, due at 7100 */
	swap(&r, 1, 1, 4, 4); /* in behind that to 11100, in time */
	assert_int_equal(blame(&r, 1, 1), 0);
	gap_at(&r, 1, 1)->due = 5;
	gap_at(&r, 1, 1)->arrive = 5; /* 12100 to 14100, and then that of v2 */
	assert_int_equal(blame(&r, 2, 3), 4000);
	end(&r);
}

static void over_the_boundary_the_iteration_must_not_wait(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, TRACE("full"));
	swap(&r, 0, 7, 8, 0); /* out 15100 to 16100, when all else is over */
	assert_int_equal(blame(&r, 0, 7), 1000);
	end(&r);
}

static void a_dear_swap_is_made_by_another_value(void **state)
{
	for (uint32_t dear = 0; dear < 2; dear++) {
		struct rig r;
		double weight[4] = {1, 1, 1, 1};
		struct sl_choice how = {
			.limit = 6 * 4096u, .link_price = 1, .cross_price = 1};
		bool enough = false;

		(void)state;
		begin(&r, TRACE("full"));
		/* Op 3 has v0, v1, v2 and its workspace: either of the first two goes. */
		weight[gap_at(&r, dear, dear) - r.g.gaps] = 4;
		how.weight = weight;
		sl_assert_ok(sl_gaps_choose(&r.g, &how, &enough));
		assert_true(enough);
		assert_int_equal(gap_at(&r, dear, dear)->fate, SL_FATE_KEEP);
		assert_int_equal(gap_at(&r, 1 - dear, 1 - dear)->fate, SL_FATE_SWAP);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_in_time_are_in_nobodys_way),
		cmocka_unit_test(
			who_is_directly_in_front_of_a_late_copy_shares_its_blame),
		cmocka_unit_test(a_pause_ends_the_blame),
		cmocka_unit_test(ways_that_share_a_wire_are_in_each_others_way),
		cmocka_unit_test(over_the_boundary_the_iteration_must_not_wait),
		cmocka_unit_test(a_dear_swap_is_made_by_another_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

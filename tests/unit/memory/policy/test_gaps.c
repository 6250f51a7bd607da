/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps, what runs again, moments of copies and the plan that comes out, on a trace small
 * enough to know the answers. */
#include "harness/harness.h"

#include <string.h>

#include "memory/policy/choose.h"

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
	struct sl_redoer *redoer;
	uint64_t level[9];
	const struct sl_redo *redo;
};

static void begin(struct rig *r)
{
	r->t = SL_TRACE_INIT;
	sl_assert_ok(sl_trace_parse("hand.trace", TRACE, strlen(TRACE), &r->t));
	sl_assert_ok(sl_gaps_init(&r->g, &r->t));
	sl_assert_ok(sl_redoer_create(&r->g, r->level, UINT64_MAX, &r->redoer));
}

static void end(struct rig *r)
{
	sl_redoer_destroy(r->redoer);
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

/* Lowers at the budget and has the checker and the price look at it. */
static struct sl_plan_price lower(struct rig *r, uint64_t budget)
{
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	uint64_t height = 0, peak = 0;

	sl_assert_ok(sl_redoer_resolve(r->redoer, &r->redo));
	sl_assert_ok(sl_gaps_book(&r->g, budget, 0, false));
	sl_assert_ok(sl_gaps_lower(&r->g, r->redo, budget, "hand", &p, &height));
	assert_true(height <= budget);
	sl_assert_ok(sl_plan_check(&r->t, &p, budget, &peak));
	sl_assert_ok(sl_plan_price(&r->t, &p, &price));
	sl_plan_finish(&p);
	return price;
}

static void gaps_stand_between_uses_and_round_the_boundary(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	assert_int_equal(r.g.first[1] - r.g.first[0], 2); /* 0..7 and 7..0 */
	assert_true(gap_at(&r, 0, 7)->wraps);
	assert_int_equal(gap_at(&r, 0, 7)->to_op, 0);
	assert_int_equal(gap_at(&r, 1, 1)->to_op, 6);
	assert_int_equal(gap_at(&r, 2, 3)->to_op, 5);
	assert_true(sl_gap_movable(&r.g, gap_at(&r, 1, 1)));
	assert_false(sl_gap_movable(&r.g, gap_at(&r, 1, 0))); /* nothing between */
	end(&r);
}

static void levels_follow_the_fates(void **state)
{
	static const uint64_t kept[] = {3, 5, 5, 7, 6, 5, 3, 1};
	static const uint64_t away[] = {3, 5, 3, 5, 4, 3, 3, 1};
	struct rig r;

	(void)state;
	begin(&r);
	sl_gaps_levels(&r.g, r.level);
	for (int i = 0; i < 8; i++)
		assert_int_equal(r.level[i], kept[i] * KB);
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_SWAP);
	sl_gaps_levels(&r.g, r.level);
	for (int i = 0; i < 8; i++)
		assert_int_equal(r.level[i], away[i] * KB);
	end(&r);
}

static void a_second_eviction_of_what_is_current_below_is_clean(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	sl_gap_set(gap_at(&r, 0, 7), SL_FATE_SWAP);
	sl_gap_set(gap_at(&r, 0, 0), SL_FATE_SWAP);
	sl_gaps_dirt(&r.g);
	assert_false(gap_at(&r, 0, 0)->dirty); /* op 0 only read it */
	assert_true(gap_at(&r, 0, 7)->dirty); /* op 7 wrote it */
	assert_int_equal(lower(&r, 16 * KB).swap_out_bytes, KB);
	end(&r);
}

static void redoing_runs_all_writers_in_order(void **state)
{
	struct rig r;
	uint64_t ns = 0;

	(void)state;
	begin(&r);
	sl_assert_ok(sl_redoer_price(r.redoer, gap_at(&r, 2, 3), &ns));
	assert_int_equal(ns, 1100); /* b, and c in place */
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_REDO);
	assert_int_equal(lower(&r, 16 * KB).recompute_ns, 1100);
	assert_int_equal(r.redo->n_runs, 2);
	assert_int_equal(r.redo->runs[0].op, 1);
	assert_int_equal(r.redo->runs[1].op, 2);
	assert_int_equal(r.redo->runs[0].before_op, 5);
	end(&r);
}

static void a_chain_redoes_what_it_reads_once(void **state)
{
	struct rig r;
	struct sl_redo_price price;

	(void)state;
	begin(&r);
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_REDO);
	sl_assert_ok(
		sl_redoer_price_within(r.redoer, gap_at(&r, 2, 3), UINT64_MAX, &price));
	assert_int_equal(price.all_ns, 2100);
	assert_int_equal(price.own_ns, 1100); /* a runs for v1's sake, too */
	sl_assert_ok(sl_redoer_price_within(r.redoer, gap_at(&r, 2, 3), 2000, &price));
	assert_int_equal(price.all_ns, UINT64_MAX);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_REDO);
	assert_int_equal(lower(&r, 16 * KB).recompute_ns, 2100);
	assert_int_equal(gap_at(&r, 1, 1)->arrive, 5); /* it stays from there on */
	end(&r);
}

static void without_room_a_chain_runs_twice(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	sl_redoer_destroy(r.redoer);
	/* Before op 5: v0, v1 for a moment, v2; v1 has no room beside them during op 5
	 * once the limit is what op 5 and v1's own redoing need. */
	sl_assert_ok(sl_redoer_create(&r.g, r.level, 5 * KB, &r.redoer));
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_REDO);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_REDO);
	assert_int_equal(lower(&r, 16 * KB).recompute_ns, 2100);
	sl_redoer_destroy(r.redoer);
	sl_assert_ok(sl_redoer_create(&r.g, r.level, 4 * KB, &r.redoer));
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_REDO);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_REDO);
	/* v1 and v2 together are too much: v2 is swapped instead, v1 is redone for op 6.
	 */
	assert_int_equal(lower(&r, 16 * KB).recompute_ns, 1000);
	assert_int_equal(gap_at(&r, 2, 3)->fate, SL_FATE_SWAP);
	end(&r);
}

static void what_a_run_reads_is_recalled_early(void **state)
{
	struct rig r;

	(void)state;
	begin(&r);
	sl_gap_set(gap_at(&r, 1, 1), SL_FATE_SWAP);
	sl_gap_set(gap_at(&r, 2, 3), SL_FATE_REDO);
	assert_int_equal(lower(&r, 16 * KB).recompute_ns, 1100);
	assert_int_equal(gap_at(&r, 1, 1)->due, 5);
	end(&r);
}

static void an_update_never_runs_again(void **state)
{
	struct rig r;
	uint64_t ns = 0;

	(void)state;
	begin(&r);
	sl_assert_ok(sl_redoer_price(r.redoer, gap_at(&r, 0, 7), &ns));
	assert_int_equal(ns, UINT64_MAX);
	end(&r);
}

static void the_choice_takes_no_more_than_it_needs(void **state)
{
	struct sl_choice how = {.limit = 5 * KB, .link_price = 1e-3, .cross_price = 1};
	struct rig r;
	bool enough = false;
	uint32_t away = 0;

	(void)state;
	begin(&r);
	sl_assert_ok(sl_gaps_choose(&r.g, &how, &enough));
	assert_true(enough);
	for (uint32_t i = 0; i < r.g.n; i++)
		away += r.g.gaps[i].fate != SL_FATE_KEEP;
	assert_int_equal(away, 1);
	assert_int_equal(gap_at(&r, 1, 1)->fate, SL_FATE_SWAP);
	gap_at(&r, 1, 1)->barred = 1 << SL_FATE_SWAP;
	sl_assert_ok(sl_gaps_choose(&r.g, &how, &enough));
	assert_int_equal(gap_at(&r, 1, 1)->fate, SL_FATE_KEEP);
	how.limit = KB;
	sl_assert_ok(sl_gaps_choose(&r.g, &how, &enough));
	assert_false(enough);
	end(&r);
}

static void a_dear_link_makes_the_choice_redo(void **state)
{
	struct sl_choice how = {.limit = 5 * KB,
		.link_price = 10,
		.redo_cap_ns = 10000,
		.cross_price = 1};
	struct rig r;
	bool enough = false;

	(void)state;
	begin(&r);
	sl_assert_ok(sl_gaps_choose(&r.g, &how, &enough));
	assert_true(enough);
	assert_int_equal(gap_at(&r, 1, 1)->fate, SL_FATE_REDO);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_stand_between_uses_and_round_the_boundary),
		cmocka_unit_test(levels_follow_the_fates),
		cmocka_unit_test(a_second_eviction_of_what_is_current_below_is_clean),
		cmocka_unit_test(redoing_runs_all_writers_in_order),
		cmocka_unit_test(a_chain_redoes_what_it_reads_once),
		cmocka_unit_test(without_room_a_chain_runs_twice),
		cmocka_unit_test(what_a_run_reads_is_recalled_early),
		cmocka_unit_test(an_update_never_runs_again),
		cmocka_unit_test(the_choice_takes_no_more_than_it_needs),
		cmocka_unit_test(a_dear_link_makes_the_choice_redo),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

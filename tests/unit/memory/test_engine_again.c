/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that run again, by hand: when, with which places, and what the engine refuses. */
#include "harness/hand_rig.h"
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Op 0 bears a and b from w, op 1 changes a in place, op 2 reads both. */
static const char trace_text[] =
	"trace 1\njob 0 name=small iterations=0\ntier host bytes=65536\n"
	"link device host bytes_per_s=1\nlink host device bytes_per_s=1\n"
	"value v0 bytes=4096 align=64 class=param name=w\n"
	"value v1 bytes=4096 align=64 class=act name=a\n"
	"value v2 bytes=4096 align=64 class=act name=b\n"
	"op 0 kind=first dur_ns=1 workspace=64 in=v0 out=v1,v2\n"
	"op 1 kind=second dur_ns=1 mutates=v1\n"
	"op 2 kind=third dur_ns=1 in=v1,v2\n"
	"op 3 kind=step dur_ns=1 mutates=v0 pure=0\n";

#define BASE \
	"plan 1 budget=32768 policy=hand order=seal\nplace v0 region=P offset=0\n" \
	"place v1 region=lane offset=4096\nplace v2 region=lane offset=8192\n" \
	"place w0 region=lane offset=12288\n"
#define AGAIN(position, rest) position " delay_ns=0 recompute " rest "\n"
#define DROP "after 1 delay_ns=0 drop v1\nafter 1 delay_ns=0 drop v2\n"
#define FIRST \
	AGAIN("before 2", "v1 again=0 offset=16384 workspace=24576") \
	AGAIN("before 2", "v2 again=0 offset=20480")
#define SECOND AGAIN("before 2", "v1 again=1 offset=-")

static void open_rig(struct sl_hand_rig *r, const char *plan)
{
	sl_hand_open(r, trace_text, 0);
	sl_hand_plan(r, 0, plan);
}

/* Writes what the op makes of what it reads, as the ops themselves do below. */
static void run_op(struct sl_hand_rig *r, uint32_t op)
{
	const uint64_t *at = sl_engine_offsets(r->e);
	uint64_t workspace = sl_engine_workspace(r->e, op);

	if (op == 0) {
		memset(r->arena + workspace, 9, 64);
		memset(r->arena + at[1], r->arena[at[0]] + 1, SL_HAND_BLOCK);
		memset(r->arena + at[2], r->arena[at[0]] + 2, SL_HAND_BLOCK);
	} else if (op == 1) {
		for (size_t i = 0; i < SL_HAND_BLOCK; i++)
			r->arena[at[1] + i] = (uint8_t)(2 * r->arena[at[1] + i]);
	} else if (op == 2) {
		for (size_t i = 0; i < SL_HAND_BLOCK; i++) {
			assert_int_equal(r->arena[at[1] + i], 2 * (40 + 1));
			assert_int_equal(r->arena[at[2] + i], 40 + 2);
		}
	}
}

static sl_status on_again(struct sl_hand_rig *r, uint32_t op)
{
	const uint64_t *at = sl_engine_offsets(r->e);

	assert_true(at[1] == 16384 && at[2] == 20480);
	if (op == 0) {
		assert_int_equal(sl_engine_workspace(r->e, 0), 24576);
		/* What was dropped is gone. */
		assert_int_equal(r->arena[4096], 0xAB);
		assert_int_equal(r->arena[8192 + 4095], 0xAB);
	}
	run_op(r, op);
	return SL_OK;
}

static sl_status step(struct sl_hand_rig *r)
{
	for (uint32_t op = 0; op < r->t.n_ops; op++) {
		SL_TRY(sl_engine_before(r->e, op));
		run_op(r, op);
		SL_TRY(sl_engine_after(r->e, op));
	}
	return sl_engine_end_step(r->e);
}

static void a_chain_runs_again_in_order_and_gives_the_same_bytes(void **state)
{
	struct sl_hand_rig r;
	struct sl_engine_stats stats;

	(void)state;
	open_rig(&r, BASE DROP FIRST SECOND);
	r.on_again = on_again;
	sl_assert_ok(sl_plan_check(&r.t, &r.plans[0], 32768, NULL));
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_hand_write(&r, 0, 40);
	sl_assert_ok(step(&r));
	sl_assert_ok(step(&r));
	sl_engine_stats(r.e, &stats);
	assert_int_equal(stats.recompute_ops, 4);
	assert_int_equal(stats.peak_device_bytes, 24576 + 64);
	assert_int_equal(stats.swap_in_bytes + stats.swap_out_bytes, 0);
	/* All is given up after the last access, workspaces too. */
	for (uint64_t i = 4096; i < 32768; i++)
		assert_int_equal(r.arena[i], 0xAB);
	assert_int_equal(sl_engine_workspace(r.e, 0), 12288);
	sl_hand_close(&r);
}

static void a_value_lives_until_the_last_run_that_accesses_it(void **state)
{
	struct sl_hand_rig r;

	(void)state;
	open_rig(&r, BASE "after 1 delay_ns=0 drop v2\n" AGAIN(
			     "after 1", "v2 again=0 offset=8192 workspace=12288"));
	/* Not sound, so the checker has no say here: v1 would get op 0's content. */
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_hand_close(&r);
	open_rig(&r, BASE AGAIN("after 2", "v1 again=1 offset=-"));
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	for (uint32_t op = 0; op < 2; op++) {
		sl_assert_ok(sl_engine_before(r.e, op));
		sl_assert_ok(sl_engine_after(r.e, op));
	}
	sl_assert_ok(sl_engine_before(r.e, 2));
	memset(r.arena + 4096, 3, SL_HAND_BLOCK);
	memset(r.arena + 8192, 3, SL_HAND_BLOCK);
	sl_assert_ok(sl_engine_after(r.e, 2));
	assert_int_equal(r.arena[8192], 0xAB);
	assert_int_equal(r.arena[4096], 0xAB);
	assert_true(sl_engine_offsets(r.e)[1] == SL_NO_OFFSET);
	sl_hand_close(&r);
}

static sl_status say_no(struct sl_hand_rig *r, uint32_t op)
{
	(void)r;
	return SL_FAIL(SL_E_NUMERIC, "op %u said no", op);
}

static void a_run_that_fails_ends_the_step_with_its_words(void **state)
{
	struct sl_hand_rig r;

	(void)state;
	open_rig(&r, BASE DROP FIRST SECOND);
	r.on_again = say_no;
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_assert_fails(
		sl_hand_step(&r), SL_E_NUMERIC, "run again at op 2: op 0 said no");
	sl_hand_close(&r);
}

static const struct {
	const char *plan, *says;
} refused[] = {
	{BASE AGAIN("before 0", "v1 again=0 offset=16384 workspace=24576"),
		"has not run yet"},
	{BASE AGAIN("before 1", "v1 again=2 offset=16384"), "has not run yet"},
	{BASE AGAIN("after 3", "v0 again=3 offset=-"), "not pure"},
	{BASE AGAIN("after 1", "v1 again=0 offset=16384"), "workspace has no place"},
	{BASE AGAIN("after 1", "v1 again=1 offset=- workspace=0"), "place but no bytes"},
	{BASE AGAIN("after 1", "v1 again=1 offset=16384"), "does not bear"},
	{BASE AGAIN("after 1", "v1 again=0 offset=30000 workspace=0"), "value 1"},
	{BASE AGAIN("after 1", "v1 again=0 offset=16384 workspace=32768"),
		"workspace of op 0"},
};

static void what_cannot_run_again_is_not_adopted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(refused); i++) {
		struct sl_hand_rig r;

		open_rig(&r, refused[i].plan);
		sl_assert_fails(sl_engine_adopt(r.e, &r.t, &r.plans[0]), SL_E_INVALID,
			refused[i].says);
		sl_hand_close(&r);
	}
}

static void whoever_cannot_run_an_op_twice_adopts_no_such_plan(void **state)
{
	struct sl_hand_rig r;
	struct sl_engine *e = NULL;
	struct sl_engine_opts o = {.arena_bytes = 32768, .bounce_offset = SL_NO_OFFSET};

	(void)state;
	open_rig(&r, BASE DROP FIRST SECOND);
	o.arena = r.arena;
	o.tiers = &r.host;
	o.n_tiers = 1;
	sl_assert_ok(sl_engine_create(&o, &e));
	sl_assert_fails(
		sl_engine_adopt(e, &r.t, &r.plans[0]), SL_E_INVALID, "cannot run one");
	sl_engine_destroy(e);
	sl_hand_close(&r);
}

static void an_unsound_run_is_refused_where_it_breaks(void **state)
{
	static const struct {
		const char *plan, *says;
	} cases[] = {
		/* b is nowhere, and no line bears it */
		{BASE DROP AGAIN("before 2", "v1 again=0 offset=16384 workspace=24576"),
			"op 0 (first), value b"},
		/* a lies on the device already */
		{BASE FIRST, "op 0 (first), value a"},
		/* the copy is of the first run */
		{BASE "after 1 delay_ns=0 out v1 tier=host channel=0 offset=0\n"
		      "after 1 delay_ns=0 drop v2\n" FIRST SECOND
		      "before 2 delay_ns=0 drop-clean v1\n",
			"op 2 (third), value a"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_hand_rig r;

		open_rig(&r, cases[i].plan);
		sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
		sl_assert_fails(sl_hand_step(&r), SL_E_INVALID, cases[i].says);
		sl_hand_close(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_chain_runs_again_in_order_and_gives_the_same_bytes),
		SL_TEST(a_value_lives_until_the_last_run_that_accesses_it),
		SL_TEST(a_run_that_fails_ends_the_step_with_its_words),
		SL_TEST(what_cannot_run_again_is_not_adopted),
		SL_TEST(whoever_cannot_run_an_op_twice_adopts_no_such_plan),
		SL_TEST(an_unsound_run_is_refused_where_it_breaks),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

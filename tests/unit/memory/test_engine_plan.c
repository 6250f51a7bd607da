/* SPDX-License-Identifier: Apache-2.0 */
/* Small hand-made plans: what the engine reports, refuses and leaves alone. */
#include "harness/hand_rig.h"
#include "harness/harness.h"

#include <string.h>

/* w is read and changed; a is born, seen through its alias b, and dies at op 1. */
static const char trace_text[] =
	"trace 1\n"
	"job 0 name=small iterations=0\n"
	"tier host bytes=65536\n"
	"link device host bytes_per_s=1 latency_ns=0 duplex=full\n"
	"link host device bytes_per_s=1 latency_ns=0 duplex=full\n"
	"value v0 bytes=4096 align=64 class=param alias=- version=0 immovable=0 "
	"external=0 name=w\n"
	"value v1 bytes=4096 align=64 class=state alias=- version=0 immovable=0 "
	"external=0 name=m\n"
	"value v2 bytes=4096 align=64 class=act alias=- version=0 immovable=0 external=0 "
	"name=a\n"
	"value v3 bytes=4096 align=64 class=act alias=v2 version=0 immovable=0 "
	"external=0 name=b\n"
	"op 0 kind=first scope=- device=0 stream=0 dur_ns=1 workspace=64 in=v0 out=v2 "
	"mutates=- "
	"pure=1\n"
	"op 1 kind=second scope=- device=0 stream=0 dur_ns=1 workspace=0 in=v3 out=- "
	"mutates=v0 "
	"pure=1\n";

#define HEAD "plan 1 budget=32768 policy=hand order=seal\n"
#define BASE \
	HEAD "place v0 region=P offset=0\nplace v1 region=P offset=4096\n" \
	     "place v2 region=lane offset=8192\nplace w0 region=lane offset=12288\n"

static void offsets_follow_birth_and_death_aliases_too(void **state)
{
	struct sl_hand_rig r;
	struct sl_engine_stats stats;

	(void)state;
	sl_hand_open(&r, trace_text, 0);
	sl_hand_plan(&r, 0, BASE);
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	const uint64_t *at = sl_engine_offsets(r.e);
	assert_true(at[0] == 0 && at[1] == 4096 && at[2] == SL_NO_OFFSET);
	sl_assert_ok(sl_engine_before(r.e, 0));
	assert_true(at[2] == 8192 && at[3] == 8192);
	assert_true(sl_engine_workspace(r.e, 0) == 12288);
	assert_true(sl_engine_workspace(r.e, 1) == SL_NO_OFFSET);
	memset(r.arena + 8192, 1, SL_HAND_BLOCK);
	sl_assert_ok(sl_engine_after(r.e, 0));
	sl_assert_ok(sl_engine_before(r.e, 1));
	sl_assert_ok(sl_engine_after(r.e, 1));
	assert_true(at[2] == SL_NO_OFFSET && at[3] == SL_NO_OFFSET);
	assert_int_equal(r.arena[8192], 0xAB);
	sl_assert_ok(sl_engine_end_step(r.e));
	sl_engine_stats(r.e, &stats);
	assert_true(stats.stall_ns == 0 && stats.swap_out_bytes == 0);
	assert_true(stats.peak_device_bytes == 12288 + 64);
	sl_hand_close(&r);
}

static void an_unsound_plan_is_refused_where_it_breaks(void **state)
{
	static const struct {
		const char *plan, *says;
	} cases[] = {
		{BASE "after 1 delay_ns=0 drop-clean v0\n", "op 1 (second), value w"},
		{BASE "before 0 delay_ns=0 out v0 tier=host channel=0 offset=0\n",
			"op 0 (first), value w"},
		{BASE "before 0 delay_ns=0 in v0 tier=host channel=1 offset=16384\n",
			"value w"},
		{BASE "after 1 delay_ns=0 out v1 tier=host channel=0 offset=0\n",
			"m (v1) ends the step AWAY"},
		{BASE "after 1 delay_ns=0 move v1 offset=16384\n",
			"m (v1) ends the step"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_hand_rig r;
		sl_hand_open(&r, trace_text, 0);
		sl_hand_plan(&r, 0, cases[i].plan);
		sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
		sl_assert_fails(sl_hand_step(&r), SL_E_INVALID, cases[i].says);
		sl_hand_close(&r);
	}
}

static void a_plan_outside_arena_tier_or_channel_is_not_adopted(void **state)
{
	static const struct {
		const char *plan, *says;
	} cases[] = {
		{HEAD "place v0 region=P offset=30000\nplace v1 region=P offset=0\n",
			"value 0"},
		{BASE "after 0 delay_ns=0 out v1 tier=host channel=0 offset=65000\n",
			"host tier"},
		{BASE "after 0 delay_ns=0 out v1 tier=host channel=2 offset=0\n",
			"channel"},
		{HEAD "place v0 region=P offset=0\nplace v2 region=lane offset=8192\n"
		      "place w0 region=lane offset=0\n",
			"v1"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		struct sl_hand_rig r;
		sl_hand_open(&r, trace_text, 0);
		sl_hand_plan(&r, 0, cases[i].plan);
		sl_assert_fails(sl_engine_adopt(r.e, &r.t, &r.plans[0]), SL_E_INVALID,
			cases[i].says);
		sl_assert_fails(
			sl_engine_before(r.e, 0), SL_E_INVALID, "adopted no plan");
		sl_hand_close(&r);
	}
}

static void a_failed_copy_is_reported_with_value_and_tier(void **state)
{
	struct sl_hand_rig r;

	(void)state;
	sl_hand_open(&r, trace_text, 2);
	sl_hand_plan(&r, 0,
		BASE "after 0 delay_ns=0 out v1 tier=host channel=0 offset=0\n"
		     "before 1 delay_ns=0 in v1 tier=host channel=1 offset=4096\n");
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_assert_fails(sl_hand_step(&r), SL_E_IO,
		"copying m (v1, 4096 bytes) in from the host tier");
	sl_assert_fails(sl_engine_before(r.e, 0), SL_E_IO, "copying m");
	sl_assert_fails(sl_engine_adopt(r.e, &r.t, &r.plans[0]), SL_E_IO, "copying m");
	sl_hand_close(&r);
}

/* As the checker and docs/formats/trace.md have it. */
static void a_link_carries_in_its_reverse_direction_too(void **state)
{
	struct sl_hand_rig r;
	uint8_t want[SL_HAND_BLOCK], have[SL_HAND_BLOCK];

	(void)state;
	memset(want, 7, sizeof(want));
	sl_hand_open(&r, trace_text, 0);
	sl_hand_plan(&r, 0,
		BASE "after 0 delay_ns=0 out v1 tier=host channel=1 offset=0\n"
		     "before 1 delay_ns=0 in v1 tier=host channel=0 offset=4096\n");
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_assert_ok(sl_engine_write(r.e, 1, 0, want, sizeof(want)));
	sl_assert_ok(sl_hand_step(&r));
	sl_assert_ok(sl_engine_read(r.e, 1, 0, have, sizeof(have)));
	assert_memory_equal(want, have, sizeof(want));
	sl_hand_close(&r);
}

static void values_are_reachable_only_between_steps(void **state)
{
	struct sl_hand_rig r;
	uint8_t byte = 1;

	(void)state;
	sl_hand_open(&r, trace_text, 0);
	sl_assert_fails(
		sl_engine_read(r.e, 0, 0, &byte, 1), SL_E_INVALID, "between steps");
	sl_hand_plan(&r, 0, BASE);
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_assert_fails(sl_engine_read(r.e, 2, 0, &byte, 1), SL_E_INVALID, "a (v2)");
	sl_assert_fails(sl_engine_read(r.e, 9, 0, &byte, 1), SL_E_INVALID, "v9");
	sl_assert_fails(sl_engine_write(r.e, 0, 4096, &byte, 1), SL_E_INVALID, "w (v0)");
	sl_assert_ok(sl_engine_before(r.e, 0));
	sl_assert_fails(
		sl_engine_write(r.e, 0, 0, &byte, 1), SL_E_INVALID, "between steps");
	sl_assert_fails(
		sl_engine_adopt(r.e, &r.t, &r.plans[0]), SL_E_INVALID, "between steps");
	sl_hand_close(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(offsets_follow_birth_and_death_aliases_too),
		SL_TEST(an_unsound_plan_is_refused_where_it_breaks),
		SL_TEST(a_plan_outside_arena_tier_or_channel_is_not_adopted),
		SL_TEST(a_failed_copy_is_reported_with_value_and_tier),
		SL_TEST(a_link_carries_in_its_reverse_direction_too),
		SL_TEST(values_are_reachable_only_between_steps),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

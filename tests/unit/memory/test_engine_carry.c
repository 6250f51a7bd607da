/* SPDX-License-Identifier: Apache-2.0 */
/* Adopting another plan: values carried over, moved in a safe order, or refused. */
#include "harness/hand_rig.h"
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"

#define HEAD "plan 1 budget=32768 policy=hand order=seal\n"
#define BASE HEAD "place v0 region=P offset=0\nplace v1 region=P offset=4096\n"

/* v1 alone: 20480 bytes slide by 4096 within 32768, both ways. */
static const char slide_text[] = "trace 1\n"
				 "job 0 name=slide iterations=0\n"
				 "value v0 bytes=4096 align=64 class=param alias=- "
				 "version=0 immovable=0 external=0 name=w\n"
				 "value v1 bytes=20480 align=64 class=state alias=- "
				 "version=0 immovable=0 external=0 name=m\n"
				 "op 0 kind=first scope=- device=0 stream=0 dur_ns=1 "
				 "workspace=0 in=v0 out=- mutates=v1 "
				 "pure=1\n";

static void adopting_the_same_places_copies_nothing(void **state)
{
	struct sl_hand_rig r;
	struct sl_engine_stats stats;

	(void)state;
	sl_hand_open(&r, slide_text, 0);
	sl_hand_plan(&r, 0, BASE);
	sl_hand_plan(&r, 1, BASE "start v0 tier=device\n");
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_hand_write(&r, 0, 7);
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[1]));
	sl_hand_assert(&r, 0, 7);
	sl_engine_stats(r.e, &stats);
	assert_true(stats.move_bytes + stats.swap_in_bytes + stats.swap_out_bytes == 0);
	sl_hand_close(&r);
}

/* The same trace without the tier. */
static const char bare_text[] = "trace 1\n"
				"job 0 name=bare iterations=0\n"
				"value v0 bytes=4096 align=64 class=param alias=- "
				"version=0 immovable=0 external=0 name=w\n"
				"value v1 bytes=28672 align=64 class=state alias=- "
				"version=0 immovable=0 external=0 name=m\n"
				"op 0 kind=first scope=- device=0 stream=0 dur_ns=1 "
				"workspace=0 in=v0 out=- mutates=v1 "
				"pure=1\n";

static void values_that_change_places_on_a_full_device_need_a_tier(void **state)
{
	struct sl_hand_rig r;

	(void)state;
	sl_hand_open(&r, bare_text, 0);
	sl_hand_plan(&r, 0,
		HEAD "place v0 region=P offset=0\nplace v1 region=P offset=4096\n");
	sl_hand_plan(&r, 1,
		HEAD "place v0 region=P offset=28672\nplace v1 region=P offset=0\n");
	sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[0]));
	sl_hand_write(&r, 0, 3);
	sl_assert_fails(
		sl_engine_adopt(r.e, &r.t, &r.plans[1]), SL_E_INFEASIBLE, "--disk DIR");
	sl_hand_assert(&r, 0, 3);
	sl_assert_ok(sl_hand_step(&r));
	sl_hand_close(&r);
}

static void a_value_slides_over_its_own_bytes(void **state)
{
	static const char *const texts[] = {
		HEAD "place v0 region=P offset=28672\nplace v1 region=P offset=0\n",
		HEAD "place v0 region=P offset=0\nplace v1 region=P offset=4096\n",
		HEAD "place v0 region=P offset=20480\nplace v1 region=P offset=0\n",
	};
	struct sl_hand_rig r;
	uint8_t bytes[20480], back[20480];

	(void)state;
	sl_hand_open(&r, slide_text, 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 64);
	for (size_t i = 0; i < SL_COUNT(texts); i++) {
		sl_hand_plan(&r, i % 2, texts[i]);
		sl_assert_ok(sl_engine_adopt(r.e, &r.t, &r.plans[i % 2]));
		if (i == 0)
			sl_assert_ok(sl_engine_write(r.e, 1, 0, bytes, sizeof(bytes)));
		if (i == 0)
			sl_hand_write(&r, 0, 9);
		sl_assert_ok(sl_engine_read(r.e, 1, 0, back, sizeof(back)));
		assert_memory_equal(bytes, back, sizeof(bytes));
		sl_hand_assert(&r, 0, 9);
	}
	sl_hand_close(&r);
}

/* 100 bytes are no whole block of the disk; the bounce blocks are a value that plans
 * place. */
static const char bounce_text[] =
	"trace 1\n"
	"job 0 name=bounce iterations=0\n"
	"tier disk bytes=65536\n"
	"link device disk bytes_per_s=1 latency_ns=0 duplex=full\n"
	"link disk device bytes_per_s=1 latency_ns=0 duplex=full\n"
	"value v0 bytes=100 align=64 class=param alias=- version=0 immovable=0 "
	"external=0 name=w\n"
	"value v1 bytes=8192 align=4096 class=const alias=- version=0 immovable=1 "
	"external=0 "
	"name=bounce\n"
	"op 0 kind=first scope=- device=0 stream=0 dur_ns=1 workspace=0 in=v0 out=- "
	"mutates=- "
	"pure=1\n";

#define ODD_MOVES \
	"before 0 delay_ns=0 in v0 tier=disk channel=1 offset=24640\n" \
	"after 0 delay_ns=0 drop-clean v0\n"

static void bounce_blocks_may_be_a_value_that_plans_place(void **state)
{
	struct sl_tier *disk = NULL;
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_plan p[2] = {SL_PLAN_INIT, SL_PLAN_INIT};
	struct sl_engine *e = NULL;
	uint8_t bytes[100], *arena = sl_alloc_aligned(4096, 32768);
	static const char *const texts[] = {
		HEAD
		"place v1 region=P offset=0\nstart v0 tier=disk offset=4096\n" ODD_MOVES,
		HEAD
		"place v1 region=P offset=8192\nstart v0 tier=disk offset=0\n" ODD_MOVES,
	};

	(void)state;
	memset(bytes, 5, sizeof(bytes));
	sl_assert_ok(sl_tier_disk_create(sl_test_path(""), 65536, &disk));
	sl_assert_ok(sl_engine_create(&(struct sl_engine_opts){.arena = arena,
					      .arena_bytes = 32768,
					      .tiers = &disk,
					      .n_tiers = 1,
					      .bounce_offset = SL_NO_OFFSET,
					      .poison = true},
		&e));
	sl_assert_ok(sl_trace_parse("trace", bounce_text, strlen(bounce_text), &t));
	for (size_t i = 0; i < 2; i++) {
		sl_assert_ok(
			sl_plan_parse("plan", texts[i], strlen(texts[i]), &t, &p[i]));
		sl_assert_ok(sl_engine_adopt(e, &t, &p[i]));
		if (i == 0)
			sl_assert_ok(sl_engine_write(e, 0, 0, bytes, sizeof(bytes)));
		sl_assert_ok(sl_engine_before(e, 0));
		assert_memory_equal(
			arena + sl_engine_offsets(e)[0], bytes, sizeof(bytes));
		sl_assert_ok(sl_engine_after(e, 0));
		sl_assert_ok(sl_engine_end_step(e));
	}
	sl_engine_destroy(e);
	sl_tier_destroy(disk);
	sl_plan_finish(&p[0]);
	sl_plan_finish(&p[1]);
	sl_trace_finish(&t);
	sl_free_aligned(arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(adopting_the_same_places_copies_nothing),
		SL_TEST(values_that_change_places_on_a_full_device_need_a_tier),
		SL_TEST(bounce_blocks_may_be_a_value_that_plans_place),
		SL_TEST(a_value_slides_over_its_own_bytes),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

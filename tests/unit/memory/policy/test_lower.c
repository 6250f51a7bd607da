/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/memory/policy/lower.c: fates, set by hand, of one value with many uses. */
#include "harness/harness.h"

#include "memory/policy/gaps.h"

#define BUDGET 65536u
#define USES 4 /* of v1, by every third op from 1 on */

static void load(struct sl_trace *t)
{
	static const char text[] =
		"trace 1\njob 0 name=t iterations=0\ntier host bytes=1048576\n"
		"link device host bytes_per_s=4096000000 latency_ns=0\n"
		"link host device bytes_per_s=4096000000 latency_ns=0\n"
		"value v0 bytes=4096 align=4096 class=const\n"
		"value v1 bytes=8192 align=4096 class=act\n"
		"op 0 kind=make dur_ns=1000 in=v0 out=v1\n"
		"op 1 kind=use dur_ns=1000 in=v1\nop 2 kind=pad dur_ns=1000 in=v0\n"
		"op 3 kind=pad dur_ns=1000 in=v0\nop 4 kind=use dur_ns=1000 in=v1\n"
		"op 5 kind=pad dur_ns=1000 in=v0\nop 6 kind=pad dur_ns=1000 in=v0\n"
		"op 7 kind=use dur_ns=1000 in=v1\nop 8 kind=pad dur_ns=1000 in=v0\n"
		"op 9 kind=pad dur_ns=1000 in=v0\nop 10 kind=use dur_ns=1000 in=v1\n";

	*t = SL_TRACE_INIT;
	sl_assert_ok(sl_trace_parse("hand.trace", text, sizeof(text) - 1, t));
}

/* The plan of these fates, which the checker must find sound. */
static struct sl_plan_price lower(const struct sl_trace *t, const uint8_t fates[USES - 1])
{
	uint64_t level[16] = {0}, height = 0;
	struct sl_redoer *redoer = NULL;
	const struct sl_redo *redo;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price, bound;
	struct sl_gaps g;

	sl_assert_ok(sl_gaps_init(&g, t));
	for (uint32_t i = 0; i < USES - 1; i++)
		sl_gap_set(&g.gaps[g.first[1] + 1 + i], (enum sl_fate)fates[i]);
	sl_assert_ok(sl_redoer_create(&g, level, BUDGET, &redoer));
	sl_assert_ok(sl_redoer_resolve(redoer, &redo));
	sl_assert_ok(sl_gaps_lower(&g, redo, BUDGET, "hand", &p, &height));
	sl_assert_ok(sl_plan_check(t, &p, BUDGET, NULL));
	sl_assert_ok(sl_plan_price(t, &p, &price));
	sl_assert_ok(sl_gaps_bound(&g, redo, &bound, NULL));
	assert_true(bound.iter_ns <= price.iter_ns);
	assert_int_equal(bound.recompute_ns, price.recompute_ns);
	assert_int_equal(bound.swap_in_bytes, price.swap_in_bytes);
	assert_int_equal(bound.swap_out_bytes, price.swap_out_bytes);
	sl_plan_finish(&p);
	sl_redoer_destroy(redoer);
	sl_gaps_finish(&g);
	return price;
}

/* One copy out serves until its value is borne anew. */
static void running_again_ends_what_is_current_below(void **state)
{
	static const uint8_t again[] = {SL_FATE_SWAP, SL_FATE_REDO, SL_FATE_SWAP};
	static const uint8_t kept[] = {SL_FATE_SWAP, SL_FATE_KEEP, SL_FATE_SWAP};
	struct sl_plan_price price;
	struct sl_trace t;

	(void)state;
	load(&t);
	price = lower(&t, again);
	assert_int_equal(price.swap_out_bytes, 2 * 8192);
	assert_int_equal(price.recompute_ns, 1000);
	price = lower(&t, kept);
	assert_int_equal(price.swap_out_bytes, 8192);
	assert_int_equal(price.swap_in_bytes, 2 * 8192);
	sl_trace_finish(&t);
}

static void every_three_fates_make_a_sound_plan(void **state)
{
	struct sl_trace t;

	(void)state;
	load(&t);
	for (int i = 0; i < 27; i++) {
		const uint8_t fates[] = {
			(uint8_t)(i % 3), (uint8_t)(i / 3 % 3), (uint8_t)(i / 9)};
		uint64_t redone = 0, swapped = 0;
		struct sl_plan_price price = lower(&t, fates);

		for (int k = 0; k < 3; k++) {
			redone += fates[k] == SL_FATE_REDO;
			swapped += fates[k] == SL_FATE_SWAP;
		}
		assert_int_equal(price.recompute_ns, 1000 * redone);
		assert_int_equal(price.swap_in_bytes, 8192 * swapped);
	}
	sl_trace_finish(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(running_again_ends_what_is_current_below),
		SL_TEST(every_three_fates_make_a_sound_plan),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The range allocator against a naive twin with one flag a byte. */
#include "harness/harness.h"

#include <string.h>

#include "base/rng.h"
#include "memory/pool.h"

#define SIZE 512

struct twin {
	bool taken[SIZE];
};

static bool twin_free(const struct twin *t, uint64_t at, uint64_t bytes)
{
	if (at > SIZE || bytes > SIZE - at)
		return false;
	for (uint64_t i = at; i < at + bytes; i++) {
		if (t->taken[i])
			return false;
	}
	return true;
}

static uint64_t twin_largest(const struct twin *t)
{
	uint64_t run = 0, most = 0;

	for (uint64_t i = 0; i < SIZE; i++) {
		run = t->taken[i] ? 0 : run + 1;
		most = run > most ? run : most;
	}
	return most;
}

static uint64_t twin_count(const struct twin *t)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < SIZE; i++)
		n += !t->taken[i];
	return n;
}

/* Bytes of the hole around a free byte. */
static uint64_t twin_hole(const struct twin *t, uint64_t at)
{
	uint64_t lo = at, hi = at;

	while (lo > 0 && !t->taken[lo - 1])
		lo--;
	while (hi < SIZE && !t->taken[hi])
		hi++;
	return hi - lo;
}

/* Smallest hole in which some aligned place for `bytes` exists; 0 if none. */
static uint64_t twin_best(const struct twin *t, uint64_t bytes, uint64_t align)
{
	uint64_t best = 0;

	for (uint64_t at = 0; at + bytes <= SIZE; at += align) {
		if (twin_free(t, at, bytes) && (best == 0 || twin_hole(t, at) < best))
			best = twin_hole(t, at);
	}
	return best;
}

static void twin_set(struct twin *t, uint64_t at, uint64_t bytes, bool taken)
{
	memset(t->taken + at, taken, bytes);
}

static void step_alloc(struct sl_pool *p, struct twin *t, struct sl_rng *r)
{
	uint64_t bytes = 1 + sl_rng_below(r, 60), align = 1ull << sl_rng_below(r, 6);
	enum sl_pool_end end = sl_rng_below(r, 2) ? SL_POOL_LOW : SL_POOL_HIGH;
	uint64_t best = twin_best(t, bytes, align), at = 0;

	sl_assert_ok(sl_pool_alloc(p, bytes, align, end, &at));
	assert_int_equal(at == SL_POOL_NONE, best == 0);
	if (at == SL_POOL_NONE)
		return;
	assert_int_equal(at % align, 0);
	assert_true(twin_free(t, at, bytes));
	assert_int_equal(twin_hole(t, at), best);
	twin_set(t, at, bytes, true);
}

static void step_fixed(struct sl_pool *p, struct twin *t, struct sl_rng *r)
{
	uint64_t at = sl_rng_below(r, SIZE), bytes = 1 + sl_rng_below(r, 20);

	if (twin_free(t, at, bytes)) {
		assert_true(sl_pool_is_free(p, at, bytes));
		sl_assert_ok(sl_pool_take(p, at, bytes));
		twin_set(t, at, bytes, true);
	} else {
		assert_false(sl_pool_is_free(p, at, bytes));
		sl_assert_fails(sl_pool_take(p, at, bytes), SL_E_INVALID, "not free");
	}
}

static void step_give(struct sl_pool *p, struct twin *t, struct sl_rng *r)
{
	uint64_t at = sl_rng_below(r, SIZE), bytes = 1 + sl_rng_below(r, 20);
	bool all = at + bytes <= SIZE;

	for (uint64_t i = at; all && i < at + bytes; i++)
		all = t->taken[i];
	if (!all) {
		sl_assert_fails(
			sl_pool_give(p, at, bytes), SL_E_INVALID, "not all taken");
		return;
	}
	sl_assert_ok(sl_pool_give(p, at, bytes));
	twin_set(t, at, bytes, false);
}

static void the_pool_agrees_with_one_flag_a_byte(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sl_rng r = {.key = {.seed = seed}};
		struct twin t = {{false}};
		struct sl_pool p = {0};

		sl_assert_ok(sl_pool_init(&p, SIZE));
		for (int i = 0; i < 2000; i++) {
			static void (*const steps[])(
				struct sl_pool *, struct twin *, struct sl_rng *) = {
				step_alloc, step_fixed, step_give, step_give, step_give};

			steps[sl_rng_below(&r, SL_COUNT(steps))](&p, &t, &r);
			assert_int_equal(p.free_bytes, twin_count(&t));
			assert_int_equal(sl_pool_largest(&p), twin_largest(&t));
		}
		sl_pool_finish(&p);
	}
}

static void big_goes_low_and_small_goes_high_in_the_tightest_hole(void **state)
{
	(void)state;
	struct sl_pool p = {0};
	uint64_t at = 0;

	sl_assert_ok(sl_pool_init(&p, 1000));
	sl_assert_ok(sl_pool_take(&p, 100, 100)); /* holes of 100 and 800 */
	sl_assert_ok(sl_pool_alloc(&p, 40, 1, SL_POOL_LOW, &at));
	assert_int_equal(at, 0);
	sl_assert_ok(sl_pool_alloc(&p, 40, 1, SL_POOL_HIGH, &at));
	assert_int_equal(at, 60);
	sl_assert_ok(sl_pool_alloc(&p, 100, 64, SL_POOL_HIGH, &at));
	assert_int_equal(at, 896);
	sl_assert_ok(sl_pool_alloc(&p, 900, 1, SL_POOL_LOW, &at));
	assert_true(at == SL_POOL_NONE);
	sl_pool_finish(&p);
}

static void an_empty_pool_has_no_room_and_absurd_ranges_are_refused(void **state)
{
	(void)state;
	struct sl_pool p = {0};
	uint64_t at = 0;

	sl_assert_ok(sl_pool_init(&p, 0));
	sl_assert_ok(sl_pool_alloc(&p, 1, 1, SL_POOL_LOW, &at));
	assert_true(at == SL_POOL_NONE);
	sl_assert_fails(sl_pool_take(&p, UINT64_MAX - 2, 8), SL_E_INVALID, "not free");
	sl_assert_fails(
		sl_pool_give(&p, UINT64_MAX - 2, 8), SL_E_INVALID, "not all taken");
	sl_pool_finish(&p);
}

static sl_status use_pool(void *ctx)
{
	struct sl_pool p = {0};
	sl_status st = SL_OK;
	(void)ctx;

	SL_TRY(sl_pool_init(&p, 1 << 20));
	for (uint64_t i = 0; i < 100 && st == SL_OK; i++)
		st = sl_pool_take(&p, i * 20, 10);
	for (uint64_t i = 0; i < 100 && st == SL_OK; i++)
		st = sl_pool_give(&p, i * 20, 10);
	sl_pool_finish(&p);
	return st;
}

static void a_pool_survives_every_failing_allocation(void **state)
{
	(void)state;
	assert_true(sl_torture(use_pool, NULL) >= 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_pool_agrees_with_one_flag_a_byte),
		SL_TEST(big_goes_low_and_small_goes_high_in_the_tightest_hole),
		SL_TEST(an_empty_pool_has_no_room_and_absurd_ranges_are_refused),
		SL_TEST(a_pool_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

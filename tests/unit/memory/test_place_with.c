/* SPDX-License-Identifier: Apache-2.0 */
/* Placement with fixed items, capacities and effort, and the check of a placement. */
#include "harness/harness.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "memory/place.h"

#define N 120

static void random_items(struct sl_place_item *items, size_t n, uint64_t seed)
{
	struct sl_rng r = {.key = {.seed = seed}};

	for (size_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)sl_rng_below(&r, 60);

		items[i] = (struct sl_place_item){.first = first,
			.last = first + (uint32_t)sl_rng_below(&r, 40),
			.bytes = sl_rng_below(&r, 3000),
			.align = 1ull << sl_rng_below(&r, 7)};
	}
}

static bool meet(const struct sl_place_item *a, const struct sl_place_item *b)
{
	return a->first <= b->last && b->first <= a->last &&
	       a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void check_pairs(
	const struct sl_place_item *items, size_t n, uint64_t base, uint64_t height)
{
	uint64_t highest = base;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = items[i].offset + items[i].bytes;

		assert_int_equal(items[i].offset % items[i].align, 0);
		assert_true(items[i].fixed || items[i].offset >= base);
		highest = end > highest ? end : highest;
		for (size_t k = 0; k < i; k++)
			assert_false(items[i].bytes > 0 && items[k].bytes > 0 &&
				     meet(&items[i], &items[k]));
	}
	assert_true(height >= highest);
}

static void every_effort_is_sound_and_more_of_it_is_no_higher(void **state)
{
	(void)state;
	struct sl_place_item items[N];

	for (uint64_t seed = 0; seed < 12; seed++) {
		uint64_t height[3], load = 0, base = seed * 100;
		size_t n = 10 * (seed + 1);

		random_items(items, n, seed);
		sl_assert_ok(sl_place_load(items, n, &load));
		for (int e = SL_PLACE_ONE; e <= SL_PLACE_IMPROVE; e++) {
			struct sl_place_opts o = {.base = base, .effort = e};

			sl_assert_ok(sl_place_with(&o, items, n, &height[e]));
			check_pairs(items, n, base, height[e]);
			assert_true(height[e] >= base + load);
			assert_true(e == 0 || height[e] <= height[e - 1]);
		}
	}
}

static void a_hopeless_first_order_ends_the_family(void **state)
{
	(void)state;
	struct sl_place_item items[N];
	bool differs = false;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct sl_place_opts o = {.effort = SL_PLACE_ONE};
		uint64_t one = 0, family = 0, ended = 0;
		random_items(items, N, seed);
		items[0].fixed = true; /* or a pool is tried first */
		sl_assert_ok(sl_place_with(&o, items, N, &one));
		o.effort = SL_PLACE_FAMILY;
		sl_assert_ok(sl_place_with(&o, items, N, &family));
		o.hopeless = one - 1;
		sl_assert_ok(sl_place_with(&o, items, N, &ended));
		assert_int_equal(ended, one);
		differs = differs || family < one;
	}
	assert_true(differs);
}

static void fixed_items_stay_where_they_are(void **state)
{
	(void)state;
	struct sl_place_item items[N];

	for (uint64_t seed = 0; seed < 12; seed++) {
		for (int e = SL_PLACE_ONE; e <= SL_PLACE_IMPROVE; e++) {
			struct sl_place_opts o = {.base = 64, .effort = e};
			uint64_t height = 0;

			random_items(items, N, seed);
			for (size_t i = 0; i < 6; i++) {
				items[i].fixed = true;
				items[i].offset = 3072 * (i + seed % 3);
			}
			sl_assert_ok(sl_place_with(&o, items, N, &height));
			check_pairs(items, N, 64, height);
			for (size_t i = 0; i < 6; i++)
				assert_int_equal(items[i].offset, 3072 * (i + seed % 3));
		}
	}
}

/* b lies above a and c; a gap of 4 at the bottom can be used only around the fixed one.
 */
static void items_go_around_a_fixed_one(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0,
			.last = 9,
			.bytes = 4,
			.align = 1,
			.offset = 4,
			.fixed = true},
		{.first = 0, .last = 4, .bytes = 4, .align = 1},
		{.first = 3, .last = 9, .bytes = 5, .align = 1},
		{.first = 5, .last = 9, .bytes = 4, .align = 1},
	};
	struct sl_place_opts o = {.effort = SL_PLACE_IMPROVE};
	uint64_t height = 0;

	sl_assert_ok(sl_place_with(&o, items, 4, &height));
	assert_int_equal(height, 13);
	assert_int_equal(items[1].offset, 0);
	assert_int_equal(items[2].offset, 8);
	assert_int_equal(items[3].offset, 0);
}

static void wrong_fixed_items_are_refused(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0,
			.last = 9,
			.bytes = 4,
			.align = 4,
			.offset = 4,
			.fixed = true},
		{.first = 9,
			.last = 12,
			.bytes = 4,
			.align = 1,
			.offset = 7,
			.fixed = true},
	};
	struct sl_place_opts o = {0};
	uint64_t height = 0;

	sl_assert_fails(sl_place_with(&o, items, 2, &height), SL_E_INVALID, "overlap");
	items[1].first = 10;
	sl_assert_ok(sl_place_with(&o, items, 2, &height));
	assert_int_equal(height, 11);
	items[0].offset = 2;
	sl_assert_fails(sl_place_with(&o, items, 2, &height), SL_E_INVALID, "alignment");
	items[0].offset = 4;
	items[0].bytes = SL_PLACE_MAX_BYTES;
	sl_assert_fails(sl_place_with(&o, items, 2, &height), SL_E_INVALID, "2^63");
}

/* Four halves of a capacity of 8 that only the right pairing fits; first fit by size
 * needs more. */
static void a_capacity_ends_the_search(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0, .last = 3, .bytes = 4, .align = 1},
		{.first = 2, .last = 6, .bytes = 3, .align = 1},
		{.first = 4, .last = 6, .bytes = 5, .align = 1},
	};
	struct sl_place_opts tight = {.capacity = 8, .effort = SL_PLACE_IMPROVE};
	struct sl_place_opts wide = {.capacity = 100};
	uint64_t height = 0;

	sl_assert_ok(sl_place_with(&wide, items, 3, &height));
	assert_true(height <= 100);
	sl_assert_ok(sl_place_with(&tight, items, 3, &height));
	assert_int_equal(height, 8);
}

/* 1: the biggest lives long at the bottom; ten thousand take the way of many items. */
static void many_items_are_placed_soundly(void **state)
{
	(void)state;
	size_t n = 10000, pair[2];
	struct sl_place_item *items = sl_calloc(n, sizeof(*items));
	struct sl_rng r = {.key = {.seed = 5}};
	struct sl_place_opts o = {.base = 4096};
	uint64_t height = 0, load = 0;
	bool clash = true;

	assert_non_null(items);
	for (size_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)sl_rng_below(&r, 5000);

		items[i] = (struct sl_place_item){.first = first,
			.last = first + (uint32_t)sl_rng_below(&r, 50),
			.bytes = 64 * (1 + sl_rng_below(&r, 500)),
			.align = 64};
	}
	items[7].fixed = true;
	items[7].offset = 64000;
	sl_assert_ok(sl_place_load(items, n, &load));
	sl_assert_ok(sl_place_with(&o, items, n, &height));
	sl_assert_ok(sl_place_check(items, n, &clash, pair));
	assert_false(clash);
	assert_int_equal(items[7].offset, 64000);
	assert_true(height >= 4096 + load && height <= 4096 + load + load / 4);
	items[9].offset = items[10].offset;
	items[9].first = items[10].first;
	sl_assert_ok(sl_place_check(items, n, &clash, pair));
	assert_true(clash);
	sl_free(items);
}

static void the_check_names_the_pair_that_shares_bytes(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0, .last = 5, .bytes = 4, .align = 1, .offset = 0},
		{.first = 3, .last = 8, .bytes = 4, .align = 1, .offset = 4},
		{.first = 6, .last = 9, .bytes = 3, .align = 1, .offset = 2},
		{.first = 4, .last = 9, .bytes = 0, .align = 1, .offset = 5},
	};
	size_t pair[2] = {9, 9};
	bool clash = false;

	sl_assert_ok(sl_place_check(items, 4, &clash, pair));
	assert_true(clash);
	assert_int_equal(pair[0], 1);
	assert_int_equal(pair[1], 2);
	items[2].bytes = 2;
	sl_assert_ok(sl_place_check(items, 4, &clash, pair));
	assert_false(clash);
}

static sl_status place_fixed_and_check(void *ctx)
{
	struct sl_place_item items[40];
	struct sl_place_opts o = {.effort = SL_PLACE_IMPROVE};
	uint64_t height = 0;
	size_t pair[2];
	bool clash;
	(void)ctx;

	random_items(items, 40, 3);
	items[0].fixed = true;
	SL_TRY(sl_place_with(&o, items, 40, &height));
	return sl_place_check(items, 40, &clash, pair);
}

static sl_status place_many(void *ctx)
{
	static struct sl_place_item items[7000];
	struct sl_place_opts o = {0};
	uint64_t height = 0;
	(void)ctx;

	for (uint32_t i = 0; i < 7000; i++)
		items[i] = (struct sl_place_item){.first = i / 100,
			.last = i / 100,
			.bytes = 1 + i % 7,
			.align = 8};
	return sl_place_with(&o, items, 7000, &height);
}

static void every_effort_survives_every_failing_allocation(void **state)
{
	(void)state;
	assert_true(sl_torture(place_fixed_and_check, NULL) >= 12);
	assert_true(sl_torture(place_many, NULL) >= 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_effort_is_sound_and_more_of_it_is_no_higher),
		SL_TEST(a_hopeless_first_order_ends_the_family),
		SL_TEST(fixed_items_stay_where_they_are),
		SL_TEST(items_go_around_a_fixed_one),
		SL_TEST(wrong_fixed_items_are_refused),
		SL_TEST(a_capacity_ends_the_search),
		SL_TEST(many_items_are_placed_soundly),
		SL_TEST(the_check_names_the_pair_that_shares_bytes),
		SL_TEST(every_effort_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Offline placement: sound pair by pair, near the load, deterministic. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "memory/place.h"

static void check_pairs(
	const struct sl_place_item *items, size_t n, uint64_t base, uint64_t height)
{
	uint64_t highest = base;

	for (size_t i = 0; i < n; i++) {
		const struct sl_place_item *a = &items[i];

		assert_int_equal(a->offset % a->align, 0);
		assert_true(a->offset >= base);
		if (a->offset + a->bytes > highest)
			highest = a->offset + a->bytes;
		for (size_t k = 0; k < i; k++) {
			const struct sl_place_item *b = &items[k];
			bool meet = a->first <= b->last && b->first <= a->last;
			bool overlap = a->offset < b->offset + b->bytes &&
				       b->offset < a->offset + a->bytes;

			assert_false(meet && overlap);
		}
	}
	assert_int_equal(highest, height);
}

static void random_items(struct sl_place_item *items, size_t n, uint64_t seed)
{
	struct sl_rng r = {.key = {.seed = seed}};

	for (size_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)sl_rng_below(&r, 100);

		items[i] = (struct sl_place_item){.first = first,
			.last = first + (uint32_t)sl_rng_below(&r, 30),
			.bytes = 1 + sl_rng_below(&r, 5000),
			.align = 1ull << sl_rng_below(&r, 8)};
	}
}

static void random_lifetimes_never_overlap_and_stay_near_the_load(void **state)
{
	(void)state;
	struct sl_place_item items[200];

	for (uint64_t seed = 0; seed < 30; seed++) {
		size_t n = 1 + seed * 6;
		uint64_t height = 0, load = 0;

		random_items(items, n, seed);
		sl_assert_ok(sl_place_load(items, n, &load));
		sl_assert_ok(sl_place(items, n, seed * 64, &height));
		check_pairs(items, n, seed * 64, height);
		assert_true(height >= seed * 64 + load);
		assert_true(height <= seed * 64 + load + load / 2 + 4096);
	}
}

static void the_load_counts_both_ends_of_a_lifetime(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0, .last = 1, .bytes = 10, .align = 1},
		{.first = 1, .last = 2, .bytes = 20, .align = 1},
		{.first = 2, .last = 2, .bytes = 5, .align = 1},
	};
	uint64_t load = 0, height = 0;

	sl_assert_ok(sl_place_load(items, 3, &load));
	assert_int_equal(load, 30);
	sl_assert_ok(sl_place(items, 3, 0, &height));
	assert_int_equal(height, 30);
	check_pairs(items, 3, 0, height);
}

static void nothing_to_place_ends_at_the_base(void **state)
{
	(void)state;
	uint64_t height = 0, load = 1;

	sl_assert_ok(sl_place(NULL, 0, 4096, &height));
	assert_int_equal(height, 4096);
	sl_assert_ok(sl_place_load(NULL, 0, &load));
	assert_int_equal(load, 0);
}

/* A chain forward and backward: activation i lives from i to 2 n - i; the best is exact.
 */
static void a_training_chain_is_placed_at_the_load(void **state)
{
	(void)state;
	struct sl_place_item items[300];
	uint64_t height = 0, load = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < 100; i++) {
		items[n++] = (struct sl_place_item){.first = i,
			.last = 200 - i,
			.bytes = 4096 * (1 + i % 3),
			.align = 4096};
		items[n++] = (struct sl_place_item){
			.first = i, .last = i, .bytes = 8192, .align = 4096};
		items[n++] = (struct sl_place_item){
			.first = 200 - i, .last = 201 - i, .bytes = 4096, .align = 4096};
	}
	sl_assert_ok(sl_place_load(items, n, &load));
	sl_assert_ok(sl_place(items, n, 0, &height));
	check_pairs(items, n, 0, height);
	assert_true(height * 100 <= load * 103);
}

static void the_same_items_get_the_same_offsets(void **state)
{
	(void)state;
	struct sl_place_item a[150], b[150];
	uint64_t height_a = 0, height_b = 1;

	random_items(a, 150, 7);
	random_items(b, 150, 7);
	sl_assert_ok(sl_place(a, 150, 0, &height_a));
	sl_assert_ok(sl_place(b, 150, 0, &height_b));
	assert_int_equal(height_a, height_b);
	for (size_t i = 0; i < 150; i++)
		assert_int_equal(a[i].offset, b[i].offset);
}

static sl_status place_some(void *ctx)
{
	struct sl_place_item items[40];
	uint64_t height = 0;
	(void)ctx;

	random_items(items, 40, 3);
	return sl_place(items, 40, 0, &height);
}

static void placement_survives_every_failing_allocation(void **state)
{
	(void)state;
	assert_true(sl_torture(place_some, NULL) >= 6);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(random_lifetimes_never_overlap_and_stay_near_the_load),
		SL_TEST(the_load_counts_both_ends_of_a_lifetime),
		SL_TEST(nothing_to_place_ends_at_the_base),
		SL_TEST(a_training_chain_is_placed_at_the_load),
		SL_TEST(the_same_items_get_the_same_offsets),
		SL_TEST(placement_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

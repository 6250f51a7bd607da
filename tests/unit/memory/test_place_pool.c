/* SPDX-License-Identifier: Apache-2.0 */
/* SmartPool: the published example, and no two live blocks that overlap. */
#include "harness/harness.h"

#include "base/rng.h"
#include "memory/place_pool.h"

/* X 30 [0, 2), Y 30 [1, 6), Z 40 [3, 5). */
#define EXAMPLE \
	{ \
		{0, 1, 30, 1, false, 0, 0}, {1, 5, 30, 1, false, 0, 0}, \
		{ \
			3, 4, 40, 1, false, 0, 0 \
		} \
	}

static void the_published_example_is_met_to_the_number(void **state)
{
	(void)state;

	for (int rule = SL_PLACE_FIRST_FIT; rule <= SL_PLACE_BEST_FIT; rule++) {
		struct sl_place_block b[] = EXAMPLE;
		uint64_t height = 0, online = 0, load = 0;

		sl_assert_ok(sl_place_pool(b, 3, (enum sl_place_rule)rule, &height));
		sl_assert_ok(sl_place_online(b, 3, (enum sl_place_rule)rule, 1, &online));
		sl_assert_ok(sl_place_blocks_load(b, 3, &load));
		assert_int_equal(height, 70);
		assert_int_equal(online, 100);
		assert_int_equal(load, 70);
		assert_int_equal(b[2].offset, 0);
		assert_int_equal(b[0].offset, 0);
		assert_int_equal(b[1].offset, 40);
	}
}

/* Lives from 5 until 2 of the next iteration: both instances at once never, yet two
 * places; the one at 3 and 4 alone may use them meanwhile. */
static void what_crosses_the_border_has_two_places(void **state)
{
	(void)state;
	struct sl_place_block b[] = {{5, 2, 10, 1, true, 0, 0},
		{3, 4, 20, 1, false, 0, 0}, {2, 3, 5, 1, false, 0, 0}};
	uint64_t height = 0, online = 0;

	sl_assert_ok(sl_place_pool(b, 3, SL_PLACE_FIRST_FIT, &height));
	assert_int_equal(b[0].offset, 0);
	assert_int_equal(b[0].other, 10);
	assert_int_equal(b[1].offset, 0);
	assert_int_equal(b[2].offset, 20);
	assert_int_equal(height, 25);
	sl_assert_ok(sl_place_online(b, 3, SL_PLACE_FIRST_FIT, 1, &online));
	assert_true(online >= 25);
}

/* 10 [0, 1], 4 [0, 3], 6 [0, 1], 5 [0, 3]: then holes of 10 and of 6 for one of 6. */
static void the_smallest_hole_is_taken_where_that_is_the_rule(void **state)
{
	(void)state;
	const struct sl_place_block b[] = {{0, 1, 10, 1, false, 0, 0},
		{0, 3, 4, 1, false, 0, 0}, {0, 1, 6, 1, false, 0, 0},
		{0, 3, 5, 1, false, 0, 0}, {2, 3, 6, 1, false, 0, 0},
		{3, 3, 10, 1, false, 0, 0}};
	uint64_t first = 0, best = 0;

	sl_assert_ok(sl_place_online(b, 6, SL_PLACE_FIRST_FIT, 1, &first));
	sl_assert_ok(sl_place_online(b, 6, SL_PLACE_BEST_FIT, 1, &best));
	assert_int_equal(first, 35);
	assert_int_equal(best, 25);
}

enum { N = 60, LENGTH = 40 };

static void random_blocks(struct sl_rng *rng, struct sl_place_block *b)
{
	for (int i = 0; i < N; i++) {
		b[i] = (struct sl_place_block){
			.first = (uint32_t)sl_rng_below(rng, LENGTH),
			.last = (uint32_t)sl_rng_below(rng, LENGTH),
			.bytes = sl_rng_below(rng, 1000),
			.align = 1ull << sl_rng_below(rng, 7)};
		b[i].crosses = b[i].first > b[i].last;
	}
}

static bool lives(const struct sl_place_block *b, uint32_t t)
{
	return b->crosses ? t >= b->first || t <= b->last : b->first <= t && t <= b->last;
}

/* In an iteration whose births use the first places (turn 0) or the others. */
static uint64_t place_at(const struct sl_place_block *b, uint32_t t, int turn)
{
	bool older = b->crosses && t <= b->last && t < b->first;

	return older != (turn != 0) && b->crosses ? b->other : b->offset;
}

static void want_apart(const struct sl_place_block *x, const struct sl_place_block *y)
{
	for (uint32_t t = 0; t < LENGTH; t++) {
		for (int turn = 0; turn < 2; turn++) {
			uint64_t a = place_at(x, t, turn), b = place_at(y, t, turn);

			if (lives(x, t) && lives(y, t))
				assert_true(x->bytes == 0 || y->bytes == 0 ||
					    a + x->bytes <= b || b + y->bytes <= a);
		}
	}
}

static void no_two_live_blocks_share_bytes(void **state)
{
	(void)state;
	struct sl_rng rng = {.key = {.seed = 1903}};
	struct sl_place_block b[N];

	for (int round = 0; round < 40; round++) {
		uint64_t height = 0, load = 0;

		random_blocks(&rng, b);
		sl_assert_ok(
			sl_place_pool(b, N, (enum sl_place_rule)(round % 2), &height));
		sl_assert_ok(sl_place_blocks_load(b, N, &load));
		assert_true(height >= load);
		for (int i = 0; i < N; i++) {
			assert_true(b[i].offset % b[i].align == 0 &&
				    b[i].other % b[i].align == 0 &&
				    b[i].offset + b[i].bytes <= height &&
				    b[i].other + b[i].bytes <= height);
			for (int k = 0; k < i; k++)
				want_apart(&b[i], &b[k]);
		}
	}
}

static sl_status place_example(void *ctx)
{
	struct sl_place_block b[] = EXAMPLE;
	uint64_t height;

	(void)ctx;
	SL_TRY(sl_place_pool(b, 3, SL_PLACE_BEST_FIT, &height));
	SL_TRY(sl_place_blocks_load(b, 3, &height));
	return sl_place_online(b, 3, SL_PLACE_FIRST_FIT, 1, &height);
}

static void placing_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct sl_place_block bad = {2, 1, 30, 1, false, 0, 0};
	uint64_t height;

	assert_true(sl_torture(place_example, NULL) >= 5);
	sl_assert_fails(sl_place_pool(&bad, 1, SL_PLACE_FIRST_FIT, &height), SL_E_INVALID,
		"block 0: lives from 2 to 1");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_example_is_met_to_the_number),
		SL_TEST(what_crosses_the_border_has_two_places),
		SL_TEST(the_smallest_hole_is_taken_where_that_is_the_rule),
		SL_TEST(no_two_live_blocks_share_bytes),
		SL_TEST(placing_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

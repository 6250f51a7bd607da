/* SPDX-License-Identifier: Apache-2.0 */
/* Exact placement: against all placements of small instances, proofs included, and the
 * same whichever way an instance is given. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "memory/place_exact.h"

#define MOST 7
#define TRIALS 400

static bool lives_at(const struct sl_place_item *it, uint32_t time)
{
	for (uint32_t g = 0; g < it->n_gaps; g++)
		if (it->gaps[g].first <= time && time <= it->gaps[g].last)
			return false;
	return it->first <= time && time <= it->last;
}

static bool meet(const struct sl_place_item *a, const struct sl_place_item *b)
{
	bool both = false;

	for (uint32_t time = a->first; time <= a->last; time++)
		both |= lives_at(a, time) && lives_at(b, time);
	return both;
}

/* Every placement in which nothing can sink, by trying each item next on all that it
 * meets; the lowest height of them. */
static uint64_t drop(const struct sl_place_item *items, size_t n, size_t k,
	const bool *placed, uint64_t base)
{
	uint64_t at = base;
	bool again = true;

	if (items[k].fixed)
		return items[k].offset;
	/* Above all that it meets that is placed and not fixed; past the fixed ones. */
	for (size_t i = 0; i < n; i++)
		if (placed[i] && !items[i].fixed && meet(&items[i], &items[k]) &&
			items[i].offset + items[i].bytes > at)
			at = items[i].offset + items[i].bytes;
	while (again) {
		again = false;
		at = sl_align_up(at, items[k].align);
		for (size_t i = 0; i < n; i++) {
			const struct sl_place_item *f = &items[i];

			if (!f->fixed || !meet(f, &items[k]) ||
				f->offset >= at + items[k].bytes ||
				f->offset + f->bytes <= at)
				continue;
			at = f->offset + f->bytes;
			again = true;
		}
	}
	return at;
}

static uint64_t lowest(struct sl_place_item *items, size_t n, bool *placed, uint64_t base,
	uint64_t height)
{
	uint64_t best = UINT64_MAX;
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t end, below;

		if (placed[i])
			continue;
		all = false;
		items[i].offset = drop(items, n, i, placed, base);
		end = items[i].offset + items[i].bytes;
		placed[i] = true;
		below = lowest(items, n, placed, base, end > height ? end : height);
		placed[i] = false;
		best = below < best ? below : best;
	}
	return all ? height : best;
}

static size_t random_items(struct sl_place_item *items, struct sl_place_gap *gaps,
	struct sl_rng *r, uint64_t trial)
{
	size_t n = 1 + sl_rng_below(r, MOST);
	uint64_t top = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)sl_rng_below(r, 8);

		items[i] = (struct sl_place_item){.first = first,
			.last = first + (uint32_t)sl_rng_below(r, 5),
			.bytes = 1 + sl_rng_below(r, 6),
			.align = trial % 3 == 1 ? 1ull << sl_rng_below(r, 3) : 1};
		if (trial % 2 == 0 && items[i].last > first + 1) {
			gaps[i].first = first + 1;
			gaps[i].last = items[i].last - 1;
			items[i].gaps = &gaps[i];
			items[i].n_gaps = 1;
		}
		if (trial % 3 != 2 || sl_rng_below(r, 3) > 0)
			continue;
		items[i].fixed = true;
		items[i].offset = top + sl_rng_below(r, 4);
		top = items[i].offset + items[i].bytes;
	}
	return n;
}

/* All runs until one answers; the height, or 0 if there is proof of none. */
static uint64_t search(struct sl_place_item *items, size_t n, uint64_t base,
	uint64_t target, uint64_t *nodes)
{
	struct sl_place_exact *x = NULL;
	struct sl_place_worker *w = NULL;
	struct sl_place_run run = {.target = target};
	uint64_t offsets[MOST];

	*nodes = 0;
	sl_assert_ok(sl_place_exact_new(items, n, base, target, &x));
	assert_non_null(x);
	sl_assert_ok(sl_place_worker_new(x, &w));
	for (;; run.index++) {
		assert_true(run.index < 400);
		sl_place_run(w, &run, offsets);
		*nodes += run.nodes;
		if (run.answer != SL_PLACE_STOPPED)
			break;
	}
	if (run.answer == SL_PLACE_FOUND) {
		bool clash = true;
		size_t pair[2];

		for (size_t i = 0; i < n; i++) {
			assert_true(!items[i].fixed || items[i].offset == offsets[i]);
			items[i].offset = offsets[i];
			assert_int_equal(offsets[i] % items[i].align, 0);
			assert_true(offsets[i] + items[i].bytes <= run.height);
		}
		sl_assert_ok(sl_place_check(items, n, &clash, pair));
		assert_false(clash);
		assert_true(run.height <= target);
	}
	sl_place_worker_free(w);
	sl_place_exact_free(x);
	return run.answer == SL_PLACE_FOUND ? run.height : 0;
}

static uint64_t brute_force(struct sl_place_item *items, size_t n, uint64_t base)
{
	bool placed[MOST] = {false};
	uint64_t height = base;

	for (size_t i = 0; i < n; i++) {
		placed[i] = items[i].fixed;
		if (items[i].fixed && items[i].offset + items[i].bytes > height)
			height = items[i].offset + items[i].bytes;
	}
	return lowest(items, n, placed, base, height);
}

static void small_instances_are_placed_as_low_as_can_be_and_no_lower(void **state)
{
	(void)state;
	struct sl_rng r = {.key = {.seed = 7}};
	size_t proofs = 0;

	for (uint64_t trial = 0; trial < TRIALS; trial++) {
		struct sl_place_item items[MOST];
		struct sl_place_gap gaps[MOST];
		size_t n = random_items(items, gaps, &r, trial);
		uint64_t base = trial % 5 == 4 ? 3 : 0, nodes, below;
		uint64_t height = brute_force(items, n, base);

		assert_int_equal(search(items, n, base, height, &nodes), height);
		below = search(items, n, base, height - 1, &nodes);
		assert_int_equal(below, 0);
		proofs += nodes > 0;
	}
	/* Some need a search, not only the load. */
	assert_true(proofs >= 10);
}

static void order_and_direction_of_time_make_no_difference(void **state)
{
	(void)state;
	struct sl_rng r = {.key = {.seed = 8}};

	for (uint64_t trial = 0; trial < 60; trial++) {
		struct sl_place_item items[MOST], turned[MOST];
		struct sl_place_gap gaps[MOST], turned_gaps[MOST];
		size_t n = random_items(items, gaps, &r, trial);
		uint64_t height = brute_force(items, n, 0), nodes, nodes_turned;

		for (size_t i = 0; i < n; i++) {
			struct sl_place_item *t = &turned[n - 1 - i];

			*t = items[i];
			t->first = 100 - items[i].last;
			t->last = 100 - items[i].first;
			turned_gaps[i].first = 100 - gaps[i].last;
			turned_gaps[i].last = 100 - gaps[i].first;
			t->gaps = &turned_gaps[i];
		}
		assert_int_equal(search(items, n, 0, height, &nodes), height);
		assert_int_equal(search(turned, n, 0, height, &nodes_turned), height);
		assert_int_equal(nodes, nodes_turned);
	}
}

static void what_is_too_large_for_units_is_not_called_impossible(void **state)
{
	(void)state;
	struct sl_place_item items[] = {
		{.first = 0, .last = 1, .bytes = ((uint64_t)1 << 61) + 1, .align = 1},
		{.first = 1, .last = 2, .bytes = ((uint64_t)1 << 60) + 3, .align = 1},
	};
	uint64_t load = items[0].bytes + items[1].bytes, offsets[2];
	struct sl_place_exact *x = NULL;
	struct sl_place_worker *w = NULL;
	struct sl_place_run run = {.target = load};

	sl_assert_ok(sl_place_exact_new(items, 2, 0, 2 * load, &x));
	sl_assert_ok(sl_place_worker_new(x, &w));
	sl_place_run(w, &run, offsets);
	assert_int_equal(run.answer, SL_PLACE_STOPPED);
	run.target = load + load / 100;
	sl_place_run(w, &run, offsets);
	assert_int_equal(run.answer, SL_PLACE_FOUND);
	assert_true(run.height <= run.target);
	sl_place_worker_free(w);
	sl_place_exact_free(x);
}

static sl_status make_and_run(void *ctx)
{
	struct sl_place_item *items = ctx;
	struct sl_place_exact *x = NULL;
	struct sl_place_worker *w = NULL;
	struct sl_place_run run = {.target = 100};
	uint64_t offsets[2];
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_place_exact_new(items, 2, 0, 100, &x));
	SL_TRY_OUT(sl_place_worker_new(x, &w));
	sl_place_run(w, &run, offsets);
out:
	sl_place_worker_free(w);
	sl_place_exact_free(x);
	return st;
}

static void search_survives_every_failing_allocation(void **state)
{
	(void)state;
	struct sl_place_item items[2] = {
		{.first = 0, .last = 1, .bytes = 5, .align = 1},
		{.first = 1, .last = 2, .bytes = 7, .align = 4},
	};

	assert_true(sl_torture(make_and_run, items) >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SL_TEST(small_instances_are_placed_as_low_as_can_be_and_no_lower),
		SL_TEST(order_and_direction_of_time_make_no_difference),
		SL_TEST(what_is_too_large_for_units_is_not_called_impossible),
		SL_TEST(search_survives_every_failing_allocation),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

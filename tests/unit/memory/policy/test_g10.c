/* SPDX-License-Identifier: Apache-2.0 */
/* g10: buckets, benefits, the order of choices against one that looks at all periods anew
 * each time, and when which tier is chosen. */
#include "harness/harness.h"

#include <string.h>

#include "memory/place.h"
#include "memory/policy/g10_int.h"
#include "unit/memory/gen.h"

#define US 1000u

struct fixture {
	struct sl_trace t;
	struct sl_gaps g;
	struct sl_g10 x;
};

/* Bytes a nanosecond, without latency. */
static void tier(struct gen *g, const char *name, uint64_t rate)
{
	gen_tier(g, name, 1 << 30, rate * 1000000000u);
	for (uint32_t i = 0; i < g->t.n_links; i++)
		g->t.links[i].latency_ns = 0;
}

/* n values of so many pages are born one after the other, and read in reverse. */
static void open(struct fixture *f, const uint64_t *pages, uint32_t n, bool two)
{
	struct gen g = {.t = SL_TRACE_INIT};

	tier(&g, "host", 8);
	if (two)
		tier(&g, "disk", 2);
	for (uint32_t i = 0; i < n; i++)
		gen_value(&g, SL_CLASS_ACT, pages[i] * SL_PAGE_BYTES);
	for (uint32_t i = 0; i < n; i++)
		gen_op(&g, "f", 0, GEN_NONE, GEN_L(i, GEN_E), GEN_NONE);
	for (uint32_t i = n; i > 0; i--)
		gen_op(&g, "b", 0, GEN_L(i - 1, GEN_E), GEN_NONE, GEN_NONE);
	sl_assert_ok(gen_end(&g));
	for (uint32_t o = 0; o < g.t.n_ops; o++)
		g.t.ops[o].dur_ns = US * (1 + o % 3);
	*f = (struct fixture){.t = g.t};
	sl_assert_ok(sl_gaps_init(&f->g, &f->t));
	sl_assert_ok(sl_g10_init(&f->x, &f->g, true));
	f->x.margin_percent = 50;
	sl_g10_capacities(&f->x);
}

static void close(struct fixture *f)
{
	sl_g10_finish(&f->x);
	sl_gaps_finish(&f->g);
	sl_trace_finish(&f->t);
}

static void buckets_hold_what_a_link_carries_during_an_op(void **state)
{
	static const uint64_t pages[] = {1, 1, 1};
	struct fixture f;

	(void)state;
	open(&f, pages, 3, true); /* ops of 1, 2, 3, 1, 2, 3 us */
	assert_true(sl_g10_free(&f.x, SL_G10_OUT, false, 1) == 16000);
	assert_true(sl_g10_free(&f.x, SL_G10_OUT, true, 1) == 4000);
	assert_int_equal(sl_g10_out_end(&f.x, false, 0, 8000), 0);
	assert_int_equal(sl_g10_out_end(&f.x, false, 0, 8001), 1);
	assert_int_equal(sl_g10_out_end(&f.x, true, 1, 11000), 3);
	assert_int_equal(sl_g10_in_begin(&f.x, false, 3, 24000), 2);
	assert_int_equal(sl_g10_in_begin(&f.x, false, 3, 24001), 1);
	assert_int_equal(sl_g10_in_begin(&f.x, true, 3, 99999), 0);
	assert_true(sl_g10_fits(&f.x, SL_G10_IN, true, 0, 3, 12000));
	assert_false(sl_g10_fits(&f.x, SL_G10_IN, true, 0, 3, 12001));

	/* What is bound for the disk passes the host's wire, which may be full. */
	sl_g10_book(&f.x, SL_G10_OUT, true, 1, 4000);
	assert_true(sl_g10_free(&f.x, SL_G10_OUT, true, 1) == 0);
	assert_true(sl_g10_free(&f.x, SL_G10_OUT, false, 1) == 12000);
	assert_true(sl_g10_free(&f.x, SL_G10_IN, false, 1) == 16000);
	sl_g10_book(&f.x, SL_G10_OUT, false, 2, 23000);
	assert_true(sl_g10_free(&f.x, SL_G10_OUT, true, 2) == 1000);
	close(&f);
}

static struct sl_gap *gap_of(struct fixture *f, uint32_t v)
{
	return &f->g.gaps[f->g.first[v]];
}

static void a_period_is_worth_its_bytes_times_the_overloaded_time_between_its_copies(
	void **state)
{
	static const uint64_t pages[] = {2, 2, 2};
	struct fixture f;

	(void)state;
	open(&f, pages, 3, false);
	f.x.limit = 4 * SL_PAGE_BYTES;
	sl_gaps_levels(&f.g, f.x.level); /* 2 4 6 6 4 2 pages; above: ops 2 and 3, 4 us */
	sl_g10_sum(&f.x);
	/* Its halves take half a microsecond of op 1 and of op 4. */
	assert_true(sl_g10_benefit(&f.x, gap_of(&f, 0)) == 2.0 * SL_PAGE_BYTES * 4 * US);
	/* Op 2 is over before half of this one is out: only op 3's microsecond counts. */
	sl_g10_book(&f.x, SL_G10_OUT, false, 2, 24000);
	sl_g10_sum(&f.x);
	assert_true(sl_g10_benefit(&f.x, gap_of(&f, 1)) == 0);
	assert_true(sl_g10_benefit(&f.x, gap_of(&f, 0)) == 2.0 * SL_PAGE_BYTES * 4 * US);
	close(&f);
}

/* The definition, step by step: the op in which half of a copy is done. */
static double plain_benefit(const struct sl_g10 *x, const struct sl_gap *gap)
{
	double bytes = (double)sl_room_value(&x->g->t->values[gap->value]), best = 0;

	for (int far = 0; far < (x->near != x->far ? 2 : 1); far++) {
		uint32_t from = sl_g10_out_end(x, far, gap->from_op + 1, bytes / 2);
		uint32_t to = sl_g10_in_begin(x, far, gap->to_op, bytes / 2);
		double ns = 0;

		for (uint32_t i = from; i < to; i++)
			if (x->level[i] > x->limit)
				ns += (double)x->g->t->ops[i].dur_ns;
		best = ns > best ? ns : best;
	}
	return bytes * best;
}

/* All periods anew before each choice, near tier alone; the gaps' fates are the result.
 */
static void plain_choose(struct fixture *f, bool *tried)
{
	struct sl_g10 *x = &f->x;

	for (;;) {
		struct sl_gap *best = NULL;
		double most = 0, area = 0;

		for (uint32_t i = 0; i < f->g.n; i++) {
			struct sl_gap *gap = &f->g.gaps[i];
			double is = tried[i] || !sl_gap_movable(&f->g, gap)
					    ? 0
					    : plain_benefit(x, gap);
			double bytes = (double)sl_room_value(&f->t.values[gap->value]);
			double ns = (double)(f->g.start_ns[gap->to_op] -
					     f->g.start_ns[gap->from_op + 1]);

			if (is > most || (is >= most && is > 0 && bytes * ns > area)) {
				best = gap;
				most = is;
				area = bytes * ns;
			}
		}
		if (best == NULL)
			return;
		tried[best - f->g.gaps] = true;
		double bytes = (double)sl_room_value(&f->t.values[best->value]);
		uint32_t end = sl_g10_out_end(x, false, best->from_op + 1, bytes);
		uint32_t begin = sl_g10_in_begin(x, false, best->to_op, bytes);
		double ns = (double)(f->g.start_ns[best->to_op] -
				     f->g.start_ns[best->from_op + 1]);

		if (begin <= end || ns <= 2.5 * (double)(uint64_t)(bytes / 8))
			continue;
		best->fate = SL_FATE_SWAP;
		best->hold = end + 1;
		best->arrive = begin;
		sl_g10_book(x, SL_G10_OUT, false, best->from_op + 1, bytes);
		sl_g10_book(x, SL_G10_IN, false, begin, bytes);
		for (uint32_t i = end + 1; i < begin; i++)
			x->level[i] -= (uint64_t)bytes;
	}
}

static void choices_are_those_of_looking_at_all_periods_each_time(void **state)
{
	struct sl_rng rng = {.key = {11, 0}};
	uint32_t swaps = 0;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t pages[6];
		uint32_t n = 3 + (uint32_t)sl_rng_below(&rng, 4);
		struct fixture lazy, plain;
		bool tried[64] = {0};

		for (uint32_t i = 0; i < n; i++)
			pages[i] = 1 + sl_rng_below(&rng, 6);
		open(&lazy, pages, n, false);
		open(&plain, pages, n, false);
		lazy.x.limit = plain.x.limit =
			(2 + sl_rng_below(&rng, 10)) * SL_PAGE_BYTES;
		sl_g10_choose(&lazy.x);
		sl_gaps_levels(&plain.g, plain.x.level);
		plain_choose(&plain, tried);
		for (uint32_t i = 0; i < lazy.g.n; i++) {
			const struct sl_gap *a = &lazy.g.gaps[i], *b = &plain.g.gaps[i];

			assert_int_equal(a->fate, b->fate);
			assert_int_equal(a->hold, b->hold);
			assert_int_equal(a->arrive, b->arrive);
			swaps += a->fate == SL_FATE_SWAP;
		}
		close(&lazy);
		close(&plain);
	}
	assert_true(swaps > 100);
}

static void the_near_tier_is_for_short_periods_and_a_full_far_channel(void **state)
{
	static const uint64_t pages[] = {2, 2, 2, 2, 2, 2};
	struct fixture f;

	(void)state;
	open(&f, pages, 6, true);
	f.x.limit = 10 * SL_PAGE_BYTES;
	sl_g10_choose(&f.x); /* the widest is enough, and has time for the disk */
	assert_int_equal(gap_of(&f, 0)->fate, SL_FATE_SWAP);
	assert_int_equal(gap_of(&f, 0)->tier, f.x.far);
	assert_int_equal(gap_of(&f, 1)->fate, SL_FATE_KEEP);
	sl_gaps_reset(&f.g);
	f.x.limit = 8 * SL_PAGE_BYTES;
	sl_g10_choose(&f.x); /* the second finds the disk's channel taken */
	assert_int_equal(gap_of(&f, 0)->tier, f.x.far);
	assert_int_equal(gap_of(&f, 1)->fate, SL_FATE_SWAP);
	assert_int_equal(gap_of(&f, 1)->tier, f.x.near);
	f.x.near = f.x.far; /* the disk alone */
	sl_gaps_reset(&f.g);
	sl_g10_choose(&f.x);
	for (uint32_t i = 0; i < f.g.n; i++)
		assert_true(
			f.g.gaps[i].fate != SL_FATE_SWAP || f.g.gaps[i].tier == f.x.far);
	close(&f);
}

static void early_copies_in_and_faults_stay_within_the_limit(void **state)
{
	static const uint64_t pages[] = {3, 1, 4, 1, 5, 2};
	struct fixture f;

	(void)state;
	for (int wait = 0; wait < 2; wait++) {
		open(&f, pages, 6, true);
		f.x.limit = 8 * SL_PAGE_BYTES;
		sl_g10_choose(&f.x);
		sl_g10_eager(&f.x);
		assert_true(sl_g10_fault(&f.x, wait));
		sl_gaps_levels(&f.g, f.x.level);
		for (uint32_t i = 0; i < f.t.n_ops; i++)
			assert_true(f.x.level[i] <= f.x.limit);
		f.x.limit = 4 * SL_PAGE_BYTES; /* one op needs more */
		assert_false(sl_g10_fault(&f.x, wait));
		close(&f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(buckets_hold_what_a_link_carries_during_an_op),
		SL_TEST(a_period_is_worth_its_bytes_times_the_overloaded_time_between_its_copies),
		SL_TEST(choices_are_those_of_looking_at_all_periods_each_time),
		SL_TEST(the_near_tier_is_for_short_periods_and_a_full_far_channel),
		SL_TEST(early_copies_in_and_faults_stay_within_the_limit),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Philox-4x32-10 against the published answers, and what is built on it. */
#include "harness/harness.h"

#include <math.h>

#include "base/rng.h"

/* Source: kat_vectors of the Random123 distribution, philox4x32 10. */
static void the_published_answers_come_out(void **state)
{
	static const struct {
		struct sl_rng_key key;
		uint64_t block;
		uint32_t want[4];
	} cases[] = {
		{{0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{UINT64_MAX, UINT32_MAX, UINT32_MAX}, UINT64_MAX,
			{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x299f31d0a4093822, 0x13198a2e, 0x03707344}, 0x85a308d3243f6a88,
			{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(cases); i++) {
		uint32_t got[4];
		sl_rng_block(&cases[i].key, cases[i].block, got);
		assert_memory_equal(got, cases[i].want, sizeof(got));
	}
}

static void an_element_is_a_word_of_its_block(void **state)
{
	struct sl_rng_key key = {.seed = 5, .stream = 6, .step = 7};
	uint32_t block[4];

	(void)state;
	for (uint64_t e = 0; e < 64; e++) {
		sl_rng_block(&key, e / 4, block);
		assert_int_equal(sl_rng_u32(&key, e), block[e % 4]);
	}
}

static void seed_stream_step_and_element_all_matter(void **state)
{
	struct sl_rng_key key = {.seed = 1, .stream = 2, .step = 3};
	uint32_t base = sl_rng_u32(&key, 4);

	(void)state;
	assert_int_not_equal(base, sl_rng_u32(&key, 5));
	key.seed++;
	assert_int_not_equal(base, sl_rng_u32(&key, 4));
	key.seed = 1 + ((uint64_t)1 << 32);
	assert_int_not_equal(base, sl_rng_u32(&key, 4));
	key.seed = 1;
	key.stream++;
	assert_int_not_equal(base, sl_rng_u32(&key, 4));
	key.stream--;
	key.step++;
	assert_int_not_equal(base, sl_rng_u32(&key, 4));
	key.step--;
	assert_int_equal(base, sl_rng_u32(&key, 4));
}

static void units_lie_in_zero_to_one(void **state)
{
	struct sl_rng_key key = {.seed = 1};
	double sum = 0;

	(void)state;
	assert_true(sl_rng_unit(0) <= 0);
	assert_true(sl_rng_unit(UINT32_MAX) < 1);
	for (uint64_t e = 0; e < 100000; e++)
		sum += (double)sl_rng_unit(sl_rng_u32(&key, e));
	/* Five standard errors of the mean of 1e5 uniform numbers. */
	assert_true(fabs(sum / 100000 - 0.5) < 5 * 0.2887 / 316);
}

static void normals_have_mean_zero_and_variance_one(void **state)
{
	struct sl_rng_key key = {.seed = 42, .stream = 1};
	double sum = 0;
	double squares = 0;
	double lag = 0; /* within a pair: cosine and sine part must not correlate */
	int n = 200000;

	(void)state;
	for (int e = 0; e < n; e += 2) {
		double a = sl_rng_normal(&key, (uint64_t)e);
		double b = sl_rng_normal(&key, (uint64_t)e + 1);
		assert_true(isfinite(a) && isfinite(b));
		sum += a + b;
		squares += a * a + b * b;
		lag += a * b;
	}
	assert_true(fabs(sum / n) < 5 / sqrt(n));
	assert_true(fabs(squares / n - 1) < 5 * sqrt(2.0 / n));
	assert_true(fabs(lag / (n / 2)) < 5 / sqrt(n / 2));
}

static void a_sequence_does_not_repeat_words(void **state)
{
	struct sl_rng r = {.key = {.seed = 9}};
	uint32_t block[4];

	(void)state;
	for (uint64_t i = 0; i < 16; i++) {
		uint64_t v = sl_rng_next(&r);
		sl_rng_block(&r.key, i / 2, block);
		assert_int_equal((uint32_t)v, block[i % 2 * 2]);
		assert_int_equal(v >> 32, block[i % 2 * 2 + 1]);
	}
	assert_int_equal(r.next, 16);
}

static void below_stays_below_and_reaches_all(void **state)
{
	struct sl_rng r = {.key = {.seed = 9}};
	int seen[7] = {0};

	(void)state;
	for (int i = 0; i < 7000; i++)
		seen[sl_rng_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 850, 1150);
	assert_int_equal(sl_rng_below(&r, 1), 0);
	/* Half of all numbers are thrown away here, on average. */
	uint64_t before = r.next;
	for (int i = 0; i < 100; i++)
		assert_true(
			sl_rng_below(&r, ((uint64_t)1 << 63) + 1) <= (uint64_t)1 << 63);
	assert_in_range(r.next - before, 150, 250);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_answers_come_out),
		SL_TEST(an_element_is_a_word_of_its_block),
		SL_TEST(seed_stream_step_and_element_all_matter),
		SL_TEST(units_lie_in_zero_to_one),
		SL_TEST(normals_have_mean_zero_and_variance_one),
		SL_TEST(a_sequence_does_not_repeat_words),
		SL_TEST(below_stays_below_and_reaches_all),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

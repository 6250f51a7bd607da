/* SPDX-License-Identifier: Apache-2.0 */
/* Names to numbers. */
#include "harness/harness.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"

static void an_empty_map_finds_nothing(void **state)
{
	struct sl_map m = {0};
	uint32_t v = 5;

	(void)state;
	assert_false(sl_map_find(&m, "a", &v));
	assert_int_equal(v, 5);
	sl_map_finish(&m);
}

static void keys_are_copied_and_found(void **state)
{
	struct sl_map m = {0};
	char key[] = "weight";
	uint32_t v = 0;

	(void)state;
	sl_assert_ok(sl_map_add(&m, key, 7));
	sl_assert_ok(sl_map_add(&m, "", UINT32_MAX));
	key[0] = 'x';
	assert_true(sl_map_find(&m, "weight", &v));
	assert_int_equal(v, 7);
	assert_true(sl_map_find(&m, "", &v));
	assert_int_equal(v, UINT32_MAX);
	assert_true(sl_map_find(&m, "weight", NULL));
	assert_false(sl_map_find(&m, "weigh", &v));
	sl_map_finish(&m);
	assert_false(sl_map_find(&m, "weight", &v));
}

static void a_key_that_is_there_is_refused_and_kept(void **state)
{
	struct sl_map m = {0};
	uint32_t v = 0;

	(void)state;
	sl_assert_ok(sl_map_add(&m, "a", 1));
	sl_assert_fails(sl_map_add(&m, "a", 2), SL_E_INVALID, "'a' is taken");
	assert_true(sl_map_find(&m, "a", &v));
	assert_int_equal(v, 1);
	assert_int_equal(m.count, 1);
	sl_map_finish(&m);
}

/* A random program against the naive twin: a table of flags. */
static void a_random_program_agrees_with_a_table(void **state)
{
	struct sl_map m = {0};
	struct sl_rng rng = {.key = {.seed = 3}};
	bool there[2000] = {false};

	(void)state;
	for (int i = 0; i < 10000; i++) {
		char key[16];
		uint32_t n = (uint32_t)sl_rng_below(&rng, SL_COUNT(there));
		uint32_t v = 0;
		snprintf(key, sizeof(key), "k%u", n);
		assert_int_equal(sl_map_find(&m, key, &v), there[n]);
		assert_int_equal(v, there[n] ? n : 0);
		assert_int_equal(sl_map_add(&m, key, n) == SL_OK, !there[n]);
		there[n] = true;
	}
	sl_map_finish(&m);
}

static sl_status fill(void *ctx)
{
	struct sl_map m = {0};
	sl_status st = SL_OK;
	char key[16];

	(void)ctx;
	for (uint32_t i = 0; st == SL_OK && i < 40; i++) {
		snprintf(key, sizeof(key), "%u", i);
		st = sl_map_add(&m, key, i);
		if (st != SL_OK && sl_map_find(&m, key, NULL))
			st = SL_E_NO; /* a failed add must leave nothing */
	}
	sl_map_finish(&m);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_in_range(sl_torture(fill, NULL), 40, 50);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_empty_map_finds_nothing),
		SL_TEST(keys_are_copied_and_found),
		SL_TEST(a_key_that_is_there_is_refused_and_kept),
		SL_TEST(a_random_program_agrees_with_a_table),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

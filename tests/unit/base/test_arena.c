/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

static void results_are_zeroed_aligned_and_apart(void **state)
{
	struct sl_arena a = {0};
	unsigned char *last = NULL;

	(void)state;
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *p = sl_arena_alloc(&a, size);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
		assert_ptr_not_equal(p, last);
		last = p;
	}
	sl_arena_finish(&a);
}

static void a_large_request_leaves_the_current_block_in_use(void **state)
{
	struct sl_arena a = {0};

	(void)state;
	char *first = sl_arena_alloc(&a, 16);
	assert_non_null(sl_arena_alloc(&a, (size_t)8 << 20));
	char *second = sl_arena_alloc(&a, 16);
	assert_ptr_equal(second, first + 16);
	sl_arena_finish(&a);
}

static void a_large_first_request_works(void **state)
{
	struct sl_arena a = {0};

	(void)state;
	char *p = sl_arena_alloc(&a, 100000);
	memset(p, 1, 100000);
	char *q = sl_arena_alloc(&a, 1);
	*q = 1;
	sl_arena_finish(&a);
	assert_null(a.head);
	sl_arena_finish(&a);
}

static void copies_hold_their_own_bytes(void **state)
{
	struct sl_arena a = {0};
	char text[] = "name";

	(void)state;
	char *copy = sl_arena_strdup(&a, text);
	const int *numbers = sl_arena_copy(&a, (int[]){1, 2, 3}, 3 * sizeof(int));
	text[0] = 'x';
	assert_string_equal(copy, "name");
	assert_int_equal(numbers[2], 3);
	assert_non_null(sl_arena_copy(&a, NULL, 0));
	sl_arena_finish(&a);
}

static void a_size_that_overflows_is_refused(void **state)
{
	struct sl_arena a = {0};

	(void)state;
	assert_null(sl_arena_alloc(&a, SIZE_MAX));
	assert_null(sl_arena_alloc(&a, SIZE_MAX - 64));
	sl_arena_finish(&a);
}

static void blocks_double_so_that_many_parts_cost_few_allocations(void **state)
{
	struct sl_arena a = {0};
	long before = sl_alloc_live();

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_non_null(sl_arena_alloc(&a, 64));
	assert_in_range(sl_alloc_live() - before, 8, 16);
	sl_arena_finish(&a);
}

static sl_status fill(void *ctx)
{
	struct sl_arena a = {0};
	sl_status st = SL_OK;

	(void)ctx;
	for (int i = 0; st == SL_OK && i < 40; i++)
		if (!sl_arena_alloc(&a, 1000) || !sl_arena_strdup(&a, "x"))
			st = SL_FAIL(SL_E_NOMEM, "part %d", i);
	sl_arena_finish(&a);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_in_range(sl_torture(fill, NULL), 3, 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(results_are_zeroed_aligned_and_apart),
		SL_TEST(a_large_request_leaves_the_current_block_in_use),
		SL_TEST(a_large_first_request_works),
		SL_TEST(copies_hold_their_own_bytes),
		SL_TEST(a_size_that_overflows_is_refused),
		SL_TEST(blocks_double_so_that_many_parts_cost_few_allocations),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

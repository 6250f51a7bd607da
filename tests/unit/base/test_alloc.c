/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: counting, alignment, failing on demand. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"

static void live_allocations_are_counted(void **state)
{
	long before = sl_alloc_live();

	(void)state;
	void *a = sl_alloc(10);
	void *b = sl_calloc(3, 5);
	void *c = sl_alloc_aligned(4096, 100);
	char *d = sl_strdup("text");
	assert_int_equal(sl_alloc_live() - before, 4);
	assert_string_equal(d, "text");
	a = sl_realloc(a, 1000);
	assert_non_null(a);
	assert_int_equal(sl_alloc_live() - before, 4);
	sl_free(a);
	sl_free(b);
	sl_free_aligned(c);
	sl_free(d);
	sl_free(NULL);
	assert_int_equal(sl_alloc_live(), before);
}

static void zero_bytes_give_distinct_pointers(void **state)
{
	void *a = sl_alloc(0);
	void *b = sl_calloc(0, 8);
	void *c = sl_realloc(NULL, 0);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_ptr_not_equal(a, b);
	sl_free(a);
	sl_free(b);
	sl_free(c);
}

static void sizes_that_overflow_are_refused(void **state)
{
	(void)state;
	assert_null(sl_calloc(SIZE_MAX / 2, 3));
	assert_null(sl_alloc(SIZE_MAX));
	assert_null(sl_alloc_aligned(64, SIZE_MAX - 10));
	void *p = sl_alloc(8);
	assert_null(sl_realloc(p, SIZE_MAX));
	sl_free(p);
}

static void aligned_memory_is_aligned(void **state)
{
	(void)state;
	for (size_t align = 1; align <= (size_t)2 << 20; align *= 2) {
		char *p = sl_alloc_aligned(align, 33);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % align, 0);
		memset(p, 1, 33);
		sl_free_aligned(p);
	}
}

static void growing_doubles_up_to_the_maximum(void **state)
{
	void *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_int_equal(sl_grow(&items, &cap, 1, sizeof(int), 100), 0);
	assert_int_equal(cap, 8);
	assert_int_equal(sl_grow(&items, &cap, 9, sizeof(int), 100), 0);
	assert_int_equal(cap, 16);
	assert_int_equal(sl_grow(&items, &cap, 60, sizeof(int), 100), 0);
	assert_int_equal(cap, 60);
	assert_int_equal(sl_grow(&items, &cap, 61, sizeof(int), 100), 0);
	assert_int_equal(cap, 100);
	assert_int_equal(sl_grow(&items, &cap, 101, sizeof(int), 100), -1);
	assert_int_equal(cap, 100);
	sl_free(items);
}

static void a_failed_growth_changes_nothing(void **state)
{
	void *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_int_equal(sl_grow(&items, &cap, 8, 1, 100), 0);
	void *before = items;
	memcpy(items, "1234567", 8);
	sl_alloc_fail_at(1);
	assert_int_equal(sl_grow(&items, &cap, 9, 1, 100), -1);
	assert_ptr_equal(items, before);
	assert_int_equal(cap, 8);
	assert_string_equal(items, "1234567");
	assert_int_equal(sl_grow(&items, &cap, SIZE_MAX / 2, 4, SIZE_MAX), -1);
	sl_free(items);
}

static void the_nth_allocation_fails_once(void **state)
{
	(void)state;
	sl_alloc_fail_at(2);
	void *a = sl_alloc(1);
	assert_false(sl_alloc_failed());
	assert_null(sl_calloc(1, 1));
	assert_true(sl_alloc_failed());
	void *b = sl_alloc_aligned(64, 1);
	assert_non_null(a);
	assert_non_null(b);
	sl_alloc_fail_at(1);
	assert_false(sl_alloc_failed());
	assert_null(sl_strdup("x"));
	sl_alloc_fail_at(1);
	assert_null(sl_alloc_aligned(64, 1));
	sl_alloc_fail_at(1);
	assert_null(sl_realloc(a, 100));
	sl_free(a);
	sl_free_aligned(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(live_allocations_are_counted),
		SL_TEST(zero_bytes_give_distinct_pointers),
		SL_TEST(sizes_that_overflow_are_refused),
		SL_TEST(aligned_memory_is_aligned),
		SL_TEST(growing_doubles_up_to_the_maximum),
		SL_TEST(a_failed_growth_changes_nothing),
		SL_TEST(the_nth_allocation_fails_once),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/harness.h"

#include "base/compiler.h"
#include "base/pages.h"

#define LEN (2 * SL_PAGES_HUGE)
#define PAGE ((size_t)4096)

struct three {
	uint8_t *a, *b, *spare;
};

static int open_three(void **state)
{
	static struct three t;

	t = (struct three){
		sl_pages_reserve(LEN), sl_pages_reserve(LEN), sl_pages_reserve(LEN)};
	*state = &t;
	return t.a && t.b && t.spare ? 0 : -1;
}

static int close_three(void **state)
{
	struct three *t = *state;

	sl_pages_release(t->a, LEN);
	sl_pages_release(t->b, LEN);
	sl_pages_release(t->spare, LEN);
	return 0;
}

static void all_are(const uint8_t *p, size_t len, int byte)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(p[i], byte);
}

static void ranges_change_contents_and_neighbours_stay(void **state)
{
	const struct three *t = *state;

	memset(t->a, 1, LEN);
	memset(t->b, 2, LEN);
	if (!sl_pages_exchange(t->a + PAGE, t->b + 3 * PAGE, t->spare, 2 * PAGE))
		skip();
	all_are(t->a, PAGE, 1);
	all_are(t->a + PAGE, 2 * PAGE, 2);
	all_are(t->a + 3 * PAGE, LEN - 3 * PAGE, 1);
	all_are(t->b + 2 * PAGE, PAGE, 2);
	all_are(t->b + 3 * PAGE, 2 * PAGE, 1);
	all_are(t->b + 5 * PAGE, LEN - 5 * PAGE, 2);
	all_are(t->spare, LEN, 0);
}

static void untouched_pages_are_zeros_at_their_new_place(void **state)
{
	const struct three *t = *state;

	memset(t->a, 7, SL_PAGES_HUGE);
	for (int i = 0; i < 3; i++) {
		if (!sl_pages_exchange(t->a, t->b, t->spare, SL_PAGES_HUGE))
			skip();
		all_are(i % 2 ? t->a : t->b, SL_PAGES_HUGE, 7);
		all_are(i % 2 ? t->b : t->a, SL_PAGES_HUGE, 0);
	}
}

static void what_cannot_be_exchanged_is_as_it_was(void **state)
{
	const struct three *t = *state;

	memset(t->a, 3, LEN);
	memset(t->b, 4, LEN);
	assert_false(sl_pages_exchange(t->a + 1, t->b, t->spare, PAGE));
	all_are(t->a, LEN, 3);
	all_are(t->b, LEN, 4);
}

static void reserved_addresses_are_whole_huge_pages(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 3 * SL_PAGES_HUGE; len += SL_PAGES_HUGE / 2) {
		uint8_t *p = sl_pages_reserve(len);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % SL_PAGES_HUGE, 0);
		p[0] = p[len - 1] = 1;
		sl_pages_release(p, len);
	}
	assert_null(sl_pages_reserve(0));
	assert_null(sl_pages_reserve(SIZE_MAX));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			ranges_change_contents_and_neighbours_stay, open_three,
			close_three),
		cmocka_unit_test_setup_teardown(
			untouched_pages_are_zeros_at_their_new_place, open_three,
			close_three),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_exchanged_is_as_it_was, open_three, close_three),
		SL_TEST(reserved_addresses_are_whole_huge_pages),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What every tier of tiers.def owes its callers, plain and under the fault decorator. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "memory/tier/tier.h"

#define BYTES ((uint64_t)8 << 20)

static const char *folder(void)
{
	const char *dir = getenv("SLUICE_DISK");

	return dir ? dir : "/var/tmp";
}

static struct sl_tier *make(const struct sl_tier_kind *kind, int wrapped)
{
	struct sl_tier *t = NULL, *outer = NULL;

	assert_int_equal(kind->create(folder(), BYTES, &t), SL_OK);
	if (!wrapped)
		return t;
	assert_int_equal(sl_tier_fault_create(t, 0, SL_E_IO, &outer), SL_OK);
	return outer;
}

static void each_tier(void (*check)(struct sl_tier *t))
{
	for (size_t i = 0; sl_tier_kind_at(i); i++) {
		for (int wrapped = 0; wrapped < 2; wrapped++) {
			struct sl_tier *t = make(sl_tier_kind_at(i), wrapped);
			check(t);
			sl_tier_destroy(t);
		}
	}
}

static uint8_t *block(size_t len, int fill)
{
	uint8_t *p = sl_alloc_aligned(SL_TIER_MAX_ALIGN, len);

	assert_non_null(p);
	memset(p, fill, len);
	return p;
}

static void check_last_block(struct sl_tier *t)
{
	uint8_t *in = block(4096, 5), *back = block(4096, 6);

	assert_int_equal(sl_tier_put(t, BYTES - 4096, in, 4096), SL_OK);
	assert_int_equal(sl_tier_get(t, BYTES - 4096, back, 4096), SL_OK);
	assert_memory_equal(in, back, 4096);
	sl_free_aligned(in);
	sl_free_aligned(back);
}

static void the_last_block_is_usable(void **state)
{
	(void)state;
	each_tier(check_last_block);
}

static void check_bounds(struct sl_tier *t)
{
	uint8_t *p = block(8192, 1);
	size_t align = sl_tier_align(t);

	assert_true(align <= SL_TIER_MAX_ALIGN);
	assert_int_equal(sl_tier_put(t, BYTES - 4096, p, 8192), SL_E_INVALID);
	assert_int_equal(sl_tier_get(t, BYTES, p, 4096), SL_E_INVALID);
	assert_int_equal(sl_tier_put(t, UINT64_MAX - 4095, p, 8192), SL_E_INVALID);
	assert_int_equal(sl_tier_get(t, 0, p, 0), SL_OK);
	if (align > 1) {
		assert_int_equal(sl_tier_put(t, align / 2, p, align), SL_E_INVALID);
		assert_int_equal(sl_tier_put(t, 0, p + 1, align), SL_E_INVALID);
		assert_int_equal(sl_tier_put(t, 0, p, align + 1), SL_E_INVALID);
	}
	sl_free_aligned(p);
}

static void a_range_outside_or_misaligned_is_refused(void **state)
{
	(void)state;
	each_tier(check_bounds);
}

struct side {
	struct sl_tier *t;
	uint8_t *data;
	sl_status st;
};

static void *put_many(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < 16 && s->st == SL_OK; i++)
		s->st = sl_tier_put(s->t, BYTES / 2, s->data, (size_t)1 << 20);
	return NULL;
}

/* A put and a get at the same time on disjoint ranges. */
static void check_both_ways(struct sl_tier *t)
{
	struct side out = {.t = t, .data = block((size_t)1 << 20, 9)};
	uint8_t *in = block((size_t)1 << 20, 3), *back = block((size_t)1 << 20, 4);
	pthread_t thread;

	assert_int_equal(sl_tier_put(t, 0, in, (size_t)1 << 20), SL_OK);
	assert_int_equal(pthread_create(&thread, NULL, put_many, &out), 0);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(sl_tier_get(t, 0, back, (size_t)1 << 20), SL_OK);
		assert_memory_equal(in, back, (size_t)1 << 20);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(out.st, SL_OK);
	sl_free_aligned(in);
	sl_free_aligned(back);
	sl_free_aligned(out.data);
}

static void a_put_and_a_get_run_at_the_same_time(void **state)
{
	(void)state;
	each_tier(check_both_ways);
}

static void every_kind_is_found_by_its_name(void **state)
{
	(void)state;
	assert_non_null(sl_tier_kind_at(0));
	for (size_t i = 0; sl_tier_kind_at(i); i++)
		assert_ptr_equal(
			sl_tier_kind_find(sl_tier_kind_at(i)->name), sl_tier_kind_at(i));
	assert_null(sl_tier_kind_find("tape"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_last_block_is_usable),
		SL_TEST(a_range_outside_or_misaligned_is_refused),
		SL_TEST(a_put_and_a_get_run_at_the_same_time),
		SL_TEST(every_kind_is_found_by_its_name),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: each chunk once, whatever the width. */
#include "harness/harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"

#define CHUNKS 1000

struct marks {
	int count[CHUNKS]; /* plain: a chunk run twice at once is a race for the sanitizer
			    */
};

static void mark(void *ctx, int64_t chunk)
{
	struct marks *m = ctx;

	m->count[chunk]++;
}

static void each_chunk_runs_once_at_any_width(void **state)
{
	(void)state;
	for (int width = 1; width <= 8; width++) {
		struct sl_pool *pool = NULL;
		sl_assert_ok(sl_pool_create(width, &pool));
		assert_int_equal(sl_pool_width(pool), width);
		for (int64_t chunks = 0; chunks <= CHUNKS; chunks = chunks * 3 + 1) {
			struct marks m = {{0}};
			sl_pool_run(pool, chunks, mark, &m);
			for (int64_t i = 0; i < CHUNKS; i++)
				assert_int_equal(m.count[i], i < chunks);
		}
		sl_pool_destroy(pool);
	}
}

static void no_pool_runs_inline(void **state)
{
	struct marks m = {{0}};

	(void)state;
	sl_pool_run(NULL, 10, mark, &m);
	assert_int_equal(m.count[9], 1);
	assert_int_equal(m.count[10], 0);
	assert_int_equal(sl_pool_width(NULL), 1);
	sl_pool_destroy(NULL);
}

static void many_short_runs_see_each_others_results(void **state)
{
	struct sl_pool *pool = NULL;
	struct marks m = {{0}};

	(void)state;
	sl_assert_ok(sl_pool_create(4, &pool));
	for (int run = 0; run < 2000; run++)
		sl_pool_run(pool, 5, mark, &m);
	for (int i = 0; i < 5; i++)
		assert_int_equal(m.count[i], 2000);
	sl_pool_destroy(pool);
}

struct meeting {
	pthread_barrier_t barrier;
	atomic_int met;
};

static void meet(void *ctx, int64_t chunk)
{
	struct meeting *m = ctx;

	(void)chunk;
	/* Returns only when the other thread is in its chunk too. */
	pthread_barrier_wait(&m->barrier);
	atomic_fetch_add(&m->met, 1);
}

static void two_threads_really_run_at_once(void **state)
{
	struct sl_pool *pool = NULL;
	struct meeting m = {.met = 0};

	(void)state;
	assert_int_equal(pthread_barrier_init(&m.barrier, NULL, 2), 0);
	sl_assert_ok(sl_pool_create(2, &pool));
	sl_pool_run(pool, 2, meet, &m);
	assert_int_equal(atomic_load(&m.met), 2);
	sl_pool_destroy(pool);
	pthread_barrier_destroy(&m.barrier);
}

static void an_unused_pool_ends(void **state)
{
	struct sl_pool *pool = NULL;

	(void)state;
	sl_assert_ok(sl_pool_create(64, &pool));
	sl_pool_destroy(pool);
}

static void a_width_out_of_range_is_refused(void **state)
{
	struct sl_pool *pool = NULL;

	(void)state;
	sl_assert_fails(sl_pool_create(0, &pool), SL_E_INVALID, "1 to 64");
	sl_assert_fails(sl_pool_create(65, &pool), SL_E_INVALID, "65 threads");
	assert_null(pool);
	assert_true(sl_cpu_count() >= 1);
}

static sl_status create(void *ctx)
{
	struct sl_pool *pool = NULL;

	(void)ctx;
	SL_TRY(sl_pool_create(3, &pool));
	sl_pool_destroy(pool);
	return SL_OK;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(sl_torture(create, NULL), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_chunk_runs_once_at_any_width),
		SL_TEST(no_pool_runs_inline),
		SL_TEST(many_short_runs_see_each_others_results),
		SL_TEST(two_threads_really_run_at_once),
		SL_TEST(an_unused_pool_ends),
		SL_TEST(a_width_out_of_range_is_refused),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

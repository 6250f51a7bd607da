/* SPDX-License-Identifier: Apache-2.0 */
/* When a service starts a batch: full, or as late as its most urgent request allows. */
#include "harness/harness.h"

#include "base/rng.h"
#include "share/batch.h"

static void add(struct sl_batcher *b, uint64_t id, sl_ns at, sl_ns due)
{
	sl_assert_ok(sl_batcher_add(
		b, &(struct sl_batch_request){.id = id, .at_ns = at, .due_ns = due}));
}

static void where_others_want_the_device_a_lone_request_waits_for_company(void **state)
{
	struct sl_batcher b;

	(void)state;
	sl_batcher_init(&b, 4, 0);
	sl_batcher_measured(&b, 30, 10);
	assert_int_equal(sl_batcher_start(&b, 0), -1);
	add(&b, 1, 0, 100);
	assert_int_equal(sl_batcher_start(&b, 0), 60);
	assert_int_equal(sl_batcher_start(&b, 90), 90);
	add(&b, 2, 10, 60);
	assert_int_equal(sl_batcher_start(&b, 10), 25);
	sl_batcher_finish(&b);
}

static void where_turns_come_at_once_nobody_waits(void **state)
{
	struct sl_batcher b;

	(void)state;
	sl_batcher_init(&b, 4, 0);
	add(&b, 1, 0, 100);
	assert_int_equal(sl_batcher_start(&b, 0), 0);
	sl_batcher_measured(&b, 30, 3);
	assert_int_equal(sl_batcher_start(&b, 5), 5);
	sl_batcher_finish(&b);
}

static void a_full_batch_starts_at_once_with_the_most_urgent(void **state)
{
	struct sl_batch_request taken[2];
	struct sl_batcher b;

	(void)state;
	sl_batcher_init(&b, 2, 0);
	sl_batcher_measured(&b, 30, 30);
	add(&b, 1, 0, 300);
	add(&b, 2, 0, 200);
	add(&b, 3, 0, 200);
	assert_int_equal(sl_batcher_start(&b, 5), 5);
	assert_int_equal(sl_batcher_take(&b, taken), 2);
	assert_int_equal(taken[0].id, 2);
	assert_int_equal(taken[1].id, 3);
	assert_int_equal(sl_batcher_start(&b, 5), 240);
	assert_int_equal(sl_batcher_take(&b, taken), 1);
	assert_int_equal(taken[0].id, 1);
	assert_int_equal(sl_batcher_take(&b, taken), 0);
	sl_batcher_finish(&b);
}

static void slow_batches_count_at_once_and_fast_ones_by_and_by(void **state)
{
	struct sl_batcher b;

	(void)state;
	sl_batcher_init(&b, 2, 30);
	sl_batcher_measured(&b, 80, 0);
	assert_int_equal(b.run_ns, 80);
	sl_batcher_measured(&b, 0, 0);
	assert_int_equal(b.run_ns, 70);
	sl_batcher_finish(&b);
}

static void the_queue_has_an_end(void **state)
{
	struct sl_batcher b;

	(void)state;
	sl_batcher_init(&b, 2, 30);
	for (uint64_t i = 0; i < SL_BATCH_QUEUE; i++)
		add(&b, i, 0, (sl_ns)(i * 7919 % 1000));
	assert_int_equal(
		sl_batcher_add(&b, &(struct sl_batch_request){.id = 1}), SL_E_BUSY);
	for (size_t i = 1; i < b.n; i++)
		assert_true(b.queue[i - 1].due_ns <= b.queue[i].due_ns);
	sl_batcher_finish(&b);
}

/* A device that runs batches one after another: while they are shorter than the time that
 * the requests have, and turns come at once, none is late, and no batch is started with
 * room in it before it must be. */
static void no_objective_is_missed_where_none_need_be(void **state)
{
	struct sl_batch_request taken[8];
	struct sl_rng rng = {.key = {.seed = 7}};
	struct sl_batcher b;
	sl_ns now = 0, next = 0;
	size_t full = 0, batches = 0;

	(void)state;
	sl_batcher_init(&b, 8, 0);
	sl_batcher_measured(&b, 10, 10);
	while (now < 100000) {
		sl_ns start = sl_batcher_start(&b, now);

		if (start >= 0 && start <= next) {
			size_t n;

			now = start > now ? start : now;
			n = sl_batcher_take(&b, taken);
			now += 10;
			full += n == 8;
			batches++;
			for (size_t i = 0; i < n; i++)
				assert_true(now <= taken[i].due_ns);
			sl_batcher_measured(&b, 10, 10);
			continue;
		}
		now = next > now ? next : now;
		add(&b, 0, next, next + 60);
		next += 1 + (sl_ns)sl_rng_below(&rng, 16);
	}
	assert_true(batches > 1000);
	assert_true(full > 0);
	sl_batcher_finish(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(where_others_want_the_device_a_lone_request_waits_for_company),
		SL_TEST(where_turns_come_at_once_nobody_waits),
		SL_TEST(a_full_batch_starts_at_once_with_the_most_urgent),
		SL_TEST(slow_batches_count_at_once_and_fast_ones_by_and_by),
		SL_TEST(the_queue_has_an_end),
		SL_TEST(no_objective_is_missed_where_none_need_be),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

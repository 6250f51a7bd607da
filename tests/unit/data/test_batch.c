/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "data/augment.h"
#include "data/source.h"
#include "unit/data/files.h"

#define N 40
#define PIXELS (3 * 16 * 16)

static struct sl_data *opened(void)
{
	struct sl_data *d = NULL;

	sl_assert_ok(sl_data_open("synthetic:3x16x16",
		&(struct sl_data_opts){.samples = N, .valid = 0.2}, &d));
	return d;
}

static void a_split_batch_equals_the_whole(void **state)
{
	static float whole[32 * PIXELS], part[32 * PIXELS];
	int64_t y[32], z[32];
	struct sl_data *d = opened();
	struct sl_data_request r = {.seed = 3,
		.epoch = 2,
		.count = 32,
		.augment = SL_AUGMENT_FLIP | SL_AUGMENT_CROP};

	(void)state;
	sl_assert_ok(sl_data_batch(d, &r, whole, y));
	for (int64_t at = 0; at < 32; at += 8) {
		r.first = at;
		r.count = 8;
		sl_assert_ok(sl_data_batch(d, &r, part + at * PIXELS, z + at));
	}
	assert_memory_equal(whole, part, sizeof(whole));
	assert_memory_equal(y, z, sizeof(y));
	sl_data_close(d);
}

static void samples_come_as_they_are_stored_when_asked_so(void **state)
{
	static float x[32 * PIXELS], one[PIXELS];
	int64_t y[32], z;
	struct sl_data *d = opened();
	struct sl_data_request r = {.seed = 3,
		.epoch = 2,
		.count = 32,
		.augment = SL_AUGMENT_FLIP,
		.as_stored = true};
	struct sl_data_pick pick = {0};

	(void)state;
	sl_assert_ok(sl_data_batch(d, &r, x, y));
	for (; pick.index < 32; pick.index++) {
		sl_assert_ok(d->source->read(d, &pick, one, &z));
		assert_memory_equal(one, x + pick.index * PIXELS, sizeof(one));
		assert_int_equal(z, y[pick.index]);
	}
	sl_data_close(d);
}

static void requests_outside_the_epoch_are_refused(void **state)
{
	static float x[PIXELS];
	int64_t y;
	struct sl_data *d = opened();
	static const struct sl_data_request bad[] = {
		{.first = 32, .count = 1},
		{.first = -1, .count = 1},
		{.first = 0, .count = 33},
		{.first = INT64_MAX, .count = 1},
		{.first = 0, .count = -1},
		{.split = SL_SPLIT_TEST, .count = 1},
		{.split = SL_SPLIT_COUNT, .count = 1},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++)
		sl_assert_fails(sl_data_batch(d, &bad[i], x, &y), SL_E_INVALID, "split");
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.first = 32}, x, &y));
	sl_data_close(d);
}

static void a_slow_source_gives_the_same_samples(void **state)
{
	static const char *const wrong[] = {"synthetic:5@", "synthetic:5@us",
		"synthetic:5@3", "synthetic:5@3ss", "synthetic:5@60001ms",
		"synthetic:@3us"};
	struct sl_data_request r = {.count = 2};
	float x[2][10];
	int64_t y[2][2];
	struct sl_data *d = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sl_assert_ok(sl_data_open(
			i == 0 ? "synthetic:5" : "synthetic:5@10us", NULL, &d));
		sl_assert_ok(sl_data_batch(d, &r, x[i], y[i]));
		sl_data_close(d);
	}
	assert_memory_equal(x[0], x[1], sizeof(x[0]));
	assert_memory_equal(y[0], y[1], sizeof(y[0]));
	for (size_t i = 0; i < SL_COUNT(wrong); i++)
		sl_assert_fails(sl_data_open(wrong[i], NULL, &d), SL_E_USAGE, "delays");
}

static void only_images_are_augmented(void **state)
{
	float x[5];
	int64_t y;
	struct sl_data *d = NULL;

	(void)state;
	sl_assert_ok(sl_data_open("synthetic:5", NULL, &d));
	struct sl_data_request r = {.count = 1, .augment = SL_AUGMENT_FLIP};
	sl_assert_fails(sl_data_batch(d, &r, x, &y), SL_E_USAGE, "samples here are [5]");
	sl_data_close(d);
}

static void a_moved_flipped_image_is_black_behind(void **state)
{
	static const float src[] = {1, 2, 3, 4, 5, 6};
	struct sl_shape image = SL_SHAPE(1, 2, 3);
	float dst[6];

	(void)state;
	sl_augment_apply(&(struct sl_augment_draw){.flip = true}, &image, -1, src, dst);
	assert_memory_equal(dst, ((float[]){3, 2, 1, 6, 5, 4}), sizeof(dst));
	sl_augment_apply(
		&(struct sl_augment_draw){.down = 1, .right = -1}, &image, -1, src, dst);
	assert_memory_equal(dst, ((float[]){-1, 4, 5, -1, -1, -1}), sizeof(dst));
}

static void draws_cover_their_range_and_follow_the_key(void **state)
{
	struct sl_shape image = SL_SHAPE(1, 32, 16);
	struct sl_data_request r = {
		.seed = 1, .augment = SL_AUGMENT_FLIP | SL_AUGMENT_CROP};
	struct sl_augment_draw a, b;
	int flips = 0;
	int64_t low = 0, high = 0;

	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		sl_augment_draw(&r, i, &image, &a);
		flips += a.flip;
		assert_in_range(a.right + 2, 0, 4);
		low = a.down < low ? a.down : low;
		high = a.down > high ? a.down : high;
	}
	assert_in_range(flips, 420, 580);
	assert_true(low == -4 && high == 4);
	sl_augment_draw(&r, 999, &image, &b);
	assert_true(a.flip == b.flip && a.down == b.down && a.right == b.right);
	r.augment = 0;
	sl_augment_draw(&r, 999, &image, &b);
	assert_true(!b.flip && !b.down && !b.right);
}

static void reading_ahead_gives_the_same_bytes(void **state)
{
	static float x[8 * PIXELS], want[8 * PIXELS];
	int64_t y[8], z[8];
	struct sl_data *d = opened(), *plain = opened();
	struct sl_prefetch *p = NULL;

	(void)state;
	sl_assert_ok(sl_prefetch_create(d, &p));
	for (int64_t i = 0; i < 12; i++) {
		struct sl_data_request r = {
			.epoch = (uint64_t)i / 4, .first = i % 4 * 8, .count = 8};
		struct sl_data_request next = {.epoch = (uint64_t)(i + 1) / 4,
			.first = (i + 1) % 4 * 8,
			.count = 8};
		/* Sometimes another batch is asked for than was announced, or none. */
		if (i % 5 == 3)
			next.first = 0;
		sl_assert_ok(sl_prefetch_batch(p, &r, i % 7 == 6 ? NULL : &next, x, y));
		sl_assert_ok(sl_data_batch(plain, &r, want, z));
		assert_memory_equal(x, want, sizeof(x));
		assert_memory_equal(y, z, sizeof(y));
	}
	sl_prefetch_destroy(p);
	sl_data_close(d);
	sl_data_close(plain);
}

static void a_failure_ahead_comes_when_asked_for(void **state)
{
	static float x[8 * PIXELS];
	int64_t y[8];
	struct sl_data *d = opened();
	struct sl_prefetch *p = NULL;
	struct sl_data_request good = {.count = 8};
	struct sl_data_request bad = {.first = 30, .count = 8};

	(void)state;
	sl_assert_ok(sl_prefetch_create(d, &p));
	sl_assert_ok(sl_prefetch_batch(p, &good, &bad, x, y));
	sl_assert_fails(sl_prefetch_batch(p, &bad, &good, x, y), SL_E_INVALID,
		"8 samples from number 30 of the train split");
	sl_assert_ok(sl_prefetch_batch(p, &good, &bad, x, y));
	sl_prefetch_destroy(p);
	sl_data_close(d);
}

static void batches_over_the_limit_are_read_when_asked_for(void **state)
{
	struct sl_data *d = NULL;
	struct sl_prefetch *p = NULL;
	struct sl_data_request r = {.count = 2};
	float *x = sl_alloc((size_t)2 * 1200 * 1200 * sizeof(float));
	int64_t y[2];

	(void)state;
	sl_assert_ok(sl_data_open("synthetic:1200x1200", NULL, &d));
	sl_assert_ok(sl_prefetch_create(d, &p));
	long live = sl_alloc_live();
	sl_assert_ok(sl_prefetch_batch(p, &r, &r, x, y));
	assert_int_equal(sl_alloc_live(), live);
	sl_prefetch_destroy(p);
	sl_data_close(d);
	sl_free(x);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_split_batch_equals_the_whole),
		SL_TEST(samples_come_as_they_are_stored_when_asked_so),
		SL_TEST(requests_outside_the_epoch_are_refused),
		SL_TEST(a_slow_source_gives_the_same_samples),
		SL_TEST(only_images_are_augmented),
		SL_TEST(a_moved_flipped_image_is_black_behind),
		SL_TEST(draws_cover_their_range_and_follow_the_key),
		SL_TEST(reading_ahead_gives_the_same_bytes),
		SL_TEST(a_failure_ahead_comes_when_asked_for),
		SL_TEST(batches_over_the_limit_are_read_when_asked_for),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "unit/data/files.h"

#define T 16

static struct sl_data *open_text(size_t len, double valid)
{
	static unsigned char bytes[1000];
	struct sl_data *d = NULL;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	put_file("text", bytes, len);
	sl_assert_ok(open_kind("text", sl_test_path("text"),
		&(struct sl_data_opts){.context = T, .valid = valid}, &d));
	return d;
}

static void a_window_is_followed_by_its_next_bytes(void **state)
{
	struct sl_data *d = open_text(200, -1);
	int32_t x[T];
	int64_t y[T];

	(void)state;
	assert_true(sl_data_info(d)->tokens);
	assert_int_equal(sl_data_info(d)->classes, 256);
	assert_int_equal(sl_data_info(d)->sample.dim[0], T);
	for (int64_t i = 0; i < sl_data_info(d)->count[SL_SPLIT_TRAIN]; i++) {
		struct sl_data_request r = {
			.seed = 9, .epoch = 4, .first = i, .count = 1};
		sl_assert_ok(sl_data_batch(d, &r, x, y));
		for (int t = 0; t < T; t++) {
			assert_int_equal(x[t], x[0] + t);
			assert_int_equal(y[t], x[t] + 1);
		}
	}
	sl_data_close(d);
}

/* Which first bytes the windows of an epoch have. */
static void starts(struct sl_data *d, uint64_t epoch, char seen[256])
{
	int32_t x[T];
	int64_t y[T];

	memset(seen, 0, 256);
	for (int64_t i = 0; i < sl_data_info(d)->count[SL_SPLIT_TRAIN]; i++) {
		struct sl_data_request r = {.epoch = epoch, .first = i, .count = 1};
		sl_assert_ok(sl_data_batch(d, &r, x, y));
		seen[x[0]]++;
	}
}

static void windows_do_not_overlap_and_move_between_epochs(void **state)
{
	struct sl_data *d = open_text(250, -1);
	char first[256], second[256];
	int last = -T;
	bool moved = false;

	(void)state;
	starts(d, 0, first);
	for (int i = 0; i < 256; i++) {
		assert_in_range(first[i], 0, 1);
		if (!first[i])
			continue;
		assert_true(last < 0 || i - last == T);
		last = i;
	}
	for (uint64_t epoch = 1; epoch < 5; epoch++) {
		starts(d, epoch, second);
		moved |= memcmp(first, second, sizeof(first)) != 0;
	}
	assert_true(moved);
	sl_data_close(d);
}

static void the_last_tenth_is_for_validation(void **state)
{
	struct sl_data *d = open_text(200 + 20 + 3, 0);
	int32_t x[T];
	int64_t y[T];

	(void)state;
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_VALID], 1);
	struct sl_data_request r = {.split = SL_SPLIT_VALID, .count = 1};
	sl_assert_ok(sl_data_batch(d, &r, x, y));
	assert_int_equal(x[0], 223 - 22);
	char seen[256];
	starts(d, 0, seen);
	for (int i = 201 - T; i < 256; i++)
		assert_int_equal(seen[i], 0);
	sl_data_close(d);
}

static void texts_too_short_or_models_too_small_are_refused(void **state)
{
	struct sl_data *d = NULL;

	(void)state;
	put_file("short", "0123456789abcdef", T);
	sl_assert_fails(open_kind("text", sl_test_path("short"),
				&(struct sl_data_opts){.context = T, .valid = -1}, &d),
		SL_E_FORMAT, "16 bytes to train on are no window of context + 1 = 17");
	put_file("short", "", 0);
	sl_assert_fails(open_kind("text", sl_test_path("short"), NULL, &d), SL_E_FORMAT,
		"0 bytes");
	sl_assert_fails(open_kind("text", sl_test_path("short"),
				&(struct sl_data_opts){.vocab = 128}, &d),
		SL_E_USAGE, "set vocab=256");
	sl_assert_fails(open_kind("text", sl_test_path("gone"), NULL, &d), SL_E_NOT_FOUND,
		"gone");
}

static void synthetic_features_are_normal_and_labels_uniform(void **state)
{
	static float x[256 * 300];
	int64_t y[256];
	int count[7] = {0};
	double sum = 0, squares = 0;
	struct sl_data *d = NULL;

	(void)state;
	sl_assert_ok(sl_data_open("synthetic:3x10x10",
		&(struct sl_data_opts){.classes = 7, .samples = 256, .seed = 5}, &d));
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.count = 256}, x, y));
	for (size_t i = 0; i < SL_COUNT(x); i++) {
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	/* Over five standard errors. */
	assert_true(fabs(sum / (double)SL_COUNT(x)) < 0.02);
	assert_true(fabs(squares / (double)SL_COUNT(x) - 1) < 0.03);
	for (int i = 0; i < 256; i++) {
		assert_in_range(y[i], 0, 6);
		count[y[i]]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(count[i], 10, 75);
	sl_data_close(d);
}

static void a_small_synthetic_set_is_kept_and_a_large_one_is_the_same(void **state)
{
	static const int64_t samples[] = {64, 1 << 22};
	static const struct sl_data_request all = {.count = 64, .as_stored = true};
	static float x[3][64 * 50];
	int64_t y[64];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sl_data *d = NULL;

		sl_assert_ok(sl_data_open("synthetic:50",
			&(struct sl_data_opts){.samples = samples[i], .seed = 3}, &d));
		sl_assert_ok(sl_data_batch(d, &all, x[i], y));
		sl_assert_ok(sl_data_batch(d, &all, x[2], y));
		sl_data_close(d);
		assert_memory_equal(x[i], x[2], sizeof(x[2]));
	}
	assert_memory_equal(x[0], x[1], sizeof(x[0]));
}

static void synthetic_tokens_follow_each_other(void **state)
{
	int32_t x[12];
	int64_t y[12];
	struct sl_data *d = NULL;

	(void)state;
	sl_assert_ok(
		sl_data_open("synthetic:12", &(struct sl_data_opts){.vocab = 50}, &d));
	assert_true(sl_data_info(d)->tokens);
	assert_int_equal(sl_data_info(d)->classes, 50);
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, y));
	for (int i = 0; i < 11; i++)
		assert_int_equal(x[i + 1], y[i]);
	sl_data_close(d);
}

static void unknown_kinds_and_shapes_are_usage_errors(void **state)
{
	static const char *const specs[] = {"", "idx:", "mnist:/x", "text",
		"synthetic:", "synthetic:3x", "synthetic:0x3", "synthetic:3y4",
		"synthetic:-1", "synthetic:1x1x1x1x1x1x1x1x1", "synthetic:99999999999"};
	struct sl_data *d = NULL;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(specs); i++)
		sl_assert_fails(
			sl_data_open(specs[i], NULL, &d), SL_E_USAGE, "synthetic:");
	sl_assert_fails(
		sl_data_open("synthetic:3x4", &(struct sl_data_opts){.vocab = 9}, &d),
		SL_E_USAGE, "synthetic:T");
	sl_assert_fails(sl_data_open("synthetic:9999x9999x9999", NULL, &d), SL_E_LIMIT,
		"one sample");
}

static sl_status open_and_close(void *ctx)
{
	struct sl_data *d = NULL;

	SL_TRY(sl_data_open(ctx, NULL, &d));
	sl_data_close(d);
	return SL_OK;
}

static void every_failure_is_survived(void **state)
{
	char spec[4200];

	(void)state;
	sl_data_close(open_text(900, 0));
	snprintf(spec, sizeof(spec), "text:%s", sl_test_path("text"));
	assert_true(sl_torture(open_and_close, spec) > 3);
	assert_true(sl_torture_fs(open_and_close, spec, EIO) > 1);
	snprintf(spec, sizeof(spec), "synthetic:3x4");
	assert_true(sl_torture(open_and_close, spec) > 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_window_is_followed_by_its_next_bytes),
		SL_TEST(windows_do_not_overlap_and_move_between_epochs),
		SL_TEST(the_last_tenth_is_for_validation),
		SL_TEST(texts_too_short_or_models_too_small_are_refused),
		SL_TEST(synthetic_features_are_normal_and_labels_uniform),
		SL_TEST(a_small_synthetic_set_is_kept_and_a_large_one_is_the_same),
		SL_TEST(synthetic_tokens_follow_each_other),
		SL_TEST(unknown_kinds_and_shapes_are_usage_errors),
		SL_TEST(every_failure_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

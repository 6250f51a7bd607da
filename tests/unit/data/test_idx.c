/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/data/files.h"

#define N 7
#define SIDE 4
#define PIXELS (SIDE * SIDE)

/* A header of `rank` sizes and `len` bytes of data. */
static size_t fill(unsigned char *out, int rank, const uint32_t *dim, size_t len)
{
	size_t at = 4;

	memset(out, 0, 4);
	out[2] = 8;
	out[3] = (unsigned char)rank;
	for (int i = 0; i < rank; i++, at += 4)
		for (int b = 0; b < 4; b++)
			out[at + (size_t)b] = (unsigned char)(dim[i] >> (24 - 8 * b));
	for (size_t i = 0; i < len; i++)
		out[at + i] = rank == 1 ? (unsigned char)(i % 3) : (unsigned char)(i * 2);
	return at + len;
}

static const char *folder(const char *name)
{
	const char *path = sl_test_path(name);

	mkdir(path, 0700);
	return path;
}

/* Writes train images and labels, as gzip files or plain ones. */
static const char *make_set(const char *name, bool gz)
{
	unsigned char data[512];
	char file[128];
	const char *(*put)(const char *, const void *, size_t) = gz ? put_gz : put_file;

	folder(name);
	snprintf(file, sizeof(file), "%s/train-images-idx3-ubyte%s", name,
		gz ? ".gz" : "");
	put(file, data, fill(data, 3, (uint32_t[]){N, SIDE, SIDE}, N * PIXELS));
	snprintf(file, sizeof(file), "%s/train-labels-idx1-ubyte%s", name,
		gz ? ".gz" : "");
	put(file, data, fill(data, 1, (uint32_t[]){N}, N));
	return sl_test_path(name);
}

static void expect_samples(const char *dir)
{
	struct sl_data *d = NULL;
	float x[N * PIXELS];
	int64_t y[N];
	int seen = 0;

	sl_assert_ok(open_kind("idx", dir, NULL, &d));
	const struct sl_data_info *info = sl_data_info(d);
	assert_int_equal(info->count[SL_SPLIT_TRAIN], N);
	assert_int_equal(info->count[SL_SPLIT_TEST], 0);
	assert_int_equal(info->classes, 3);
	assert_true(sl_shape_equal(&info->sample, &SL_SHAPE(1, SIDE, SIDE)));
	sl_assert_ok(
		sl_data_batch(d, &(struct sl_data_request){.seed = 1, .count = N}, x, y));
	for (int i = 0; i < N; i++) {
		/* The first pixel says which image it is. */
		int id = (int)lrintf(x[i * PIXELS] * 255) / 2 / PIXELS;
		assert_int_equal(y[i], id % 3);
		seen |= 1 << id;
	}
	assert_int_equal(lrintf(x[1] * 255) - lrintf(x[0] * 255), 2);
	sl_data_close(d);
	assert_int_equal(seen, (1 << N) - 1);
}

static void plain_and_gzip_sets_give_the_same_samples(void **state)
{
	(void)state;
	expect_samples(make_set("plain", false));
	expect_samples(make_set("gz", true));
}

static void fashion_mnist_is_normalised(void **state)
{
	struct sl_data *d = NULL;
	static float x[500 * 784];
	int64_t y[500];
	double sum = 0;
	double squares = 0;

	(void)state;
	if (sl_data_open("idx:/usr/share/datasets/fashion-mnist", NULL, &d) ==
		SL_E_NOT_FOUND)
		sl_test_skip("dataset-fashion-mnist is not installed");
	assert_non_null(d);
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_TRAIN], 60000);
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_TEST], 10000);
	assert_int_equal(sl_data_info(d)->classes, 10);
	assert_int_equal(sl_data_eval_split(d), SL_SPLIT_TEST);
	sl_assert_ok(sl_data_batch(d,
		&(struct sl_data_request){.seed = 3, .first = 100, .count = 500}, x, y));
	for (size_t i = 0; i < SL_COUNT(x); i++) {
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	double mean = sum / (double)SL_COUNT(x);
	assert_true(fabs(mean) < 0.05);
	assert_true(fabs(squares / (double)SL_COUNT(x) - mean * mean - 1) < 0.1);
	sl_data_close(d);
}

static void a_share_is_held_out_from_the_end(void **state)
{
	struct sl_data *d = NULL;
	float x[PIXELS];
	int64_t y;

	(void)state;
	sl_assert_ok(open_kind("idx", make_set("held", false),
		&(struct sl_data_opts){.valid = 0.3}, &d));
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_TRAIN], 5);
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_VALID], 2);
	assert_int_equal(sl_data_eval_split(d), SL_SPLIT_VALID);
	struct sl_data_request r = {.split = SL_SPLIT_VALID, .first = 1, .count = 1};
	sl_assert_ok(sl_data_batch(d, &r, x, &y));
	assert_int_equal(y, 6 % 3);
	r.first = 2;
	sl_assert_fails(
		sl_data_batch(d, &r, x, &y), SL_E_INVALID, "valid split, which has 2");
	sl_data_close(d);
	sl_assert_fails(open_kind("idx", sl_test_path("held"),
				&(struct sl_data_opts){.valid = 1}, &d),
		SL_E_USAGE, "[0, 1)");
}

/* Replaces one of the set's two files and expects the failure. */
static void expect_damage(
	int rank, const void *data, size_t len, sl_status code, const char *message)
{
	struct sl_data *d = NULL;

	make_set("bad", false);
	put_file(
		rank == 3 ? "bad/train-images-idx3-ubyte" : "bad/train-labels-idx1-ubyte",
		data, len);
	sl_assert_fails(open_kind("idx", sl_test_path("bad"), NULL, &d), code, message);
	assert_null(d);
}

static void damaged_files_are_refused(void **state)
{
	unsigned char data[512];
	size_t len = fill(data, 3, (uint32_t[]){N, SIDE, SIDE}, N * PIXELS);

	(void)state;
	expect_damage(3, data, 0, SL_E_FORMAT, "ends in its header: 0 bytes");
	expect_damage(3, data, 9, SL_E_FORMAT, "ends in its header: 9 bytes");
	expect_damage(3, data, len - 1, SL_E_FORMAT,
		"says 112 bytes of data, the file holds 111");
	expect_damage(3, data, len + 1, SL_E_FORMAT, "the file holds 113");
	data[3] = 1;
	expect_damage(
		3, data, len, SL_E_FORMAT, "magic number 0x00000801 at byte 0, expected");
	fill(data, 3, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0);
	expect_damage(3, data, len, SL_E_FORMAT, "make no set");
	fill(data, 3, (uint32_t[]){0, 4, 4}, 0);
	expect_damage(3, data, 16, SL_E_FORMAT, "dimension 0 at byte 4 is 0");
	len = fill(data, 1, (uint32_t[]){N - 1}, N - 1);
	expect_damage(1, data, len, SL_E_FORMAT, "6 labels for the 7 images");
}

static void labels_beyond_the_classes_are_refused(void **state)
{
	struct sl_data *d = NULL;

	(void)state;
	sl_assert_fails(open_kind("idx", make_set("few", false),
				&(struct sl_data_opts){.classes = 2}, &d),
		SL_E_FORMAT, "label 2 of sample 2, but the model has 2 classes");
}

static void damaged_gzip_files_are_refused(void **state)
{
	unsigned char data[512];
	struct sl_buf whole = SL_BUF_INIT;
	struct sl_data *d = NULL;

	(void)state;
	make_set("cut", true);
	const char *images = sl_test_path("cut/train-images-idx3-ubyte.gz");
	sl_assert_ok(sl_fs_read(images, 4096, &whole));
	for (size_t len = 1; len < whole.len; len += 5) {
		put_file("cut/train-images-idx3-ubyte.gz", whole.data, len);
		sl_assert_fails(open_kind("idx", sl_test_path("cut"), NULL, &d),
			SL_E_FORMAT, "train-images");
	}
	whole.data[20] ^= 0x55;
	put_file("cut/train-images-idx3-ubyte.gz", whole.data, whole.len);
	sl_assert_fails(
		open_kind("idx", sl_test_path("cut"), NULL, &d), SL_E_FORMAT, "gzip");
	sl_buf_finish(&whole);
	/* A header that promises more than a gzip file of this size can hold. */
	fill(data, 3, (uint32_t[]){1u << 20, 1u << 10, 1u << 10}, 0);
	put_gz("cut/train-images-idx3-ubyte.gz", data, 16);
	sl_assert_fails(open_kind("idx", sl_test_path("cut"), NULL, &d), SL_E_FORMAT,
		"gzip data of only");
	/* More data than the header says. */
	size_t len = fill(data, 3, (uint32_t[]){N - 1, SIDE, SIDE}, N * PIXELS);
	put_gz("cut/train-images-idx3-ubyte.gz", data, len);
	sl_assert_fails(
		open_kind("idx", sl_test_path("cut"), NULL, &d), SL_E_FORMAT, "more");
}

static void a_missing_set_says_what_to_install(void **state)
{
	struct sl_data *d = NULL;

	(void)state;
	sl_assert_fails(open_kind("idx", sl_test_path("nowhere"), NULL, &d),
		SL_E_NOT_FOUND, "apt install dataset-fashion-mnist");
}

static sl_status open_and_close(void *ctx)
{
	struct sl_data *d = NULL;
	float x[PIXELS];
	int64_t y;

	SL_TRY(open_kind("idx", ctx, NULL, &d));
	sl_status st = sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, &y);
	sl_data_close(d);
	return st;
}

static void every_failure_is_survived(void **state)
{
	char dir[4096];

	(void)state;
	snprintf(dir, sizeof(dir), "%s", make_set("torture", true));
	assert_true(sl_torture(open_and_close, dir) > 5);
	assert_true(sl_torture_fs(open_and_close, dir, EIO) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(plain_and_gzip_sets_give_the_same_samples),
		SL_TEST(fashion_mnist_is_normalised),
		SL_TEST(a_share_is_held_out_from_the_end),
		SL_TEST(damaged_files_are_refused),
		SL_TEST(labels_beyond_the_classes_are_refused),
		SL_TEST(damaged_gzip_files_are_refused),
		SL_TEST(a_missing_set_says_what_to_install),
		SL_TEST(every_failure_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

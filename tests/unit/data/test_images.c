/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "data/image.h"
#include "harness/picture.h"
#include "unit/data/files.h"

#define SIDE 4

static void fill(unsigned char *rgb, int n, const unsigned char colour[3])
{
	for (int i = 0; i < n; i++)
		memcpy(rgb + 3 * i, colour, 3);
}

/* A square of one colour in folder/name: JPEG where the name says so. */
static void put_square(const char *path, const unsigned char colour[3])
{
	unsigned char rgb[SIDE * SIDE * 3];
	size_t len = 0;
	void *data;

	fill(rgb, SIDE * SIDE, colour);
	data = strstr(path, ".jp") ? picture_jpeg(rgb, SIDE, SIDE, &len)
				   : picture_png(rgb, SIDE, SIDE, &len);
	put_file(path, data, len);
	free(data);
}

static void make_folder(const char *name)
{
	(void)mkdir(sl_test_path(name), 0700);
}

/* Label 0 "blue": p.jpeg, q.PNG; label 1 "red": a.png; and what does not count. */
static const char *make_set(const char *name)
{
	static const unsigned char red[3] = {250, 10, 20};
	static const unsigned char blue[3] = {0, 51, 255};
	char path[64];

	make_folder(name);
	for (int i = 0; i < 3; i++) {
		static const char *const folders[] = {"red", "blue", ".git"};
		snprintf(path, sizeof(path), "%s/%s", name, folders[i]);
		make_folder(path);
	}
	snprintf(path, sizeof(path), "%s/red/a.png", name);
	put_square(path, red);
	snprintf(path, sizeof(path), "%s/blue/q.PNG", name);
	put_square(path, blue);
	snprintf(path, sizeof(path), "%s/blue/p.jpeg", name);
	put_square(path, blue);
	snprintf(path, sizeof(path), "%s/.git/x.png", name);
	put_square(path, blue);
	snprintf(path, sizeof(path), "%s/blue/notes.txt", name);
	put_file(path, "no", 2);
	snprintf(path, sizeof(path), "%s/first.png", name);
	put_file(path, "no", 2);
	return sl_test_path(name);
}

static sl_status open_set(const char *dir, const char *norm, int64_t channels,
	int64_t classes, struct sl_data **out)
{
	char arg[4200];

	snprintf(arg, sizeof(arg), "%s%s", dir, norm);
	return open_kind("images", arg,
		&(struct sl_data_opts){.image = {channels, 2, 2}, .classes = classes},
		out);
}

static void sub_folders_are_labels_and_files_are_read(void **state)
{
	struct sl_data *d = NULL;
	float x[3][3][4];
	int64_t y[3];
	int labels[2] = {0};

	(void)state;
	sl_assert_ok(open_set(make_set("set"), ",norm=none", 3, 0, &d));
	assert_int_equal(sl_data_info(d)->classes, 2);
	assert_int_equal(sl_data_info(d)->count[SL_SPLIT_TRAIN], 3);
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.count = 3}, x, y));
	for (int i = 0; i < 3; i++) {
		const float want[2][3] = {
			{0, 0.2f, 1}, {250 / 255.0f, 10 / 255.0f, 20 / 255.0f}};
		labels[y[i]]++;
		for (int k = 0; k < 12; k++)
			assert_true(
				fabsf(x[i][k / 4][k % 4] - want[y[i]][k / 4]) < 0.02f);
	}
	assert_true(labels[0] == 2 && labels[1] == 1);
	sl_data_close(d);
}

static void the_norm_and_grey_are_as_documented(void **state)
{
	struct sl_data *d = NULL;
	float x[3][12];
	int64_t y[3];

	(void)state;
	make_set("norm");
	sl_assert_ok(open_set(sl_test_path("norm"), "", 3, 0, &d));
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.count = 3}, x, y));
	for (int i = 0; i < 3; i++)
		if (y[i] == 1)
			assert_true(fabsf(x[i][0] - (250 / 255.0f - 0.485f) / 0.229f) <
				    1e-5f);
	sl_data_close(d);
	sl_assert_ok(open_set(sl_test_path("norm"), ",norm=half", 1, 0, &d));
	sl_assert_ok(sl_data_batch(
		d, &(struct sl_data_request){.count = 1, .as_stored = true}, x, y));
	float grey = y[0] ? 0.299f * 250 + 0.587f * 10 + 0.114f * 20
			  : 0.587f * 51 + 0.114f * 255;
	assert_true(fabsf(x[0][0] - (grey / 255 - 0.5f) / 0.5f) < 0.03f);
	sl_data_close(d);
}

static const struct sl_image_norm plain = {{0, 0, 0}, {1, 1, 1}};

/* Red of an image whose columns have these values, at size 1 x 2. */
static void expect_columns(
	const unsigned char *column, int w, int h, const double want[2])
{
	unsigned char rgb[64 * 3];
	struct sl_image image = {.width = w, .height = h, .rgb = rgb};
	float row[64 * 3];
	float out[3 * 2];

	for (int i = 0; i < w * h; i++)
		memset(rgb + 3 * i, column[i % w], 3);
	sl_image_fit(&image, &SL_SHAPE(3, 1, 2), &plain, row, out);
	for (int i = 0; i < 6; i++)
		assert_true(fabs((double)out[i] * 255 - want[i % 2]) < 1e-3);
}

static void the_middle_is_cut_out_and_scaled(void **state)
{
	(void)state;
	/* As large as the sample; wider: the middle; smaller: between two pixels. */
	expect_columns((unsigned char[]){10, 200}, 2, 1, (double[]){10, 200});
	expect_columns((unsigned char[]){9, 10, 200, 9}, 4, 1, (double[]){10, 200});
	/* One pixel of two: triangles of radius 2 around 1 and 3. */
	expect_columns((unsigned char[]){0, 40, 80, 240}, 4, 2,
		(double[]){(0.75 * 0 + 0.75 * 40 + 0.25 * 80) / 1.75,
			(0.25 * 40 + 0.75 * 80 + 0.75 * 240) / 1.75});
	/* Two pixels of one: a quarter beside the middle, nothing beyond the edge. */
	expect_columns((unsigned char[]){100}, 1, 1, (double[]){100, 100});
}

/* The only file of a set has these bytes. */
static void expect_damage(
	const void *data, size_t len, sl_status code, const char *message)
{
	struct sl_data *d = NULL;
	float x[12];
	int64_t y;

	make_folder("bad");
	make_folder("bad/label");
	put_file("bad/label/one.jpg", data, len);
	sl_assert_ok(open_set(sl_test_path("bad"), "", 3, 0, &d));
	sl_assert_fails(sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, &y),
		code, message);
	sl_assert_fails(sl_data_batch(d, &(struct sl_data_request){.count = 1}, x, &y),
		code, "bad/label/one.jpg");
	sl_data_close(d);
}

static void damaged_files_are_refused_by_name(void **state)
{
	unsigned char rgb[16 * 16 * 3];
	size_t n_png = 0, n_jpeg = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rgb); i++)
		rgb[i] = (unsigned char)(i * i * 7);
	unsigned char *png = picture_png(rgb, 16, 16, &n_png);
	unsigned char *jpeg = picture_jpeg(rgb, 16, 16, &n_jpeg);
	expect_damage("", 0, SL_E_FORMAT, "neither a PNG nor a JPEG");
	expect_damage("GIF89a", 6, SL_E_FORMAT, "take it out of the folder");
	expect_damage(png, n_png / 2, SL_E_FORMAT, "not a whole PNG");
	expect_damage(png, 12, SL_E_FORMAT, "not a whole PNG");
	expect_damage(jpeg, n_jpeg / 2, SL_E_FORMAT, "not a whole JPEG");
	expect_damage(jpeg, 4, SL_E_FORMAT, "mend the file");
	png[n_png / 2] ^= 0x55;
	expect_damage(png, n_png, SL_E_FORMAT, "not a whole PNG");
	free(png);
	free(jpeg);
}

static void a_header_of_too_many_pixels_is_a_limit(void **state)
{
	/* A PNG's header of 20000 x 20000, with its checksum. */
	unsigned char head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13,
		'I', 'H', 'D', 'R', 0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20, 8, 2, 0, 0, 0, 0,
		0, 0, 0};
	uLong sum = crc32(0, head + 12, 17);

	(void)state;
	for (int i = 0; i < 4; i++)
		head[29 + i] = (unsigned char)(sum >> (24 - 8 * i));
	expect_damage(head, sizeof(head), SL_E_LIMIT, "20000 x 20000 pixels");
}

static void wrong_sets_and_options_say_what_is_expected(void **state)
{
	struct sl_data *d = NULL;

	(void)state;
	make_set("wrong");
	make_folder("empty");
	make_folder("empty/label");
	sl_assert_fails(open_set(sl_test_path("nowhere"), "", 3, 0, &d), SL_E_NOT_FOUND,
		"sub-folder for each label");
	sl_assert_fails(open_set(sl_test_path("empty"), "", 3, 0, &d), SL_E_FORMAT,
		"1 sub-folders");
	sl_assert_fails(
		open_set(sl_test_path("wrong"), "", 2, 0, &d), SL_E_USAGE, "2 channels");
	sl_assert_fails(open_set(sl_test_path("wrong"), ",norm=z", 3, 0, &d), SL_E_USAGE,
		"imagenet, half or none");
	sl_assert_fails(open_set(sl_test_path("wrong"), "", 3, 1, &d), SL_E_FORMAT,
		"2 labels, the model has 1");
}

static sl_status read_set(void *ctx)
{
	struct sl_data *d = NULL;
	float x[3][12];
	int64_t y[3];

	SL_TRY(open_set(ctx, "", 3, 0, &d));
	sl_status st = sl_data_batch(d, &(struct sl_data_request){.count = 3}, x, y);
	sl_data_close(d);
	return st;
}

static void every_failing_allocation_is_an_error(void **state)
{
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s", make_set("torture"));
	assert_true(sl_torture(read_set, path) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sub_folders_are_labels_and_files_are_read),
		SL_TEST(the_norm_and_grey_are_as_documented),
		SL_TEST(the_middle_is_cut_out_and_scaled),
		SL_TEST(damaged_files_are_refused_by_name),
		SL_TEST(a_header_of_too_many_pixels_is_a_limit),
		SL_TEST(wrong_sets_and_options_say_what_is_expected),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

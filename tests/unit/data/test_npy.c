/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "unit/data/files.h"

/* Writes a version 1.0 file with this dict and data; returns its path. */
static const char *put_npy(
	const char *name, const char *dict, const void *data, size_t len)
{
	unsigned char file[1024] = "\x93NUMPY\x01\x00";
	size_t n = strlen(dict);

	file[8] = (unsigned char)n;
	file[9] = (unsigned char)(n >> 8);
	memcpy(file + 10, dict, n);
	memcpy(file + 10 + n, data, len);
	return put_file(name, file, 10 + n + len);
}

static void put_labels(const char *name)
{
	put_npy(name, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }\n",
		(int64_t[]){2, 0, 1}, 24);
}

/* Opens x.npy and expects row 1 (label 0) to be {want0, want1}. */
static void expect_row(
	const char *dict, const void *data, size_t len, const float want[2])
{
	struct sl_data *d = NULL;
	float x[6];
	int64_t y[3];

	put_labels("x-labels.npy");
	put_npy("x.npy", dict, data, len);
	sl_assert_ok(open_kind("npy", sl_test_path("x.npy"), NULL, &d));
	assert_int_equal(sl_data_info(d)->classes, 3);
	sl_assert_ok(sl_data_batch(d, &(struct sl_data_request){.count = 3}, x, y));
	for (int i = 0; i < 3; i++)
		if (y[i] == 0)
			assert_true(x[2 * i] == want[0] && x[2 * i + 1] == want[1]);
	sl_data_close(d);
}

static void all_element_types_are_read(void **state)
{
	static const float f4[] = {1, 2, 3, -4.5f, 5, 6};
	static const double f8[] = {1, 2, 3, -4.5, 5, 6};
	static const int64_t i8[] = {1, 2, 3, -4, 5, 6};
	static const unsigned char u1[] = {1, 2, 255, 0, 5, 6};

	(void)state;
	expect_row("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n", f4,
		24, (float[]){3, -4.5f});
	expect_row("{\"shape\":(3,2),'fortran_order':False,'descr':\"<f8\"}", f8, 48,
		(float[]){3, -4.5f});
	expect_row("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2)}", i8, 48,
		(float[]){3, -4});
	expect_row("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2)}", u1, 6,
		(float[]){1, 0});
}

static void labels_may_be_named(void **state)
{
	struct sl_data *d = NULL;
	char both[8200];

	(void)state;
	put_labels("other.npy");
	put_npy("a.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1)}",
		(float[]){1, 2, 3}, 12);
	sl_assert_fails(open_kind("npy", sl_test_path("a.npy"), NULL, &d), SL_E_NOT_FOUND,
		"npy:X.npy,Y.npy");
	snprintf(both, sizeof(both), "%s,%s", sl_test_path("a.npy"),
		sl_test_path("other.npy"));
	sl_assert_ok(open_kind("npy", both, NULL, &d));
	sl_data_close(d);
	sl_assert_fails(open_kind("npy", "a.txt", NULL, &d), SL_E_USAGE,
		"labels in X-labels.npy");
}

static void hostile_headers_are_refused(void **state)
{
	static const struct {
		const char *dict, *message;
	} bad[] = {
		{"", "expected '{'"},
		{"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2)}",
			"a type of"},
		{"{'descr': 'O', 'fortran_order': False, 'shape': (3, 2)}", "a type of"},
		{"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}", "C order"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)} x",
			"nothing after"},
		{"{'descr': '<f4', 'fortran_order': False}", "the keys descr"},
		{"{'descr': '<f4', 'descr': '<f4', 'shape': (3, 2)}", "each key once"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 2)}", "a size"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3 2)}",
			"',' or ')'"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2", "',' or ')'"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
			"at most 8 dimensions"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999, "
		 "2)}",
			"below 10^15"},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999, "
		 "999999999)}",
			"beyond 2^48"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2)}",
			"takes 32 bytes, the file holds 24"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}",
			"takes 16 bytes"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
			"samples [N, ...]"},
		{"{'evil': 1}", "'descr', 'fortran_order' or 'shape'"},
	};
	static const float f4[] = {1, 2, 3, 4, 5, 6};
	struct sl_data *d = NULL;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		put_npy("bad.npy", bad[i].dict, f4, sizeof(f4));
		sl_assert_fails(open_kind("npy", sl_test_path("bad.npy"), NULL, &d),
			SL_E_FORMAT, bad[i].message);
	}
	put_file("bad.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
	sl_assert_fails(open_kind("npy", sl_test_path("bad.npy"), NULL, &d), SL_E_FORMAT,
		"a header of 4294967295 bytes in a file of 14");
	put_file("bad.npy", "PK\x03\x04------------", 16);
	sl_assert_fails(open_kind("npy", sl_test_path("bad.npy"), NULL, &d), SL_E_FORMAT,
		"not a .npy file");
}

static void bad_labels_and_values_are_refused(void **state)
{
	struct sl_data *d = NULL;
	float x[3];
	int64_t y[3];

	(void)state;
	put_npy("v.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1)}",
		(float[]){1, NAN, 3}, 12);
	put_labels("v-labels.npy");
	sl_assert_fails(open_kind("npy", sl_test_path("v.npy"),
				&(struct sl_data_opts){.classes = 2}, &d),
		SL_E_FORMAT, "label 2 of sample 0; expected 0 to 1");
	sl_assert_ok(open_kind("npy", sl_test_path("v.npy"), NULL, &d));
	sl_assert_fails(sl_data_batch(d, &(struct sl_data_request){.count = 3}, x, y),
		SL_E_FORMAT, "element 0 of sample 1 is not a finite f32");
	sl_data_close(d);
	put_npy("v-labels.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}",
		(int32_t[]){0, -1, 0}, 12);
	sl_assert_fails(open_kind("npy", sl_test_path("v.npy"), NULL, &d), SL_E_FORMAT,
		"label -1 of sample 1");
	put_npy("v-labels.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
		(float[]){0, 1, 0}, 12);
	sl_assert_fails(open_kind("npy", sl_test_path("v.npy"), NULL, &d), SL_E_FORMAT,
		"labels of f32");
	put_npy("v-labels.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}",
		"\0\1", 2);
	sl_assert_fails(open_kind("npy", sl_test_path("v.npy"), NULL, &d), SL_E_FORMAT,
		"labels of shape [2] for 3 samples");
}

static sl_status open_and_close(void *ctx)
{
	struct sl_data *d = NULL;

	SL_TRY(open_kind("npy", ctx, NULL, &d));
	sl_data_close(d);
	return SL_OK;
}

static void every_failure_is_survived(void **state)
{
	char path[4096];

	(void)state;
	put_labels("t-labels.npy");
	snprintf(path, sizeof(path), "%s",
		put_npy("t.npy",
			"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1)}",
			(float[]){1, 2, 3}, 12));
	assert_true(sl_torture(open_and_close, path) > 5);
	assert_true(sl_torture_fs(open_and_close, path, EIO) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(all_element_types_are_read),
		SL_TEST(labels_may_be_named),
		SL_TEST(hostile_headers_are_refused),
		SL_TEST(bad_labels_and_values_are_refused),
		SL_TEST(every_failure_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

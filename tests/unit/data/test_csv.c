/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "unit/data/files.h"

static struct sl_data *opened(const char *text)
{
	struct sl_data *d = NULL;

	put_file("set.csv", text, strlen(text));
	sl_assert_ok(open_kind("csv", sl_test_path("set.csv"), NULL, &d));
	return d;
}

/* Sample with label `want`, of a set in which each label comes once. */
static void find_row(struct sl_data *d, int64_t want, float *x)
{
	for (int64_t i = 0; i < sl_data_info(d)->count[SL_SPLIT_TRAIN]; i++) {
		int64_t y = -1;
		struct sl_data_request r = {.first = i, .count = 1};
		sl_assert_ok(sl_data_batch(d, &r, x, &y));
		if (y == want)
			return;
	}
	fail_msg("no row with label %d", (int)want);
}

static void rows_are_read_with_and_without_a_header(void **state)
{
	static const char *const texts[] = {
		"1,2.5,0\n-3e2,.5,1\n7,8,2\n",
		"height,width,label\n1,2.5,0\n-3e2,.5,1\n7,8,2",
		"\xef\xbb\xbf\"a\",\"b,c\",label\r\n1, 2.5 "
		",0\r\n\r\n\"-3e2\",.5,\"1\"\r\n7,8,2\r\n",
	};
	float x[2];

	(void)state;
	for (size_t i = 0; i < SL_COUNT(texts); i++) {
		struct sl_data *d = opened(texts[i]);
		assert_int_equal(sl_data_info(d)->count[SL_SPLIT_TRAIN], 3);
		assert_int_equal(sl_data_info(d)->classes, 3);
		assert_int_equal(sl_data_info(d)->sample.dim[0], 2);
		find_row(d, 1, x);
		assert_true(x[0] == -300.0f && x[1] == 0.5f);
		find_row(d, 0, x);
		assert_true(x[0] == 1.0f && x[1] == 2.5f);
		sl_data_close(d);
	}
}

static void expect(const char *text, size_t len, sl_status code, const char *message)
{
	struct sl_data *d = NULL;

	put_file("bad.csv", text, len);
	sl_assert_fails(open_kind("csv", sl_test_path("bad.csv"),
				&(struct sl_data_opts){.classes = 3}, &d),
		code, message);
	assert_null(d);
}

static void malformed_rows_name_line_and_column(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"", "no row of numbers in 0 bytes"},
		{"a,b,label\n", "no row of numbers"},
		{"1\n", "bad.csv:1: 1 columns"},
		{"1,2,0\n1,0\n", "bad.csv:2: 2 columns, the lines before have 3"},
		{"1,2,0\n1,2,3,0\n", "bad.csv:2: 4 columns"},
		{"1,2,0\n1,,0\n", "bad.csv:2: column 2 is empty"},
		{"1,2,0\n1,nan,0\n", "bad.csv:2: column 2: 'nan' is not a finite number"},
		{"1,2,0\n1e400,1,0\n", "'1e400' is not a finite number"},
		{"1,2,0\n1e39,1,0\n", "'1e39' is not a finite number"},
		{"1,2,0\n0x10,1,0\n", "'0x10' is not"},
		{"1,x,0\n1,2,0\n", "bad.csv:1: column 2: 'x' is not"},
		{"1,2,0\n1,\x01\x7f,0\n", "'?\?' is not"},
		{"1,2,0\n\"1,2,0\n", "bad.csv:2: 1 columns"},
		{"1,2,0\n1,\"2\"x,0\n", "bad.csv:2: column 2: unbalanced quotes"},
		{"1,2,-1\n", "the label (last column) is -1"},
		{"1,2,0.5\n", "is 0.5; expected 0, 1, 2"},
		{"1,2,3\n", "label 3, but the model has 3 classes"},
		{"1,2,1e30\n", "the label (last column) is 1e+30"},
	};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++)
		expect(bad[i].text, strlen(bad[i].text), SL_E_FORMAT, bad[i].message);
	expect("1,2,0\n1,\0,0\n", 12, SL_E_FORMAT, "bad.csv:2: a zero byte");
}

static void a_line_without_end_is_refused(void **state)
{
	size_t len = (1 << 20) + 8192;
	char *text = sl_alloc(len);

	(void)state;
	memset(text, '1', len);
	expect(text, len, SL_E_LIMIT, "bad.csv:1: a line over 1048576 bytes");
	sl_free(text);
}

static void rows_longer_than_a_piece_are_joined(void **state)
{
	struct sl_buf text = SL_BUF_INIT;
	static float x[6000];

	(void)state;
	for (int row = 0; row < 3; row++)
		for (int i = 0; i <= 6000; i++)
			sl_assert_ok(sl_buf_printf(&text, "%d%c",
				i == 6000 ? row : i + row, i == 6000 ? '\n' : ','));
	struct sl_data *d = opened(text.data);
	find_row(d, 2, x);
	for (int i = 0; i < 6000; i++)
		assert_true(x[i] == (float)(i + 2));
	sl_data_close(d);
	sl_buf_finish(&text);
}

static sl_status open_and_close(void *ctx)
{
	struct sl_data *d = NULL;

	SL_TRY(open_kind("csv", ctx, NULL, &d));
	sl_data_close(d);
	return SL_OK;
}

static void every_failure_is_survived(void **state)
{
	char path[4096];

	(void)state;
	snprintf(
		path, sizeof(path), "%s", put_file("torture.csv", "a,b\n1,0\n2,1\n", 12));
	assert_true(sl_torture(open_and_close, path) > 5);
	assert_true(sl_torture_fs(open_and_close, path, ENOSPC) > 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(rows_are_read_with_and_without_a_header),
		SL_TEST(malformed_rows_name_line_and_column),
		SL_TEST(a_line_without_end_is_refused),
		SL_TEST(rows_longer_than_a_piece_are_joined),
		SL_TEST(every_failure_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/harness.h"

/* A file with this header text and n zero bytes of data; returns what opening gives. */
static sl_status open_header(const char *header, size_t n, struct sl_st_file *f)
{
	struct sl_buf b = SL_BUF_INIT;
	size_t len = strlen(header);
	unsigned char prefix[8] = {0};

	for (int i = 0; i < 4; i++)
		prefix[i] = (unsigned char)(len >> (8 * i));
	sl_assert_ok(sl_buf_append(&b, prefix, 8));
	sl_assert_ok(sl_buf_append(&b, header, len));
	for (size_t i = 0; i < n; i++)
		sl_assert_ok(sl_buf_append(&b, "", 1));
	sl_assert_ok(sl_fs_write(sl_test_path("header"), b.data, b.len));
	sl_buf_finish(&b);
	return sl_st_open(sl_test_path("header"), f);
}

static void expect_bad(const char *header, size_t n, sl_status code, const char *message)
{
	struct sl_st_file f;

	sl_assert_fails(open_header(header, n, &f), code, message);
	sl_st_close(&f);
}

static void a_header_in_any_order_is_read(void **state)
{
	struct sl_st_file f;

	(void)state;
	sl_assert_ok(open_header(
		"{ \"b\" : {\"data_offsets\":[4,12],\"shape\":[ 2 , 2 "
		"],\"dtype\":\"F16\"},\n"
		"\"__metadata__\":{\"k\\u00e9\\ud83d\\ude00\":\"v\\n\",\"e\":\"\"},"
		"\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
		"\"none\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[4,4]}}   ",
		12, &f));
	assert_int_equal(f.n_tensors, 3);
	assert_string_equal(f.tensors[0].name, "a");
	assert_string_equal(f.tensors[1].name, "none");
	assert_int_equal(f.tensors[0].dtype, SL_F32);
	assert_int_equal(f.tensors[0].shape.rank, 0);
	const struct sl_st_tensor *b = sl_st_find(&f, "b");
	assert_int_equal(b->dtype, SL_DTYPE_COUNT);
	assert_string_equal(b->dtype_name, "F16");
	assert_int_equal(b->bytes, 8);
	assert_int_equal(b->offset, f.size - 8);
	assert_null(sl_st_find(&f, "c"));
	assert_string_equal(sl_st_meta(&f, "k\xc3\xa9\xf0\x9f\x98\x80"), "v\n");
	assert_null(sl_st_meta(&f, "z"));
	char data[8];
	sl_assert_ok(sl_st_read(&f, b, 2, data, 6));
	sl_assert_fails(sl_st_read(&f, b, 2, data, 7), SL_E_INVALID, "which has 8");
	sl_assert_ok(sl_st_verify(&f));
	sl_st_close(&f);
	sl_assert_ok(open_header("{}", 0, &f));
	sl_st_close(&f);
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"

static void header_lengths_beyond_the_file_are_refused(void **state)
{
	static const uint64_t lengths[] = {7, 11, (uint64_t)1 << 63, UINT64_MAX, 1 << 25};
	unsigned char file[18] = {[8] = '{', [9] = '}'};
	struct sl_st_file f;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(lengths); i++) {
		for (int b = 0; b < 8; b++)
			file[b] = (unsigned char)(lengths[i] >> (8 * b));
		sl_assert_ok(sl_fs_write(
			sl_test_path("len"), file, lengths[i] == 7 ? 10 : 18));
		sl_assert_fails(sl_st_open(sl_test_path("len"), &f), SL_E_FORMAT,
			"len: a header");
		assert_int_equal(f.fd, -1);
	}
	for (size_t len = 0; len < 10; len++) {
		sl_assert_ok(sl_fs_write(sl_test_path("len"), file, len));
		sl_assert_fails(sl_st_open(sl_test_path("len"), &f), SL_E_FORMAT,
			"no safetensors");
	}
	expect_bad("", 8, SL_E_FORMAT, "header byte 0: expected '{'");
}

static const struct {
	const char *header;
	size_t data;
	const char *message;
} malformed[] = {
	{" {}", 0, "header byte 0: expected '{'"},
	{"[]", 0, "expected '{'"},
	{"{} x", 0, "header byte 3: expected nothing after"},
	{"{" A, 4, "expected ',' or '}'"},
	{"{" A ",}", 4, "expected a string"},
	{"{" A "," A "}", 4, "tensor 'a' for the second time"},
	{"{" A ",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
		8, "for the second time"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],"
	 "\"shape\":[1]}}",
		4, "each key once"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "dtype, shape and data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}"
	 "}",
		4, "dtype, shape or data_offsets"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
		"offsets in order"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
		"begins at byte 4 of the data, the one before ends at 0"},
	{"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}", 6,
		"begins at byte 2"},
	{"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}", 12,
		"begins at byte 8"},
	{"{" A "}", 3, "speaks of at least 4 bytes of data, the file holds 3"},
	{"{" A "}", 5, "speaks of 4 bytes of data, the file holds 5"},
	{"{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[4,13]}}", 8,
		"at least 13 bytes"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		"does not take the 4 bytes"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4294967296,"
	 "4294967296],"
	 "\"data_offsets\":[0,0]}}",
		0, "does not take"},
	{"{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
		"a known dtype"},
	{"{\"__metadata__\":{\"a\":1}}", 0, "expected a string"},
	{"{\"__metadata__\":{\"a\":null}}", 0, "expected a string"},
	{"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0,
		"metadata 'a' for the second"},
	{"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ once"},
	{"{\"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
		"a printable name"},
	{"{\"a\\n\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
		"a printable name"},
	{"{\"a\x01\":1}", 0, "without control characters"},
	{"{\"a\x80\":1}", 0, "text in UTF-8"},
	{"{\"a\xc0\xaf\":1}", 0, "text in UTF-8"},
	{"{\"a\xed\xa0\x80\":1}", 0, "text in UTF-8"},
	{"{\"a\xf4\x90\x80\x80\":1}", 0, "text in UTF-8"},
	{"{\"a\\ud800\":1}", 0, "a surrogate pair"},
	{"{\"a\\udc00\":1}", 0, "a surrogate pair"},
	{"{\"a\\ud800\\u0041\":1}", 0, "second half of a surrogate pair"},
	{"{\"a\\u0000\":1}", 0, "not 0000"},
	{"{\"a\\u00g0\":1}", 0, "hexadecimal"},
	{"{\"a\\x41\":1}", 0, "an escape"},
	{"{\"a\\", 0, "an escape"},
	{"{\"a", 0, "the end of a string"},
};

static void malformed_headers_are_refused_with_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < SL_COUNT(malformed); i++)
		expect_bad(malformed[i].header, malformed[i].data, SL_E_FORMAT,
			malformed[i].message);
}

static void odd_numbers_are_refused(void **state)
{
	static const char *const numbers[] = {"1e3", "1E3", "-0", "-1", "+1", "1.5", "01",
		"", "18446744073709551616", "9223372036854775808", "0x1", "null", "[1]",
		"\"1\""};
	char header[200];

	(void)state;
	for (size_t i = 0; i < SL_COUNT(numbers); i++) {
		snprintf(header, sizeof(header),
			"{\"a\":{\"dtype\":\"U8\",\"shape\":[%s,1],\"data_offsets\":[0,1]"
			"}}",
			numbers[i]);
		expect_bad(header, 1, SL_E_FORMAT, "expected");
	}
	expect_bad("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_"
		   "offsets\":[0,1]}}",
		1, SL_E_LIMIT, "over 8 dimensions");
}

static void deep_and_wide_headers_cost_little(void **state)
{
	struct sl_buf b = SL_BUF_INIT;
	long live = sl_alloc_live();

	(void)state;
	sl_assert_ok(sl_buf_puts(&b, "{\"a\":"));
	for (int i = 0; i < 100000; i++)
		sl_assert_ok(sl_buf_puts(&b, "["));
	expect_bad(b.data, 0, SL_E_FORMAT, "header byte 5: expected '{'");
	sl_buf_clear(&b);
	for (int i = 0; i < 66000; i++)
		sl_assert_ok(sl_buf_printf(&b,
			"%c\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]"
			"}",
			i ? ',' : '{', i));
	sl_assert_ok(sl_buf_puts(&b, "}"));
	expect_bad(b.data, 0, SL_E_LIMIT, "over 65536 tensors");
	char name[400];
	memset(name, 'n', sizeof(name));
	name[0] = '{';
	name[1] = '"';
	name[sizeof(name) - 1] = '\0';
	expect_bad(name, 0, SL_E_LIMIT, "a text over 256 bytes");
	sl_buf_finish(&b);
	assert_int_equal(sl_alloc_live(), live);
}

static sl_status open_and_close(void *ctx)
{
	struct sl_st_file f;

	SL_TRY(sl_st_open(ctx, &f));
	sl_st_close(&f);
	return SL_OK;
}

static void every_failure_is_survived(void **state)
{
	struct sl_st_file f;
	char path[4096];

	(void)state;
	sl_assert_ok(open_header("{\"__metadata__\":{\"k\":\"v\"}," A "}", 4, &f));
	sl_st_close(&f);
	snprintf(path, sizeof(path), "%s", sl_test_path("header"));
	assert_true(sl_torture(open_and_close, path) > 8);
	assert_true(sl_torture_fs(open_and_close, path, EIO) > 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_header_in_any_order_is_read),
		SL_TEST(header_lengths_beyond_the_file_are_refused),
		SL_TEST(malformed_headers_are_refused_with_the_place),
		SL_TEST(odd_numbers_are_refused),
		SL_TEST(deep_and_wide_headers_cost_little),
		SL_TEST(every_failure_is_survived),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

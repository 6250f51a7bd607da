/* SPDX-License-Identifier: Apache-2.0 */
#include "model/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/harness.h"

static const struct sl_checkpoint_info info = {
	.model = "mlp:sizes=4-3,dropout=0",
	.optimizer = "adamw",
	.data = "csv:\"odd\\name\".csv",
	.step = (uint64_t)1 << 33,
	.epoch = 7,
	.position = 12345,
	.seed = UINT64_MAX,
};

static const struct sl_st_decl tensors[] = {
	{"fc1.weight", {SL_F32, {2, {3, 4}}}},
	{"empty", {SL_F32, {2, {0, 4}}}},
	{"fc1.bias", {SL_F32, {1, {3}}}},
	{"fc1.weight.m.0", {SL_F32, {1, {6}}}},
	{"step", {SL_I64, {0, {0}}}},
};

static const struct sl_checkpoint_slice slices[] = {
	{"fc1.weight.m.0", {2, {3, 4}}, 6, 6},
};

static const struct sl_checkpoint_new what = {
	.info = &info,
	.tensors = tensors,
	.n_tensors = SL_COUNT(tensors),
	.slices = slices,
	.n_slices = SL_COUNT(slices),
};

#define DATA_BYTES (4 * (12 + 3 + 6) + 8)

static sl_status write_pieces(const char *path, size_t piece)
{
	struct sl_st_writer *w = NULL;
	unsigned char data[DATA_BYTES];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7);
	SL_TRY(sl_checkpoint_create(path, &what, &w));
	for (size_t at = 0; at < sizeof(data); at += piece) {
		size_t len = sizeof(data) - at < piece ? sizeof(data) - at : piece;
		sl_status st = sl_st_write(w, data + at, len);
		if (st != SL_OK) {
			sl_st_cancel(w);
			return st;
		}
	}
	return sl_st_commit(w);
}

static void what_is_written_is_read_back(void **state)
{
	struct sl_st_file f;
	struct sl_checkpoint_info got;
	unsigned char bytes[8];

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 13));
	sl_assert_ok(sl_checkpoint_open(sl_test_path("c"), &f, &got));
	assert_string_equal(got.model, info.model);
	assert_string_equal(got.optimizer, info.optimizer);
	assert_string_equal(got.data, info.data);
	assert_true(got.step == info.step && got.epoch == info.epoch);
	assert_true(got.position == info.position && got.seed == info.seed);
	sl_assert_ok(sl_checkpoint_match(&f, &what, false));
	assert_string_equal(sl_st_meta(&f, "slice.fc1.weight.m.0"), "[3, 4] 6:12");
	const struct sl_st_tensor *bias = sl_st_find(&f, "fc1.bias");
	sl_assert_ok(sl_st_read(&f, bias, 4, bytes, 8));
	assert_int_equal(bytes[0], (unsigned char)((48 + 4) * 7));
	assert_int_equal(bias->offset % 4, 0);
	sl_st_close(&f);
}

static void the_same_input_gives_the_same_bytes(void **state)
{
	struct sl_buf a = SL_BUF_INIT, b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("a"), 1));
	sl_assert_ok(write_pieces(sl_test_path("b"), 1000));
	sl_assert_ok(sl_fs_read(sl_test_path("a"), 8192, &a));
	sl_assert_ok(sl_fs_read(sl_test_path("b"), 8192, &b));
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	sl_buf_finish(&a);
	sl_buf_finish(&b);
}

/* Opens a changed copy; it must be refused. */
static void expect_refused(const char *data, size_t len)
{
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	/* Without the syncs of sl_fs_write: there are thousands. */
	FILE *out = fopen(sl_test_path("bad"), "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	sl_status st = sl_checkpoint_open(sl_test_path("bad"), &f, &got);
	assert_true(st == SL_E_FORMAT || st == SL_E_LIMIT);
}

static void every_flipped_bit_is_found(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	sl_assert_ok(sl_fs_read(sl_test_path("c"), 8192, &b));
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
		expect_refused(b.data, b.len);
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ 1 << bit % 8);
	}
	sl_buf_finish(&b);
}

static void every_cut_is_found(void **state)
{
	struct sl_buf b = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	sl_assert_ok(sl_fs_read(sl_test_path("c"), 8192, &b));
	for (size_t len = 0; len < b.len; len++)
		expect_refused(b.data, len);
	sl_assert_ok(sl_buf_append(&b, "x", 1));
	expect_refused(b.data, b.len);
	sl_buf_finish(&b);
}

static void newer_versions_and_other_files_are_named(void **state)
{
	static const struct sl_st_meta newer[] = {{"sluice.version", "2"}};
	struct sl_st_writer *w = NULL;
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	(void)state;
	sl_assert_ok(sl_st_create(sl_test_path("n"), NULL, 0, newer, 1, &w));
	sl_assert_ok(sl_st_commit(w));
	sl_assert_fails(sl_checkpoint_open(sl_test_path("n"), &f, &got), SL_E_FORMAT,
		"checkpoint version 2, this program reads up to 1");
	sl_assert_ok(sl_st_create(sl_test_path("n"), NULL, 0, NULL, 0, &w));
	sl_assert_ok(sl_st_commit(w));
	sl_assert_fails(sl_checkpoint_open(sl_test_path("n"), &f, &got), SL_E_FORMAT,
		"no checkpoint");
}

/* Matches the file against a changed expectation. */
static void expect_mismatch(const struct sl_checkpoint_new *want, const char *message)
{
	struct sl_st_file f;

	sl_assert_ok(sl_st_open(sl_test_path("c"), &f));
	sl_assert_fails(sl_checkpoint_match(&f, want, false), SL_E_FORMAT, message);
	sl_st_close(&f);
}

static void other_models_and_optimizers_are_refused(void **state)
{
	struct sl_checkpoint_info other = info;
	struct sl_checkpoint_new want = what;
	struct sl_st_decl changed[SL_COUNT(tensors)];
	struct sl_checkpoint_slice slice = slices[0];

	(void)state;
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	other.optimizer = "sgd";
	want.info = &other;
	expect_mismatch(&want, "written with the optimizer adamw, this run has sgd");
	want = what;
	want.n_tensors--;
	expect_mismatch(&want, "tensor 'step' has no place in this model");
	memcpy(changed, tensors, sizeof(tensors));
	want = what;
	want.tensors = changed;
	changed[0].name = "fc9.weight";
	expect_mismatch(&want, "tensor 'fc9.weight' is missing");
	changed[0] = tensors[0];
	changed[0].type.shape = SL_SHAPE(4, 3);
	expect_mismatch(&want, "'fc1.weight' is F32 [3, 4], this model has f32 [4, 3]");
	want = what;
	want.slices = &slice;
	slice.begin = 0;
	expect_mismatch(&want, "is the slice [3, 4] 6:12, expected [3, 4] 0:6");
}

static void weights_alone_may_be_taken(void **state)
{
	struct sl_checkpoint_info other = info;
	struct sl_checkpoint_new want = {
		.info = &other, .tensors = tensors, .n_tensors = 3};
	struct sl_st_file f;

	(void)state;
	other.optimizer = "sgd";
	sl_assert_ok(write_pieces(sl_test_path("c"), 64));
	sl_assert_ok(sl_st_open(sl_test_path("c"), &f));
	sl_assert_ok(sl_checkpoint_match(&f, &want, true));
	sl_st_close(&f);
}

static void wrong_amounts_of_data_leave_no_file(void **state)
{
	struct sl_st_writer *w = NULL;
	char data[DATA_BYTES + 1] = {0};
	struct sl_st_decl twice[] = {tensors[0], tensors[0]};

	(void)state;
	sl_assert_ok(sl_checkpoint_create(sl_test_path("w"), &what, &w));
	sl_assert_fails(
		sl_st_write(w, data, sizeof(data)), SL_E_INVALID, "more data than");
	sl_assert_fails(sl_st_commit(w), SL_E_INVALID, "the tensors hold more");
	sl_assert_ok(sl_checkpoint_create(sl_test_path("w"), &what, &w));
	sl_assert_ok(sl_st_write(w, data, DATA_BYTES - 1));
	sl_assert_fails(sl_st_commit(w), SL_E_INVALID, "the tensors hold more");
	assert_int_equal(access(sl_test_path("w"), F_OK), -1);
	sl_assert_fails(sl_st_create(sl_test_path("w"), twice, 2, NULL, 0, &w),
		SL_E_FORMAT, "for the second time");
}

static void two_writers_leave_one_whole_file(void **state)
{
	struct sl_st_writer *a = NULL, *b = NULL;
	char data[DATA_BYTES] = {0};
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	(void)state;
	sl_assert_ok(sl_checkpoint_create(sl_test_path("two"), &what, &a));
	sl_assert_ok(sl_checkpoint_create(sl_test_path("two"), &what, &b));
	sl_assert_ok(sl_st_write(a, data, 50));
	sl_assert_ok(sl_st_write(b, data, sizeof(data)));
	sl_assert_ok(sl_st_write(a, data + 50, sizeof(data) - 50));
	sl_assert_ok(sl_st_commit(b));
	sl_assert_ok(sl_st_commit(a));
	sl_assert_ok(sl_checkpoint_open(sl_test_path("two"), &f, &got));
	sl_st_close(&f);
}

static sl_status save(void *ctx)
{
	return write_pieces(ctx, 64);
}

static sl_status load(void *ctx)
{
	struct sl_st_file f;
	struct sl_checkpoint_info got;

	SL_TRY(sl_checkpoint_open(ctx, &f, &got));
	sl_status st = sl_checkpoint_match(&f, &what, false);
	sl_st_close(&f);
	return st;
}

static void a_failed_save_keeps_the_old_file(void **state)
{
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s", sl_test_path("old"));
	sl_assert_ok(save(path));
	assert_true(sl_torture(save, path) > 8);
	assert_true(sl_torture_fs(save, path, ENOSPC) > 4);
	for (long n = 1;; n++) {
		sl_fs_fail_at(n, ENOSPC);
		sl_status st = save(path);
		bool failed = sl_fs_failed();
		sl_fs_fail_at(0, 0);
		sl_assert_ok(load(path));
		if (!failed)
			break;
		assert_int_equal(st, SL_E_NOSPACE);
	}
	assert_true(sl_torture(load, path) > 8);
	assert_true(sl_torture_fs(load, path, EIO) > 4);
	sl_assert_fails(save((char[]){"/proc/no/such/folder"}), SL_E_WRITE, "/proc/no");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_written_is_read_back),
		SL_TEST(the_same_input_gives_the_same_bytes),
		SL_TEST(every_flipped_bit_is_found),
		SL_TEST(every_cut_is_found),
		SL_TEST(newer_versions_and_other_files_are_named),
		SL_TEST(other_models_and_optimizers_are_refused),
		SL_TEST(weights_alone_may_be_taken),
		SL_TEST(wrong_amounts_of_data_leave_no_file),
		SL_TEST(two_writers_leave_one_whole_file),
		SL_TEST(a_failed_save_keeps_the_old_file),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/model/sample.h"

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
		"checkpoint version 2, this program reads 1 to 1");
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(what_is_written_is_read_back),
		SL_TEST(the_same_input_gives_the_same_bytes),
		SL_TEST(newer_versions_and_other_files_are_named),
		SL_TEST(other_models_and_optimizers_are_refused),
		SL_TEST(weights_alone_may_be_taken),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

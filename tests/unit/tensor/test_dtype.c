/* SPDX-License-Identifier: Apache-2.0 */
/* Element types. */
#include "harness/harness.h"

#include "sluice/tensor.h"

static void each_type_reads_back_from_its_name(void **state)
{
	(void)state;
	for (int i = 0; i < SL_DTYPE_COUNT; i++) {
		enum sl_dtype back = SL_DTYPE_COUNT;
		sl_assert_ok(sl_dtype_parse(sl_dtype_name((enum sl_dtype)i), &back));
		assert_int_equal(back, i);
	}
}

static void the_upper_case_of_safetensors_is_read(void **state)
{
#define X(name, bytes, text) \
	{ \
		enum sl_dtype got = SL_DTYPE_COUNT; \
		sl_assert_ok(sl_dtype_parse(text, &got)); \
		assert_int_equal(got, SL_##name); \
		assert_int_equal(sl_dtype_bytes(got), bytes); \
	}

	(void)state;
	SL_DTYPE_TABLE(X)
#undef X
}

static void an_unknown_type_is_refused_with_what_exists(void **state)
{
	enum sl_dtype got = SL_U8;

	(void)state;
	sl_assert_fails(sl_dtype_parse("f16", &got), SL_E_DTYPE, "'f16'");
	sl_assert_fails(sl_dtype_parse("", &got), SL_E_DTYPE, "f32");
	assert_int_equal(got, SL_U8);
	assert_string_equal(sl_dtype_name(SL_DTYPE_COUNT), "unknown");
}

static void only_floats_are_floats(void **state)
{
	(void)state;
	assert_true(sl_dtype_is_float(SL_F32));
	assert_true(sl_dtype_is_float(SL_F64));
	assert_true(sl_dtype_is_float(SL_BF16));
	assert_false(sl_dtype_is_float(SL_I32));
	assert_false(sl_dtype_is_float(SL_I64));
	assert_false(sl_dtype_is_float(SL_U8));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_type_reads_back_from_its_name),
		SL_TEST(the_upper_case_of_safetensors_is_read),
		SL_TEST(an_unknown_type_is_refused_with_what_exists),
		SL_TEST(only_floats_are_floats),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

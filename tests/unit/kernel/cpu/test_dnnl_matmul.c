/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "harness/kernel_case.h"
#include "kernel/cpu/dnnl.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_matmul;
extern const struct sl_kernel sl_kernel_dnnl_matmul, sl_kernel_gemm_small, sl_kernel_gemv;

static void need_library(void)
{
	if (!sl_dnnl())
		sl_test_skip("libdnnl.so.2 is not installed");
}

/* [M, K] x [K, N], stored as the attributes say, with or without a bias. */
static void make(struct sl_case *k, const int64_t mnk[3],
	const struct sl_matmul_attr *attr, bool bias)
{
	int64_t m = mnk[0];
	int64_t n = mnk[1];
	int64_t depth = mnk[2];
	const struct sl_shape in[] = {
		attr->trans_a ? SL_SHAPE(depth, m) : SL_SHAPE(m, depth),
		attr->trans_b ? SL_SHAPE(n, depth) : SL_SHAPE(depth, n),
		bias ? SL_SHAPE(n) : (struct sl_shape){.rank = SL_CASE_NONE},
	};

	sl_case_init(k, &sl_op_matmul, attr, in, 3);
}

static double tolerance(int64_t depth)
{
	return 2e-7 * (2 + sqrt((double)depth)) * 2;
}

static void check_all_forms(const struct sl_kernel *kernel, const int64_t mnk[3])
{
	for (int form = 0; form < 8; form++) {
		const struct sl_matmul_attr attr = {
			.trans_a = form & 1, .trans_b = form & 2};
		struct sl_case k;
		make(&k, mnk, &attr, form & 4);
		sl_case_run(&k, kernel, 2, 2);
		assert_true(sl_case_near(&k, tolerance(mnk[2])));
		sl_case_finish(&k);
	}
}

static void the_library_gives_the_reference_for_odd_sizes(void **state)
{
	static const int64_t sizes[][3] = {{1, 1, 1}, {1, 7, 5}, {7, 1, 5}, {3, 5, 1},
		{8, 16, 32}, {17, 33, 65}, {64, 63, 127}, {2, 130, 257}, {100, 10, 84},
		{5, 3, 4096}};

	(void)state;
	need_library();
	for (size_t i = 0; i < SL_COUNT(sizes); i++)
		check_all_forms(&sl_kernel_dnnl_matmul, sizes[i]);
}

static void the_small_kernel_gives_the_reference_for_odd_sizes(void **state)
{
	static const int64_t sizes[][3] = {{1, 1, 1}, {1, 7, 5}, {7, 1, 5}, {3, 5, 1},
		{8, 16, 32}, {17, 33, 65}, {9, 17, 3}, {2, 15, 257}, {5, 3, 4096}};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(sizes); i++)
		check_all_forms(&sl_kernel_gemm_small, sizes[i]);
}

static void products_with_a_vector_give_the_reference(void **state)
{
	static const int64_t sizes[][3] = {{1, 1, 1}, {1, 700, 33}, {700, 1, 33},
		{1, 3, 5000}, {3, 1, 5000}, {1, 1, 2049}, {1, 1300, 130}, {1300, 1, 130}};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(sizes); i++)
		check_all_forms(&sl_kernel_gemv, sizes[i]);
}

static const struct sl_shape batched[][2] = {
	{{3, {4, 6, 5}}, {3, {4, 5, 7}}},
	{{3, {4, 6, 5}}, {2, {5, 7}}},
	{{2, {6, 5}}, {3, {4, 5, 7}}},
	{{4, {2, 3, 6, 5}}, {4, {2, 3, 5, 7}}},
	{{4, {2, 1, 6, 5}}, {4, {1, 3, 5, 7}}},
	{{4, {2, 3, 6, 5}}, {3, {3, 5, 7}}},
	{{4, {2, 3, 6, 5}}, {4, {2, 1, 5, 7}}},
	{{5, {2, 1, 3, 6, 5}}, {5, {1, 4, 3, 5, 7}}},
	{{4, {1, 1, 6, 5}}, {2, {5, 7}}},
};

static void swap_last(struct sl_shape *s)
{
	int64_t last = s->dim[s->rank - 1];

	s->dim[s->rank - 1] = s->dim[s->rank - 2];
	s->dim[s->rank - 2] = last;
}

static void check_batched(const struct sl_kernel *kernel)
{
	for (size_t i = 0; i < SL_COUNT(batched) * 8; i++) {
		const struct sl_matmul_attr attr = {.trans_a = i & 1, .trans_b = i & 2};
		struct sl_shape in[] = {batched[i / 8][0], batched[i / 8][1],
			(i & 4) ? SL_SHAPE(7) : (struct sl_shape){.rank = SL_CASE_NONE}};
		struct sl_case k;
		if (attr.trans_a)
			swap_last(&in[0]);
		if (attr.trans_b)
			swap_last(&in[1]);
		sl_case_init(&k, &sl_op_matmul, &attr, in, 3);
		sl_case_run(&k, kernel, 2, 2);
		assert_true(sl_case_near(&k, 1e-6));
		sl_case_finish(&k);
	}
}

static void batches_that_broadcast_give_the_reference(void **state)
{
	(void)state;
	check_batched(&sl_kernel_gemm_small);
	need_library();
	check_batched(&sl_kernel_dnnl_matmul);
}

static void bits_do_not_depend_on_the_width(void **state)
{
	static const int64_t sizes[][3] = {{16, 16, 40000}, {7, 5, 30000}, {64, 64, 8192},
		{128, 64, 4096}, {200, 300, 2048}, {10, 128, 1500}, {256, 784, 100},
		{33, 17, 65}, {512, 64, 512}, {3, 1000, 700}};

	(void)state;
	need_library();
	for (size_t i = 0; i < SL_COUNT(sizes) * 4; i++) {
		const struct sl_matmul_attr attr = {.trans_a = i & 1, .trans_b = i & 2};
		struct sl_case k;
		make(&k, sizes[i / 4], &attr, false);
		sl_case_same_bits(&k, &sl_kernel_dnnl_matmul, 2);
		sl_case_same_bits(&k, &sl_kernel_dnnl_matmul, 4);
		sl_case_finish(&k);
	}
	const struct sl_matmul_attr plain = {0};
	struct sl_case k;
	make(&k, (int64_t[]){1, 3000, 300}, &plain, true);
	sl_case_same_bits(&k, &sl_kernel_gemv, 2);
	sl_case_finish(&k);
}

/* The library is wrong where it splits the sums of a batch over more threads than
 * batches. */
static void long_sums_of_batches_are_right(void **state)
{
	static const struct sl_shape in[][3] = {
		{{3, {4, 6376, 28}}, {3, {4, 5, 6376}}, {1, {5}}},
		{{3, {2, 2087, 8}}, {2, {4, 2087}}, {1, {4}}},
		{{3, {3, 5991, 8}}, {3, {3, 5, 5991}}, {1, {5}}},
	};
	const struct sl_matmul_attr attr = {.trans_a = true, .trans_b = true};

	(void)state;
	need_library();
	for (size_t i = 0; i < SL_COUNT(in); i++) {
		struct sl_case k;
		sl_case_init(&k, &sl_op_matmul, &attr, in[i], 3);
		for (int width = 1; width <= 8; width *= 2) {
			sl_case_run(&k, &sl_kernel_dnnl_matmul, 16, width);
			assert_true(sl_case_near(&k, 1e-4));
			sl_case_run(&k, &sl_kernel_dnnl_matmul, 4, width);
			assert_true(sl_case_near(&k, 1e-4));
		}
		sl_case_finish(&k);
	}
}

static void check_nan(const struct sl_kernel *kernel, const int64_t mnk[3])
{
	const struct sl_matmul_attr attr = {0};
	struct sl_case k;

	make(&k, mnk, &attr, false);
	k.in[0][0] = NAN;
	k.in[1][mnk[1] > 1] = INFINITY;
	k.in[0][mnk[0] > 1 ? mnk[2] : 0] = mnk[0] > 1 ? 0.0f : NAN; /* 0 x inf */
	sl_case_run(&k, kernel, 2, 2);
	assert_true(sl_case_near(&k, 1e-5));
	sl_case_finish(&k);
}

static void nan_and_infinity_go_through(void **state)
{
	(void)state;
	check_nan(&sl_kernel_gemm_small, (int64_t[]){17, 19, 9});
	check_nan(&sl_kernel_gemv, (int64_t[]){1, 600, 9});
	check_nan(&sl_kernel_gemv, (int64_t[]){600, 1, 9});
	need_library();
	check_nan(&sl_kernel_dnnl_matmul, (int64_t[]){17, 190, 90});
}

static void empty_and_foreign_operands_are_left_to_the_reference(void **state)
{
	const struct sl_matmul_attr attr = {0};
	const struct sl_kernel *kernels[] = {
		&sl_kernel_dnnl_matmul, &sl_kernel_gemm_small, &sl_kernel_gemv};
	static const int64_t empty[][3] = {{4, 5, 0}, {0, 5, 4}, {4, 0, 5}, {1, 5, 0}};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(empty) * SL_COUNT(kernels); i++) {
		struct sl_case k;
		make(&k, empty[i / 3], &attr, false);
		assert_false(kernels[i % 3]->accepts(&k.node));
		sl_case_finish(&k);
	}
	for (size_t i = 0; i < SL_COUNT(kernels); i++) {
		struct sl_case k;
		make(&k, (int64_t[]){1, 3, 2}, &attr, false);
		k.in_type[0].dtype = k.in_type[1].dtype = k.out_type[0].dtype = SL_F64;
		assert_false(kernels[i]->accepts(&k.node));
		sl_case_finish(&k);
	}
}

static sl_status prepare_once(void *ctx)
{
	struct sl_case *k = ctx;
	struct sl_prepared p = {0};

	SL_TRY(sl_kernel_dnnl_matmul.prepare(&k->node, &(struct sl_kernel_env){2}, &p));
	sl_kernel_dnnl_matmul.release(p.state);
	return SL_OK;
}

static void preparing_survives_any_allocation_failing(void **state)
{
	const struct sl_matmul_attr attr = {0};
	struct sl_case k;

	(void)state;
	need_library();
	make(&k, (int64_t[]){64, 64, 64}, &attr, true);
	assert_true(sl_torture(prepare_once, &k) > 0);
	sl_case_finish(&k);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_library_gives_the_reference_for_odd_sizes),
		SL_TEST(the_small_kernel_gives_the_reference_for_odd_sizes),
		SL_TEST(products_with_a_vector_give_the_reference),
		SL_TEST(batches_that_broadcast_give_the_reference),
		SL_TEST(bits_do_not_depend_on_the_width),
		SL_TEST(long_sums_of_batches_are_right),
		SL_TEST(nan_and_infinity_go_through),
		SL_TEST(empty_and_foreign_operands_are_left_to_the_reference),
		SL_TEST(preparing_survives_any_allocation_failing),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

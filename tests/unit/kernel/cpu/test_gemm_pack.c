/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <math.h>

#include "harness/kernel_case.h"
#include "kernel/cpu/gemm_pack.h"
#include "sluice/ops.h"

extern const struct sl_op sl_op_matmul;
extern const struct sl_kernel sl_kernel_packed_any;

static void need_vectors(void)
{
	if (!sl_tile_is_here())
		sl_test_skip("built for a machine without AVX-512");
}

/* [M, K] x [K, N], stored as the bits of form say; bit 4 adds a bias. */
static void make(
	struct sl_case *k, const int64_t mnk[3], struct sl_matmul_attr *attr, int form)
{
	*attr = (struct sl_matmul_attr){.trans_a = form & 1, .trans_b = form & 2};
	const struct sl_shape in[] = {
		attr->trans_a ? SL_SHAPE(mnk[2], mnk[0]) : SL_SHAPE(mnk[0], mnk[2]),
		attr->trans_b ? SL_SHAPE(mnk[1], mnk[2]) : SL_SHAPE(mnk[2], mnk[1]),
		form & 4 ? SL_SHAPE(mnk[1]) : (struct sl_shape){.rank = SL_CASE_NONE},
	};

	sl_case_init(k, &sl_op_matmul, attr, in, 3);
}

static void check(const int64_t mnk[3], int form, int threads)
{
	struct sl_matmul_attr attr;
	struct sl_case k;

	make(&k, mnk, &attr, form);
	sl_case_run(&k, &sl_kernel_packed_any, threads, threads);
	assert_true(sl_case_near(&k, 1e-6 * (2 + sqrt((double)mnk[2]))));
	sl_case_finish(&k);
}

static void sizes_around_the_edges_of_tiles_give_the_reference(void **state)
{
	static const int64_t edges[] = {
		1, 2, 13, 14, 15, 16, 17, 27, 28, 31, 32, 33, 47, 48, 49, 64, 70};

	(void)state;
	need_vectors();
	for (size_t i = 0; i < SL_COUNT(edges) * SL_COUNT(edges); i++) {
		int64_t mnk[] = {edges[i / SL_COUNT(edges)], edges[i % SL_COUNT(edges)],
			1 + (int64_t)(i * 7 % 70)};
		for (int form = 0; form < 8; form++)
			check(mnk, form, 1 + (int)(i % 3));
	}
}

static void several_blocks_and_tasks_give_the_reference(void **state)
{
	/* Deep ones, operands packed whole from either side, many tasks. */
	static const int64_t sizes[][3] = {{16, 40, 1100}, {150, 130, 513},
		{130, 700, 520}, {700, 130, 520}, {300, 300, 300}, {5, 900, 70},
		{900, 5, 70}, {1, 1, 5000}};

	(void)state;
	need_vectors();
	for (size_t i = 0; i < SL_COUNT(sizes); i++)
		for (int form = 0; form < 8; form++)
			check(sizes[i], form, 2 + form % 2);
}

static void batches_that_broadcast_give_the_reference(void **state)
{
	static const struct sl_shape batched[][2] = {
		{{3, {4, 40, 33}}, {3, {4, 33, 50}}},
		{{2, {40, 33}}, {3, {4, 33, 50}}},
		{{3, {4, 40, 33}}, {2, {33, 50}}},
		{{4, {2, 3, 17, 20}}, {3, {3, 20, 7}}},
		{{5, {2, 1, 3, 17, 20}}, {5, {1, 4, 3, 20, 7}}},
	};

	(void)state;
	need_vectors();
	for (size_t i = 0; i < SL_COUNT(batched); i++) {
		const struct sl_matmul_attr attr = {0};
		const struct sl_shape *b = batched[i];
		struct sl_case k;
		sl_case_init(&k, &sl_op_matmul, &attr,
			(struct sl_shape[]){
				b[0], b[1], SL_SHAPE(b[1].dim[b[1].rank - 1])},
			3);
		sl_case_run(&k, &sl_kernel_packed_any, 2, 2);
		assert_true(sl_case_near(&k, 5e-6));
		sl_case_same_bits(&k, &sl_kernel_packed_any, 2);
		sl_case_finish(&k);
	}
}

static void bits_do_not_depend_on_the_width(void **state)
{
	static const int64_t sizes[][3] = {{150, 130, 513}, {130, 700, 520},
		{700, 130, 520}, {33, 17, 65}, {2, 900, 70}};

	(void)state;
	need_vectors();
	for (size_t i = 0; i < SL_COUNT(sizes) * 4; i++) {
		struct sl_matmul_attr attr;
		struct sl_case k;
		make(&k, sizes[i / 4], &attr, (int)(i % 4));
		sl_case_same_bits(&k, &sl_kernel_packed_any, 2);
		sl_case_same_bits(&k, &sl_kernel_packed_any, 4);
		sl_case_finish(&k);
	}
}

/* Rows of a and columns of b with infinities and NaN touch their own rows and columns of
 * y, and zeros that fill up panels touch none. */
static void nan_and_infinity_go_where_the_reference_lets_them_go(void **state)
{
	const int64_t mnk[] = {31, 45, 70};

	(void)state;
	need_vectors();
	for (int form = 0; form < 4; form++) {
		struct sl_matmul_attr attr;
		struct sl_case k;
		make(&k, mnk, &attr, form);
		k.in[0][attr.trans_a ? 5 : 5 * 70] = INFINITY;
		k.in[0][attr.trans_a ? 69 * 31 + 30 : 30 * 70 + 69] = NAN;
		k.in[1][attr.trans_b ? 44 * 70 : 44] = -INFINITY;
		sl_case_run(&k, &sl_kernel_packed_any, 2, 2);
		assert_true(sl_case_near(&k, 5e-6));
		assert_true(isnan(k.got[0][30 * 45]) != 0);
		assert_true(isnan(k.got[0][29 * 45 + 43]) == 0);
		sl_case_finish(&k);
	}
}

/* y += a b through jumps: rows of k and columns of y in runs of 10 with gaps. */
static void axes_that_jump_are_followed(void **state)
{
	enum { M = 20, N = 50, K = 30, SPAN = 10, JUMP = 300 };
	static float a[M * K], b[N / SPAN * JUMP + SPAN * K];
	static float y[N / SPAN * JUMP * 2], work[1 << 16];
	static float bias[M];
	const struct sl_pack_form form = {
		.m = M,
		.n = N,
		.k = K,
		.a_row = {1, SL_PACK_PLAIN, 0},
		.a_k = {M, SL_PACK_PLAIN, 0},
		.b_col = {1, SPAN, JUMP},
		.b_k = {SPAN, SL_PACK_PLAIN, 0},
		.y_row = SPAN,
		.y_col = {1, SPAN, JUMP},
	};
	struct sl_pack p = sl_pack_of(&form, NULL, 2);

	(void)state;
	need_vectors();
	assert_true(sl_pack_workspace(&p) <= sizeof(work) - 64);
	for (int i = 0; i < M * K; i++)
		a[i] = (float)(i % 7) - 3;
	for (size_t i = 0; i < SL_COUNT(b); i++)
		b[i] = (float)(i % 5) - 2;
	for (size_t i = 0; i < SL_COUNT(y); i++)
		y[i] = 1;
	for (int i = 0; i < M; i++)
		bias[i] = (float)i;
	float *at = work + (64 - (uintptr_t)work % 64) / sizeof(float);
	sl_pack_run(&p, &(struct sl_pack_io){
				.a = a,
				.b = b,
				.y = y,
				.row_bias = bias,
				.accumulate = true,
				.workspace = at,
			});
	for (int i = 0; i < M * N; i++) {
		int row = i / N;
		int col = i % N / SPAN * JUMP + i % N % SPAN;
		float want = 1 + (float)row;
		for (int k = 0; k < K; k++)
			want += a[k * M + row] * b[col + k * SPAN];
		assert_true(y[row * SPAN + col] == want);
	}
	assert_true(y[M * SPAN] == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_around_the_edges_of_tiles_give_the_reference),
		cmocka_unit_test(several_blocks_and_tasks_give_the_reference),
		cmocka_unit_test(batches_that_broadcast_give_the_reference),
		cmocka_unit_test(bits_do_not_depend_on_the_width),
		cmocka_unit_test(nan_and_infinity_go_where_the_reference_lets_them_go),
		cmocka_unit_test(axes_that_jump_are_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

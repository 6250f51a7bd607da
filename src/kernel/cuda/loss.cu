/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy with its gradient, and how many rows are right: a block a row, which it
 * reads once for the sum of exponentials; the gradient reads it once more.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/softmax.cuh"

struct labels {
	const void *data;
	int is_i64, has_ignore;
	i64 ignore, classes;
};

__device__ inline i64 label_at(const labels &l, i64 row)
{
	return l.is_i64 ? ((const i64 *)l.data)[row] : ((const int *)l.data)[row];
}

__device__ inline bool is_counted(const labels &l, i64 label)
{
	return !(l.has_ignore && label == l.ignore) && label >= 0 && label < l.classes;
}

struct least {
	__device__ i64 operator()(i64 a, i64 b) const
	{
		return a < b ? a : b;
	}
};

/* By one block: counts the rows that are not ignored; reports the first wrong label. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX) sl_cu_label_count(const void *label, int is_i64, i64 rows,
	i64 classes, int has_ignore, i64 ignore, i64 *count, sl_cuda_report *report)
{
	SL_SHARED(i64, part, WARP);
	labels l = {label, is_i64, has_ignore, ignore, classes};
	i64 counted = 0, bad = rows;

	for (i64 r = threadIdx.x; r < rows; r += blockDim.x) {
		i64 v = label_at(l, r);
		bool ok = is_counted(l, v);
		counted += ok;
		if (!ok && !(has_ignore && v == ignore) && r < bad)
			bad = r;
	}
	counted = block_all(counted, plus(), 0LL, part);
	bad = block_all(bad, least(), rows, part);
	if (threadIdx.x > 0)
		return;
	*count = counted;
	if (bad == rows || report->fault)
		return;
	report->value = label_at(l, bad);
	report->at = bad;
	report->bound = classes;
	report->fault = SL_CUDA_FAULT_LABEL;
}

/* -log of the label's probability for each row; 0 where the label is ignored. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX) sl_cu_cross_entropy_rows(const float *x, const void *label,
	int is_i64, i64 rows, i64 classes, int has_ignore, i64 ignore, double *loss)
{
	SL_SHARED(exp_sum, part, WARP);
	labels l = {label, is_i64, has_ignore, ignore, classes};

	for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
		i64 v = label_at(l, r);
		bool counted = is_counted(l, v); /* the same for the whole block */
		exp_sum s = exp_none();
		if (counted)
			s = row_exp_sum(x + r * classes, classes, part);
		if (threadIdx.x == 0)
			loss[r] = counted ? s.top - x[r * classes + v] + logf(s.sum) : 0;
	}
}

/* The mean over counted rows, by one block; no row: 0/0. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX)
	sl_cu_cross_entropy_mean(const double *loss, i64 rows, const i64 *count, float *y)
{
	SL_SHARED(double, part, WARP);
	double sum = 0;

	for (i64 r = threadIdx.x; r < rows; r += blockDim.x)
		sum += loss[r];
	sum = block_all(sum, plus(), 0.0, part);
	if (threadIdx.x == 0)
		y[0] = (float)(sum / (double)*count);
}

/* dx may lie where x lies: each thread reads what it writes, after the block's sum. */
SL_ENTRY SL_BOUNDS(BLOCK_MAX) sl_cu_cross_entropy_dx(const float *x, const void *label,
	int is_i64, i64 rows, i64 classes, int has_ignore, i64 ignore, const i64 *count,
	const float *dloss, float *dx)
{
	SL_SHARED(exp_sum, part, WARP);
	labels l = {label, is_i64, has_ignore, ignore, classes};
	float scale = dloss[0] / (float)*count;

	for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
		const float *row = x + r * classes;
		i64 v = label_at(l, r);
		bool counted = is_counted(l, v);
		exp_sum s = exp_none();
		if (counted)
			s = row_exp_sum(row, classes, part);
		for (i64 j = threadIdx.x; j < classes; j += blockDim.x) {
			float p = counted ? expf(row[j] - s.top) / s.sum : 0;
			dx[r * classes + j] = counted ? (p - (j == v)) * scale : 0;
		}
	}
}

/* The first largest element; NaN is larger than any number, and the first one wins. */
struct best {
	float v;
	int i;
};

struct better {
	__device__ static bool wins(best a, best b)
	{
		bool nan_a = a.v != a.v, nan_b = b.v != b.v;

		if (nan_a != nan_b)
			return nan_a;
		if (nan_a || a.v == b.v)
			return a.i < b.i;
		return a.v > b.v;
	}
	__device__ best operator()(best a, best b) const
	{
		return wins(a, b) ? a : b;
	}
};

template <> __device__ inline best from_lane(best v, int mask)
{
	return {__shfl_xor_sync(ALL_LANES, v.v, mask),
		__shfl_xor_sync(ALL_LANES, v.i, mask)};
}

/* right[row]: whether its first largest logit is the label. A warp a row. */
template <class T>
__device__ void correct_rows(const T *x, const labels &l, i64 rows, double *right)
{
	for (i64 r = (i64)blockIdx.x * blockDim.y + threadIdx.y; r < rows;
		r += (i64)gridDim.x * blockDim.y) {
		best b = {-INF_F, (int)l.classes};
		for (i64 j = threadIdx.x; j < l.classes; j += WARP)
			b = better()(best{get(x[r * l.classes + j]), (int)j}, b);
		b = warp_all(b, better());
		if (threadIdx.x == 0)
			right[r] = b.i == label_at(l, r);
	}
}

SL_ENTRY sl_cu_correct_rows_f32(const float *x, const void *label, int is_i64, i64 rows,
	i64 classes, double *right)
{
	correct_rows(x, labels{label, is_i64, 0, 0, classes}, rows, right);
}

SL_ENTRY sl_cu_correct_rows_bf16(const bf16 *x, const void *label, int is_i64, i64 rows,
	i64 classes, double *right)
{
	correct_rows(x, labels{label, is_i64, 0, 0, classes}, rows, right);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast: the same values as another element type. Float to integer truncates towards zero
 * and saturates, NaN gives 0; integer to integer keeps the low bits.
 */
#include "kernel/cuda/cuda.cuh"

/* Numbers of element types as in sluice/tensor.h; device code knows no f64 values. */
enum { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_I64, TYPE_U8, TYPE_BF16 };

__device__ inline i64 saturate(double v, double low, double high)
{
	if (v != v)
		return 0;
	if (v <= low)
		return (i64)low;
	/* 2^63 - 1 is no double. */
	if (v >= high)
		return high >= 9223372036854775808.0 ? 0x7fffffffffffffffLL : (i64)high;
	return (i64)v;
}

__device__ inline i64 whole_of(const void *x, int type, i64 i)
{
	if (type == TYPE_I32)
		return ((const int *)x)[i];
	return type == TYPE_I64 ? ((const i64 *)x)[i] : ((const unsigned char *)x)[i];
}

__device__ inline double float_of(const void *x, int type, i64 i)
{
	if (type == TYPE_F32)
		return ((const float *)x)[i];
	if (type == TYPE_F64)
		return ((const double *)x)[i];
	return type == TYPE_BF16 ? get(((const bf16 *)x)[i])
				 : (double)whole_of(x, type, i);
}

__device__ inline bool is_float(int type)
{
	return type == TYPE_F32 || type == TYPE_F64 || type == TYPE_BF16;
}

__device__ inline void put_float(void *y, int type, i64 i, double v)
{
	if (type == TYPE_F64)
		((double *)y)[i] = v;
	else if (type == TYPE_F32)
		((float *)y)[i] = (float)v;
	else
		put(&((bf16 *)y)[i], (float)v);
}

__device__ inline void put_whole(void *y, int type, i64 i, i64 v)
{
	if (type == TYPE_I64)
		((i64 *)y)[i] = v;
	else if (type == TYPE_I32)
		((int *)y)[i] = (int)(u32)(u64)v;
	else
		((unsigned char *)y)[i] = (unsigned char)v;
}

__device__ inline i64 rounded(double v, int type)
{
	if (type == TYPE_I32)
		return saturate(v, -2147483648.0, 2147483647.0);
	if (type == TYPE_U8)
		return saturate(v, 0, 255);
	return saturate(v, -9223372036854775808.0, 9223372036854775808.0);
}

/* Any pair of types. */
SL_ENTRY sl_cu_cast(const void *x, void *y, i64 n, int from, int to)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		if (is_float(to))
			put_float(y, to, i, float_of(x, from, i));
		else if (is_float(from))
			put_whole(y, to, i, rounded(float_of(x, from, i), to));
		else
			put_whole(y, to, i, whole_of(x, from, i));
	}
}

/* The pair that mixed precision lives on. A pack of bf16 is two of f32. */
SL_ENTRY sl_cu_narrow(const float *x, bf16 *y, i64 n)
{
	i64 packs = is_wide(x, y) ? n / 8 : 0;

	for (i64 i = thread_at(); i < packs; i += thread_step()) {
		pack<float> low = ((const pack<float> *)x)[2 * i];
		pack<float> high = ((const pack<float> *)x)[2 * i + 1];
		pack<bf16> v;
		for (int k = 0; k < 4; k++) {
			put(&v.v[k], low.v[k]);
			put(&v.v[k + 4], high.v[k]);
		}
		((pack<bf16> *)y)[i] = v;
	}
	for (i64 i = packs * 8 + thread_at(); i < n; i += thread_step())
		put(&y[i], x[i]);
}

SL_ENTRY sl_cu_widen(const bf16 *x, float *y, i64 n)
{
	i64 packs = is_wide(x, y) ? n / 8 : 0;

	for (i64 i = thread_at(); i < packs; i += thread_step()) {
		pack<bf16> v = ((const pack<bf16> *)x)[i];
		pack<float> low, high;
		for (int k = 0; k < 4; k++) {
			low.v[k] = get(v.v[k]);
			high.v[k] = get(v.v[k + 4]);
		}
		((pack<float> *)y)[2 * i] = low;
		((pack<float> *)y)[2 * i + 1] = high;
	}
	for (i64 i = packs * 8 + thread_at(); i < n; i += thread_step())
		y[i] = get(x[i]);
}

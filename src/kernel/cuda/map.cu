/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that go element by element over one or two operands of one shape: memory is
 * all that they wait for, so that each thread moves 16 bytes at a time where it can.
 */
#include "kernel/cuda/cuda.cuh"

/* y may be x: each element is read by the thread that writes it, before. */
template <class T, class F> __device__ void map1(const T *x, T *y, i64 n, F f)
{
	i64 packs = is_wide(x, y) ? n / pack<T>::n : 0;

	for (i64 i = thread_at(); i < packs; i += thread_step()) {
		pack<T> v = ((const pack<T> *)x)[i];
		for (int k = 0; k < pack<T>::n; k++)
			put(&v.v[k], f(get(v.v[k])));
		((pack<T> *)y)[i] = v;
	}
	for (i64 i = packs * pack<T>::n + thread_at(); i < n; i += thread_step())
		put(&y[i], f(get(x[i])));
}

template <class T, class F> __device__ void map2(const T *a, const T *b, T *y, i64 n, F f)
{
	i64 packs = is_wide(a, b, y) ? n / pack<T>::n : 0;

	for (i64 i = thread_at(); i < packs; i += thread_step()) {
		pack<T> v = ((const pack<T> *)a)[i];
		pack<T> w = ((const pack<T> *)b)[i];
		for (int k = 0; k < pack<T>::n; k++)
			put(&v.v[k], f(get(v.v[k]), get(w.v[k])));
		((pack<T> *)y)[i] = v;
	}
	for (i64 i = packs * pack<T>::n + thread_at(); i < n; i += thread_step())
		put(&y[i], f(get(a[i]), get(b[i])));
}

__device__ inline float phi_at(float x) /* of the normal distribution, summed */
{
	return 0.5f * erfcf(-x * 0.70710678118654752f);
}

__device__ inline float gelu_dx_at(float x, float dy)
{
	return dy * (phi_at(x) + x * 0.39894228040143268f * expf(-0.5f * x * x));
}

#define SQRT_2_OVER_PI 0.79788456080286536f
#define GELU_CUBIC 0.044715f

__device__ inline float gelu_tanh_of(float x)
{
	return tanhf(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
}

__device__ inline float gelu_tanh_dx_at(float x, float dy)
{
	float t = gelu_tanh_of(x);
	float du = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x);

	return dy * 0.5f * (1 + t + x * (1 - t * t) * du);
}

__device__ inline float sigmoid_at(float x)
{
	return 1 / (1 + expf(-x));
}

__device__ inline float silu_dx_at(float x, float dy)
{
	float s = sigmoid_at(x);

	return dy * s * (1 + x * (1 - s));
}

/* Zero first, so that NaN passes. */
#define MAP1(name, expression) \
	SL_ENTRY sl_cu_##name##_f32(const float *x, float *y, i64 n) \
	{ \
		map1(x, y, n, [](float x) { return expression; }); \
	} \
	SL_ENTRY sl_cu_##name##_bf16(const bf16 *x, bf16 *y, i64 n) \
	{ \
		map1(x, y, n, [](float x) { return expression; }); \
	}

MAP1(relu, x <= 0 ? 0 : x)
MAP1(relu6, x >= 6 ? 6 : x <= 0 ? 0 : x)
MAP1(gelu, x *phi_at(x))
MAP1(gelu_tanh, 0.5f * x * (1 + gelu_tanh_of(x)))
MAP1(tanh, tanhf(x))
MAP1(sigmoid, sigmoid_at(x))
MAP1(silu, x / (1 + expf(-x)))
MAP1(sqrt, sqrtf(x))
MAP1(exp, expf(x))
MAP1(log, logf(x))

/* s: the value that the gradient is computed from. */
#define MAP2(name, a, b, expression) \
	SL_ENTRY sl_cu_##name##_f32(const float *x, const float *z, float *y, i64 n) \
	{ \
		map2(x, z, y, n, [](float a, float b) { return expression; }); \
	} \
	SL_ENTRY sl_cu_##name##_bf16(const bf16 *x, const bf16 *z, bf16 *y, i64 n) \
	{ \
		map2(x, z, y, n, [](float a, float b) { return expression; }); \
	}

MAP2(relu_dx, s, dy, s <= 0 ? 0 : dy)
MAP2(relu6_dx, s, dy, s <= 0 || s >= 6 ? 0 : dy)
MAP2(gelu_dx, s, dy, gelu_dx_at(s, dy))
MAP2(gelu_tanh_dx, s, dy, gelu_tanh_dx_at(s, dy))
MAP2(tanh_dx, s, dy, dy *(1 - s * s))
MAP2(sigmoid_dx, s, dy, dy *s *(1 - s))
MAP2(silu_dx, s, dy, silu_dx_at(s, dy))
MAP2(accumulate, a, b, a + b)
/* Operands of one shape; else broadcast.cu. */
MAP2(add, a, b, a + b)
MAP2(sub, a, b, a - b)
MAP2(mul, a, b, a *b)
MAP2(div, a, b, a / b)

SL_ENTRY sl_cu_affine_f32(const float *x, float *y, i64 n, float scale, float shift)
{
	map1(x, y, n, [=](float x) { return fmaf(scale, x, shift); });
}

SL_ENTRY sl_cu_affine_bf16(const bf16 *x, bf16 *y, i64 n, float scale, float shift)
{
	map1(x, y, n, [=](float x) { return fmaf(scale, x, shift); });
}

/* dloss and the count make one factor: 2 dloss / n. */
SL_ENTRY sl_cu_mse_dx_f32(
	const float *x, const float *target, const float *dloss, float *y, i64 n)
{
	float scale = 2 * dloss[0] / (float)n;

	map2(x, target, y, n, [=](float a, float b) { return scale * (a - b); });
}

/*
 * Dropout: thread i makes the four words of one block of numbers and serves the elements
 * that they belong to, base + e in [4 block, 4 block + 4).
 */
template <class T>
__device__ void dropout(
	const T *x, T *y, i64 n, philox_key key, u64 base, u32 from, float scale)
{
	u64 first = base / 4;
	i64 blocks = (i64)((base + (u64)n + 3) / 4 - first);

	for (i64 i = thread_at(); i < blocks; i += thread_step()) {
		four_words word = philox(key, first + (u64)i);
		for (int k = 0; k < 4; k++) {
			i64 e = (i64)((first + (u64)i) * 4 + (u64)k - base);
			if (e >= 0 && e < n)
				put(&y[e],
					word.v[k] >> 8 >= from ? get(x[e]) * scale : 0);
		}
	}
}

SL_ENTRY sl_cu_dropout_f32(const float *x, float *y, i64 n, u64 seed, u32 stream,
	u32 step, u64 base, u32 from, float scale)
{
	dropout(x, y, n, philox_key{seed, stream, step}, base, from, scale);
}

SL_ENTRY sl_cu_dropout_bf16(const bf16 *x, bf16 *y, i64 n, u64 seed, u32 stream, u32 step,
	u64 base, u32 from, float scale)
{
	dropout(x, y, n, philox_key{seed, stream, step}, base, from, scale);
}

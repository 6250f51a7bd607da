/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution and its gradients as matrix products whose operands are read from images
 * and weights in place (nothing is unfolded in memory). blockIdx.z is the group; for the
 * weights' gradient, whose sums go over all images, also the part of the sum, and the
 * parts are added in order afterwards. Padding is multiplied as zeros.
 *
 * Indices are 32-bit: kernels accept tensors below 2^31 elements.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/gemm.cuh"

#define CONV_TILE 64
#define CONV_EACH 4
#define CONV_ROW ((i64)blockIdx.y * CONV_TILE)

/* Sizes as the device divides by them. */
struct geom {
	int c, h, w, o, cg, og, kh, kw, oh, ow;
	int stride[2], pad[2], dilation[2];

	__device__ explicit geom(const sl_cuda_conv &p)
	    : c((int)p.c), h((int)p.h), w((int)p.w), o((int)p.o), cg((int)p.cg),
	      og((int)p.og), kh((int)p.kh), kw((int)p.kw), oh((int)p.oh), ow((int)p.ow)
	{
		for (int i = 0; i < 2; i++) {
			stride[i] = (int)p.stride[i];
			pad[i] = (int)p.pad[i];
			dilation[i] = (int)p.dilation[i];
		}
	}
};

/* The input that output (oh, ow) reads with tap t of channel ci, or 0. */
template <class T>
__device__ inline float image_at(
	const T *x, const geom &g, int n, int channel, int o, int tap)
{
	int kh = tap / g.kw, kw = tap - kh * g.kw;
	int oh = o / g.ow, ow = o - oh * g.ow;
	int i = oh * g.stride[0] - g.pad[0] + kh * g.dilation[0];
	int j = ow * g.stride[1] - g.pad[1] + kw * g.dilation[1];

	if (i < 0 || i >= g.h || j < 0 || j >= g.w)
		return 0;
	return get(x[((n * g.c + channel) * g.h + i) * g.w + j]);
}

/* Forward: rows are output channels, columns outputs of all images, k input taps. */
struct weights_in {
	const float *w; /* of the group */
	int depth;
	bool fast_k;

	__device__ float operator()(i64 o, i64 k) const
	{
		return w[(int)o * depth + (int)k];
	}
};

template <class T> struct images_in {
	const T *x;
	geom g;
	int first; /* input channel of the group */
	bool fast_k;

	__device__ float operator()(i64 column, i64 k) const
	{
		int area = g.oh * g.ow, taps = g.kh * g.kw;
		int n = (int)column / area, ci = (int)k / taps;
		return image_at(
			x, g, n, first + ci, (int)column - n * area, (int)k - ci * taps);
	}
};

template <class T> struct images_out {
	T *y;
	const float *bias;
	int area, channels, first;

	__device__ void operator()(i64 row, i64 column, float sum) const
	{
		int n = (int)column / area, channel = first + (int)row;
		int at = (n * channels + channel) * area + (int)column - n * area;
		put(&y[at], bias ? sum + bias[channel] : sum);
	}
};

template <class T>
__device__ void conv(const T *x, const float *w, const float *bias, T *y,
	const sl_cuda_conv &p, pack<float> *a_tile, pack<float> *b_tile)
{
	geom g(p);
	int group = blockIdx.z, depth = g.cg * g.kh * g.kw;
	weights_in fa = {w + (i64)group * g.og * depth, depth, true};
	images_in<T> fb = {x, g, group * g.cg, false};
	images_out<T> store = {y, bias, g.oh * g.ow, g.o, group * g.og};

	tile_gemm<CONV_TILE, CONV_TILE, CONV_EACH, CONV_EACH>(fa, fb, store, CONV_ROW,
		g.og, p.n * g.oh * g.ow, 0, depth, a_tile, b_tile);
}

/* dx: rows are input channels, columns inputs of all images, k taps of output channels.
 */
struct weights_back {
	const float *w;
	int taps, cg;
	bool fast_k;

	__device__ float operator()(i64 c, i64 k) const
	{
		int o = (int)k / taps, tap = (int)k - o * taps;
		return w[(o * cg + (int)c) * taps + tap];
	}
};

/* The output whose tap k reads input i; -1 if there is none. */
__device__ inline int reader_of(const geom &g, int axis, int i, int k)
{
	int from = i + g.pad[axis] - k * g.dilation[axis];
	int at = from / g.stride[axis];

	if (from < 0 || from != at * g.stride[axis] || at >= (axis ? g.ow : g.oh))
		return -1;
	return at;
}

template <class T> struct flows_in {
	const T *dy;
	geom g;
	int first; /* output channel of the group */
	bool fast_k;

	__device__ float operator()(i64 column, i64 k) const
	{
		int area = g.h * g.w, taps = g.kh * g.kw;
		int n = (int)column / area, rest = (int)column - n * area;
		int i = rest / g.w, j = rest - i * g.w;
		int o = (int)k / taps, tap = (int)k - o * taps;
		int kh = tap / g.kw, kw = tap - kh * g.kw;
		int oh = reader_of(g, 0, i, kh), ow = reader_of(g, 1, j, kw);

		if (oh < 0 || ow < 0)
			return 0;
		return get(dy[((n * g.o + first + o) * g.oh + oh) * g.ow + ow]);
	}
};

template <class T>
__device__ void conv_dx(const T *dy, const float *w, T *dx, const sl_cuda_conv &p,
	pack<float> *a_tile, pack<float> *b_tile)
{
	geom g(p);
	int group = blockIdx.z, taps = g.kh * g.kw;
	weights_back fa = {w + (i64)group * g.og * g.cg * taps, taps, g.cg, false};
	flows_in<T> fb = {dy, g, group * g.og, false};
	images_out<T> store = {dx, nullptr, g.h * g.w, g.c, group * g.cg};

	tile_gemm<CONV_TILE, CONV_TILE, CONV_EACH, CONV_EACH>(fa, fb, store, CONV_ROW,
		g.cg, p.n * g.h * g.w, 0, (i64)g.og * taps, a_tile, b_tile);
}

/* dw: rows are output channels, columns input taps, k outputs of all images. */
template <class T> struct flows_along {
	const T *dy;
	int area, channels, first;
	bool fast_k;

	__device__ float operator()(i64 o, i64 k) const
	{
		int n = (int)k / area;
		int at = (n * channels + first + (int)o) * area + (int)k - n * area;
		return get(dy[at]);
	}
};

template <class T> struct images_along {
	const T *x;
	geom g;
	int first;
	bool fast_k;

	__device__ float operator()(i64 column, i64 k) const
	{
		int area = g.oh * g.ow, taps = g.kh * g.kw;
		int n = (int)k / area, ci = (int)column / taps;
		return image_at(
			x, g, n, first + ci, (int)k - n * area, (int)column - ci * taps);
	}
};

struct weights_out {
	float *dw;
	int depth;

	__device__ void operator()(i64 row, i64 column, float sum) const
	{
		dw[(int)row * depth + (int)column] = sum;
	}
};

/* part: [splits][o][cg kh kw]; split s sums outputs [s size, (s + 1) size). */
template <class T>
__device__ void conv_dw(const T *x, const T *dy, float *part, const sl_cuda_conv &p,
	i64 splits, i64 size, pack<float> *a_tile, pack<float> *b_tile)
{
	geom g(p);
	int group = (int)(blockIdx.z / splits), split = (int)(blockIdx.z % splits);
	int depth = g.cg * g.kh * g.kw;
	i64 all = p.n * g.oh * g.ow;
	i64 end = (split + 1) * size < all ? (split + 1) * size : all;
	flows_along<T> fa = {dy, g.oh * g.ow, g.o, group * g.og, true};
	images_along<T> fb = {x, g, group * g.cg, true};
	weights_out store = {part + ((i64)split * g.o + group * g.og) * depth, depth};

	tile_gemm<CONV_TILE, CONV_TILE, CONV_EACH, CONV_EACH>(
		fa, fb, store, CONV_ROW, g.og, depth, split * size, end, a_tile, b_tile);
}

#define CONV(T, kind) \
	SL_ENTRY SL_BOUNDS(GEMM_THREADS) sl_cu_conv_##kind( \
		const T *x, const float *w, const float *bias, T *y, sl_cuda_conv p) \
	{ \
		SL_SHARED(pack<float>, a_tile, GEMM_PACKS(CONV_TILE)); \
		SL_SHARED(pack<float>, b_tile, GEMM_PACKS(CONV_TILE)); \
		conv(x, w, bias, y, p, a_tile, b_tile); \
	} \
	SL_ENTRY SL_BOUNDS(GEMM_THREADS) \
		sl_cu_conv_dx_##kind(const T *dy, const float *w, T *dx, sl_cuda_conv p) \
	{ \
		SL_SHARED(pack<float>, a_tile, GEMM_PACKS(CONV_TILE)); \
		SL_SHARED(pack<float>, b_tile, GEMM_PACKS(CONV_TILE)); \
		conv_dx(dy, w, dx, p, a_tile, b_tile); \
	} \
	SL_ENTRY SL_BOUNDS(GEMM_THREADS) sl_cu_conv_dw_##kind(const T *x, const T *dy, \
		float *part, sl_cuda_conv p, i64 splits, i64 size) \
	{ \
		SL_SHARED(pack<float>, a_tile, GEMM_PACKS(CONV_TILE)); \
		SL_SHARED(pack<float>, b_tile, GEMM_PACKS(CONV_TILE)); \
		conv_dw(x, dy, part, p, splits, size, a_tile, b_tile); \
	}

CONV(float, f32)
CONV(bf16, bf16)

/* The parts of each weight, in order. */
SL_ENTRY sl_cu_conv_dw_sum(const float *part, float *dw, i64 n, i64 splits)
{
	for (i64 i = thread_at(); i < n; i += thread_step()) {
		float sum = 0;
		for (i64 s = 0; s < splits; s++)
			sum += part[s * n + i];
		dw[i] = sum;
	}
}

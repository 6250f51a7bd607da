/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of the packed product, one form a number of rows and vectors. */
#include "kernel/cpu/gemm_tile.h"

#ifdef __AVX512F__

#include <immintrin.h>

#define LANES 16
#define VECS (SL_TILE_COLS / LANES)

typedef void (*tile_fn)(const struct sl_tile *t);

bool sl_tile_is_here(void)
{
	return true;
}

static __mmask16 mask_of(int cols)
{
	uint32_t lanes = cols >= LANES ? LANES : cols > 0 ? (uint32_t)cols : 0;

	return (__mmask16)((1U << lanes) - 1);
}

static inline __attribute__((always_inline)) void finish(
	const struct sl_tile *t, __m512 (*sum)[VECS], const int rows, const int vecs)
{
	__mmask16 mask[VECS];
	__m512 bias[VECS];

	for (int v = 0; v < vecs; v++) {
		mask[v] = mask_of(t->cols - v * LANES);
		bias[v] = t->col_bias ? _mm512_maskz_loadu_ps(
						mask[v], t->col_bias + v * LANES)
				      : _mm512_setzero_ps();
	}
#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		if (r >= t->rows)
			break;
		float *y = t->y + r * t->y_step;
		__m512 each = _mm512_set1_ps(t->row_bias ? t->row_bias[r] : 0.0f);
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++) {
			__m512 to = sum[r][v];
			if (t->accumulate)
				to = _mm512_add_ps(to,
					_mm512_maskz_loadu_ps(mask[v], y + v * LANES));
			to = _mm512_add_ps(to, _mm512_add_ps(bias[v], each));
			_mm512_mask_storeu_ps(y + v * LANES, mask[v], to);
		}
	}
}

static inline __attribute__((always_inline)) void tile(
	const struct sl_tile *t, const int rows, const int vecs)
{
	__m512 sum[SL_TILE_ROWS][VECS];
	const float *a = t->a;
	const float *b = t->b;

#pragma GCC unroll 14
	for (int r = 0; r < rows; r++) {
		const float *y = t->y + (r < t->rows ? r : 0) * t->y_step;
		_mm_prefetch((const char *)y, _MM_HINT_T0);
		_mm_prefetch((const char *)(y + t->cols - 1), _MM_HINT_T0);
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++)
			sum[r][v] = _mm512_setzero_ps();
	}
	for (int64_t k = 0; k < t->depth; k++) {
		__m512 right[VECS];
#pragma GCC unroll 2
		for (int v = 0; v < vecs; v++)
			right[v] = _mm512_load_ps(b + v * LANES);
#pragma GCC unroll 14
		for (int r = 0; r < rows; r++) {
			__m512 left = _mm512_set1_ps(a[r]);
#pragma GCC unroll 2
			for (int v = 0; v < vecs; v++)
				sum[r][v] = _mm512_fmadd_ps(left, right[v], sum[r][v]);
		}
		a += SL_TILE_ROWS;
		b += SL_TILE_COLS;
	}
	finish(t, sum, rows, vecs);
}

#define FORM(rows) \
	static void tile_##rows##_1(const struct sl_tile *t) \
	{ \
		tile(t, rows, 1); \
	} \
	static void tile_##rows##_2(const struct sl_tile *t) \
	{ \
		tile(t, rows, 2); \
	}
FORM(2)
FORM(4)
FORM(6)
FORM(8)
FORM(10)
FORM(12)
FORM(14)

static const tile_fn forms[SL_TILE_ROWS / 2][VECS] = {
	{tile_2_1, tile_2_2},
	{tile_4_1, tile_4_2},
	{tile_6_1, tile_6_2},
	{tile_8_1, tile_8_2},
	{tile_10_1, tile_10_2},
	{tile_12_1, tile_12_2},
	{tile_14_1, tile_14_2},
};

void sl_tile_run(const struct sl_tile *t)
{
	forms[(t->rows - 1) / 2][t->cols > LANES](t);
}

#else

bool sl_tile_is_here(void)
{
	return false;
}

void sl_tile_run(const struct sl_tile *t)
{
	(void)t;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing of operands into panels. Three forms: k contiguous (blocks of 16 x 16 are
 * transposed in registers), lanes contiguous (rows are copied), and any other element by
 * element.
 */
#include "kernel/cpu/gemm_panel.h"

#ifdef __AVX512F__

#include <immintrin.h>
#include <string.h>

#include "base/bf16.h"

#define LANES 16
#define ROWS_AHEAD 8

static int64_t place(const struct sl_axis *x, int64_t i)
{
	return i / x->span * x->jump + i % x->span * x->step;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static __mmask16 mask_of(int64_t n)
{
	uint32_t lanes = n >= LANES ? LANES : n > 0 ? (uint32_t)n : 0;

	return (__mmask16)((1U << lanes) - 1);
}

/* Elements [at, at + n) of a source, n at most 16; the others are 0. */
static inline __attribute__((always_inline)) __m512 load(
	const void *data, bool low, int64_t at, int64_t n)
{
	uint16_t part[LANES] = {0};
	const uint16_t *from = (const uint16_t *)data + at;

	if (!low)
		return _mm512_maskz_loadu_ps(mask_of(n), (const float *)data + at);
	if (n < LANES) {
		memcpy(part, from, n > 0 ? (size_t)n * sizeof(*part) : 0);
		from = part;
	}
	__m256i bits = _mm256_loadu_si256((const __m256i_u *)from);
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* 16 rows of 16 become 16 columns: pairs, fours, then quarters of registers. */
static inline __attribute__((always_inline)) void transpose(__m512 r[LANES])
{
	__m512 t[LANES];

#pragma GCC unroll 8
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < LANES; i += 4) {
		r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
		r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* Lanes that begin at elements `at` of a source. */
struct lanes {
	const void *data;
	int64_t at[LANES];
	int64_t n;
};

static inline __attribute__((always_inline)) void pack_block_by(
	const struct lanes *s, bool low, int64_t depth, int width, float *to)
{
	__mmask16 store = mask_of(width);

	for (int64_t k = 0; k < depth; k += LANES) {
		__m512 r[LANES];
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			r[i] = i < s->n ? load(s->data, low, s->at[i] + k, depth - k)
					: _mm512_setzero_ps();
		transpose(r);
		if (depth - k >= LANES) {
#pragma GCC unroll 16
			for (int i = 0; i < LANES; i++)
				_mm512_mask_storeu_ps(to + (k + i) * width, store, r[i]);
			continue;
		}
		for (int i = 0; i < depth - k; i++)
			_mm512_mask_storeu_ps(to + (k + i) * width, store, r[i]);
	}
}

/* 16 lanes at most, k contiguous over `depth`, into columns `width` apart. */
static void pack_block(
	const struct lanes *s, bool low, int64_t depth, int width, float *to)
{
	if (low)
		pack_block_by(s, true, depth, width, to);
	else
		pack_block_by(s, false, depth, width, to);
}

/* One panel whose k is contiguous in runs. */
static void pack_along(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to)
{
	int64_t end = box->k + box->depth;

	for (int64_t k = box->k; k < end;) {
		int64_t run = least(end - k, s->k.span - k % s->k.span);
		int64_t from = s->first + place(&s->k, k);
		for (int part = 0; part < width; part += LANES) {
			struct lanes l = {.data = s->data, .n = box->lanes - part};
			for (int i = 0; i < LANES; i++)
				l.at[i] = from +
					  (part + i < box->lanes
							  ? place(&s->lane,
								    box->lane + part + i)
							  : 0);
			pack_block(
				&l, s->low, run, width, to + (k - box->k) * width + part);
		}
		k += run;
	}
}

/* One row of k, from element `at` on, of panels whose lanes are contiguous. */
static inline __attribute__((always_inline)) void pack_row(
	const struct sl_panel_source *s, int64_t at, const int width,
	const struct sl_panel_box *box, float *to)
{
	const __mmask16 store = mask_of(width);
	int64_t lanes = box->lanes;

	for (; !s->low && lanes >= width; lanes -= width, at += width) {
		const float *from = (const float *)s->data + at;
#pragma GCC unroll 2
		for (int part = 0; part < width; part += LANES)
			_mm512_mask_storeu_ps(to + part, store,
				_mm512_maskz_loadu_ps(store, from + part));
		to += width * box->depth;
	}
	for (; lanes > 0; lanes -= width, at += width, to += width * box->depth)
		for (int part = 0; part < width; part += LANES) {
			int64_t n = least(width, lanes) - part;
			_mm512_mask_storeu_ps(
				to + part, store, load(s->data, s->low, at + part, n));
		}
}

/* Rows lie far apart, often each in a page of its own: asked for early, they hide walks
 * of page tables, too. */
static void ask_for(const struct sl_panel_source *s, int64_t at, int64_t lanes)
{
	const float *row = (const float *)s->data + at;

	for (int64_t i = 0; i < lanes && !s->low; i += LANES)
		_mm_prefetch((const char *)(row + i), _MM_HINT_T0);
}

/* Panels whose lanes are contiguous, all of them a row of k at a time. */
static inline __attribute__((always_inline)) void pack_rows_of(
	const struct sl_panel_source *s, const int width, const struct sl_panel_box *box,
	float *to)
{
	int64_t from = s->first + place(&s->lane, box->lane);
	int64_t end = box->k + box->depth;

	for (int64_t k = box->k; k < end;) {
		int64_t run = least(end - k, s->k.span - k % s->k.span);
		int64_t at = from + place(&s->k, k);
		for (int64_t i = 0; i < run; i++, to += width, at += s->k.step) {
			if (i + ROWS_AHEAD < run)
				ask_for(s, at + ROWS_AHEAD * s->k.step, box->lanes);
			pack_row(s, at, width, box, to);
		}
		k += run;
	}
}

static void pack_rows(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to)
{
	if (width == SL_TILE_COLS)
		pack_rows_of(s, SL_TILE_COLS, box, to);
	else
		pack_rows_of(s, SL_TILE_ROWS, box, to);
}

static float element(const struct sl_panel_source *s, int64_t at)
{
	return s->low ? sl_bf16_to_f32(((const uint16_t *)s->data)[at])
		      : ((const float *)s->data)[at];
}

/* One panel, element by element. */
static void pack_any(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to)
{
	int64_t at[SL_TILE_COLS];

	for (int i = 0; i < box->lanes; i++)
		at[i] = place(&s->lane, box->lane + i);
	for (int64_t k = 0; k < box->depth; k++, to += width) {
		int64_t from = s->first + place(&s->k, box->k + k);
		int i = 0;
		for (; i < box->lanes; i++)
			to[i] = element(s, from + at[i]);
		for (; i < width; i++)
			to[i] = 0;
	}
}

static bool is_one_run(const struct sl_axis *x, int64_t i, int64_t n)
{
	return x->step == 1 && i / x->span == (i + n - 1) / x->span;
}

void sl_panel_pack(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to)
{
	if (is_one_run(&s->lane, box->lane, box->lanes)) {
		pack_rows(s, width, box, to);
		return;
	}
	for (int64_t i = 0; i < box->lanes; i += width, to += width * box->depth) {
		struct sl_panel_box one = *box;
		one.lane += i;
		one.lanes = least(box->lanes - i, width);
		if (s->k.step == 1)
			pack_along(s, width, &one, to);
		else if (is_one_run(&s->lane, one.lane, one.lanes))
			sl_panel_pack(s, width, &one, to);
		else
			pack_any(s, width, &one, to);
	}
}

#else

void sl_panel_pack(const struct sl_panel_source *s, int width,
	const struct sl_panel_box *box, float *to)
{
	(void)s;
	(void)width;
	(void)box;
	(void)to;
}

#endif

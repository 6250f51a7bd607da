/* SPDX-License-Identifier: Apache-2.0 */
/* Products of small tiles, and transposition of one. */
#include "kernel/cpu/tile.h"

#define LANES 16
#define ROWS 4

/*
 * Not under the address sanitizer: gcc 12 does not align its stand-in for the stack to 64
 * bytes (gcc bug 110027), and sums would no longer be registers. Guard bytes of the tests
 * remain.
 */
#define PLAIN __attribute__((no_sanitize("address")))

typedef float lanes
	__attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/*
 * `rows` rows from i and `vectors` vectors of columns from j; both are constants where
 * this is called, so that the sums stay in registers.
 */
static inline __attribute__((always_inline)) PLAIN void block(
	const struct sl_tile *t, int64_t i, int64_t j, int rows, int vectors)
{
	lanes sum[ROWS][4];
	const float *a = t->a + i * t->a_row;
	const float *b = t->b + j;

	for (int r = 0; r < rows; r++)
		for (int v = 0; v < vectors; v++)
			sum[r][v] = t->fresh
					    ? (lanes){0}
					    : *(const lanes *)(t->c + (i + r) * t->c_row +
							       j + v * LANES);
	for (int64_t k = 0; k < t->k; k++, a += t->a_col, b += t->b_row)
		for (int r = 0; r < rows; r++)
			for (int v = 0; v < vectors; v++)
				sum[r][v] +=
					a[r * t->a_row] * *(const lanes *)(b + v * LANES);
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < vectors; v++)
			*(lanes *)(t->c + (i + r) * t->c_row + j + v * LANES) = sum[r][v];
}

PLAIN static void columns64(const struct sl_tile *t, int64_t j)
{
	int64_t i = 0;

	for (; i + ROWS <= t->m; i += ROWS)
		block(t, i, j, ROWS, 4);
	for (; i < t->m; i++)
		block(t, i, j, 1, 4);
}

PLAIN static void columns16(const struct sl_tile *t, int64_t j)
{
	int64_t i = 0;

	for (; i + ROWS <= t->m; i += ROWS)
		block(t, i, j, ROWS, 1);
	for (; i < t->m; i++)
		block(t, i, j, 1, 1);
}

/* Fewer columns than a vector has. */
static void columns_rest(const struct sl_tile *t, int64_t j)
{
	for (int64_t i = 0; i < t->m; i++) {
		float *c = t->c + i * t->c_row;
		for (int64_t n = j; t->fresh && n < t->n; n++)
			c[n] = 0;
		for (int64_t k = 0; k < t->k; k++) {
			float s = t->a[i * t->a_row + k * t->a_col];
			const float *b = t->b + k * t->b_row;
			for (int64_t n = j; n < t->n; n++)
				c[n] += s * b[n];
		}
	}
}

void sl_tile_mul(const struct sl_tile *t)
{
	int64_t j = 0;

	for (; j + 4 * LANES <= t->n; j += 4 * LANES)
		columns64(t, j);
	for (; j + LANES <= t->n; j += LANES)
		columns16(t, j);
	if (j < t->n)
		columns_rest(t, j);
}

/* Lanes of both in turn: of their first halves, of their second halves. */
#define LOW(a, b) \
	__builtin_shufflevector( \
		a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) \
	__builtin_shufflevector( \
		a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* One perfect shuffle of 16 rows; four of them transpose (Stone, 1971). */
static inline __attribute__((always_inline)) PLAIN void shuffle(
	const lanes in[LANES], lanes out[LANES])
{
	for (int i = 0; i < LANES / 2; i++) {
		out[2 * i] = LOW(in[i], in[i + LANES / 2]);
		out[2 * i + 1] = HIGH(in[i], in[i + LANES / 2]);
	}
}

PLAIN static void transpose16(
	const float *from, int64_t from_row, float *to, int64_t to_row)
{
	lanes a[LANES];
	lanes b[LANES];

	for (int i = 0; i < LANES; i++)
		a[i] = *(const lanes *)(from + i * from_row);
	shuffle(a, b);
	shuffle(b, a);
	shuffle(a, b);
	shuffle(b, a);
	for (int i = 0; i < LANES; i++)
		*(lanes *)(to + i * to_row) = a[i];
}

void sl_tile_transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns,
	float *to, int64_t to_row)
{
	int64_t whole_rows = rows / LANES * LANES;
	int64_t whole_columns = columns / LANES * LANES;

	for (int64_t i = 0; i < whole_rows; i += LANES)
		for (int64_t j = 0; j < whole_columns; j += LANES)
			transpose16(from + i * from_row + j, from_row,
				to + j * to_row + i, to_row);
	/* What is left on the right, and below. */
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
			to[j * to_row + i] = from[i * from_row + j];
}

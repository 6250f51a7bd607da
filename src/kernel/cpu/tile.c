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

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

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
			sum[r][v] = *(
				const lanes *)(t->c + (i + r) * t->c_row + j + v * LANES);
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

void sl_tile_transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns,
	float *to, int64_t to_row)
{
	for (int64_t i = 0; i < rows; i += LANES) {
		int64_t end = i + LANES < rows ? i + LANES : rows;
		for (int64_t j = 0; j < columns; j++)
			for (int64_t r = i; r < end; r++)
				to[j * to_row + r] = from[r * from_row + j];
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <stdbool.h>

#include "kernel/cpu/tile.h"

#define MOST 83

struct mats {
	float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], want[MOST * MOST];
};

static void fill(struct mats *m)
{
	/* Small whole numbers: every sum is exact, in whatever order. */
	for (int i = 0; i < MOST * MOST; i++) {
		m->a[i] = (float)(i * 7 % 11 - 5);
		m->b[i] = (float)(i * 5 % 13 - 6);
		m->c[i] = (float)(i % 3);
		m->want[i] = m->c[i];
	}
}

static void check(int64_t m, int64_t n, int64_t k, int form)
{
	bool transposed = form & 1;
	bool fresh = form & 2;
	static struct mats x;
	struct sl_tile t = {.m = m,
		.n = n,
		.k = k,
		.a = x.a,
		.a_row = transposed ? 1 : MOST,
		.a_col = transposed ? MOST : 1,
		.b = x.b,
		.b_row = MOST,
		.c = x.c,
		.c_row = MOST,
		.fresh = fresh};

	fill(&x);
	for (int64_t i = 0; fresh && i < m * n; i++)
		x.want[i / n * MOST + i % n] = 0;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			for (int64_t p = 0; p < k; p++)
				x.want[i * MOST + j] += x.a[i * t.a_row + p * t.a_col] *
							x.b[p * MOST + j];
	sl_tile_mul(&t);
	assert_memory_equal(x.c, x.want, sizeof(x.c));
}

static void products_are_right_for_odd_sizes_and_leave_the_rest_alone(void **state)
{
	(void)state;
	const int64_t sizes[] = {0, 1, 3, 4, 15, 16, 17, 64, 83};

	for (size_t m = 0; m < SL_COUNT(sizes); m++)
		for (size_t n = 0; n < SL_COUNT(sizes); n++)
			for (size_t k = 0; k < SL_COUNT(sizes); k++)
				check(sizes[m], sizes[n], sizes[k], (int)(m + n + k) % 4);
}

static void transposition_swaps_rows_and_columns(void **state)
{
	(void)state;
	static float from[20 * 35];
	static float to[30 * 20];

	for (int i = 0; i < 20 * 35; i++)
		from[i] = (float)i;
	sl_tile_transpose(from, 35, 20, 30, to, 20);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 30; j++)
			assert_true(to[j * 20 + i] == from[i * 35 + j]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(products_are_right_for_odd_sizes_and_leave_the_rest_alone),
		SL_TEST(transposition_swaps_rows_and_columns),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

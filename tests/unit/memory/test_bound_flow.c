/* SPDX-License-Identifier: Apache-2.0 */
/* The least traffic of swapping against a dense program and against every choice. */
#include "harness/harness.h"

#include <math.h>

#include "base/alloc.h"
#include "memory/bound.h"
#include "unit/memory/gen.h"

/*
 * The dual as a dense program: most need * p - bytes * z with, for each interval, the p
 * of its rows less z at most its cost. Simplex from zero by Bland's rule. Negative:
 * without end, so the covering is impossible.
 */
#define MAX_ROWS 7
#define MAX_COVERS 9
#define COLUMNS (MAX_ROWS + 2 * MAX_COVERS + 1)

struct dense {
	double a[MAX_COVERS + 1][COLUMNS]; /* the last row is the aim, the last column b
					    */
	uint32_t n;
};

static void dense_fill(struct dense *d, const uint64_t *need, uint32_t rows,
	const struct sl_cover *c, uint32_t n)
{
	*d = (struct dense){.n = n};
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < c[i].rows; k++)
			d->a[i][(c[i].first + k) % rows] = 1;
		d->a[i][MAX_ROWS + i] = -1;
		d->a[i][MAX_ROWS + MAX_COVERS + i] = 1;
		d->a[i][COLUMNS - 1] = c[i].cost;
		d->a[n][MAX_ROWS + i] = (double)c[i].bytes;
	}
	for (uint32_t r = 0; r < rows; r++)
		d->a[n][r] = -(double)need[r];
}

static void dense_pivot(struct dense *d, uint32_t row, uint32_t column)
{
	double by = d->a[row][column];

	for (uint32_t k = 0; k < COLUMNS; k++)
		d->a[row][k] /= by;
	for (uint32_t i = 0; i <= d->n; i++) {
		double times = d->a[i][column];

		for (uint32_t k = 0; k < COLUMNS && i != row; k++)
			d->a[i][k] -= times * d->a[row][k];
	}
}

static double dense_solve(struct dense *d)
{
	for (;;) {
		uint32_t column = 0, row = d->n;
		double least = (double)INFINITY;

		while (column < COLUMNS - 1 && d->a[d->n][column] >= -1e-9)
			column++;
		if (column == COLUMNS - 1)
			return d->a[d->n][COLUMNS - 1];
		for (uint32_t i = 0; i < d->n; i++) {
			double x = d->a[i][column] > 1e-9
					   ? d->a[i][COLUMNS - 1] / d->a[i][column]
					   : (double)INFINITY;

			if (x < least - 1e-12) {
				least = x;
				row = i;
			}
		}
		if (row == d->n)
			return -1;
		dense_pivot(d, row, column);
	}
}

static void the_flow_agrees_with_a_dense_program(void **state)
{
	(void)state;
	struct sl_rng rng = {.key = {.seed = 7}};
	int impossible = 0, paid = 0;

	for (int round = 0; round < 4000; round++) {
		uint32_t rows = 1 + (uint32_t)sl_rng_below(&rng, MAX_ROWS);
		uint32_t n = (uint32_t)sl_rng_below(&rng, MAX_COVERS + 1);
		uint64_t need[MAX_ROWS];
		struct sl_cover c[MAX_COVERS];
		struct dense d;
		double want, got;
		bool possible;

		for (uint32_t r = 0; r < rows; r++)
			need[r] = sl_rng_below(&rng, 12);
		for (uint32_t i = 0; i < n; i++)
			c[i] = (struct sl_cover){
				.first = (uint32_t)sl_rng_below(&rng, rows),
				.rows = 1 + (uint32_t)sl_rng_below(&rng, rows),
				.bytes = sl_rng_below(&rng, 10),
				.cost = (double)sl_rng_below(&rng, 4)};
		dense_fill(&d, need, rows, c, n);
		want = dense_solve(&d);
		sl_assert_ok(sl_cover_solve(need, rows, c, n, &got, &possible));
		assert_true(possible == (want >= 0));
		if (possible && fabs(got - want) > 1e-6 * (1 + want))
			fail_msg("round %d: %g, but %g by hand", round, got, want);
		impossible += !possible;
		paid += want > 0;
	}
	assert_true(impossible > 200 && paid > 200);
}

/* Every choice of whole gaps, with the copies it takes counted use by use. */
struct whole {
	const struct sl_trace *t;
	struct sl_trace_index x;
	uint32_t value[64], use[64]; /* the gap after a use */
	uint32_t n;
};

static bool away(const struct whole *w, uint32_t mask, uint32_t v, uint32_t op)
{
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t end = w->x.first[v + 1], next = w->use[i] + 1;
		uint32_t from = w->x.uses[w->use[i]].op;

		if (w->value[i] != v || !(mask >> i & 1))
			continue;
		if (next < end ? op > from && op < w->x.uses[next].op
			       : op > from || op < w->x.uses[w->x.first[v]].op)
			return true;
	}
	return false;
}

static bool lives(const struct whole *w, uint32_t v, uint32_t op)
{
	uint32_t from = w->x.first[v], to = w->x.first[v + 1];

	if (w->t->values[v].alias != SL_NO_ID)
		return false;
	if (sl_class_persistent(w->t->values[v].cls))
		return from < to || sl_value_fixed(&w->t->values[v]);
	return from < to && op >= w->x.uses[from].op && op <= w->x.uses[to - 1].op;
}

static bool fits(const struct whole *w, uint32_t mask, uint64_t budget)
{
	for (uint32_t op = 0; op < w->t->n_ops; op++) {
		uint64_t held = w->t->ops[op].workspace_bytes;

		for (uint32_t v = 0; v < w->t->n_values; v++)
			if (lives(w, v, op) && !away(w, mask, v, op))
				held += w->t->values[v].bytes;
		if (held > budget)
			return false;
	}
	return true;
}

/* Copies out in a steady iteration: two rounds, of which the second counts. */
static uint64_t out_of(const struct whole *w, uint32_t mask, uint32_t v)
{
	uint64_t copies = 0;
	bool below = true;

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t u = w->x.first[v]; u < w->x.first[v + 1]; u++) {
			bool leaves = false;

			for (uint32_t i = 0; i < w->n; i++)
				leaves |= w->use[i] == u && (mask >> i & 1);
			below = below && !w->x.uses[u].writes;
			copies += leaves && !below && round == 1;
			below = below || leaves;
		}
	return copies * w->t->values[v].bytes;
}

static void list_gaps(struct whole *w)
{
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		bool lasting = sl_class_persistent(w->t->values[v].cls);

		for (uint32_t u = w->x.first[v]; u < w->x.first[v + 1]; u++) {
			if (sl_value_fixed(&w->t->values[v]) || w->n == 12 ||
				(u + 1 == w->x.first[v + 1] && !lasting))
				continue;
			w->value[w->n] = v;
			w->use[w->n++] = u;
		}
	}
}

static void least_whole(const struct whole *w, uint64_t budget, uint64_t *out,
	uint64_t *in, uint64_t *both)
{
	*out = *in = *both = UINT64_MAX;
	for (uint32_t mask = 0; mask < 1u << w->n; mask++) {
		uint64_t o = 0, i = 0;

		if (!fits(w, mask, budget))
			continue;
		for (uint32_t v = 0; v < w->t->n_values; v++)
			o += out_of(w, mask, v);
		for (uint32_t k = 0; k < w->n; k++)
			i += mask >> k & 1 ? w->t->values[w->value[k]].bytes : 0;
		*out = o < *out ? o : *out;
		*in = i < *in ? i : *in;
		*both = o + i < *both ? o + i : *both;
	}
}

static void no_choice_of_whole_values_moves_less(void **state)
{
	(void)state;
	int exact = 0, paid = 0;

	for (uint64_t seed = 0; seed < 150; seed++) {
		struct gen g = gen_random(seed, 6);
		struct whole w = {.t = &g.t};
		struct sl_least_budget least;
		uint64_t out, in, both;

		sl_assert_ok(gen_end(&g));
		sl_assert_ok(sl_trace_index_init(&g.t, &w.x));
		sl_assert_ok(sl_trace_least_budget(&g.t, &least));
		list_gaps(&w);
		for (uint64_t part = 0; part < 4; part++) {
			uint64_t budget = least.live_peak_bytes * (part + 6) / 10;
			struct sl_traffic_bound b;

			least_whole(&w, budget, &out, &in, &both);
			sl_assert_ok(sl_traffic_bound(&g.t, budget, &b));
			assert_true(b.out_bytes <= out && b.in_bytes <= in);
			assert_true(b.both_bytes <= both);
			paid += in != UINT64_MAX && in > 0;
			exact += in != UINT64_MAX && in > 0 && b.in_bytes * 10 > in * 9;
		}
		sl_trace_index_finish(&w.x);
		sl_trace_finish(&g.t);
	}
	assert_true(paid > 20 && exact > 5);
}

/* A value a row, all alike and far too many at a time: a step takes a walk over the tree,
 * as long as the trace. */
static void what_takes_too_long_ends_as_a_bound(void **state)
{
	enum { N = 60000 };
	struct sl_cover *covers = sl_calloc(N, sizeof(*covers));
	uint64_t *need = sl_calloc(N, sizeof(*need)), sum = 0;
	double least = -1;
	bool possible = false;

	(void)state;
	assert_non_null(covers);
	assert_non_null(need);
	for (uint32_t i = 0; i < N; i++) {
		covers[i] = (struct sl_cover){.first = i,
			.rows = N - 2 - i % 7,
			.bytes = 4096 * (1 + i % 7),
			.cost = 1 + i % 3};
		sum += covers[i].bytes;
	}
	for (uint32_t i = 0; i < N; i++)
		need[i] = sum / 2;
	sl_assert_ok(sl_cover_solve(need, N, covers, N, &least, &possible));
	assert_true(possible);
	assert_true(least >= 0 && least <= 3 * (double)sum);
	sl_free(covers);
	sl_free(need);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_flow_agrees_with_a_dense_program),
		SL_TEST(no_choice_of_whole_values_moves_less),
		cmocka_unit_test(what_takes_too_long_ends_as_a_bound),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

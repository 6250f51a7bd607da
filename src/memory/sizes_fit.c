/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a quadratic of the size of the input: least squares, and how far it is off. */
#include <math.h>

#include "memory/sizes.h"

#define MOST_BYTES 1.8e19
#define LEAST_BYTES 1000.0

static double finite_bytes(double x)
{
	if (!(x > 0))
		return 0;
	return x < MOST_BYTES ? x : MOST_BYTES;
}

/* Up to 3. */
static uint32_t count_sizes(const struct sl_size_sample *s, size_t n)
{
	uint32_t found = 0;

	for (size_t i = 0; i < n; i++) {
		bool known = false;

		for (size_t k = 0; k < i && !known; k++)
			known = !(s[k].size < s[i].size || s[k].size > s[i].size);
		found += !known;
	}
	return found;
}

static void swap_rows(double a[4], double b[4])
{
	for (int i = 0; i < 4; i++) {
		double x = a[i];

		a[i] = b[i];
		b[i] = x;
	}
}

/* Gauss with pivots on n rows of n + 1; what has no pivot is 0. */
static void solve(double m[3][4], int n, double x[3])
{
	for (int i = 0; i < n; i++) {
		int best = i;

		for (int k = i + 1; k < n; k++)
			best = fabs(m[k][i]) > fabs(m[best][i]) ? k : best;
		swap_rows(m[i], m[best]);
		for (int k = i + 1; k < n && fabs(m[i][i]) > 0; k++) {
			double f = m[k][i] / m[i][i];

			for (int c = i; c <= n; c++)
				m[k][c] -= f * m[i][c];
		}
	}
	for (int i = n - 1; i >= 0; i--) {
		x[i] = m[i][n];
		for (int c = i + 1; c < n; c++)
			x[i] -= m[i][c] * x[c];
		x[i] = fabs(m[i][i]) > 0 ? x[i] / m[i][i] : 0;
	}
}

static void note_errors(const struct sl_size_sample *s, size_t n, struct sl_size_fit *f)
{
	bool within = true;

	for (size_t i = 0; i < n; i++) {
		double off = fabs(sl_size_fit_at(f, s[i].size) - s[i].bytes);
		double rel = off / fmax(s[i].bytes, LEAST_BYTES);

		f->worst_abs = fmax(f->worst_abs, off);
		f->worst_rel = fmax(f->worst_rel, rel);
		within = within && (rel < SL_SIZE_FIT_REL || off < SL_SIZE_FIT_ABS);
	}
	f->accepted = within && f->n_sizes > 3;
}

void sl_size_fit(const struct sl_size_sample *samples, size_t n, struct sl_size_fit *out)
{
	double m[3][4] = {{0}}, x[3] = {0}, largest = 0;
	int degree;

	*out = (struct sl_size_fit){.n_sizes = count_sizes(samples, n)};
	degree = out->n_sizes < 3 ? (int)out->n_sizes : 3;
	for (size_t i = 0; i < n; i++)
		largest = fmax(largest, fabs(samples[i].size));
	largest = largest > 0 ? largest : 1;
	for (size_t i = 0; i < n; i++) {
		double u = samples[i].size / largest, power[3] = {1, u, u * u};

		for (int r = 0; r < degree; r++) {
			for (int c = 0; c < degree; c++)
				m[r][c] += power[r] * power[c];
			m[r][degree] += power[r] * samples[i].bytes;
		}
	}
	solve(m, degree, x);
	out->a = x[0];
	out->b = x[1] / largest;
	out->c = x[2] / (largest * largest);
	note_errors(samples, n, out);
}

double sl_size_fit_at(const struct sl_size_fit *f, double size)
{
	return f->a + size * (f->b + size * f->c);
}

/* Twice both errors of the worst sample are kept away from: between samples it may be
 * worse, and beyond them the relative one grows with the bytes. */
static double margin(const struct sl_size_fit *f, double at)
{
	return 2 * fmax(f->worst_abs, f->worst_rel * fabs(at));
}

uint64_t sl_size_fit_most(const struct sl_size_fit *f, int64_t size)
{
	double at = sl_size_fit_at(f, (double)size);

	return (uint64_t)ceil(finite_bytes(at + margin(f, at)));
}

uint64_t sl_size_fit_least(const struct sl_size_fit *f, int64_t size)
{
	double at = sl_size_fit_at(f, (double)size);

	return (uint64_t)finite_bytes(at - margin(f, at));
}

int64_t sl_size_fit_largest(const struct sl_size_fit *f, uint64_t budget, int64_t limit)
{
	int64_t low = 0, high = limit;

	while (low < high) {
		int64_t mid = low + (high - low + 1) / 2;

		if (sl_size_fit_most(f, mid) <= budget)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

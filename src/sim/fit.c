/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting a row of the cost book to measured times. */
#include "sim/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ROUNDS 12 /* of telling which bound holds for which sample */
#define FAR 4.0 /* median errors */
#define LEAST_ERROR 0.02 /* samples nearer than that times FAR are never far */
#define MOST_FAR 0.5 /* of the time of all samples */
#define TINY 1e-18

/* start, ns a flop, ns a byte */
struct line {
	double x[3];
};

struct fit {
	const struct sl_cost_sample *s;
	size_t n;
	double *error; /* [n] relative, for medians */
	unsigned char *skip; /* [n] */
};

static double line_ns(const struct line *l, const struct sl_cost_sample *s)
{
	double arithmetic = l->x[1] * s->flops, memory = l->x[2] * s->bytes;

	return l->x[0] + (arithmetic > memory ? arithmetic : memory);
}

/* Terms of a sample, and what their sum is to be. Each is weighed by time^-3/4: between
 * the relative error, where small ops count as much as large ones, and that of a whole
 * step. */
static void terms(const struct line *bound, const struct sl_cost_sample *s, double out[4])
{
	bool arithmetic = bound->x[1] * s->flops > bound->x[2] * s->bytes;

	double weight = pow(s->ns, -0.75);

	out[0] = weight;
	out[1] = arithmetic ? s->flops * weight : 0;
	out[2] = arithmetic ? 0 : s->bytes * weight;
	out[3] = s->ns * weight;
}

/* Gauss without exchange: the matrix is symmetric and not negative. Unknowns outside
 * `subset` are 0. */
static bool solve(double a[3][4], unsigned subset, double x[3])
{
	for (int i = 0; i < 3; i++) {
		if (!(subset >> i & 1))
			continue;
		if (!(a[i][i] > TINY))
			return false;
		for (int k = i + 1; k < 3; k++) {
			double f = a[k][i] / a[i][i];

			for (int j = i; j < 4; j++)
				a[k][j] -= subset >> k & 1 ? f * a[i][j] : 0;
		}
	}
	for (int i = 2; i >= 0; i--) {
		double rest = a[i][3];

		for (int j = i + 1; j < 3; j++)
			rest -= a[i][j] * x[j];
		x[i] = subset >> i & 1 ? rest / a[i][i] : 0;
		if (!(x[i] >= 0))
			return false;
	}
	return true;
}

static double residual(double a[3][4], const double x[3])
{
	double r = 0;

	/* x'Ax - 2b'x, the part that x decides */
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			r += x[i] * a[i][j] * x[j];
		r -= 2 * a[i][3] * x[i];
	}
	return r;
}

/* The best of the seven sets of unknowns that may be above zero. */
static void solve_best(double a[3][4], struct line *out)
{
	double best = INFINITY;

	for (unsigned subset = 1; subset < 8; subset++) {
		double copy[3][4], x[3] = {0}, r;

		memcpy(copy, a, sizeof(copy));
		if (!solve(copy, subset, x))
			continue;
		r = residual(a, x);
		if (r < best) {
			best = r;
			memcpy(out->x, x, sizeof(x));
		}
	}
}

static void add_sample(
	const struct line *l, const struct sl_cost_sample *s, double a[3][4])
{
	double t[4];

	terms(l, s, t);
	for (int r = 0; r < 3; r++)
		for (int k = 0; k < 4; k++)
			a[r][k] += t[r] * t[k];
}

static void fit_line(const struct fit *f, struct line *l)
{
	for (int round = 0; round < ROUNDS; round++) {
		double a[3][4] = {{0}};

		for (size_t i = 0; i < f->n; i++)
			if (!f->skip[i] && !(f->s[i].load > 0))
				add_sample(l, &f->s[i], a);
		solve_best(a, l);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double sl_cost_median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), by_value);
	return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Marks what lies far off, unless that is much of the time: then it is no accident. */
static void skip_far(const struct fit *f, const struct line *l)
{
	size_t n = 0;
	double limit, far = 0, all = 0;

	for (size_t i = 0; i < f->n; i++)
		if (!(f->s[i].load > 0))
			f->error[n++] = fabs(line_ns(l, &f->s[i]) / f->s[i].ns - 1);
	limit = sl_cost_median(f->error, n);
	limit = FAR * (limit > LEAST_ERROR ? limit : LEAST_ERROR);
	for (size_t i = 0; i < f->n; i++) {
		f->skip[i] = fabs(line_ns(l, &f->s[i]) / f->s[i].ns - 1) > limit;
		all += f->s[i].load > 0 ? 0 : f->s[i].ns;
		far += f->s[i].load > 0 || !f->skip[i] ? 0 : f->s[i].ns;
	}
	if (far > MOST_FAR * all)
		memset(f->skip, 0, f->n);
}

/* A starting point: either bound as if it alone made the median time. */
static bool guess(const struct fit *f, struct line *l)
{
	size_t n = 0;
	double flops = 0, bytes = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (f->s[i].load > 0)
			continue;
		flops = fmax(flops, f->s[i].flops / f->s[i].ns);
		bytes = fmax(bytes, f->s[i].bytes / f->s[i].ns);
		n++;
	}
	*l = (struct line){{0, flops > 0 ? 1 / flops : 0, bytes > 0 ? 1 / bytes : 0}};
	return n > 0;
}

/* Where no sample is bound by arithmetic or by memory, that rate is twice the highest
 * seen. */
static double rate_of(const struct fit *f, const struct line *l, int which)
{
	double most = 0;

	if (l->x[which] > 0)
		return 1e9 / l->x[which];
	for (size_t i = 0; i < f->n; i++) {
		double work = which == 1 ? f->s[i].flops : f->s[i].bytes;
		double rest = f->s[i].load > 0 ? 0 : f->s[i].ns - l->x[0];

		/* Of an op that is all start nothing can be told. */
		if (rest > f->s[i].ns / 2)
			most = fmax(most, work / rest);
	}
	return most > 0 ? 2e9 * most : 1e15;
}

/* The median slow-down a unit of load. */
static double load_of(const struct fit *f, const struct line *l)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->s[i].load > 0)
			f->error[n++] =
				(f->s[i].ns / line_ns(l, &f->s[i]) - 1) / f->s[i].load;
	return n > 0 ? fmax(0, sl_cost_median(f->error, n)) : 1;
}

sl_status sl_cost_fit(
	const struct sl_cost_sample *samples, size_t n, struct sl_cost_op *row)
{
	struct fit f = {.s = samples, .n = n};
	struct line l;
	sl_status st = SL_OK;

	if (!guess(&f, &l))
		return SL_FAIL(SL_E_INVALID, "no sample at load 0 to fit a row to");
	f.error = sl_alloc(n * sizeof(*f.error));
	f.skip = sl_calloc(n, 1);
	if (f.error == NULL || f.skip == NULL) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory to fit %zu samples", n);
		goto out;
	}
	fit_line(&f, &l);
	/* What lies far off may have drawn the first line to itself. */
	for (int i = 0; i < 2; i++) {
		skip_far(&f, &l);
		fit_line(&f, &l);
	}
	row->start_ns = l.x[0];
	row->flops_per_s = rate_of(&f, &l, 1);
	row->bytes_per_s = rate_of(&f, &l, 2);
	row->load = load_of(&f, &l);
out:
	sl_free(f.error);
	sl_free(f.skip);
	return st;
}

sl_status sl_cost_fit_error(const struct sl_cost_sample *samples, size_t n,
	const struct sl_cost_op *row, double *out)
{
	double *error;

	*out = 0;
	if (n == 0)
		return SL_OK;
	error = sl_alloc(n * sizeof(*error));
	if (error == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu errors", n);
	for (size_t i = 0; i < n; i++) {
		const struct sl_cost_sample *s = &samples[i];

		error[i] = fabs(
			sl_cost_row_ns(row, s->flops, s->bytes, s->load) / s->ns - 1);
	}
	*out = sl_cost_median(error, n);
	sl_free(error);
	return SL_OK;
}

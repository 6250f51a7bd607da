/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_SIZES_H
#define SL_MEMORY_SIZES_H

#include "memory/plan.h"

/*
 * Plans by size of input: what a step's tokens or pixels make of its memory, after Mimose
 * [mimose]. Sizes are rounded up to classes; each class has its own trace and a plan that
 * the checker has proven for that trace, so no step runs that was not proven to fit.
 * Nothing here knows a model: traces and plans come from the caller.
 */

/* bytes = a + b x + c x^2 by least squares; x is a size. */
struct sl_size_sample {
	double size, bytes;
};
struct sl_size_fit {
	double a, b, c;
	double worst_rel, worst_abs; /* errors at the samples; bytes below 1 KB count as
					1 KB */
	uint32_t n_sizes; /* different ones; fewer than 3 give a line or a constant */
	/* Errors below 10 % or 10 MB, and more sizes than coefficients. */
	bool accepted;
};
#define SL_SIZE_FIT_REL 0.1
#define SL_SIZE_FIT_ABS 10e6
void sl_size_fit(const struct sl_size_sample *samples, size_t n, struct sl_size_fit *out);
double sl_size_fit_at(const struct sl_size_fit *f, double size);
/* Twice as far off as the worst sample, either way; not below 0. */
uint64_t sl_size_fit_most(const struct sl_size_fit *f, int64_t size);
uint64_t sl_size_fit_least(const struct sl_size_fit *f, int64_t size);
/* The largest size up to `limit` whose most bytes are within a budget; 0: none. */
int64_t sl_size_fit_largest(const struct sl_size_fit *f, uint64_t budget, int64_t limit);

/*
 * The plan of another trace, carried over: the same ops and values at other sizes.
 * SL_E_NO where the traces differ otherwise or the plan is not sound there within the
 * budget; *out is then empty. Sealed, checked and priced.
 */
SL_NODISCARD sl_status sl_sizes_carry(const struct sl_trace *of,
	const struct sl_plan *plan, const struct sl_trace *to, uint64_t budget,
	struct sl_plan *out);

/* Borrowed for the life of the sizes; both fill in an empty *out. */
struct sl_sizes_source {
	void *ctx;
	sl_status (*trace)(void *ctx, int64_t size, struct sl_trace *out);
	sl_status (*plan)(void *ctx, const struct sl_trace *t, uint64_t budget,
		struct sl_plan *out);
};

struct sl_sizes_opts {
	struct sl_sizes_source source;
	uint64_t budget_bytes;
	int64_t grid; /* classes are its multiples; 0 means 1 */
	uint32_t most_plans; /* kept; the one used longest ago goes. 0 means 64 */
	/* A plan of a larger class is carried over where its step takes no longer than
	 * bare ops and this part more; negative: never. */
	double slack;
};
#define SL_SIZES_MOST_PLANS 65536u
#define SL_SIZES_MOST_SIZE ((int64_t)1 << 40)

enum sl_sizes_how { SL_SIZES_HIT, SL_SIZES_CARRIED, SL_SIZES_PLANNED };

/* Borrowed until the next call that looks for a plan. */
struct sl_sizes_found {
	int64_t size; /* of the class */
	enum sl_sizes_how how;
	const struct sl_trace *trace;
	const struct sl_plan *plan;
	uint64_t base_ns; /* its ops alone */
};

/* What is expected of a size before its trace is made. */
enum sl_sizes_verdict {
	SL_SIZES_KNOWN, /* it has a plan */
	SL_SIZES_FITS, /* by the most that it may take */
	SL_SIZES_UNSURE,
	SL_SIZES_UNLIKELY, /* by the least that it may take */
	SL_SIZES_REFUSED /* it, or a smaller one, was tried and does not fit */
};
struct sl_sizes_view {
	enum sl_sizes_verdict verdict;
	uint64_t least_bytes; /* the most that its least budget may be; 0: not known */
	uint64_t peak_bytes; /* the same of its live bytes without a plan */
	int64_t largest; /* that fits by the same; 0: not known */
};

struct sl_sizes_counts {
	uint64_t asked, hits, carried, planned, refused, dropped;
};

struct sl_sizes;
SL_NODISCARD sl_status sl_sizes_create(
	const struct sl_sizes_opts *opts, struct sl_sizes **out);
void sl_sizes_destroy(struct sl_sizes *s); /* NULL is fine */
/* SL_E_USAGE for a size that is none. */
SL_NODISCARD sl_status sl_sizes_class(
	const struct sl_sizes *s, int64_t size, int64_t *out);
/*
 * The plan of a size's class: kept, carried over from a larger class, or made anew.
 * SL_E_INFEASIBLE: no plan fits, and the message names a size that has one; what failed
 * is remembered, and larger sizes are refused unseen. Estimates refuse nothing: the trace
 * of a size decides. Else what the source returns.
 */
SL_NODISCARD sl_status sl_sizes_get(
	struct sl_sizes *s, int64_t size, struct sl_sizes_found *out);
SL_NODISCARD sl_status sl_sizes_look(
	const struct sl_sizes *s, int64_t size, struct sl_sizes_view *out);
struct sl_sizes_counts sl_sizes_counts(const struct sl_sizes *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_CALIBRATE_INT_H
#define SL_SESSION_CALIBRATE_INT_H

#include "base/clock.h"
#include "sim/fit.h"
#include "sluice/costs.h"

/*
 * The parts of calibration, for calibrate*.c only.
 *
 *   calibrate.c         which models, for how long, under which load; the report
 *   calibrate_run.c     one model's steps become samples
 *   calibrate_copy.c    copies to the tiers become links
 */
#define SL_CALIBRATE_LOADS 3

/* Samples of all models; those of one kind are together once sorted. */
struct sl_calibrate_sample {
	const char *kind; /* an operator's own name */
	struct sl_cost_sample s;
};

struct sl_calibrate_samples {
	struct sl_calibrate_sample *items;
	size_t n, cap;
};

struct sl_calibrate_case {
	const char *model, *optim;
	int64_t batch;
	bool quick; /* also in a quick calibration */
	bool check; /* compared with the book at the end */
};

/* An op of a case: what it does, and its median times by load. */
struct sl_calibrate_op {
	const char *kind;
	double flops, bytes;
	double ns[SL_CALIBRATE_LOADS]; /* 0: not measured */
};

/* What a case leaves for the comparison. */
struct sl_calibrate_run {
	struct sl_calibrate_op *ops;
	uint32_t n_ops;
	double iter_ms; /* median, without load */
};

/* `ns` are the times of each load (0: this load is left out); samples are added (NULL:
 * none). */
SL_NODISCARD sl_status sl_calibrate_case_run(const struct sl_calibrate_case *c,
	const sl_ns ns[SL_CALIBRATE_LOADS], struct sl_calibrate_samples *samples,
	struct sl_calibrate_run *out);
double sl_calibrate_load(int i); /* 0, 0.5, 1 */

/* Links of the tiers, both ways, into the book. The disk is left out if it is "none". */
SL_NODISCARD sl_status sl_calibrate_copies(
	const struct sl_calibrate_opts *opts, struct sl_cost_book *book);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SIM_FIT_H
#define SL_SIM_FIT_H

#include "sim/cost.h"

/*
 * From measured times to a row of the cost book. One sample is one op at one size under
 * one load: the median of several runs.
 */
struct sl_cost_sample {
	double flops, bytes;
	double load; /* 0 to 1 */
	double ns; /* above 0 */
};

/*
 * Least squares of the error over time^3/4, no coefficient below zero; samples that lie
 * more than four median errors off, if they are few, are left out of a second fit. A
 * bound that no sample reaches is set just out of the way. row->kind stays. SL_E_INVALID
 * without a sample at load 0, SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_cost_fit(
	const struct sl_cost_sample *samples, size_t n, struct sl_cost_op *row);
/* Median of |predicted - measured| / measured; 0 of no samples. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_cost_fit_error(const struct sl_cost_sample *samples, size_t n,
	const struct sl_cost_op *row, double *out);
/* Of n > 0 numbers, which it sorts. */
double sl_cost_median(double *x, size_t n);

#endif

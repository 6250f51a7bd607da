/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_PEAK_H
#define SL_KERNEL_PEAK_H

#include "sluice/status.h"

struct sl_pool;

/*
 * What this machine can do at most, to hold kernels against: multiply-adds of registers
 * alone (f32, two operations each), and a stream that reads and writes one array in
 * place, far larger than the caches of a core (read and written bytes).
 */
struct sl_peak {
	double flops_per_s;
	double bytes_per_s;
};

/* The best of a few bursts, and of what *best already holds: a peak is what nothing
 * disturbed. Takes the pool's width; a tenth of a second and 128 MiB for its time.
 * SL_E_NOMEM. */
SL_NODISCARD sl_status sl_peak_measure(struct sl_pool *pool, struct sl_peak *best);

/* The first part alone, which takes no memory: operations a second. */
double sl_peak_flops(struct sl_pool *pool);

#endif

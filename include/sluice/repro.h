/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_REPRO_H
#define SLUICE_REPRO_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * The tables of papers on our models, in virtual time, with the paper's figures beside
 * ours. `tensile`: Zhang et al., arXiv 2105.13336, on the cost book `gpu` with a link of
 * 12 GB/s, half duplex, and Adam (docs/how-to/reproduce.md).
 */
enum sl_repro_table { SL_REPRO_SINGLE, SL_REPRO_COPIES, SL_REPRO_BATCH };

/* A cell. Ratios: msr is 1 - peak / peak without a plan, eor time / time without one - 1;
 * NaN: there is none. */
struct sl_repro_row {
	enum sl_repro_table table;
	char model[24];
	int64_t batch;
	uint32_t copies; /* jobs that share the device */
	bool cold; /* planned by predicted times, not by true ones */
	double paper_msr, paper_eor;
	/* Ours at the least budget whose time is within eor_limit: the paper's, where it
	 * has one. */
	double eor_limit, msr, eor;
	double greedy_msr, greedy_eor; /* the published rules, as far as they go */
};

struct sl_repro_claim {
	char text[96]; /* what the paper's tables show */
	char numbers[512];
	bool holds;
};

struct sl_repro_opts {
	bool quick; /* two models and fewer cells */
	const volatile sig_atomic_t *stop; /* nonzero: end soon; NULL: never */
	void *ctx;
	sl_status (*row)(void *ctx, const struct sl_repro_row *row);
	sl_status (*claim)(void *ctx, const struct sl_repro_claim *claim);
	/* What is measured now, and the share that is over; NULL: not told */
	void (*progress)(void *ctx, const char *what, double done);
};

/* SL_E_INTERRUPTED after a stop. */
SL_NODISCARD sl_status sl_repro_tensile(const struct sl_repro_opts *opts);

#endif

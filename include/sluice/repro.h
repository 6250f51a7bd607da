/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_REPRO_H
#define SLUICE_REPRO_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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
	/* The first plan, from predicted latencies, as if alone; else the second one,
	 * from latencies measured beside the other copies (docs/how-to/reproduce.md). */
	bool cold;
	double paper_msr, paper_eor;
	/* Ours at the least budget whose time is within eor_limit: the paper's, where it
	 * has one. */
	double eor_limit, msr, eor;
	double greedy_msr, greedy_eor; /* the published rules, as far as they go */
};

/* An experiment: a table of figures. */
struct sl_repro_shape {
	const char *name; /* in JSON */
	const char *title; /* says what the last column is, too */
};

/* A figure of one; NaN: there is none. */
struct sl_repro_figure {
	const struct sl_repro_shape *shape;
	char subject[48]; /* a policy, a model, a rate */
	char figure[48]; /* with its unit */
	double paper, ours;
	double beside; /* what ours is compared with: an ideal, another rule */
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
	sl_status (*row)(void *ctx, const struct sl_repro_row *row); /* of tensile */
	sl_status (*figure)(
		void *ctx, const struct sl_repro_figure *f); /* of the others */
	uint32_t n_jobs; /* of sl_repro_joint: so many at a time */
	const char *jobs; /* of salus: a table of jobs (docs/formats/jobs.md) as its
			     trace; NULL: one is made of our models */
	const char *traces; /* of g10: the folder of its traces; NULL: our models alone */
	sl_status (*claim)(void *ctx, const struct sl_repro_claim *claim);
	/* What is measured now, and the share that is over; NULL: not told */
	void (*progress)(void *ctx, const char *what, double done);
};

/* A paper whose tables are made again. SL_E_INTERRUPTED after a stop. */
struct sl_repro {
	const char *name;
	const char *intro; /* Markdown, in front of its tables */
	sl_status (*run)(const struct sl_repro_opts *opts);
};
const struct sl_repro *sl_repro_at(size_t i); /* NULL past the end */

/* With n_jobs: sl_repro_joint(). */
SL_NODISCARD sl_status sl_repro_tensile(const struct sl_repro_opts *opts);
/* Different jobs on one device and link, planned together (figure: ours) or each for its
 * share (beside). */
SL_NODISCARD sl_status sl_repro_joint(const struct sl_repro_opts *opts);
/* In virtual time, on the cost book `gpu` and a device of 14 GiB. */
SL_NODISCARD sl_status sl_repro_salus(const struct sl_repro_opts *opts);
/* Its traces, if there are any, and our models, on its device. */
SL_NODISCARD sl_status sl_repro_g10(const struct sl_repro_opts *opts);

#endif

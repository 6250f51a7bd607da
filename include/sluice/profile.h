/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PROFILE_H
#define SLUICE_PROFILE_H

#include "sluice/session.h"

/*
 * Where a step's time goes: a few steps are run and every op timed, beside the two peaks
 * of the machine measured in the same run (S. Williams, A. Waterman, D. Patterson,
 * "Roofline", CACM 2009).
 *
 *	struct sl_profile *p;
 *	sl_profile_run(&config, &opts, &events, &p);
 *	sl_profile_rows(p, SL_PROFILE_BY_KERNEL, &rows, &n);   longest first
 *	sl_profile_free(p);
 *
 * Times are medians over the measured steps, in milliseconds a step; medians of parts
 * need not add up to the median of the whole.
 */
struct sl_buf;
struct sl_profile;

#define SL_PROFILE_STEPS_MAX 256

struct sl_profile_opts {
	int64_t steps; /* measured; 0: 5; at most SL_PROFILE_STEPS_MAX */
	int64_t warmup; /* before them; 0: 2 */
	bool timeline; /* keep what sl_profile_timeline needs */
};

enum sl_profile_by {
	SL_PROFILE_BY_KERNEL, /* operator and kernel */
	SL_PROFILE_BY_OP,
	SL_PROFILE_BY_SCOPE,
	SL_PROFILE_BY_NODE /* each op alone */
};
/* "kernel", ...; NULL past the end. */
const char *sl_profile_by_name(size_t i);

struct sl_profile_row {
	/* NULL where ops of several are in the row; borrowed from the profile. */
	const char *op, *kernel, *scope, *shapes;
	uint32_t node; /* the first of its ops, in order of running */
	uint32_t ops; /* runs a step */
	double ms;
	double share; /* of the ms of all rows */
	double again_ms; /* of ms: runs that recompute */
	double flops, bytes; /* a step, by the operators' own count; runs again not
				counted */
	double roofline; /* the least time by the peaks over the time taken; above 1 where
			    bytes came out of a cache */
};

#define SL_PROFILE_CHANNELS 16

/* Copies of one channel, a step. */
struct sl_profile_channel {
	char from[32], to[32]; /* "device", "disk" */
	double copies, bytes;
	double ms; /* the channel was busy */
	double wait_ms; /* the step waited for it */
};

struct sl_profile_summary {
	int64_t batch, steps;
	int threads;
	bool infer;
	uint32_t ops;
	double again_ops; /* runs a step that recompute */
	double step_ms, step_ms_min; /* of the whole step */
	double op_ms; /* in ops, in their turn */
	double again_ms; /* in ops that ran again */
	double wait_ms; /* for copies */
	double gap_ms; /* the rest: in no op and not waiting */
	double flops, bytes; /* a step */
	double peak_flops_per_s; /* multiply-adds of f32 */
	double peak_bytes_per_s; /* a stream that reads and writes */
	double peak_fraction; /* flops / step_ms / peak_flops_per_s */
	double roofline; /* as of a row, of all ops */
	double moved_bytes; /* shifted within the device, a step */
	uint64_t budget_bytes, peak_device_bytes;
	uint32_t n_channels; /* 0 without a budget */
	struct sl_profile_channel channels[SL_PROFILE_CHANNELS];
};

/*
 * Opens the session of config, runs and closes it. config->steps, epochs and save_path
 * are not looked at; with infer_only it runs forward batches of made-up samples, else
 * optimizer steps. events may be NULL. SL_E_USAGE for a device without a clock of its own
 * or a shared job; SL_E_INTERRUPTED after a stop; else as the session's own calls.
 */
SL_NODISCARD sl_status sl_profile_run(const struct sl_session_config *config,
	const struct sl_profile_opts *opts, const struct sl_session_events *events,
	struct sl_profile **out);
void sl_profile_free(struct sl_profile *p); /* NULL is fine */

const struct sl_profile_summary *sl_profile_summary(const struct sl_profile *p);
/* An array of n rows, longest time first; the caller frees it with
 * sl_profile_rows_free(). SL_E_NOMEM. */
SL_NODISCARD sl_status sl_profile_rows(const struct sl_profile *p, enum sl_profile_by by,
	struct sl_profile_row **rows, size_t *n);
void sl_profile_rows_free(struct sl_profile_row *rows);
/* Appends the measured steps as JSON for Perfetto and other viewers of Chrome's trace
 * events (docs/formats/profile.md). SL_E_INVALID without opts.timeline. */
SL_NODISCARD sl_status sl_profile_timeline(
	const struct sl_profile *p, struct sl_buf *out);

#endif

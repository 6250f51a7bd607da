/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_COSTS_H
#define SLUICE_COSTS_H

#include "sluice/session.h"

/*
 * Measuring a cost book on this machine: steps of small models at several batch sizes,
 * with 0, half and all cores kept busy by others, and copies to the tiers; a row an
 * operator kind is fitted to them.
 */
struct sl_buf;

struct sl_calibrate_opts {
	bool quick; /* within 20 seconds, else two minutes: fewer sizes and loads */
	const char *disk_folder; /* as in sl_session_config */
	const volatile sig_atomic_t *stop; /* nonzero: end soon; NULL: never */
	void *ctx;
	/* What is measured now, and the share of the time that is over; NULL: not told */
	void (*progress)(void *ctx, const char *what, double done);
};

#define SL_CALIBRATE_ROWS 192
#define SL_CALIBRATE_LINKS 4
#define SL_CALIBRATE_CHECKS 4

struct sl_calibrate_row {
	char kind[40];
	uint32_t samples; /* sizes and loads */
	uint32_t held_out; /* of them, kept from the fit that the error is of */
	double error; /* median of |predicted - measured| / measured of those held out, or
			 of all where there are too few */
	double start_ns, flops_per_s, bytes_per_s, load;
};

struct sl_calibrate_link {
	char from[32], to[32];
	uint64_t bytes_per_s, latency_ns;
};

/* A model's step: the ops as the book predicts them, as measured, and the whole step. */
struct sl_calibrate_check {
	char model[80];
	int64_t batch;
	double predicted_ms, measured_ms, iter_ms;
};

struct sl_calibrate_report {
	uint32_t n_rows, n_links, n_checks, cores;
	struct sl_calibrate_row rows[SL_CALIBRATE_ROWS];
	struct sl_calibrate_link links[SL_CALIBRATE_LINKS];
	struct sl_calibrate_check checks[SL_CALIBRATE_CHECKS];
	double seconds;
};

/* text: the book (docs/formats/cost.md) is appended. SL_E_INTERRUPTED after a stop. */
SL_NODISCARD sl_status sl_calibrate(const struct sl_calibrate_opts *opts,
	struct sl_calibrate_report *out, struct sl_buf *text);

#endif

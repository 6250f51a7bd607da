/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SIM_COST_H
#define SL_SIM_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sluice/status.h"

/*
 * The cost book: how long an op takes on a device, before it ever ran there (TENSILE's
 * latency prediction, with a line an operator kind instead of a network):
 *
 *   ns = (start_ns + max(flops / flops_per_s, bytes / bytes_per_s)) * (1 + load * share)
 *
 * where `share`, 0 to 1, is the part of the device that others use. Text form
 * (docs/formats/cost.md):
 *
 *   cost 1 device=cpu cores=2
 *   op * start_ns=500 flops_per_s=1e+11 bytes_per_s=2e+10 load=1
 *   op matmul start_ns=800 flops_per_s=1.3e+11 bytes_per_s=2e+10 load=1
 *   link device disk bytes_per_s=1700000000 latency_ns=100000
 *
 * 1. The row `*` serves every kind without one of its own; a checked book has it.
 * 2. Rows are sorted by kind, so that two books of the same content print alike.
 * 3. Plain data of fixed size: copied by assignment, owns nothing.
 */
#define SL_COST_VERSION 1
#define SL_COST_MAX_OPS 192u
#define SL_COST_MAX_LINKS 16u
#define SL_COST_KIND 40
#define SL_COST_NAME 32

struct sl_cost_op {
	char kind[SL_COST_KIND];
	double start_ns; /* 0 or more */
	double flops_per_s, bytes_per_s; /* above 0 */
	double load; /* relative slow-down when others use the whole device */
};

/* Bytes from one tier to another, one way. */
struct sl_cost_link {
	char from[SL_COST_NAME], to[SL_COST_NAME];
	uint64_t bytes_per_s; /* above 0 */
	uint64_t latency_ns;
};

struct sl_cost_book {
	char device[SL_COST_NAME];
	uint32_t cores;
	uint32_t n_ops, n_links;
	struct sl_cost_op ops[SL_COST_MAX_OPS];
	struct sl_cost_link links[SL_COST_MAX_LINKS];
};

/* The books of this build, each with a line about it (summary may be NULL); NULL past the
 * end, or for a name that is none. Borrowed for ever; any thread. The first is the
 * default. */
const struct sl_cost_book *sl_cost_book_at(size_t i, const char **summary);
const struct sl_cost_book *sl_cost_book_find(const char *device);

/* The row of a kind, else the default row; b NULL: of the default book. */
const struct sl_cost_op *sl_cost_row(const struct sl_cost_book *b, const char *kind);
/* NULL: the book has no such link. */
const struct sl_cost_link *sl_cost_link_find(
	const struct sl_cost_book *b, const char *from, const char *to);
/* The formula, unrounded. */
double sl_cost_row_ns(
	const struct sl_cost_op *row, double flops, double bytes, double share);
/* Nanoseconds, 1 to SL_COST_MOST_NS. b NULL: the first book. */
#define SL_COST_MOST_NS 1000000000000000.0
uint64_t sl_cost_predict(const struct sl_cost_book *b, const char *kind, double flops,
	double bytes, double share);

/* A new row, or another content of the row there is. SL_E_LIMIT. */
SL_NODISCARD sl_status sl_cost_set_op(
	struct sl_cost_book *b, const struct sl_cost_op *row);
SL_NODISCARD sl_status sl_cost_set_link(
	struct sl_cost_book *b, const struct sl_cost_link *row);

/* SL_E_FORMAT with source and line; *out is then empty. */
SL_NODISCARD sl_status sl_cost_parse(
	const char *source, const char *data, size_t len, struct sl_cost_book *out);
SL_NODISCARD sl_status sl_cost_print(const struct sl_cost_book *b, struct sl_buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_REPRO_FIGURE_H
#define SL_CLI_REPRO_FIGURE_H

#include "base/buf.h"
#include "cli.h"
#include "sluice/repro.h"

/* What a reproduction has printed so far. */
struct cli_repro {
	const struct cli_args *args;
	struct sl_buf text; /* Markdown */
	int table; /* whose head was written; -1: none */
	const struct sl_repro_shape *shape; /* of the latest figure */
	uint64_t rows, claims, hold;
};

/* Adds a figure; prints it as JSON, if that is wanted. */
SL_NODISCARD sl_status cli_repro_figure(
	struct cli_repro *s, const struct sl_repro_figure *f);

#endif

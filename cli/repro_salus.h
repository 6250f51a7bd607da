/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_REPRO_SALUS_H
#define SL_CLI_REPRO_SALUS_H

#include "base/buf.h"
#include "cli.h"
#include "sluice/repro.h"

/* What a reproduction has printed so far. */
struct cli_repro {
	const struct cli_args *args;
	struct sl_buf text; /* Markdown */
	int table; /* whose head was written; -1: none */
	uint64_t rows, claims, hold;
};

/* Adds a figure of salus; prints it as JSON, if that is wanted. */
SL_NODISCARD sl_status cli_repro_figure(
	struct cli_repro *s, const struct sl_repro_figure *f);

#endif

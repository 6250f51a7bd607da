/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_GRID_H
#define SL_CLI_GRID_H

#include "cli.h"
#include "preview.h"

/* Plans with every policy at every budget of a curve, and prints that as a table, or an
 * object a cell. */
SL_NODISCARD sl_status cli_grid(struct sl_planner *p, const struct cli_args *args,
	const struct cli_preview *front);

#endif

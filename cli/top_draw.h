/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_TOP_DRAW_H
#define SL_CLI_TOP_DRAW_H

#include "daemon.h"

struct cli_top_look {
	int columns;
	int lines; /* 0: as many as there are */
	bool color;
	const char *note; /* last line; NULL: none */
};

/* The device to scale, its lanes, tiers and jobs, as lines; appended. */
SL_NODISCARD sl_status cli_top_draw(
	const struct cli_picture *p, const struct cli_top_look *look, struct sl_buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_OUTPUT_H
#define SL_CLI_OUTPUT_H

#include "base/json.h"

/* Writes a text to a path, or to stdout when path is "-"; SL_E_WRITE when the reader is
 * gone. */
SL_NODISCARD sl_status cli_write(const char *path, const struct sl_buf *text);

/* One JSON object on a line of stdout; both calls in one function. */
struct cli_line {
	struct sl_buf text;
	struct sl_json json;
	bool named;
};
/* name: the object is the value of this key in another one; NULL: it stands alone.
 * Members are added to what it returns. */
struct sl_json *cli_line_begin(struct cli_line *l, const char *name);
/* Prints and flushes; SL_E_WRITE when the reader is gone, SL_E_NOMEM. */
SL_NODISCARD sl_status cli_line_end(struct cli_line *l);

#endif

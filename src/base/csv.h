/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_CSV_H
#define SL_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Tables of plain text between commas: no quotes, blanks around fields dropped, lines
 * ended by LF or CR LF, empty ones skipped, a UTF-8 mark at the start allowed. The first
 * line names the columns. Failures are SL_E_FORMAT or SL_E_LIMIT, "source:line: what".
 */
#define SL_CSV_COLUMNS 64
#define SL_CSV_LINE_BYTES 4096
#define SL_CSV_SHOWN 48

struct sl_csv_field {
	const char *text; /* not terminated */
	size_t len;
};

struct sl_csv {
	const char *source, *next, *end;
	uint32_t line, n_columns;
	struct sl_csv_field row, fields[SL_CSV_COLUMNS];
	struct sl_csv_field names[SL_CSV_COLUMNS];
};

/* Reads the header; data is borrowed. hint: what the first line should be. */
SL_NODISCARD sl_status sl_csv_begin(struct sl_csv *c, const char *source,
	const char *data, size_t len, const char *hint);
/* The next row into row and fields; *more false at the end. */
SL_NODISCARD sl_status sl_csv_row(struct sl_csv *c, bool *more);
/* Where the column is, -1: absent; a name that is there twice is a failure. */
SL_NODISCARD sl_status sl_csv_column(struct sl_csv *c, const char *name, int *out);
/* What a message shows of a field: printable, cut; returns text. */
const char *sl_csv_shown(const struct sl_csv_field *f, char text[SL_CSV_SHOWN]);
/* The fields of a line into fields, as many as there is room for; how many there are. */
uint32_t sl_csv_split(
	const struct sl_csv_field *line, struct sl_csv_field fields[SL_CSV_COLUMNS]);
sl_status sl_csv_fail(const struct sl_csv *c, sl_status st, const char *fmt, ...)
	SL_PRINTF(3, 4);

#endif

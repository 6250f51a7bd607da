/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_CSV_H
#define SL_MEMORY_PLACE_CSV_H

#include "base/buf.h"
#include "memory/place.h"

/*
 * The address planner's table: docs/formats/place.md. A header names the columns; each
 * row is a buffer that lives on the half-open range [lower, upper).
 */
enum sl_place_column {
	SL_PLACE_ID,
	SL_PLACE_LOWER,
	SL_PLACE_UPPER,
	SL_PLACE_BYTES,
	SL_PLACE_ALIGNMENT,
	SL_PLACE_OFFSET,
	SL_PLACE_GAPS,
	SL_PLACE_COLUMNS
};

struct sl_place_row {
	const char *text; /* the line, in the table's text */
	uint32_t len, line;
	uint64_t lower, upper;
	bool has_offset;
	uint32_t gaps, n_gaps; /* of the table's */
};

struct sl_place_pause {
	uint64_t lower, upper; /* nothing is held on [lower, upper) */
};

struct sl_place_table {
	struct sl_buf text;
	const char *source; /* for messages; borrowed */
	const char *header;
	uint32_t header_len, n_columns;
	int column[SL_PLACE_COLUMNS]; /* where it stands; -1: absent */
	struct sl_place_row *rows;
	struct sl_place_item *items; /* a given offset is fixed; times keep their order */
	size_t n;
	struct sl_place_pause *pauses; /* as given */
	struct sl_place_gap *gaps; /* the same in the items' times */
	size_t n_gaps;
};

/* Fails with SL_E_FORMAT or SL_E_LIMIT, "source:line: what"; finish it in any case.
 * source may also be read from: sl_place_table_read. */
SL_NODISCARD sl_status sl_place_table_parse(struct sl_place_table *t);
SL_NODISCARD sl_status sl_place_table_read(struct sl_place_table *t, const char *path);
void sl_place_table_finish(struct sl_place_table *t);
/* The input's columns and the items' offsets, appended. */
SL_NODISCARD sl_status sl_place_table_write(
	const struct sl_place_table *t, struct sl_buf *out);
/* The id of row i, printable and cut to the room; returns text. */
#define SL_PLACE_ID_TEXT 48
const char *sl_place_table_id(
	const struct sl_place_table *t, size_t i, char text[SL_PLACE_ID_TEXT]);

/* A picture as SVG, appended: time to the right, addresses upwards; a line at the
 * capacity, if there is one, and at the load. */
SL_NODISCARD sl_status sl_place_svg(const struct sl_place_table *t, uint64_t load,
	uint64_t capacity, struct sl_buf *out);

#endif

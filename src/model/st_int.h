/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_ST_INT_H
#define SL_MODEL_ST_INT_H

#include "model/safetensors.h"

/* Parts of safetensors reading and writing; for this folder alone. */

struct sl_st_type {
	const char *name;
	uint32_t bytes;
	enum sl_dtype dtype; /* SL_DTYPE_COUNT: none of ours */
};
/* All element types of the format; NULL: unknown. */
const struct sl_st_type *sl_st_type_find(const char *name);
const char *sl_st_type_name(enum sl_dtype t);

/*
 * Reads a JSON header of len bytes into f's tables (offsets still relative to the data).
 * *crc_at: offset in text of the eight digits of SL_ST_META_HEADER_CRC, or SIZE_MAX. text
 * is followed by a zero byte.
 */
SL_NODISCARD sl_status sl_st_header_parse(
	struct sl_st_file *f, const char *text, size_t len, size_t *crc_at);

/* Scanning JSON: a cursor with the place for messages. */
struct sl_st_scan {
	const char *path;
	const char *text;
	const char *p;
	const char *end;
	struct sl_arena *arena;
};
/* SL_E_FORMAT "path: header byte N: expected what". */
sl_status sl_st_scan_fail(const struct sl_st_scan *s, const char *expected);
void sl_st_scan_blanks(struct sl_st_scan *s);
/* Takes one character after blanks; false leaves the cursor before it. */
bool sl_st_scan_char(struct sl_st_scan *s, char c);
/* A string of at most max bytes, unescaped into the arena: valid UTF-8, no zero. *at (may
 * be NULL): offset of its first character in text. */
SL_NODISCARD sl_status sl_st_scan_string(
	struct sl_st_scan *s, size_t max, const char **out, size_t *at);
/* A whole number in [0, 2^63): digits without sign, point, exponent or leading zero. */
SL_NODISCARD sl_status sl_st_scan_number(struct sl_st_scan *s, uint64_t *out);

#endif

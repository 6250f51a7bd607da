/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_JSON_H
#define SL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writing JSON into a buffer. Commas are placed for the caller; the first failure is kept
 * and returned by sl_json_end, so call sites stay readable. key is NULL inside arrays.
 */
struct sl_json {
	struct sl_buf *out;
	sl_status st;
	bool need_comma;
};

void sl_json_begin(struct sl_json *j, struct sl_buf *out);
void sl_json_open(struct sl_json *j, const char *key, char bracket); /* '{' or '[' */
void sl_json_close(struct sl_json *j, char bracket); /* '}' or ']' */
void sl_json_str(struct sl_json *j, const char *key, const char *value); /* NULL: null */
void sl_json_u64(struct sl_json *j, const char *key, uint64_t value);
void sl_json_i64(struct sl_json *j, const char *key, int64_t value);
void sl_json_f64(struct sl_json *j, const char *key,
	double value); /* shortest round trip; NaN: null */
void sl_json_bool(struct sl_json *j, const char *key, bool value);
SL_NODISCARD sl_status sl_json_end(struct sl_json *j); /* appends '\n' */

#endif

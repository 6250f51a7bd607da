/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_BUF_H
#define SL_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Growable bytes with a maximum given at init.
 *
 * 1. data[len] is always '\0' once anything was appended; before that data is NULL, len
 * 0.
 * 2. len <= max. Growing past max is SL_E_LIMIT; host memory running out is SL_E_NOMEM.
 * 3. After a failed append the contents are as before.
 * This file knows no higher-level type.
 */
struct sl_buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
};

#define SL_BUF_MAX(limit) ((struct sl_buf){.max = (limit)})
#define SL_BUF_INIT SL_BUF_MAX((size_t)1 << 30)

SL_NODISCARD sl_status sl_buf_append(struct sl_buf *b, const void *data, size_t len);
SL_NODISCARD sl_status sl_buf_puts(struct sl_buf *b, const char *text);
SL_NODISCARD sl_status sl_buf_printf(struct sl_buf *b, const char *fmt, ...)
	SL_PRINTF(2, 3);
/* Text that is to stand in XML or HTML: &, <, > and quotes as entities. */
SL_NODISCARD sl_status sl_buf_xml(struct sl_buf *b, const char *text);
void sl_buf_clear(struct sl_buf *b); /* len = 0, memory kept */
void sl_buf_finish(struct sl_buf *b); /* frees; zeroed objects are fine */
/* The text; "" when nothing was appended. Borrowed. */
const char *sl_buf_text(const struct sl_buf *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes with a maximum; the invariants are in the header. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Room for `more` bytes and the closing NUL. */
static sl_status reserve(struct sl_buf *b, size_t more)
{
	void *data = b->data;
	size_t ceiling = b->max < SIZE_MAX ? b->max + 1 : b->max;

	if (more > b->max - b->len || b->len + more == SIZE_MAX)
		return SL_FAIL(SL_E_LIMIT,
			"%zu bytes and %zu more pass the limit of %zu bytes", b->len,
			more, b->max);
	if (sl_grow(&data, &b->cap, b->len + more + 1, 1, ceiling) != 0)
		return SL_FAIL(SL_E_NOMEM,
			"no host memory to grow a buffer of %zu bytes by %zu", b->len,
			more);
	b->data = data;
	return SL_OK;
}

sl_status sl_buf_append(struct sl_buf *b, const void *data, size_t len)
{
	SL_TRY(reserve(b, len));
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return SL_OK;
}

sl_status sl_buf_puts(struct sl_buf *b, const char *text)
{
	return sl_buf_append(b, text, strlen(text));
}

sl_status sl_buf_printf(struct sl_buf *b, const char *fmt, ...)
{
	char small[256];
	va_list args;

	va_start(args, fmt);
	int wanted = vsnprintf(small, sizeof(small), fmt, args);
	va_end(args);
	if (wanted < 0)
		return SL_FAIL(SL_E_INVALID, "a text could not be formatted");
	if ((size_t)wanted < sizeof(small))
		return sl_buf_append(b, small, (size_t)wanted);
	SL_TRY(reserve(b, (size_t)wanted));
	va_start(args, fmt);
	vsnprintf(b->data + b->len, (size_t)wanted + 1, fmt, args);
	va_end(args);
	b->len += (size_t)wanted;
	return SL_OK;
}

static const char *entity_of(char c)
{
	return c == '&'	  ? "&amp;"
	       : c == '<' ? "&lt;"
	       : c == '>' ? "&gt;"
	       : c == '"' ? "&quot;"
			  : NULL;
}

sl_status sl_buf_xml(struct sl_buf *b, const char *text)
{
	size_t old = b->len;
	sl_status st = SL_OK;

	for (; *text && st == SL_OK; text++) {
		const char *name = entity_of(*text);

		st = name ? sl_buf_puts(b, name) : sl_buf_append(b, text, 1);
	}
	if (st != SL_OK && b->data) {
		b->len = old; /* as before */
		b->data[old] = '\0';
	}
	return st;
}

void sl_buf_clear(struct sl_buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void sl_buf_finish(struct sl_buf *b)
{
	sl_free(b->data);
	*b = (struct sl_buf){.max = b->max};
}

const char *sl_buf_text(const struct sl_buf *b)
{
	return b->data ? b->data : "";
}

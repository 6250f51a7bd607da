/* SPDX-License-Identifier: Apache-2.0 */
/* The tokeniser of our line-based formats. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define NUMBER_BYTES 64
#define SHOWN 60 /* bytes of a word that a message quotes */

void sl_text_init(struct sl_text *t, const char *source, const char *data, size_t len)
{
	*t = (struct sl_text){.source = source, .data = data, .len = len};
}

sl_status sl_text_fail(const struct sl_text *t, const char *fmt, ...)
{
	char message[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return SL_FAIL(SL_E_FORMAT, "%s:%d: %s", t->source, t->line, message);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static sl_status check_line(const struct sl_text *t, size_t from, size_t to)
{
	if (to - from > LINE_MAX_BYTES)
		return sl_text_fail(t, "a line of %zu bytes, over the limit of %zu",
			to - from, LINE_MAX_BYTES);
	for (size_t i = from; i < to; i++) {
		unsigned char c = (unsigned char)t->data[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return sl_text_fail(t, "control character 0x%02x in column %zu%s",
				c, i - from + 1,
				c == '\r' ? "; lines end in LF alone, dos2unix converts"
					  : "");
	}
	return SL_OK;
}

sl_status sl_text_line(struct sl_text *t, bool *more)
{
	size_t next = t->line ? t->line_end + 1 : 0;

	while (next < t->len) {
		const char *nl = memchr(t->data + next, '\n', t->len - next);
		size_t end = nl ? (size_t)(nl - t->data) : t->len;
		t->line++;
		t->pos = next;
		t->line_end = end;
		SL_TRY(check_line(t, next, end));
		while (t->pos < end && is_blank(t->data[t->pos]))
			t->pos++;
		if (t->pos < end && t->data[t->pos] != '#') {
			*more = true;
			return SL_OK;
		}
		next = end + 1;
	}
	t->pos = t->len;
	t->line_end = t->len;
	*more = false;
	return SL_OK;
}

bool sl_text_word(struct sl_text *t, struct sl_word *out)
{
	while (t->pos < t->line_end && is_blank(t->data[t->pos]))
		t->pos++;
	size_t from = t->pos;
	while (t->pos < t->line_end && !is_blank(t->data[t->pos]))
		t->pos++;
	if (t->pos == from)
		return false;
	const char *word = t->data + from;
	size_t len = t->pos - from;
	const char *eq = memchr(word, '=', len);
	if (!eq || eq == word) {
		*out = (struct sl_word){.value = word, .value_len = len};
		return true;
	}
	size_t key_len = (size_t)(eq - word);
	*out = (struct sl_word){.key = word,
		.key_len = key_len,
		.value = eq + 1,
		.value_len = len - key_len - 1};
	return true;
}

bool sl_word_is(const struct sl_word *w, const char *bare)
{
	return !w->key && strlen(bare) == w->value_len &&
	       !memcmp(w->value, bare, w->value_len);
}

bool sl_word_key_is(const struct sl_word *w, const char *key)
{
	return w->key && strlen(key) == w->key_len && !memcmp(w->key, key, w->key_len);
}

/* "key=value" or the bare word, cut for a message. */
static sl_status fail_word(
	const struct sl_text *t, const struct sl_word *w, const char *what)
{
	const char *start = w->key ? w->key : w->value;
	size_t len = (size_t)(w->value - start) + w->value_len;

	return sl_text_fail(t, "'%.*s%s' %s", (int)(len < SHOWN ? len : SHOWN), start,
		len < SHOWN ? "" : "...", what);
}

static bool copy_value(const struct sl_word *w, char *text, size_t cap)
{
	if (w->value_len >= cap)
		return false;
	memcpy(text, w->value, w->value_len);
	text[w->value_len] = '\0';
	return true;
}

sl_status sl_word_u64(const struct sl_text *t, const struct sl_word *w, uint64_t *out)
{
	char text[NUMBER_BYTES];

	if (!copy_value(w, text, sizeof(text)) || sl_u64_parse(text, out) != SL_OK)
		return fail_word(t, w, "is not a whole number of 64 bits");
	return SL_OK;
}

sl_status sl_word_i64(const struct sl_text *t, const struct sl_word *w, int64_t *out)
{
	char text[NUMBER_BYTES];

	if (!copy_value(w, text, sizeof(text)) || sl_i64_parse(text, out) != SL_OK)
		return fail_word(t, w, "is not a whole number of 64 bits with a sign");
	return SL_OK;
}

sl_status sl_word_f64(const struct sl_text *t, const struct sl_word *w, double *out)
{
	char text[NUMBER_BYTES];

	if (!copy_value(w, text, sizeof(text)) || sl_f64_parse(text, out) != SL_OK)
		return fail_word(t, w, "is not a finite number");
	return SL_OK;
}

sl_status sl_word_id(
	const struct sl_text *t, const struct sl_word *w, char prefix, uint32_t *out)
{
	char text[NUMBER_BYTES];
	uint64_t v;

	if (copy_value(w, text, sizeof(text))) {
		const char *digits = prefix && text[0] == prefix ? text + 1 : text;
		/* The largest index stands for "none" in the ids. */
		if (sl_u64_parse(digits, &v) == SL_OK && v < UINT32_MAX) {
			*out = (uint32_t)v;
			return SL_OK;
		}
	}
	return fail_word(t, w, "is not an id");
}

sl_status sl_word_copy(
	const struct sl_text *t, const struct sl_word *w, char *text, size_t cap)
{
	if (!copy_value(w, text, cap))
		return fail_word(t, w, "is too long");
	return SL_OK;
}

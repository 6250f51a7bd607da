/* SPDX-License-Identifier: Apache-2.0 */
/* One flat JSON object a line. */
#include "memory/foreign/json_line_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define MAX_LINE_BYTES ((size_t)1 << 20)
#define MAX_NUMBER ((int64_t)1 << 60)

void sl_json_line_init(struct sl_json_line *l, const struct sl_foreign_text *text)
{
	*l = (struct sl_json_line){.source = text->source,
		.next = text->data,
		.end = text->data + text->len};
}

void sl_json_line_finish(struct sl_json_line *l)
{
	sl_free(l->words);
	l->words = NULL;
}

sl_status sl_json_line_fail(
	const struct sl_json_line *l, sl_status st, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return SL_FAIL(st, "%s:%u: %s", l->source, l->line, what);
}

static sl_status fail_shape(const struct sl_json_line *l, const char *what)
{
	return sl_json_line_fail(l, SL_E_FORMAT,
		"%s; a line is one object of texts, whole numbers and lists of them",
		what);
}

static void skip_blanks(struct sl_json_line *l)
{
	while (l->next < l->stop && (*l->next == ' ' || *l->next == '\t'))
		l->next++;
}

/* Passes over c, if it is next. */
static bool take(struct sl_json_line *l, char c)
{
	skip_blanks(l);
	if (l->next >= l->stop || *l->next != c)
		return false;
	l->next++;
	return true;
}

static sl_status read_text(struct sl_json_line *l, struct sl_json_word *out)
{
	const char *from = l->next;

	for (; l->next < l->stop && *l->next != '"'; l->next++) {
		if ((unsigned char)*l->next < ' ')
			return fail_shape(l, "a control character");
		if (*l->next == '\\' && l->next + 1 < l->stop)
			l->next++;
	}
	if (l->next >= l->stop)
		return fail_shape(l, "a text does not end");
	*out = (struct sl_json_word){from, (size_t)(l->next - from)};
	l->next++;
	return SL_OK;
}

static sl_status read_word(struct sl_json_line *l, struct sl_json_word *out)
{
	if (take(l, '"'))
		return read_text(l, out);
	*out = (struct sl_json_word){l->next, 0};
	while (l->next < l->stop &&
		(*l->next == '-' || (*l->next >= '0' && *l->next <= '9')))
		l->next++;
	out->len = (size_t)(l->next - out->text);
	return out->len > 0 ? SL_OK : fail_shape(l, "neither a text nor a number");
}

static sl_status add_word(struct sl_json_line *l, struct sl_json_field *f)
{
	struct sl_json_word w;

	SL_TRY(read_word(l, &w));
	if (sl_grow((void **)&l->words, &l->cap_words, l->n_words + 1, sizeof(w),
		    MAX_LINE_BYTES))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a line");
	l->words[l->n_words++] = w;
	f->n++;
	return SL_OK;
}

static sl_status read_list(struct sl_json_line *l, struct sl_json_field *f)
{
	f->list = true;
	if (take(l, ']'))
		return SL_OK;
	do
		SL_TRY(add_word(l, f));
	while (take(l, ','));
	return take(l, ']') ? SL_OK : fail_shape(l, "a list does not end");
}

static bool same(const struct sl_json_word *a, const struct sl_json_word *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static sl_status read_field(struct sl_json_line *l)
{
	struct sl_json_field *f = &l->fields[l->n_fields];

	if (l->n_fields == SL_JSON_LINE_FIELDS)
		return sl_json_line_fail(l, SL_E_LIMIT, "the object has over %d members",
			SL_JSON_LINE_FIELDS);
	*f = (struct sl_json_field){.first = l->n_words};
	if (!take(l, '"'))
		return fail_shape(l, "a member has no name");
	SL_TRY(read_text(l, &f->key));
	if (!take(l, ':'))
		return fail_shape(l, "a member has no value");
	for (uint32_t i = 0; i < l->n_fields; i++)
		if (same(&f->key, &l->fields[i].key))
			return sl_json_line_fail(l, SL_E_FORMAT,
				"the member '%.*s' is given twice",
				f->key.len < 40 ? (int)f->key.len : 40, f->key.text);
	l->n_fields++;
	return take(l, '[') ? read_list(l, f) : add_word(l, f);
}

static sl_status read_object(struct sl_json_line *l)
{
	if (!take(l, '{'))
		return fail_shape(l, "no object");
	if (!take(l, '}')) {
		do
			SL_TRY(read_field(l));
		while (take(l, ','));
		if (!take(l, '}'))
			return fail_shape(l, "an object does not end");
	}
	skip_blanks(l);
	return l->next == l->stop ? SL_OK : fail_shape(l, "more than an object");
}

sl_status sl_json_line_next(struct sl_json_line *l, bool *more)
{
	*more = false;
	while (l->next < l->end && !*more) {
		const char *stop = memchr(l->next, '\n', (size_t)(l->end - l->next));

		l->line++;
		l->stop = stop != NULL ? stop : l->end;
		if ((size_t)(l->stop - l->next) > MAX_LINE_BYTES)
			return sl_json_line_fail(
				l, SL_E_LIMIT, "the line has over 2^20 bytes");
		if (l->stop > l->next && l->stop[-1] == '\r')
			l->stop--;
		skip_blanks(l);
		*more = l->next < l->stop;
		l->n_fields = 0;
		l->n_words = 0;
		if (*more)
			SL_TRY(read_object(l));
		l->next = stop != NULL ? stop + 1 : l->end;
	}
	return SL_OK;
}

bool sl_json_word_is(const struct sl_json_word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

static sl_status find(const struct sl_json_line *l, const char *key, bool list,
	const struct sl_json_field **out)
{
	*out = NULL;
	for (uint32_t i = 0; i < l->n_fields && *out == NULL; i++)
		if (sl_json_word_is(&l->fields[i].key, key))
			*out = &l->fields[i];
	if (*out == NULL)
		return sl_json_line_fail(l, SL_E_FORMAT, "%s is missing", key);
	if ((*out)->list != list)
		return sl_json_line_fail(
			l, SL_E_FORMAT, "%s is %s list", key, list ? "no" : "a");
	return SL_OK;
}

sl_status sl_json_line_word(
	const struct sl_json_line *l, const char *key, struct sl_json_word *out)
{
	const struct sl_json_field *f;

	SL_TRY(find(l, key, false, &f));
	*out = l->words[f->first];
	return SL_OK;
}

sl_status sl_json_line_list(const struct sl_json_line *l, const char *key,
	const struct sl_json_word **out, size_t *n)
{
	const struct sl_json_field *f;

	SL_TRY(find(l, key, true, &f));
	*out = f->n > 0 ? l->words + f->first : NULL;
	*n = f->n;
	return SL_OK;
}

sl_status sl_json_line_number(const struct sl_json_line *l, const char *what,
	const struct sl_json_word *w, int64_t *out)
{
	char text[32];

	if (w->len < sizeof(text)) {
		memcpy(text, w->text, w->len);
		text[w->len] = '\0';
		if (sl_i64_parse(text, out) == SL_OK && *out >= -1 && *out <= MAX_NUMBER)
			return SL_OK;
	}
	return sl_json_line_fail(l, SL_E_FORMAT,
		"%s '%.*s' is not a whole number from -1 to 2^60", what,
		w->len < 40 ? (int)w->len : 40, w->text);
}

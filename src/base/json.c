/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON into a buffer; the first failure is kept until sl_json_end(). */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

void sl_json_begin(struct sl_json *j, struct sl_buf *out)
{
	*j = (struct sl_json){.out = out};
}

static void put(struct sl_json *j, const char *text, size_t len)
{
	if (j->st == SL_OK)
		j->st = sl_buf_append(j->out, text, len);
}

static void put_text(struct sl_json *j, const char *text)
{
	put(j, text, strlen(text));
}

/* Bytes that a UTF-8 sequence with this first byte has, 0 if none starts with it. */
static size_t utf8_announced(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Bytes of the well-formed UTF-8 sequence at p (RFC 3629), 0 if it is none. */
static size_t utf8_length(const unsigned char *p)
{
	size_t n = utf8_announced(p[0]);

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates and what lies beyond U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void put_escaped(struct sl_json *j, unsigned char c)
{
	char text[8];

	if (c == '"' || c == '\\')
		snprintf(text, sizeof(text), "\\%c", c);
	else if (c == '\n')
		snprintf(text, sizeof(text), "\\n");
	else if (c == '\t')
		snprintf(text, sizeof(text), "\\t");
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	put_text(j, text);
}

static void put_string(struct sl_json *j, const char *value)
{
	const unsigned char *p = (const unsigned char *)value;

	put(j, "\"", 1);
	while (*p) {
		size_t n = utf8_length(p);
		if (n == 0)
			put_text(j, "\\ufffd");
		else if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
			put_escaped(j, *p);
		else
			put(j, (const char *)p, n);
		p += n ? n : 1;
	}
	put(j, "\"", 1);
}

static void start(struct sl_json *j, const char *key)
{
	if (j->need_comma)
		put(j, ",", 1);
	j->need_comma = true;
	if (key) {
		put_string(j, key);
		put(j, ":", 1);
	}
}

void sl_json_open(struct sl_json *j, const char *key, char bracket)
{
	start(j, key);
	put(j, &bracket, 1);
	j->need_comma = false;
}

void sl_json_close(struct sl_json *j, char bracket)
{
	put(j, &bracket, 1);
	j->need_comma = true;
}

void sl_json_str(struct sl_json *j, const char *key, const char *value)
{
	start(j, key);
	if (value)
		put_string(j, value);
	else
		put_text(j, "null");
}

void sl_json_u64(struct sl_json *j, const char *key, uint64_t value)
{
	char text[24];

	start(j, key);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(j, text);
}

void sl_json_i64(struct sl_json *j, const char *key, int64_t value)
{
	char text[24];

	start(j, key);
	snprintf(text, sizeof(text), "%" PRId64, value);
	put_text(j, text);
}

/* A locale's decimal sign becomes a point. */
static void plain_point(char *text)
{
	size_t n = strspn(text, "0123456789+-e");

	if (text[n])
		text[n] = '.';
}

void sl_json_f64(struct sl_json *j, const char *key, double value)
{
	char text[40] = "null";
	double back = 0;

	start(j, key);
	for (int digits = 1; isfinite(value) && digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		plain_point(text);
		/* Equal bits are wanted; the difference of equal numbers is the way to
		 * say so. */
		if (sl_f64_parse(text, &back) == SL_OK && !(back < value) &&
			!(back > value))
			break;
	}
	put_text(j, text);
}

void sl_json_bool(struct sl_json *j, const char *key, bool value)
{
	start(j, key);
	put_text(j, value ? "true" : "false");
}

sl_status sl_json_end(struct sl_json *j)
{
	put(j, "\n", 1);
	return j->st;
}

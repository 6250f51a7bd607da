/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of JSON that a safetensors header may hold: strings and whole numbers.
 * Written for hostile input: no recursion, no allocation beyond the string at hand, each
 * failure says where.
 */
#include <string.h>

#include "base/compiler.h"
#include "model/st_int.h"

#define DIGITS_MAX 19 /* below 2^63 < 10^19 is checked on the way */

sl_status sl_st_scan_fail(const struct sl_st_scan *s, const char *expected)
{
	return SL_FAIL(SL_E_FORMAT,
		"%s: header byte %zu: expected %s; the file is damaged or no "
		"safetensors file",
		s->path, (size_t)(s->p - s->text), expected);
}

void sl_st_scan_blanks(struct sl_st_scan *s)
{
	while (s->p < s->end &&
		(*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

bool sl_st_scan_char(struct sl_st_scan *s, char c)
{
	sl_st_scan_blanks(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits after \u; -1: not four digits. */
static int32_t take_hex4(struct sl_st_scan *s)
{
	int32_t v = 0;

	if (s->end - s->p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(s->p[i]);
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	s->p += 4;
	return v;
}

/* One code point after \u; surrogates must come in pairs, zero is refused. */
static sl_status take_escape_u(struct sl_st_scan *s, uint32_t *out)
{
	int32_t high = take_hex4(s);

	if (high <= 0)
		return sl_st_scan_fail(s, "four hexadecimal digits, not 0000");
	if (high < 0xD800 || high > 0xDFFF) {
		*out = (uint32_t)high;
		return SL_OK;
	}
	if (high > 0xDBFF || s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u')
		return sl_st_scan_fail(s, "a surrogate pair");
	s->p += 2;
	int32_t low = take_hex4(s);
	if (low < 0xDC00 || low > 0xDFFF)
		return sl_st_scan_fail(s, "the second half of a surrogate pair");
	*out = 0x10000u + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
	return SL_OK;
}

static size_t put_utf8(char *out, uint32_t c)
{
	static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)(c | lead[n]);
	return n;
}

/* Unicode's table of well-formed UTF-8 (3-7): lead bytes, length, bounds of the second
 * byte. */
static const struct {
	unsigned char first, last;
	unsigned char length;
	unsigned char least, most;
} utf8[] = {
	{0x00, 0x7F, 1, 0, 0},
	{0xC2, 0xDF, 2, 0x80, 0xBF},
	{0xE0, 0xE0, 3, 0xA0, 0xBF},
	{0xE1, 0xEC, 3, 0x80, 0xBF},
	{0xED, 0xED, 3, 0x80, 0x9F},
	{0xEE, 0xEF, 3, 0x80, 0xBF},
	{0xF0, 0xF0, 4, 0x90, 0xBF},
	{0xF1, 0xF3, 4, 0x80, 0xBF},
	{0xF4, 0xF4, 4, 0x80, 0x8F},
};

/* Length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_length(const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t row = 0;

	while (row < SL_COUNT(utf8) && (u[0] < utf8[row].first || u[0] > utf8[row].last))
		row++;
	size_t n = row < SL_COUNT(utf8) ? utf8[row].length : 0;
	if ((size_t)(end - p) < n)
		return 0;
	if (n > 1 && (u[1] < utf8[row].least || u[1] > utf8[row].most))
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((u[i] & 0xC0) != 0x80)
			return 0;
	return n;
}

static sl_status take_escape(struct sl_st_scan *s, char *out, size_t *len)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	uint32_t c = 0;

	if (s->p == s->end)
		return sl_st_scan_fail(s, "an escape");
	const char *known = strchr(from, *s->p);
	if (*s->p && known) {
		s->p++;
		*out = to[known - from];
		*len = 1;
		return SL_OK;
	}
	if (*s->p != 'u')
		return sl_st_scan_fail(s, "an escape");
	s->p++;
	SL_TRY(take_escape_u(s, &c));
	*len = put_utf8(out, c);
	return SL_OK;
}

static sl_status take_character(struct sl_st_scan *s, char *out, size_t *len)
{
	if (*s->p == '\\') {
		s->p++;
		return take_escape(s, out, len);
	}
	*len = utf8_length(s->p, s->end);
	if ((unsigned char)*s->p < 0x20 || !*len)
		return sl_st_scan_fail(s, "text in UTF-8 without control characters");
	memcpy(out, s->p, *len);
	s->p += *len;
	return SL_OK;
}

/* Bytes up to the closing quote: as many as the string can take when unescaped. */
static size_t raw_length(const struct sl_st_scan *s)
{
	const char *p = s->p;

	while (p < s->end && *p != '"')
		p += *p == '\\' && p + 1 < s->end ? 2 : 1;
	return (size_t)(p - s->p);
}

sl_status sl_st_scan_string(
	struct sl_st_scan *s, size_t max, const char **out, size_t *at)
{
	size_t len = 0;

	if (!sl_st_scan_char(s, '"'))
		return sl_st_scan_fail(s, "a string");
	if (at)
		*at = (size_t)(s->p - s->text);
	/* No escape is longer unescaped than escaped. */
	char *text = sl_arena_alloc(s->arena, raw_length(s) + 1);
	if (!text)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its header", s->path);
	while (s->p < s->end && *s->p != '"') {
		size_t n = 0;
		SL_TRY(take_character(s, text + len, &n));
		len += n;
		if (len > max)
			return SL_FAIL(SL_E_LIMIT,
				"%s: header byte %zu: a text over %zu bytes", s->path,
				(size_t)(s->p - s->text), max);
	}
	if (!sl_st_scan_char(s, '"'))
		return sl_st_scan_fail(s, "the end of a string");
	text[len] = '\0';
	*out = text;
	return SL_OK;
}

sl_status sl_st_scan_number(struct sl_st_scan *s, uint64_t *out)
{
	uint64_t v = 0;

	sl_st_scan_blanks(s);
	const char *begin = s->p;
	for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
		if (s->p - begin >= DIGITS_MAX || v > (INT64_MAX - 9) / 10)
			return sl_st_scan_fail(s, "a number below 2^63");
		v = v * 10 + (uint64_t)(*s->p - '0');
	}
	size_t digits = (size_t)(s->p - begin);
	bool ended = s->p == s->end || !strchr(".eE+-", *s->p);
	if (!digits || !ended || (digits > 1 && *begin == '0'))
		return sl_st_scan_fail(s, "a whole number, not negative");
	*out = v;
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic, and numbers and sizes from text without locale or rounding. */
#include "base/units.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define FRACTION_DIGITS 9

struct unit {
	const char *name;
	uint64_t bytes;
};

static const struct unit units[] = {
	{"KiB", (uint64_t)1 << 10},
	{"MiB", (uint64_t)1 << 20},
	{"GiB", (uint64_t)1 << 30},
	{"TiB", (uint64_t)1 << 40},
	{"KB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", 1000000000000},
};

bool sl_mul_size(size_t a, size_t b, size_t *out)
{
	size_t v;

	if (__builtin_mul_overflow(a, b, &v))
		return false;
	*out = v;
	return true;
}

bool sl_add_size(size_t a, size_t b, size_t *out)
{
	size_t v;

	if (__builtin_add_overflow(a, b, &v))
		return false;
	*out = v;
	return true;
}

double sl_times(uint64_t a, uint64_t b)
{
	if (b == 0)
		return a > 0 ? HUGE_VAL : 1;
	return (double)a / (double)b;
}

bool sl_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t v;

	if (__builtin_mul_overflow(a, b, &v))
		return false;
	*out = v;
	return true;
}

bool sl_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t v;

	if (__builtin_add_overflow(a, b, &v))
		return false;
	*out = v;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *text, at least one, into *out; moves *text behind them. */
static bool take_digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t v = 0;

	for (; is_digit(*p); p++)
		if (!sl_mul_u64(v, 10, &v) || !sl_add_u64(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == *text)
		return false;
	*text = p;
	*out = v;
	return true;
}

/* ".25" as billionths: at most nine digits, so that the product with a TiB fits. */
static bool take_fraction(const char **text, uint64_t *out)
{
	const char *start = ++*text;
	uint64_t v;

	if (!take_digits(text, &v) || *text - start > FRACTION_DIGITS)
		return false;
	for (long n = *text - start; n < FRACTION_DIGITS; n++)
		v *= 10;
	*out = v;
	return true;
}

static const struct unit *unit_find(const char *name, size_t len)
{
	for (size_t i = 0; i < SL_COUNT(units); i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, name, len))
			return &units[i];
	return NULL;
}

/* len bytes at text: number, blanks, unit. */
static bool parse_size(const char *text, const char *tail, uint64_t *out)
{
	static const struct unit bytes = {"", 1};
	const struct unit *unit = &bytes;
	size_t tail_len = strlen(tail);
	uint64_t whole;
	uint64_t billionths = 0;
	bool has_fraction;

	if (!take_digits(&text, &whole))
		return false;
	has_fraction = *text == '.';
	if (has_fraction && !take_fraction(&text, &billionths))
		return false;
	size_t len = strlen(text);
	if (len < tail_len || strcmp(text + len - tail_len, tail) != 0)
		return false;
	len -= tail_len;
	size_t blanks = strspn(text, " ");
	if (blanks > len || (blanks && blanks == len))
		return false;
	if (len)
		unit = unit_find(text + blanks, len - blanks);
	if (!unit || (has_fraction && unit == &bytes))
		return false;
	/* In thousandths of the unit first: 1e9 times a TiB does not fit in 64 bits. */
	uint64_t part = billionths / 1000 * unit->bytes / 1000000 +
			billionths % 1000 * unit->bytes / 1000000000;
	return sl_mul_u64(whole, unit->bytes, &whole) && sl_add_u64(whole, part, out);
}

sl_status sl_size_parse(const char *what, const char *text, uint64_t *out)
{
	if (parse_size(text, "", out))
		return SL_OK;
	return SL_FAIL(SL_E_USAGE,
		"%s '%s' is not a size; give bytes (1048576) or a number with KiB, MiB, "
		"GiB, TiB "
		"(binary) or KB, MB, GB, TB (decimal), as in 512KiB or 1.5GB",
		what, text);
}

sl_status sl_rate_parse(const char *what, const char *text, uint64_t *out)
{
	uint64_t rate;

	if (parse_size(text, "/s", &rate) && rate > 0) {
		*out = rate;
		return SL_OK;
	}
	return SL_FAIL(SL_E_USAGE,
		"%s '%s' is not a rate; give a size above zero and /s, as in 12GB/s or "
		"900MiB/s",
		what, text);
}

char *sl_size_print(uint64_t size_bytes, char text[SL_SIZE_TEXT])
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)size_bytes / 1024;
	size_t i = 0;

	if (size_bytes < 1024) {
		snprintf(text, SL_SIZE_TEXT, "%u B", (unsigned)size_bytes);
		return text;
	}
	for (; v >= 1024 && i + 1 < SL_COUNT(names); i++)
		v /= 1024;
	snprintf(text, SL_SIZE_TEXT, "%.2f %s", v, names[i]);
	return text;
}

sl_status sl_u64_parse(const char *text, uint64_t *out)
{
	const char *p = text;
	uint64_t v;

	if (!take_digits(&p, &v) || *p)
		return SL_FAIL(SL_E_INVALID,
			"'%s' is not a whole number from 0 to 2^64 - 1", text);
	*out = v;
	return SL_OK;
}

sl_status sl_i64_parse(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	const char *p = text + negative;
	uint64_t v;

	if (!take_digits(&p, &v) || *p || v > (uint64_t)INT64_MAX + negative)
		return SL_FAIL(
			SL_E_INVALID, "'%s' is not a whole number of 64 bits", text);
	*out = negative ? (int64_t)(0 - v) : (int64_t)v;
	return SL_OK;
}

sl_status sl_f64_parse(const char *text, double *out)
{
	/* No "nan", "inf" or hexadecimal: a file that holds one is wrong. */
	size_t plain = strspn(text, "0123456789+-.eE");
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end = NULL;

	if (!c)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory to read the number '%s'", text);
	double v = strtod_l(text, &end, c);
	freelocale(c);
	if (!*text || text[plain] || *end || !isfinite(v))
		return SL_FAIL(SL_E_INVALID, "'%s' is not a finite number", text);
	*out = v;
	return SL_OK;
}

sl_status sl_time_parse(const char *what, const char *text, sl_ns *out)
{
	static const struct {
		const char *suffix;
		double factor;
	} times[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"", 1e9}};
	size_t len = strlen(text), digits = strspn(text, "0123456789.");
	char number[32];
	double v;

	if (digits > 0 && digits < sizeof(number)) {
		memcpy(number, text, digits);
		number[digits] = '\0';
		for (size_t i = 0; i < SL_COUNT(times); i++) {
			if (strcmp(text + digits, times[i].suffix) != 0 ||
				sl_f64_parse(number, &v) != SL_OK)
				continue;
			v *= times[i].factor;
			if (v > 1e17)
				break;
			*out = (sl_ns)v;
			return SL_OK;
		}
	}
	return SL_FAIL(SL_E_USAGE,
		"%s: '%.*s' is no time; write 250ms, 10s, 5m or 6h (at most three years)",
		what, (int)(len < 40 ? len : 40), text);
}

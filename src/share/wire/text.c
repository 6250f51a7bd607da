/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of peers: UTF-8 and nothing that moves a terminal's cursor. */
#include "share/wire/proto.h"

#include <string.h>

/* Bytes of the character at text if it is whole, allowed UTF-8 (RFC 3629); else 0. */
static size_t character(const uint8_t *text, size_t len)
{
	static const struct {
		uint8_t first, last;
		uint8_t size;
		uint8_t low, high; /* of the second byte */
	} rows[] = {
		{0x20, 0x7e, 1, 0, 0},
		{0xc2, 0xc2, 2, 0xa0, 0xbf}, /* without the control characters */
		{0xc3, 0xdf, 2, 0x80, 0xbf},
		{0xe0, 0xe0, 3, 0xa0, 0xbf}, /* the rest is overlong */
		{0xe1, 0xec, 3, 0x80, 0xbf},
		{0xed, 0xed, 3, 0x80, 0x9f}, /* the rest are surrogates */
		{0xee, 0xef, 3, 0x80, 0xbf},
		{0xf0, 0xf0, 4, 0x90, 0xbf},
		{0xf1, 0xf3, 4, 0x80, 0xbf},
		{0xf4, 0xf4, 4, 0x80, 0x8f},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (text[0] < rows[i].first || text[0] > rows[i].last)
			continue;
		if (rows[i].size > len)
			return 0;
		if (rows[i].size > 1 && (text[1] < rows[i].low || text[1] > rows[i].high))
			return 0;
		for (size_t k = 2; k < rows[i].size; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return rows[i].size;
	}
	return 0;
}

/* U+202A to U+202E and U+2066 to U+2069 turn the direction of what follows. */
static bool turns_direction(const uint8_t *text, size_t size)
{
	if (size != 3 || text[0] != 0xe2)
		return false;
	return (text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae) ||
	       (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9);
}

bool sl_wire_text_ok(const uint8_t *text, size_t len)
{
	while (len > 0) {
		size_t n = character(text, len);

		if (n == 0 || turns_direction(text, n))
			return false;
		text += n;
		len -= n;
	}
	return true;
}

void sl_wire_text(char *to, size_t most, const char *from)
{
	const uint8_t *text = (const uint8_t *)from;
	size_t len = from != NULL ? strlen(from) : 0, used = 0;

	while (len > 0) {
		size_t n = character(text, len);
		bool good = n > 0 && !turns_direction(text, n);
		size_t skip = n > 0 ? n : 1;

		if (used + (good ? n : 1) >= most)
			break;
		if (good)
			memcpy(to + used, text, n);
		else
			to[used] = '?';
		used += good ? n : 1;
		text += skip;
		len -= skip;
	}
	if (most > 0)
		memset(to + used, 0, most - used);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies past the caches. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#define LINE ((size_t)64)
#define PAGE ((size_t)4096)
/* Pages side by side: one page alone keeps too few reads under way. */
#define PAGES 4
#define GROUP (PAGES * PAGE)
#define SHORT ((size_t)64 << 10)

/* Whole lines to an address that is a multiple of one. */
static void stream_lines(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t at = 0;

	for (; at + GROUP <= len; at += GROUP) {
		for (size_t i = 0; i < PAGE; i += LINE) {
			for (size_t k = at + i; k < at + GROUP; k += PAGE)
				SL_STREAM_LINE(to + k, from + k);
		}
	}
	for (; at < len; at += LINE)
		SL_STREAM_LINE(to + at, from + at);
	SL_STREAM_END();
}

void sl_copy_stream(void *to, const void *from, size_t len)
{
	uint8_t *d = to;
	const uint8_t *s = from;
	size_t head, whole;

	if (len < SHORT) {
		memcpy(d, s, len);
		return;
	}
	head = (LINE - ((uintptr_t)d & (LINE - 1))) & (LINE - 1);
	whole = (len - head) & ~(LINE - 1);
	memcpy(d, s, head);
	stream_lines(d + head, s + head, whole);
	memcpy(d + head + whole, s + head + whole, len - head - whole);
}

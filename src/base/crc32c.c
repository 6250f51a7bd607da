/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C, reflected polynomial 0x82F63B78; by instruction, or four bits at a time. */
#include "base/crc32c.h"

#include <string.h>

#include "base/compiler.h"

static const uint32_t nibble[16] = {
	0x00000000,
	0x105EC76F,
	0x20BD8EDE,
	0x30E349B1,
	0x417B1DBC,
	0x5125DAD3,
	0x61C69362,
	0x7198540D,
	0x82F63B78,
	0x92A8FC17,
	0xA24BB5A6,
	0xB21572C9,
	0xC38D26C4,
	0xD3D3E1AB,
	0xE330A81A,
	0xF36E6F75,
};

static uint32_t plain(uint32_t crc, const unsigned char *p, size_t len)
{
	for (; len; len--, p++) {
		crc ^= *p;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

SL_TARGET_CRC32C static uint32_t fast(uint32_t crc, const unsigned char *p, size_t len)
{
	uint64_t wide = crc;

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		wide = SL_CRC32C_U64(wide, word);
	}
	crc = (uint32_t)wide;
	for (; len; len--, p++)
		crc = SL_CRC32C_U8(crc, *p);
	return crc;
}

#define LANES 4
#define LINE 64

static inline uint64_t word_at(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
	return word;
}

/* An instruction a cycle, each three cycles long. One name a lane: an array would live in
 * memory, and cost two thirds of the speed. */
SL_TARGET_CRC32C static void fast_lanes(
	const unsigned char *p, size_t block_len, uint32_t *sums)
{
	uint64_t a = UINT32_MAX, b = a, c = a, d = a;
	const unsigned char *q = p + block_len, *r = q + block_len, *s = r + block_len;
	size_t whole = block_len & ~(size_t)7, rest = block_len - whole;

	for (size_t at = 0; at < whole; at += 8) {
		if (at % LINE == 0) {
			__builtin_prefetch(p + LANES * block_len + at);
			__builtin_prefetch(q + LANES * block_len + at);
			__builtin_prefetch(r + LANES * block_len + at);
			__builtin_prefetch(s + LANES * block_len + at);
		}
		a = SL_CRC32C_U64(a, word_at(p + at));
		b = SL_CRC32C_U64(b, word_at(q + at));
		c = SL_CRC32C_U64(c, word_at(r + at));
		d = SL_CRC32C_U64(d, word_at(s + at));
	}
	sums[0] = ~fast((uint32_t)a, p + whole, rest);
	sums[1] = ~fast((uint32_t)b, q + whole, rest);
	sums[2] = ~fast((uint32_t)c, r + whole, rest);
	sums[3] = ~fast((uint32_t)d, s + whole, rest);
}

void sl_crc32c_blocks(const void *data, size_t block_len, size_t n, uint32_t *sums)
{
	const unsigned char *p = data;
	size_t i = 0;

	for (; SL_CPU_HAS_CRC32C() && i + LANES <= n; i += LANES)
		fast_lanes(p + i * block_len, block_len, sums + i);
	for (; i < n; i++)
		sums[i] = sl_crc32c(0, p + i * block_len, block_len);
}

uint32_t sl_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (SL_CPU_HAS_CRC32C())
		return ~fast(~crc, data, len);
	return sl_crc32c_plain(crc, data, len);
}

uint32_t sl_crc32c_plain(uint32_t crc, const void *data, size_t len)
{
	return ~plain(~crc, data, len);
}

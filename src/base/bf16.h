/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_BF16_H
#define SL_BASE_BF16_H

#include <stdint.h>
#include <string.h>

/*
 * bfloat16: the upper half of an f32 (8 bits of exponent, 7 of fraction). Widening is
 * exact; narrowing rounds to nearest, ties to even, and keeps a NaN one (made quiet, its
 * sign and upper bits kept). Values beyond the largest become infinite; subnormals stay.
 */
static inline float sl_bf16_to_f32(uint16_t v)
{
	uint32_t bits = (uint32_t)v << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint16_t sl_bf16_from_f32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	/* No branch, so that loops over it become vectors. */
	uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	uint32_t quiet = bits >> 16 | 0x40;
	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : near);
}

#endif

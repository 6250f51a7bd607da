/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_COMPILER_H
#define SL_BASE_COMPILER_H

/* What differs between compilers lives here and nowhere else. */

#define SL_LIKELY(x) __builtin_expect(!!(x), 1)
#define SL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SL_UNUSED __attribute__((unused))
#define SL_NORETURN _Noreturn
#define SL_THREAD _Thread_local
#define SL_RESTRICT restrict

#define SL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The processor's CRC-32C instruction; without one SL_CPU_HAS_CRC32C() is false. */
#if defined(__x86_64__)
#define SL_TARGET_CRC32C __attribute__((target("sse4.2")))
#define SL_CPU_HAS_CRC32C() __builtin_cpu_supports("sse4.2")
#define SL_CRC32C_U64(crc, word) __builtin_ia32_crc32di((crc), (word))
#define SL_CRC32C_U8(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#else
#define SL_TARGET_CRC32C
#define SL_CPU_HAS_CRC32C() 0
#define SL_CRC32C_U64(crc, word) ((crc) ^ (word))
#define SL_CRC32C_U8(crc, byte) ((crc) ^ (byte))
#endif

/* One line of 64 bytes past the caches, to an aligned address; what orders such stores
 * before later ones. */
#if defined(__SSE2__)
#include <emmintrin.h>
static inline void sl_stream_line(void *to, const void *from)
{
	const __m128i *s = from;
	__m128i a = _mm_loadu_si128(&s[0]), b = _mm_loadu_si128(&s[1]);
	__m128i c = _mm_loadu_si128(&s[2]), d = _mm_loadu_si128(&s[3]);
	__m128i *t = to;

	_mm_stream_si128(&t[0], a);
	_mm_stream_si128(&t[1], b);
	_mm_stream_si128(&t[2], c);
	_mm_stream_si128(&t[3], d);
}
#define SL_STREAM_LINE(to, from) sl_stream_line(to, from)
#define SL_STREAM_END() _mm_sfence()
#else
#define SL_STREAM_LINE(to, from) __builtin_memcpy(to, from, 64)
#define SL_STREAM_END() ((void)0)
#endif

#endif

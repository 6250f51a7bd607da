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
typedef long long sl_m128 __attribute__((vector_size(16), may_alias));
typedef long long sl_m128_any __attribute__((vector_size(16), may_alias, aligned(1)));
static inline void sl_stream_line(void *to, const void *from)
{
	const sl_m128_any *s = from;
	sl_m128 a = s[0], b = s[1], c = s[2], d = s[3];
	sl_m128 *t = to;

	__builtin_ia32_movntdq(&t[0], a);
	__builtin_ia32_movntdq(&t[1], b);
	__builtin_ia32_movntdq(&t[2], c);
	__builtin_ia32_movntdq(&t[3], d);
}
#define SL_STREAM_LINE(to, from) sl_stream_line(to, from)
#define SL_STREAM_END() __builtin_ia32_sfence()
#else
#define SL_STREAM_LINE(to, from) __builtin_memcpy(to, from, 64)
#define SL_STREAM_END() ((void)0)
#endif

#endif

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

#endif

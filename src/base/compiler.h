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

#endif

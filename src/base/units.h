/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_UNITS_H
#define SL_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluice/status.h"

#define SL_KIB ((uint64_t)1 << 10)
#define SL_MIB ((uint64_t)1 << 20)
#define SL_GIB ((uint64_t)1 << 30)

/* Overflow-checked; false leaves *out alone. */
bool sl_mul_size(size_t a, size_t b, size_t *out);
bool sl_add_size(size_t a, size_t b, size_t *out);
bool sl_mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool sl_add_u64(uint64_t a, uint64_t b, uint64_t *out);
/* align is a power of two; the caller knows that no overflow is possible. */
static inline uint64_t sl_align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}
/* Times that are too far away to matter stay there: the sum, or UINT64_MAX. */
static inline uint64_t sl_add_ns(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* How many times b, of things that may be nothing: 1 where both are, infinite where only
 * b is. */
double sl_times(uint64_t a, uint64_t b);

/*
 * "1048576", "512KiB", "6 GiB", "1.5GB" (KiB MiB GiB TiB binary, KB MB GB TB decimal).
 * Anything else is SL_E_USAGE with a message that shows what is accepted; `what` names
 * the option.
 */
SL_NODISCARD sl_status sl_size_parse(const char *what, const char *text, uint64_t *out);
/* "12GB/s" in bytes a second, the same units. */
SL_NODISCARD sl_status sl_rate_parse(const char *what, const char *text, uint64_t *out);
/* "250ms", "10s", "5m", "6h", or seconds, in nanoseconds. */
SL_NODISCARD sl_status sl_time_parse(const char *what, const char *text, sl_ns *out);
/* "1.50 GiB" into text; returns text. */
#define SL_SIZE_TEXT 32
char *sl_size_print(uint64_t size_bytes, char text[SL_SIZE_TEXT]);

/* Whole-text number parsing: no blanks, no trailing text, range checked, no locale. */
SL_NODISCARD sl_status sl_u64_parse(const char *text, uint64_t *out);
SL_NODISCARD sl_status sl_i64_parse(const char *text, int64_t *out);
SL_NODISCARD sl_status sl_f64_parse(const char *text, double *out);

#endif

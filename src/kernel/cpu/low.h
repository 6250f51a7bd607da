/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_LOW_H
#define SL_KERNEL_CPU_LOW_H

#include "base/bf16.h"
#include "kernel/cpu/cpu.h"

/*
 * bf16 in kernels that compute in f32: rows are widened into a buffer on the stack (in
 * the first-level cache), computed there by the loop that serves f32, and narrowed into
 * place, so that each kernel has one body. Plain loops: the compiler makes vectors of
 * them on any machine.
 */

/* Elements of a buffer, as many as sums add up in f32; three take 12 KiB. */
#define SL_LOW_BLOCK 1024

static inline void sl_low_widen(const uint16_t *x, float *y, int64_t n)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		y[i] = sl_bf16_to_f32(x[i]);
}

static inline void sl_low_narrow(const float *x, uint16_t *y, int64_t n)
{
#pragma GCC ivdep
	for (int64_t i = 0; i < n; i++)
		y[i] = sl_bf16_from_f32(x[i]);
}

/* Elements [at, at + n) as f32: the data itself, or widened into buf. */
static inline const float *sl_low_load(
	const void *data, enum sl_dtype t, int64_t at, int64_t n, float *buf)
{
	if (t == SL_F32)
		return (const float *)data + at;
	sl_low_widen((const uint16_t *)data + at, buf, n);
	return buf;
}

/* Where to compute elements [at, at + n) of data: in place, or in buf, which
 * sl_low_store then narrows. */
static inline float *sl_low_room(void *data, enum sl_dtype t, int64_t at, float *buf)
{
	return t == SL_F32 ? (float *)data + at : buf;
}

static inline void sl_low_store(
	void *data, enum sl_dtype t, int64_t at, int64_t n, const float *buf)
{
	if (t != SL_F32)
		sl_low_narrow(buf, (uint16_t *)data + at, n);
}

static inline int64_t sl_low_block(int64_t at, int64_t end)
{
	return end - at < SL_LOW_BLOCK ? end - at : SL_LOW_BLOCK;
}

/* All inputs that are present and all outputs are f32, or all are bf16. */
bool sl_cpu_is_f32_or_low(const struct sl_node_info *n);
/* All inputs and outputs are f32, or those that a bit of low_in or low_out names are bf16
 * and the others f32. */
bool sl_cpu_is_f32_or_mixed(
	const struct sl_node_info *n, uint32_t low_in, uint32_t low_out);

#endif

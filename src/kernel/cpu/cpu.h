/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_CPU_H
#define SL_KERNEL_CPU_CPU_H

#include "kernel/kernel.h"

/*
 * What our own CPU kernels share. They run f32 on one machine's vectors; each says in its
 * file what it accepts, and leaves the rest to the reference.
 */

/* Elements of one chunk of element-wise work: less runs on the caller's thread alone. */
#define SL_CPU_GRAIN 32768

/* Items [begin, end) of an execution. */
typedef void (*sl_cpu_range_fn)(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end);

/*
 * Cuts `count` items into chunks of `grain` and runs fn over them with the step's pool.
 * The cut does not depend on the pool.
 */
void sl_cpu_for(const struct sl_call *c, const void *arg, int64_t count, int64_t grain,
	sl_cpu_range_fn fn);

/* Items of `size` elements each that make a chunk. */
static inline int64_t sl_cpu_grain(int64_t size)
{
	return size >= SL_CPU_GRAIN || size <= 0 ? 1 : SL_CPU_GRAIN / size;
}

static inline int64_t sl_cpu_chunks(int64_t count, int64_t grain)
{
	return (count + grain - 1) / grain;
}

/* All inputs that are present and all outputs are f32. */
bool sl_cpu_is_f32(const struct sl_node_info *n);
/* The same, but input i is i32 or i64. */
bool sl_cpu_is_f32_but(const struct sl_node_info *n, int i);

/* Element i of i32 or i64 data. */
static inline int64_t sl_cpu_index(const void *data, enum sl_dtype t, int64_t i)
{
	return t == SL_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

static inline int64_t sl_cpu_count_in(const struct sl_call *c, int i)
{
	return sl_shape_count(&c->node->in[i].shape);
}

static inline int64_t sl_cpu_count_out(const struct sl_call *c, int i)
{
	return sl_shape_count(&c->node->out[i].shape);
}

/*
 * Sums over n floats: blocks of 1024 in f32 lanes, blocks added in double, so that the
 * error does not grow with n.
 */
double sl_cpu_sum(const float *x, int64_t n);
double sl_cpu_sum_squares(const float *x, int64_t n); /* all in double */
double sl_cpu_dot(const float *x, const float *y, int64_t n);
/* Adds the sums of x - shift and of (x - shift)^2 to out. */
void sl_cpu_moments(const float *x, int64_t n, float shift, double out[2]);
/* Adds the sums of w and of w (x - shift) to out. */
void sl_cpu_weights(
	const float *w, const float *x, int64_t n, float shift, double out[2]);

/* The largest, where NaN is larger than any number; -infinity of none. */
float sl_cpu_max(const float *x, int64_t n);
/* y = e^(x - shift), x == y allowed; returns the sum of y. y may be NULL. */
double sl_cpu_exp_sum(const float *x, float *y, int64_t n, float shift);

/* y = (x - shift - rest) scale + offset of n floats, k = {shift, rest, scale, offset}. */
void sl_cpu_scale(const float *x, float *y, int64_t n, const float k[4]);

#endif

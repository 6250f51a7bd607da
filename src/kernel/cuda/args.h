/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CUDA_ARGS_H
#define SL_KERNEL_CUDA_ARGS_H

/*
 * Arguments that host and device code pass by value, read by both compilers: fixed sizes,
 * no header.
 */

#define SL_CUDA_RANK 8

/* A walk over a shape by up to three operands with element strides of their own, with as
 * few axes as they allow. Axis 0 is the innermost. */
struct sl_cuda_walk {
	long long dim[SL_CUDA_RANK];
	long long stride[3][SL_CUDA_RANK];
	long long start[3];
	int rank;
	int unused;
};

/* Kept and reduced axes of a reduction, both as walks of x (operand 0). */
struct sl_cuda_reduce {
	struct sl_cuda_walk kept, gone;
	long long n_kept, n_gone;
};

/* y [n, o, oh, ow] = x [n, c, h, w] by w [o, cg, kh, kw]. */
struct sl_cuda_conv {
	long long n, c, h, w, o, cg, og, kh, kw, oh, ow;
	long long stride[2], pad[2], dilation[2];
};

struct sl_cuda_pool {
	long long h, w, oh, ow;
	long long kernel[2], stride[2], pad[4];
	int count_pad, unused;
};

/* Product of a [m, k] and b [k, n] with element steps; batches walk a and b. */
struct sl_cuda_gemm {
	long long m, n, k;
	long long a_row, a_col, b_row, b_col;
	struct sl_cuda_walk batch;
};

/* Elements from one batch, head, row to the next, and the first one. */
struct sl_cuda_rows {
	long long batch, head, row, first;
};

struct sl_cuda_attention {
	struct sl_cuda_rows q, k, v, y;
	long long mask[4]; /* steps of batch, head, query, key */
	unsigned long long seed, base;
	unsigned stream, step;
	float scale;
	float keep_scale; /* 1 / (1 - dropout); 0 where all is dropped */
	unsigned keep_from; /* kept where (word >> 8) is at least this */
	int b, h, t, s, d;
	int causal, has_mask;
	int unused;
};

/* Rules of optimizers; what depends on the step is computed on the device. */
struct sl_cuda_optim {
	double momentum, beta1, beta2, eps, decay;
	long long begin, count;
	int nesterov, decoupled;
};

/* Addresses of scalars on the device. */
#define SL_CUDA_POINTERS 120
struct sl_cuda_pointers {
	const float *at[SL_CUDA_POINTERS];
	long long n;
};

/* Rows of [n / groups, groups, c / groups, inner], normalised each. */
struct sl_cuda_norm {
	long long rows, length, groups, inner, c;
	float eps;
	int unused;
};

/*
 * What a kernel found wrong with the data it was given, in memory that host and device
 * see; all zero: nothing. The host tells it at the next synchronisation.
 */
enum sl_cuda_fault { SL_CUDA_FAULT_NONE, SL_CUDA_FAULT_INDEX, SL_CUDA_FAULT_LABEL };
struct sl_cuda_report {
	int fault; /* enum sl_cuda_fault */
	int wraps; /* negative indices count from the end */
	long long value, at, bound;
};

#endif

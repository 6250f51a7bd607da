/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maximum pooling by 2 x 2 windows that lie side by side without padding, and its
 * gradient: what small nets do all the time, on rows so short that the general loops
 * spend their time between rows.
 *
 * Two rows of x make one row of the result in a single pass. f32; reads and writes each
 * element once. The first NaN wins, else the first largest element in row-major order, as
 * in the reference. The gradient may take the bytes of x: a window is read before it is
 * written, and nobody else reads it.
 */
#include "kernel/cpu/pool.h"

struct sizes {
	int64_t planes, h, w, oh, ow;
};

static struct sizes sizes_of(const struct sl_shape *x, const struct sl_shape *y)
{
	return (struct sizes){
		.planes = x->dim[0] * x->dim[1],
		.h = x->dim[2],
		.w = x->dim[3],
		.oh = y->dim[2],
		.ow = y->dim[3],
	};
}

static bool accepts_shapes(
	const struct sl_node_info *n, const struct sl_shape *x, const struct sl_shape *y)
{
	const struct sl_pool_attr *a = n->attr;
	bool pairs = a->kernel[0] == 2 && a->kernel[1] == 2 && a->stride[0] == 2 &&
		     a->stride[1] == 2;
	bool padded = a->pad[0] || a->pad[1] || a->pad[2] || a->pad[3];

	/* With ceil_mode the last window may be cut. */
	return sl_cpu_is_f32(n) && pairs && !padded && 2 * y->dim[2] <= x->dim[2] &&
	       2 * y->dim[3] <= x->dim[3];
}

/* The 16 windows of two rows of 32 elements. */
struct windows {
	sl_lanes v[4];
};

#define ODD(a, b) \
	__builtin_shufflevector( \
		a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW(a, b) \
	__builtin_shufflevector( \
		a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) \
	__builtin_shufflevector( \
		a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

static SL_INLINE void load(const float *x, int64_t w, struct windows *q)
{
	for (int r = 0; r < 2; r++) {
		sl_lanes a = *(const sl_lanes *)(x + r * w);
		sl_lanes b = *(const sl_lanes *)(x + r * w + SL_LANES);
		q->v[2 * r] = SL_EVEN(a, b);
		q->v[2 * r + 1] = ODD(a, b);
	}
}

static SL_INLINE void store(float *x, int64_t w, const struct windows *q)
{
	for (int r = 0; r < 2; r++) {
		*(sl_lanes *)(x + r * w) = LOW(q->v[2 * r], q->v[2 * r + 1]);
		*(sl_lanes *)(x + r * w + SL_LANES) = HIGH(q->v[2 * r], q->v[2 * r + 1]);
	}
}

static SL_INLINE void largest(const struct windows *q, sl_lanes *best)
{
	sl_mask won;

	*best = q->v[0];
	for (int i = 1; i < 4; i++)
		challenge(&q->v[i], best, &won);
}

/* dy to the winners, zero to the rest. */
static SL_INLINE void spread(struct windows *q, const sl_lanes *dy)
{
	sl_lanes best = q->v[0];
	sl_mask won[4];
	sl_mask lost = {0};

	for (int i = 1; i < 4; i++)
		challenge(&q->v[i], &best, &won[i]);
	won[0] = ~lost;
	for (int i = 3; i >= 0; i--) {
		q->v[i] = (sl_lanes)(won[i] & ~lost & (sl_mask)*dy);
		lost |= won[i];
	}
}

/* Fewer than 16 windows at the end of a row, between copies. */
struct rest {
	float x[4 * SL_LANES]; /* two rows */
	float y[SL_LANES];
};

static void copy(float *to, const float *from, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		to[i] = from[i];
}

SL_PLAIN static void forward_row(const float *x, int64_t w, float *y, int64_t n)
{
	struct rest rest = {{0}, {0}};
	struct windows q;
	int64_t i = 0;

	for (; i + SL_LANES <= n; i += SL_LANES) {
		load(x + 2 * i, w, &q);
		largest(&q, (sl_lanes *)(y + i));
	}
	if (i == n)
		return;
	copy(rest.x, x + 2 * i, 2 * (n - i));
	copy(rest.x + 2 * SL_LANES, x + w + 2 * i, 2 * (n - i));
	load(rest.x, 2 * SL_LANES, &q);
	largest(&q, (sl_lanes *)rest.y);
	copy(y + i, rest.y, n - i);
}

static void forward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sizes *s = arg;

	for (int64_t p = begin; p < end; p++) {
		const float *x = (const float *)c->in[0] + p * s->h * s->w;
		float *y = (float *)c->out[0] + p * s->oh * s->ow;
		for (int64_t h = 0; h < s->oh; h++)
			forward_row(x + 2 * h * s->w, s->w, y + h * s->ow, s->ow);
	}
}

/* dx may be x. */
SL_PLAIN static void backward_row(
	const float *x, int64_t w, const float *dy, float *dx, int64_t n)
{
	struct rest rest = {{0}, {0}};
	struct windows q;
	int64_t i = 0;

	for (; i + SL_LANES <= n; i += SL_LANES) {
		load(x + 2 * i, w, &q);
		spread(&q, (const sl_lanes *)(dy + i));
		store(dx + 2 * i, w, &q);
	}
	if (i == n)
		return;
	copy(rest.x, x + 2 * i, 2 * (n - i));
	copy(rest.x + 2 * SL_LANES, x + w + 2 * i, 2 * (n - i));
	copy(rest.y, dy + i, n - i);
	load(rest.x, 2 * SL_LANES, &q);
	spread(&q, (const sl_lanes *)rest.y);
	store(rest.x, 2 * SL_LANES, &q);
	copy(dx + 2 * i, rest.x, 2 * (n - i));
	copy(dx + w + 2 * i, rest.x + 2 * SL_LANES, 2 * (n - i));
}

static void backward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sizes *s = arg;

	for (int64_t p = begin; p < end; p++) {
		const float *x = (const float *)c->in[0] + p * s->h * s->w;
		const float *dy = (const float *)c->in[1] + p * s->oh * s->ow;
		float *dx = (float *)c->out[0] + p * s->h * s->w;
		for (int64_t h = 0; h < s->oh; h++) {
			int64_t at = 2 * h * s->w;
			backward_row(x + at, s->w, dy + h * s->ow, dx + at, s->ow);
		}
		/* What no window reaches: columns on the right, rows below. */
		for (int64_t h = 0; h < 2 * s->oh; h++)
			for (int64_t i = 2 * s->ow; i < s->w; i++)
				dx[h * s->w + i] = 0;
		memset(dx + 2 * s->oh * s->w, 0,
			(size_t)((s->h - 2 * s->oh) * s->w) * sizeof(*dx));
	}
}

static bool forward_accepts(const struct sl_node_info *n)
{
	return accepts_shapes(n, &n->in[0].shape, &n->out[0].shape);
}

static bool backward_accepts(const struct sl_node_info *n)
{
	return accepts_shapes(n, &n->in[0].shape, &n->in[1].shape);
}

static sl_status run(const struct sl_call *c, const struct sizes *s, sl_cpu_range_fn fn)
{
	sl_cpu_for(c, s, s->planes, sl_cpu_grain(s->h * s->w), fn);
	return SL_OK;
}

static sl_status forward_run(const struct sl_call *c)
{
	struct sizes s = sizes_of(&c->node->in[0].shape, &c->node->out[0].shape);

	return run(c, &s, forward);
}

static sl_status backward_run(const struct sl_call *c)
{
	struct sizes s = sizes_of(&c->node->in[0].shape, &c->node->in[1].shape);

	return run(c, &s, backward);
}

const struct sl_kernel sl_kernel_pairs_max_pool2d = {
	.name = "pairs_max_pool2d",
	.op = "max_pool2d",
	.rank = 20,
	.accepts = forward_accepts,
	.run = forward_run,
};

const struct sl_kernel sl_kernel_pairs_max_pool2d_dx = {
	.name = "pairs_max_pool2d_dx",
	.op = "max_pool2d_dx",
	.rank = 20,
	.accepts = backward_accepts,
	.run = backward_run,
};

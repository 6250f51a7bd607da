/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max and average pooling of channels-last values and their gradients: vectors of 16
 * channels, window by window. f32.
 *
 * Max: the first NaN, else the first largest element in row-major order, as in the
 * reference; its gradient finds the winner again and may take the bytes of x where
 * windows lie apart. Gradients of one image's strip of channels are added by one thread,
 * window after window.
 */
#include "kernel/cpu/pool.h"

#define STRIP 64 /* channels of an image that one piece of a gradient is */

struct window {
	struct sl_pool_span rows, columns;
	int64_t first; /* of y, in positions of the image */
	float count;
};

struct job {
	struct sl_pool2d p;
	int64_t c, strips;
	const float *x, *dy;
	float *y, *dx;
};

static struct window window_at(const struct sl_pool2d *p, int64_t oh, int64_t ow)
{
	struct window w = {.rows = rows_of(p, oh), .first = oh * p->ow + ow};
	int64_t from = ow * p->stride[1] - p->pad[1];
	int64_t to = from + p->kernel[1];

	w.columns.from = from > 0 ? from : 0;
	w.columns.to = to < p->w ? to : p->w;
	w.count = p->max ? 1.0f : (float)(counted(p, 0, oh) * counted(p, 1, ow));
	return w;
}

static SL_INLINE void load(const float *x, int64_t n, sl_lanes *v)
{
	if (n >= SL_LANES) {
		*v = *(const sl_lanes *)x;
		return;
	}
	*v = (sl_lanes){0};
	memcpy(v, x, (size_t)n * sizeof(*x));
}

static SL_INLINE void store(float *x, int64_t n, const sl_lanes *v)
{
	if (n >= SL_LANES)
		*(sl_lanes *)x = *v;
	else
		memcpy(x, v, (size_t)n * sizeof(*x));
}

/* The pooled channels [ch, ch + 16) of a window of one image. */
static SL_INLINE void pool_window(const struct job *j, const float *x,
	const struct window *w, int64_t n, sl_lanes *all)
{
	bool begun = false;

	for (int64_t h = w->rows.from; h < w->rows.to; h++)
		for (int64_t i = w->columns.from; i < w->columns.to; i++) {
			sl_lanes v;
			sl_mask won;
			load(x + (h * j->p.w + i) * j->c, n, &v);
			if (!begun)
				*all = v;
			else if (j->p.max)
				challenge(&v, all, &won);
			else
				*all += v;
			begun = true;
		}
	if (!j->p.max)
		*all /= w->count;
}

/* Rows (image, row of y). */
SL_PLAIN static void forward(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *j = arg;
	const struct sl_pool2d *p = &j->p;

	(void)c;
	for (int64_t row = begin; row < end; row++) {
		const float *x = j->x + row / p->oh * p->h * p->w * j->c;
		for (int64_t ow = 0; ow < p->ow; ow++) {
			struct window w = window_at(p, row % p->oh, ow);
			float *y = j->y + (row * p->ow + ow) * j->c;
			for (int64_t ch = 0; ch < j->c; ch += SL_LANES) {
				sl_lanes all = {0};
				pool_window(j, x + ch, &w, j->c - ch, &all);
				store(y + ch, j->c - ch, &all);
			}
		}
	}
}

static bool is_apart(const struct sl_pool2d *p)
{
	return p->stride[0] >= p->kernel[0] && p->stride[1] >= p->kernel[1];
}

/* Where each channel's winner is, counted through the window. */
static SL_INLINE void find_winner(const struct job *j, const float *x,
	const struct window *w, int64_t n, sl_mask *at)
{
	sl_lanes best = {0}, v;
	sl_mask won;
	int32_t tap = 0;

	*at = (sl_mask){0};
	for (int64_t h = w->rows.from; h < w->rows.to; h++)
		for (int64_t i = w->columns.from; i < w->columns.to; i++, tap++) {
			load(x + (h * j->p.w + i) * j->c, n, &v);
			if (tap == 0) {
				best = v;
				continue;
			}
			challenge(&v, &best, &won);
			*at = (won & tap) | (~won & *at);
		}
}

/* dy to the winners of a window; what lies in no window before is 0 already, or the
 * window's own. */
static SL_INLINE void max_window(const struct job *j, const float *x, float *dx,
	const struct window *w, int64_t n, const sl_lanes *dy)
{
	bool apart = is_apart(&j->p);
	sl_mask at;
	int32_t tap = 0;

	find_winner(j, x, w, n, &at);
	for (int64_t h = w->rows.from; h < w->rows.to; h++)
		for (int64_t i = w->columns.from; i < w->columns.to; i++, tap++) {
			float *to = dx + (h * j->p.w + i) * j->c;
			sl_lanes v = (sl_lanes)((at == tap) & (sl_mask)*dy);
			sl_lanes old;
			if (!apart) {
				load(to, n, &old);
				v += old;
			}
			store(to, n, &v);
		}
}

static SL_INLINE void avg_window(const struct job *j, float *dx, const struct window *w,
	int64_t n, const sl_lanes *dy)
{
	sl_lanes each = *dy / w->count;

	for (int64_t h = w->rows.from; h < w->rows.to; h++)
		for (int64_t i = w->columns.from; i < w->columns.to; i++) {
			float *to = dx + (h * j->p.w + i) * j->c;
			sl_lanes v;
			load(to, n, &v);
			v += each;
			store(to, n, &v);
		}
}

static void clear(const struct job *j, float *dx, int64_t n)
{
	for (int64_t i = 0; i < j->p.h * j->p.w; i++)
		memset(dx + i * j->c, 0, (size_t)n * sizeof(*dx));
}

/* Windows apart that tile all of x write every element themselves. */
static bool must_clear(const struct sl_pool2d *p)
{
	return !p->max || !is_apart(p);
}

/* What windows that lie apart leave out: rows and columns between and after them. */
static void clear_gaps(const struct job *j, float *dx, int64_t n)
{
	const struct sl_pool2d *p = &j->p;

	for (int64_t i = 0; i < p->h * p->w; i++) {
		int64_t h = i / p->w + p->pad[0], w = i % p->w + p->pad[1];
		bool inside = h / p->stride[0] < p->oh &&
			      h % p->stride[0] < p->kernel[0] &&
			      w / p->stride[1] < p->ow && w % p->stride[1] < p->kernel[1];
		if (!inside)
			memset(dx + i * j->c, 0, (size_t)n * sizeof(*dx));
	}
}

static SL_INLINE void window_dx(
	const struct job *j, int64_t image, int64_t ch, int64_t n, const struct window *w)
{
	const struct sl_pool2d *p = &j->p;
	int64_t at = image * p->h * p->w * j->c + ch;
	const float *from = j->dy + (image * p->oh * p->ow + w->first) * j->c + ch;

	for (int64_t k = 0; k < n; k += SL_LANES) {
		sl_lanes dy;
		load(from + k, n - k, &dy);
		if (p->max)
			max_window(j, j->x + at + k, j->dx + at + k, w, n - k, &dy);
		else
			avg_window(j, j->dx + at + k, w, n - k, &dy);
	}
}

/* Pieces (image, strip of channels). */
SL_PLAIN static void backward(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct job *j = arg;
	const struct sl_pool2d *p = &j->p;

	(void)c;
	for (int64_t k = begin; k < end; k++) {
		int64_t image = k / j->strips;
		int64_t ch = k % j->strips * STRIP;
		int64_t n = j->c - ch < STRIP ? j->c - ch : STRIP;
		float *dx = j->dx + image * p->h * p->w * j->c + ch;
		if (must_clear(p))
			clear(j, dx, n);
		for (int64_t i = 0; i < p->oh * p->ow; i++) {
			struct window w = window_at(p, i / p->ow, i % p->ow);
			window_dx(j, image, ch, n, &w);
		}
		if (!must_clear(p))
			clear_gaps(j, dx, n);
	}
}

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32(n) && sl_shape_count(&n->out[0].shape) > 0;
}

static struct job job_of(const struct sl_call *c, const struct sl_shape *x,
	const struct sl_shape *y, bool max)
{
	struct job j = {.p = pool_of(c->node->attr, x, y, max), .c = x->dim[1]};

	j.strips = (j.c + STRIP - 1) / STRIP;
	return j;
}

static sl_status forward_run(const struct sl_call *c, bool max)
{
	const struct sl_shape *y = &c->node->out[0].shape;
	struct job j = job_of(c, &c->node->in[0].shape, y, max);

	j.x = c->in[0];
	j.y = c->out[0];
	sl_cpu_for(c, &j, y->dim[0] * y->dim[2],
		sl_cpu_grain(j.p.ow * j.c * j.p.stride[0] * j.p.stride[1]), forward);
	return SL_OK;
}

static sl_status backward_run(const struct sl_call *c, bool max)
{
	const struct sl_shape *x = &c->node->out[0].shape;
	struct job j = job_of(c, x, &c->node->in[max ? 1 : 0].shape, max);

	j.x = max ? c->in[0] : NULL;
	j.dy = c->in[max ? 1 : 0];
	j.dx = c->out[0];
	sl_cpu_for(c, &j, x->dim[0] * j.strips, 1, backward);
	return SL_OK;
}

#define KERNEL(op_name, run_fn, max) \
	static sl_status op_name##_run(const struct sl_call *c) \
	{ \
		return run_fn(c, max); \
	} \
	const struct sl_kernel sl_kernel_nhwc_##op_name = { \
		.name = "nhwc_" #op_name, \
		.op = #op_name, \
		.rank = 10, \
		.layouts = SL_KERNEL_NHWC, \
		.accepts = accepts, \
		.run = op_name##_run, \
	};
KERNEL(avg_pool2d, forward_run, false)
KERNEL(max_pool2d, forward_run, true)
KERNEL(avg_pool2d_dx, backward_run, false)
KERNEL(max_pool2d_dx, backward_run, true)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions (one filter a channel) on the plain layout, each way.
 *
 * A plane is copied between its zeros into the workspace, apart by phases: with strides
 * (s, t), row r and column c go to the plane (r mod s, c mod t), all planes with rows of
 * one pitch. Then a tap of the filter is one shift along memory, whatever the stride and
 * wherever a row ends:
 *
 *	y[q] = sum over taps w[k] phase[k][shift[k] + q]        q = row pitch + column
 *
 * and results between the rows' ends and the pitch are dropped. The gradients are the
 * same sums turned around, over dy spread out to the pitch with zeros between.
 *
 * 1. f32. The gradient of a channel's filter adds vectors of lanes within an image,
 *images in double in their order; one thread makes it. No bit depends on threads or
 *chunks.
 * 2. Padding is multiplied as zeros.
 */
#include <string.h>

#include "base/alloc.h"
#include "kernel/cpu/conv_small.h"
#include "sluice/attrs.h"

#define LANES SL_CONV_SMALL_LANES
#define VECTORS 4
#define BLOCK (LANES * VECTORS)
#define TAPS_MAX 49
#define CHUNKS_MAX 32
#define CHUNKS_A_THREAD 4
#define PLANE_MAX 131072 /* floats of a plane: 512 KiB, of a second-level cache */

typedef sl_conv_lanes lanes;

struct depth {
	int64_t images, channels, chunks;
	int64_t h, w, oh, ow, kh, kw;
	int64_t stride[2];
	int64_t top, left;
	int64_t rows, pitch; /* of a phase */
	int64_t phases, phase; /* how many, and the floats of one */
	int64_t spread; /* floats of y with rows of the pitch */
	int64_t lead; /* zeros before it, as many as a shift may reach */
	int64_t taps;
	int32_t shift[TAPS_MAX]; /* within a phase */
	int32_t of[TAPS_MAX]; /* the tap's phase */
};

static int64_t round_up(int64_t n)
{
	return (n + BLOCK - 1) / BLOCK * BLOCK;
}

/* x [N, C, H, W], w [C, 1, KH, KW], y [N, C, OH, OW]. */
static struct depth depth_of(
	const struct sl_node_info *n, const struct sl_shape *shapes[3])
{
	const struct sl_conv_attr *a = n->attr;
	const int64_t *x = shapes[0]->dim;
	const int64_t *w = shapes[1]->dim;
	const int64_t *y = shapes[2]->dim;
	struct depth d = {
		.images = x[0],
		.channels = x[1],
		.h = x[2],
		.w = x[3],
		.oh = y[2],
		.ow = y[3],
		.kh = w[2],
		.kw = w[3],
		.stride = {a->stride[0], a->stride[1]},
		.top = a->pad[0],
		.left = a->pad[1],
	};

	d.taps = d.kh * d.kw;
	d.rows = d.oh + (d.kh - 1) / d.stride[0];
	d.pitch = d.ow + (d.kw - 1) / d.stride[1];
	d.phases = d.stride[0] * d.stride[1];
	d.lead = round_up((d.rows - d.oh) * d.pitch + d.pitch - d.ow);
	d.phase = round_up(d.rows * d.pitch) + d.lead + BLOCK;
	d.spread = round_up(d.rows * d.pitch);
	for (int64_t k = 0; k < d.taps && d.taps <= TAPS_MAX; k++) {
		int64_t row = k / d.kw;
		int64_t column = k % d.kw;
		d.shift[k] =
			(int32_t)(row / d.stride[0] * d.pitch + column / d.stride[1]);
		d.of[k] =
			(int32_t)(row % d.stride[0] * d.stride[1] + column % d.stride[1]);
	}
	return d;
}

static bool fits(const struct sl_node_info *n, const struct sl_shape *x,
	const struct sl_shape *w, const struct sl_shape *y)
{
	const struct sl_conv_attr *a = n->attr;

	if (!sl_cpu_is_f32(n) || a->groups < 2 || a->groups != x->dim[1] ||
		w->dim[0] != a->groups || a->dilation[0] != 1 || a->dilation[1] != 1)
		return false;
	if (w->dim[2] * w->dim[3] > TAPS_MAX || a->stride[0] > w->dim[2] ||
		a->stride[1] > w->dim[3])
		return false;
	for (int i = 0; i < 4; i++)
		if (a->pad[i] >= w->dim[2 + i % 2])
			return false;
	return sl_shape_count(x) > 0 && sl_shape_count(w) > 0 && sl_shape_count(y) > 0 &&
	       x->dim[2] * x->dim[3] <= PLANE_MAX;
}

/* Where x, w and y are. */
#define SHAPES(way, x, w, y) \
	static struct depth way##_of(const struct sl_node_info *n) \
	{ \
		return depth_of(n, (const struct sl_shape *[3]){ \
					   &n->x.shape, &n->w.shape, &n->y.shape}); \
	} \
	static bool way##_accepts(const struct sl_node_info *n) \
	{ \
		return fits(n, &n->x.shape, &n->w.shape, &n->y.shape); \
	}
SHAPES(forward, in[0], in[1], out[0])
SHAPES(dx, out[0], in[1], in[0])
SHAPES(dw, in[0], out[0], in[1])

/* Floats of workspace that a chunk has: the phases, then y between its zeros. */
static int64_t chunk_floats(const struct depth *d)
{
	return d->phases * d->phase + d->lead + d->spread + d->lead + BLOCK;
}

/* Cuts `items` into chunks; the state is the sizes. */
static sl_status prepare(const struct depth *d, int64_t items,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	struct depth *own = sl_alloc(sizeof(*own));
	int64_t chunks = (int64_t)env->threads * CHUNKS_A_THREAD;

	if (!own)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	*own = *d;
	chunks = chunks < CHUNKS_MAX ? chunks : CHUNKS_MAX;
	own->chunks = chunks < items ? chunks : items;
	*out = (struct sl_prepared){
		.state = own,
		.workspace_bytes =
			(size_t)(own->chunks * chunk_floats(d)) * sizeof(float),
	};
	return SL_OK;
}

#define PREPARE(way, items) \
	static sl_status way##_prepare(const struct sl_node_info *n, \
		const struct sl_kernel_env *env, struct sl_prepared *out) \
	{ \
		struct depth d = way##_of(n); \
		return prepare(&d, items, env, out); \
	}
PREPARE(forward, d.images *d.channels)
PREPARE(dx, d.images *d.channels)
PREPARE(dw, d.channels)

static float *chunk_at(const struct sl_call *c, const struct depth *d, int64_t chunk)
{
	return (float *)c->workspace + chunk * chunk_floats(d);
}

static float *spread_at(const struct depth *d, float *chunk)
{
	return chunk + d->phases * d->phase + d->lead;
}

/* All zeros once: what is between and behind rows stays so. */
static void clear(const struct depth *d, float *chunk)
{
	memset(chunk, 0, (size_t)chunk_floats(d) * sizeof(*chunk));
}

/* Short rows: no call, and whole vectors where they fit; the last one overlaps. */
static inline __attribute__((always_inline)) void copy_row(
	float *to, const float *from, int64_t n)
{
	int64_t i = 0;

	if (n >= LANES) {
		for (; i + LANES < n; i += LANES)
			memcpy(to + i, from + i, LANES * sizeof(*to));
		memcpy(to + n - LANES, from + n - LANES, LANES * sizeof(*to));
	} else if (n >= LANES / 2) {
		float head[LANES / 2];
		memcpy(head, from, sizeof(head));
		memcpy(to + n - LANES / 2, from + n - LANES / 2, sizeof(head));
		memcpy(to, head, sizeof(head));
	} else {
		for (; i < n; i++)
			to[i] = from[i];
	}
}

/* Columns of a phase that lie inside x: [begin, end), from column `first` on. */
struct inside {
	int64_t begin, end, first;
};

static struct inside inside_of(const struct depth *d, int64_t b)
{
	int64_t t = d->stride[1];
	int64_t begin = b < d->left ? (d->left - b + t - 1) / t : 0;
	int64_t end = (d->w + d->left - b + t - 1) / t;

	end = end < d->pitch ? end : d->pitch;
	return (struct inside){begin, end < begin ? begin : end, b - d->left + begin * t};
}

/* Row i / s of a phase, from its first column inside on. */
static int64_t row_at(
	const struct depth *d, int64_t row, int64_t b, const struct inside *in)
{
	int64_t i = row + d->top;
	int64_t phase = i % d->stride[0] * d->stride[1] + b;

	return phase * d->phase + i / d->stride[0] * d->pitch + in->begin;
}

/* Rows of x that the phases hold. */
static int64_t rows_inside(const struct depth *d)
{
	int64_t rows = d->rows * d->stride[0] - d->top;

	return rows < d->h ? rows : d->h;
}

static inline void take_row(float *to, const float *from, int64_t n, int64_t step)
{
	if (step == 1)
		copy_row(to, from, n);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] = from[i * step];
}

static inline void give_row(float *to, const float *from, int64_t n, int64_t step)
{
	if (step == 1)
		copy_row(to, from, n);
	else
		for (int64_t i = 0; i < n; i++)
			to[i * step] = from[i];
}

/* One plane x [H, W] to its phases, whose paddings are zeros already. */
static void split(const struct depth *d, const float *x, float *phases)
{
	for (int64_t b = 0; b < d->stride[1]; b++) {
		struct inside in = inside_of(d, b);
		for (int64_t row = 0; row < rows_inside(d); row++)
			take_row(phases + row_at(d, row, b, &in),
				x + row * d->w + in.first, in.end - in.begin,
				d->stride[1]);
	}
}

/* The other way; where no window reaches there is nothing. */
static void join(const struct depth *d, const float *phases, float *x)
{
	if (rows_inside(d) < d->h || d->w + d->left > d->pitch * d->stride[1])
		memset(x, 0, (size_t)(d->h * d->w) * sizeof(*x));
	for (int64_t b = 0; b < d->stride[1]; b++) {
		struct inside in = inside_of(d, b);
		for (int64_t row = 0; row < rows_inside(d); row++)
			give_row(x + row * d->w + in.first,
				phases + row_at(d, row, b, &in), in.end - in.begin,
				d->stride[1]);
	}
}

/* y [OH, OW] to rows of the pitch; what is between stays zero. */
static void spread(const struct depth *d, const float *y, float *to)
{
	for (int64_t row = 0; row < d->oh; row++)
		memcpy(to + row * d->pitch, y + row * d->ow, (size_t)d->ow * sizeof(*to));
}

/* A sum of shifted vectors. */
struct sum {
	int64_t taps;
	const float *from[TAPS_MAX];
	float w[TAPS_MAX];
	float start;
	float *to;
	int64_t count; /* whole blocks */
};

static inline __attribute__((always_inline)) SL_CONV_PLAIN void add_up(
	const struct sum *m, int64_t taps)
{
	for (int64_t q = 0; q < m->count; q += BLOCK) {
		lanes sum[VECTORS];
#pragma GCC unroll 4
		for (int v = 0; v < VECTORS; v++)
			sum[v] = (lanes){0} + m->start;
#pragma GCC unroll 9
		for (int64_t k = 0; k < taps; k++)
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++)
				sum[v] += m->w[k] *
					  *(const lanes *)(m->from[k] + q + v * LANES);
#pragma GCC unroll 4
		for (int v = 0; v < VECTORS; v++)
			*(lanes *)(m->to + q + v * LANES) = sum[v];
	}
}

SL_CONV_PLAIN static void add_up_9(const struct sum *m)
{
	add_up(m, 9);
}

SL_CONV_PLAIN static void add_up_any(const struct sum *m)
{
	add_up(m, m->taps);
}

static void forward_plane(
	const struct sl_call *c, const struct depth *d, int64_t plane, float *chunk)
{
	int64_t channel = plane % d->channels;
	const float *w = (const float *)c->in[1] + channel * d->taps;
	const float *bias = c->in[2];
	float *y = (float *)c->out[0] + plane * d->oh * d->ow;
	struct sum m = {.taps = d->taps,
		.start = bias ? bias[channel] : 0.0f,
		.to = spread_at(d, chunk),
		.count = round_up(d->oh * d->pitch)};

	split(d, (const float *)c->in[0] + plane * d->h * d->w, chunk);
	for (int64_t k = 0; k < d->taps; k++) {
		m.from[k] = chunk + d->of[k] * d->phase + d->shift[k];
		m.w[k] = w[k];
	}
	if (d->taps == 9)
		add_up_9(&m);
	else
		add_up_any(&m);
	for (int64_t row = 0; row < d->oh; row++)
		copy_row(y + row * d->ow, m.to + row * d->pitch, d->ow);
}

static void dx_plane(
	const struct sl_call *c, const struct depth *d, int64_t plane, float *chunk)
{
	const float *w = (const float *)c->in[1] + plane % d->channels * d->taps;
	float *dy = spread_at(d, chunk);

	spread(d, (const float *)c->in[0] + plane * d->oh * d->ow, dy);
	for (int64_t p = 0; p < d->phases; p++) {
		struct sum m = {.to = chunk + p * d->phase, .count = d->spread};
		for (int64_t k = 0; k < d->taps; k++)
			if (d->of[k] == p) {
				m.from[m.taps] = dy - d->shift[k];
				m.w[m.taps++] = w[k];
			}
		if (m.taps == 9)
			add_up_9(&m);
		else
			add_up_any(&m);
	}
	join(d, chunk, (float *)c->out[0] + plane * d->h * d->w);
}

static void planes(const struct sl_call *c, int64_t begin, int64_t end,
	void (*one)(const struct sl_call *, const struct depth *, int64_t, float *))
{
	const struct depth *d = c->prepared;
	int64_t count = d->images * d->channels;

	for (int64_t i = begin; i < end; i++) {
		float *chunk = chunk_at(c, d, i);
		clear(d, chunk);
		for (int64_t p = i * count / d->chunks; p < (i + 1) * count / d->chunks;
			p++)
			one(c, d, p, chunk);
	}
}

static void forward_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	(void)arg;
	planes(c, begin, end, forward_plane);
}

static void dx_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	(void)arg;
	planes(c, begin, end, dx_plane);
}

/* Sums of dy times the shifted phases, `taps` of them, of one image. */
static inline __attribute__((always_inline)) SL_CONV_PLAIN void dots(
	const struct sum *m, const float *dy, double *to, int64_t taps)
{
	lanes sum[TAPS_MAX];

#pragma GCC unroll 9
	for (int64_t k = 0; k < taps; k++)
		sum[k] = (lanes){0};
	for (int64_t q = 0; q < m->count; q += LANES) {
		lanes v = *(const lanes *)(dy + q);
#pragma GCC unroll 9
		for (int64_t k = 0; k < taps; k++)
			sum[k] += v * *(const lanes *)(m->from[k] + q);
	}
	for (int64_t k = 0; k < taps; k++)
		for (int i = 0; i < LANES; i++)
			to[k] += (double)sum[k][i];
}

SL_CONV_PLAIN static void dots_9(const struct sum *m, const float *dy, double *to)
{
	dots(m, dy, to, 9);
}

SL_CONV_PLAIN static void dots_any(const struct sum *m, const float *dy, double *to)
{
	dots(m, dy, to, m->taps);
}

static void dw_channel(
	const struct sl_call *c, const struct depth *d, int64_t channel, float *chunk)
{
	float *dw = (float *)c->out[0] + channel * d->taps;
	float *dy = spread_at(d, chunk);
	double total[TAPS_MAX] = {0};
	struct sum m = {.taps = d->taps, .count = round_up(d->oh * d->pitch)};

	for (int64_t k = 0; k < d->taps; k++)
		m.from[k] = chunk + d->of[k] * d->phase + d->shift[k];
	for (int64_t n = 0; n < d->images; n++) {
		int64_t plane = n * d->channels + channel;
		split(d, (const float *)c->in[0] + plane * d->h * d->w, chunk);
		spread(d, (const float *)c->in[1] + plane * d->oh * d->ow, dy);
		if (d->taps == 9)
			dots_9(&m, dy, total);
		else
			dots_any(&m, dy, total);
	}
	for (int64_t k = 0; k < d->taps; k++)
		dw[k] = (float)total[k];
}

static void dw_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct depth *d = arg;

	for (int64_t i = begin; i < end; i++) {
		float *chunk = chunk_at(c, d, i);
		clear(d, chunk);
		for (int64_t p = i * d->channels / d->chunks;
			p < (i + 1) * d->channels / d->chunks; p++)
			dw_channel(c, d, p, chunk);
	}
}

#define DEPTH(kernel, op_name, way) \
	static sl_status way##_run(const struct sl_call *c) \
	{ \
		const struct depth *d = c->prepared; \
		sl_cpu_for(c, d, d->chunks, 1, way##_chunks); \
		return SL_OK; \
	} \
	const struct sl_kernel sl_kernel_##kernel = { \
		.name = #kernel, \
		.op = op_name, \
		.rank = 45, \
		.accepts = way##_accepts, \
		.prepare = way##_prepare, \
		.run = way##_run, \
		.release = sl_free, \
	};

DEPTH(depth_conv2d, "conv2d", forward)
DEPTH(depth_conv2d_dx, "conv2d_dx", dx)
DEPTH(depth_conv2d_dw, "conv2d_dw", dw)

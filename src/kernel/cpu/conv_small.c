/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d and conv2d_dx of few channels and stride 1, where a library that keeps channels
 * in blocks of 16 mostly moves and multiplies padding.
 *
 * One image is copied between its zeros into the workspace. Then up to six planes of the
 * result are made together, four vectors along rows at a time: 24 sums in registers while
 * the taps run (channels, kernel rows, kernel columns in this order). The last vector of
 * a row lies so that it ends with the row, and overlaps; in rows shorter than a vector
 * what lies past the end is overwritten by the next row, or cut off.
 *
 * conv2d_dx is the same with weights turned around and their channels exchanged.
 *
 * 1. f32. Each result is one sum over taps in order: no bit depends on threads or chunks.
 * 2. Padding is multiplied as zeros.
 */
#include "kernel/cpu/conv_small.h"

#include <string.h>

#include "base/alloc.h"
#include "sluice/attrs.h"

#define LANES SL_CONV_SMALL_LANES
/* Of a tile: with what they are made of, the sums fill the registers. */
#define PLANES 6
#define VECTORS 4
#define CHUNKS_MAX 32
#define CHUNKS_A_THREAD 2
#define CHANNELS_MAX 16
#define IMAGE_MAX 32768 /* floats of a padded image: 128 KiB, of a second-level cache */

typedef sl_conv_lanes lanes;

struct sl_conv_small sl_conv_small_of(
	const struct sl_node_info *n, const struct sl_shape *shapes[3])
{
	const struct sl_conv_attr *a = n->attr;
	const int64_t *x = shapes[0]->dim;
	const int64_t *w = shapes[1]->dim;
	const int64_t *y = shapes[2]->dim;
	struct sl_conv_small s = {
		.images = x[0],
		.c = x[1],
		.h = x[2],
		.w = x[3],
		.o = y[1],
		.oh = y[2],
		.ow = y[3],
		.kh = w[2],
		.kw = w[3],
		.stride = {a->stride[0], a->stride[1]},
		.top = a->pad[0],
		.left = a->pad[1],
	};

	s.ph = (s.oh - 1) * s.stride[0] + s.kh;
	s.pw = (s.ow - 1) * s.stride[1] + s.kw;
	return s;
}

bool sl_conv_small_fits(const struct sl_node_info *n, const struct sl_conv_small *s)
{
	const struct sl_conv_attr *a = n->attr;

	if (!sl_cpu_is_f32(n) || a->groups != 1 || a->dilation[0] != 1 ||
		a->dilation[1] != 1)
		return false;
	for (int i = 0; i < 4; i++)
		if (a->pad[i] >= (i % 2 ? s->kw : s->kh))
			return false;
	return sl_shape_count(&n->in[0].shape) > 0 &&
	       sl_shape_count(&n->in[1].shape) > 0 &&
	       sl_shape_count(&n->out[0].shape) > 0;
}

int64_t sl_conv_small_padded(const struct sl_conv_small *s, int64_t rows)
{
	return s->c * rows * s->pw + LANES;
}

/* One padded row; x is NULL above the first row and below the last. */
static void pad_row(const struct sl_conv_small *s, const float *x, float *to)
{
	int64_t room = s->pw - s->left;
	int64_t count = x ? (room < s->w ? room : s->w) : 0;
	int64_t before = x ? s->left : 0;

	for (int64_t i = 0; i < before; i++)
		to[i] = 0;
#pragma omp simd
	for (int64_t i = 0; i < count; i++)
		to[before + i] = x[i];
	for (int64_t i = before + count; i < s->pw; i++)
		to[i] = 0;
}

void sl_conv_small_pad(const struct sl_conv_small *s, const float *x, int64_t first,
	int64_t rows, float *to)
{
	for (int64_t i = 0; i < s->c * rows; i++, to += s->pw) {
		int64_t row = first + i % rows - s->top;
		bool inside = row >= 0 && row < s->h;
		pad_row(s, inside ? x + (i / rows * s->h + row) * s->w : NULL, to);
	}
	memset(to, 0, LANES * sizeof(*to));
}

/* A vector of results. */
struct place {
	int32_t from; /* in the padded plane */
	int32_t to; /* in the plane of the result */
	int32_t lanes; /* that are stored */
};

struct small {
	struct sl_conv_small s;
	bool backward;
	int64_t chunks, taps, blocks, n_places;
	int32_t *tap; /* [taps], where it reads, from a place on */
	struct place *places; /* [n_places], and the last again up to whole tiles */
};

static int64_t places_a_row(const struct sl_conv_small *s)
{
	return (s->ow + LANES - 1) / LANES;
}

static void fill_places(struct small *m)
{
	const struct sl_conv_small *s = &m->s;
	int64_t a_row = places_a_row(s);
	int64_t plane = s->oh * s->ow;

	for (int64_t i = 0; i < m->n_places + VECTORS; i++) {
		int64_t at = i < m->n_places ? i : m->n_places - 1;
		int64_t row = at / a_row;
		int64_t column = at % a_row * LANES;
		int64_t last = s->ow > LANES ? s->ow - LANES : 0;
		column = column < last ? column : last;
		int64_t to = row * s->ow + column;
		m->places[i] = (struct place){
			.from = (int32_t)(row * s->pw + column),
			.to = (int32_t)to,
			.lanes = (int32_t)(to + LANES <= plane ? LANES : s->ow - column),
		};
	}
}

static void fill_taps(struct small *m)
{
	const struct sl_conv_small *s = &m->s;
	int64_t a_channel = s->kh * s->kw;

	for (int64_t k = 0; k < m->taps; k++) {
		int64_t row = k / a_channel * s->ph + k % a_channel / s->kw;
		m->tap[k] = (int32_t)(row * s->pw + k % s->kw);
	}
}

static void release(void *state)
{
	struct small *m = state;

	if (m) {
		sl_free(m->tap);
		sl_free(m->places);
	}
	sl_free(m);
}

/* conv2d reads x; conv2d_dx reads dy with the paddings that make x of it. */
static struct sl_conv_small sizes_of(const struct sl_node_info *n, bool backward)
{
	const struct sl_shape *in = &n->in[0].shape;
	const struct sl_shape *out = &n->out[0].shape;
	struct sl_conv_small s = sl_conv_small_of(
		n, (const struct sl_shape *[3]){in, &n->in[1].shape, out});

	if (backward) {
		s.top = s.kh - 1 - s.top;
		s.left = s.kw - 1 - s.left;
	}
	return s;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	bool backward, struct sl_prepared *out)
{
	struct small *m = sl_calloc(1, sizeof(*m));

	if (!m)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	struct sl_conv_small *s = &m->s;
	*s = sizes_of(n, backward);
	m->backward = backward;
	m->chunks = (int64_t)env->threads * CHUNKS_A_THREAD;
	m->chunks = m->chunks < CHUNKS_MAX ? m->chunks : CHUNKS_MAX;
	m->chunks = m->chunks < s->images ? m->chunks : s->images;
	m->taps = s->c * s->kh * s->kw;
	m->blocks = (s->o + PLANES - 1) / PLANES;
	m->n_places = s->oh * places_a_row(s);
	m->tap = sl_calloc((size_t)m->taps, sizeof(*m->tap));
	m->places = sl_calloc((size_t)m->n_places + VECTORS, sizeof(*m->places));
	if (!m->tap || !m->places) {
		release(m);
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	}
	fill_places(m);
	fill_taps(m);
	int64_t floats = m->taps * s->o + m->chunks * sl_conv_small_padded(s, s->ph);
	*out = (struct sl_prepared){
		.state = m,
		.workspace_bytes = (size_t)floats * sizeof(float),
	};
	return SL_OK;
}

/* Result planes of block b: [first_plane(b), first_plane(b + 1)), evenly cut. */
static int64_t first_plane(const struct small *m, int64_t b)
{
	return b * m->s.o / m->blocks;
}

/* Weights of a block as [taps, planes]. */
static void pack(const struct small *m, const float *w, float *packed)
{
	const struct sl_conv_small *s = &m->s;
	int64_t a_channel = s->kh * s->kw;

	for (int64_t b = 0; b < m->blocks; b++)
		for (int64_t i = 0; i < m->taps; i++)
			for (int64_t o = first_plane(m, b); o < first_plane(m, b + 1);
				o++) {
				int64_t c = i / a_channel;
				int64_t k = i % a_channel;
				*packed++ = m->backward
						    ? w[(c * s->o + o + 1) * a_channel -
							      1 - k]
						    : w[o * m->taps + i];
			}
}

/* One block of planes of one image. */
struct job {
	const struct small *m;
	const float *image, *w, *bias; /* bias: of the block's first plane, or NULL */
	float *to; /* the block's first plane */
};

/* The first lanes only. */
static inline __attribute__((always_inline)) SL_CONV_PLAIN void store_part(
	float *to, const lanes *v, int32_t count)
{
	float row[LANES];

	memcpy(row, v, sizeof(row));
	for (int32_t i = 0; i < count; i++)
		to[i] = row[i];
}

static inline __attribute__((always_inline)) SL_CONV_PLAIN void store_tile(
	const struct job *j, const struct place *p, lanes sum[PLANES][VECTORS],
	int planes)
{
	int64_t plane = j->m->s.oh * j->m->s.ow;
	bool whole = true;

	for (int v = 0; v < VECTORS; v++)
		whole = whole && p[v].lanes == LANES;
#pragma GCC unroll 8
	for (int o = 0; o < planes; o++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++) {
			float *to = j->to + o * plane + p[v].to;
			lanes part = sum[o][v];
			if (whole)
				*(lanes *)to = part;
			else
				store_part(to, &part, p[v].lanes);
		}
}

/* `planes` is a constant where this is called, so that the sums stay in registers. */
static inline __attribute__((always_inline)) SL_CONV_PLAIN void tile(
	const struct job *j, const struct place *p, int planes)
{
	lanes sum[PLANES][VECTORS];
	const int32_t *tap = j->m->tap;
	const float *w = j->w;
	const float *from[VECTORS];

	for (int v = 0; v < VECTORS; v++)
		from[v] = j->image + p[v].from;
#pragma GCC unroll 8
	for (int o = 0; o < planes; o++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			sum[o][v] = (lanes){0} + (j->bias ? j->bias[o] : 0.0f);
	for (int64_t k = 0; k < j->m->taps; k++, w += planes) {
		lanes x[VECTORS];
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			x[v] = *(const lanes *)(from[v] + tap[k]);
#pragma GCC unroll 8
		for (int o = 0; o < planes; o++)
#pragma GCC unroll 8
			for (int v = 0; v < VECTORS; v++)
				sum[o][v] += w[o] * x[v];
	}
	store_tile(j, p, sum, planes);
}

#define BLOCK(planes) \
	SL_CONV_PLAIN static void block##planes(const struct job *j) \
	{ \
		for (int64_t i = 0; i < j->m->n_places; i += VECTORS) \
			tile(j, j->m->places + i, planes); \
	}
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)
BLOCK(5)
BLOCK(6)

static void (*const blocks[PLANES])(const struct job *) = {
	block1, block2, block3, block4, block5, block6};

static void run_image(
	const struct sl_call *c, const struct small *m, int64_t image, float *padded)
{
	const struct sl_conv_small *s = &m->s;
	const float *bias = m->backward ? NULL : c->in[2];

	sl_conv_small_pad(s, (const float *)c->in[0] + image * s->c * s->h * s->w, 0,
		s->ph, padded);
	for (int64_t b = 0; b < m->blocks; b++) {
		int64_t o = first_plane(m, b);
		struct job j = {
			.m = m,
			.image = padded,
			.w = (const float *)c->workspace + o * m->taps,
			.bias = bias ? bias + o : NULL,
			.to = (float *)c->out[0] + (image * s->o + o) * s->oh * s->ow,
		};
		blocks[first_plane(m, b + 1) - o - 1](&j);
	}
}

static void run_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct small *m = arg;
	const struct sl_conv_small *s = &m->s;
	float *padded = (float *)c->workspace + m->taps * s->o;

	for (int64_t i = begin; i < end; i++)
		for (int64_t n = i * s->images / m->chunks;
			n < (i + 1) * s->images / m->chunks; n++)
			run_image(c, m, n, padded + i * sl_conv_small_padded(s, s->ph));
}

static sl_status run(const struct sl_call *c)
{
	const struct small *m = c->prepared;

	pack(m, c->in[1], c->workspace);
	sl_cpu_for(c, m, m->chunks, 1, run_chunks);
	return SL_OK;
}

/* Three quarters of the lanes are of use, and the image stays in the cache. */
static bool pays(const struct sl_conv_small *s)
{
	return s->stride[0] == 1 && s->stride[1] == 1 && s->kh * s->kw > 1 &&
	       4 * s->ow >= 3 * LANES * places_a_row(s) &&
	       sl_conv_small_padded(s, s->ph) <= IMAGE_MAX;
}

static bool forward_accepts(const struct sl_node_info *n)
{
	struct sl_conv_small s = sizes_of(n, false);

	return sl_conv_small_fits(n, &s) && s.c <= CHANNELS_MAX && pays(&s);
}

static bool backward_accepts(const struct sl_node_info *n)
{
	struct sl_conv_small s = sizes_of(n, true);

	return sl_conv_small_fits(n, &s) && s.o <= CHANNELS_MAX && pays(&s);
}

static sl_status forward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	return prepare(n, env, false, out);
}

static sl_status backward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	return prepare(n, env, true, out);
}

const struct sl_kernel sl_kernel_small_conv2d = {
	.name = "small_conv2d",
	.op = "conv2d",
	.rank = 40,
	.accepts = forward_accepts,
	.prepare = forward_prepare,
	.run = run,
	.release = release,
};

const struct sl_kernel sl_kernel_small_conv2d_dx = {
	.name = "small_conv2d_dx",
	.op = "conv2d_dx",
	.rank = 40,
	.accepts = backward_accepts,
	.prepare = backward_prepare,
	.run = run,
	.release = release,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lstm_steps and lstm_steps_dx: the recurrent product of a step in panels of cells, and
 * what the cells do with it while it is in the first-level cache.
 *
 * The weights are read anew in each step, so they are brought into panels first, in the
 * order in which a step reads them: forward [2, H, 2, 16], two pairs of gates of 16
 * cells, backward [4 H, 32]. A panel is multiplied with a few samples at a time, whose
 * sums stay in registers. Panels are shared out among threads, steps follow each other.
 *
 * 1. f32. Each sum runs over the cells in order, in one thread: no bit depends on their
 * number.
 * 2. Steps go through the panels forth and back, so that those which were read last are
 * still in the cache.
 */
#include "kernel/cpu/cpu.h"

#include <string.h>

#include "kernel/cpu/mathv.h"

#define LANES 16
#define GATES 4
#define PAIRS 2 /* of gates */
#define VECTORS 2
#define WIDTH (VECTORS * LANES)
#define ROWS 12
#define AHEAD 32 /* rows of a panel: what comes from the third-level cache takes long */
/* gcc 12 does not align vectors on the address sanitizer's stack (gcc bug 110027). */
#define PLAIN __attribute__((no_sanitize("address")))

typedef float lanes
	__attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

struct sizes {
	int64_t t, n, h; /* steps, samples, cells */
	int64_t panels, depth; /* summands of a product */
};

static struct sizes sizes_of(const struct sl_node_info *n, bool backward)
{
	const int64_t *dim = (backward ? n->in[1] : n->out[1]).shape.dim;
	struct sizes s = {.t = dim[0], .n = dim[1], .h = dim[2]};
	int64_t width = backward ? WIDTH : LANES;

	s.panels = (s.h + width - 1) / width;
	s.depth = backward ? GATES * s.h : s.h;
	return s;
}

static bool accepts(const struct sl_node_info *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (sl_node_has(n, i) && sl_shape_count(&n->in[i].shape) < 1)
			return false;
	return sl_cpu_is_f32(n);
}

static sl_status prepare(
	const struct sl_node_info *n, bool backward, struct sl_prepared *out)
{
	struct sizes s = sizes_of(n, backward);
	int64_t width = backward ? WIDTH : GATES * LANES;

	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)(s.panels * s.depth * width) * sizeof(float),
	};
	return SL_OK;
}

static sl_status forward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	return prepare(n, false, out);
}

static sl_status backward_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	return prepare(n, true, out);
}

/* A panel [depth, 2, LANES] times `rows` samples: out [rows, 2, LANES]. */
struct product {
	const float *a; /* the first sample's row */
	int64_t stride; /* to the next one's */
	const float *w;
	int64_t depth;
	float *out;
};

/* `rows` is a constant where this is called, so that the sums stay in registers. */
static inline __attribute__((always_inline)) PLAIN void multiply(
	const struct product *p, int rows)
{
	lanes sum[ROWS][VECTORS];
	const float *w = p->w;
	const float *a = p->a;

#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
		sum[r][0] = sum[r][1] = (lanes){0};
	for (int64_t k = 0; k < p->depth; k++, w += WIDTH) {
		lanes first = *(const lanes *)w;
		lanes second = *(const lanes *)(w + LANES);
		__builtin_prefetch(w + AHEAD * WIDTH);
		__builtin_prefetch(w + AHEAD * WIDTH + LANES);
#pragma GCC unroll 16
		for (int r = 0; r < rows; r++) {
			sum[r][0] += a[r * p->stride + k] * first;
			sum[r][1] += a[r * p->stride + k] * second;
		}
	}
#pragma GCC unroll 16
	for (int r = 0; r < rows; r++) {
		*(lanes *)(p->out + r * WIDTH) = sum[r][0];
		*(lanes *)(p->out + r * WIDTH + LANES) = sum[r][1];
	}
}

#define PRODUCT(rows) \
	PLAIN static void product##rows(const struct product *p) \
	{ \
		multiply(p, rows); \
	}
PRODUCT(1)
PRODUCT(2)
PRODUCT(3)
PRODUCT(4)
PRODUCT(5)
PRODUCT(6)
PRODUCT(7)
PRODUCT(8)
PRODUCT(9)
PRODUCT(10)
PRODUCT(11)
PRODUCT(12)

static void (*const products[ROWS])(const struct product *) = {product1, product2,
	product3, product4, product5, product6, product7, product8, product9, product10,
	product11, product12};

/* Samples of block b when n of them are cut evenly into blocks of at most ROWS. */
static int64_t first_row(int64_t n, int64_t b)
{
	return b * n / ((n + ROWS - 1) / ROWS);
}

/* One step's work, shared out by panels. */
struct step {
	struct sizes s;
	const float *panels;
	int64_t t;
	bool back; /* last panel first */
	const float *a; /* what the weights are multiplied with; NULL: zeros */
};

static int64_t panel_at(const struct step *st, int64_t i)
{
	return st->back ? st->s.panels - 1 - i : i;
}

/* One gate's rows of `count` cells as columns; read side by side, so that a line of the
 * panel is written at once. */
static void turn(const float *from, float *to, int64_t h, int64_t count)
{
	for (int64_t k = 0; k < h; k++)
		for (int64_t lane = 0; lane < count; lane++)
			to[k * WIDTH + lane] = from[lane * h + k];
}

/* w [4 H, H] to [panel][pair][H][2][lane]: a column of w becomes a row. */
static void forward_pack(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sizes *s = arg;
	const float *w = c->in[1];
	int64_t h = s->h;

	for (int64_t i = begin; i < end; i++) {
		float *to = (float *)c->workspace + i * h * GATES * LANES;
		int64_t count = h - i * LANES < LANES ? h - i * LANES : LANES;
		if (count < LANES)
			memset(to, 0, (size_t)(h * GATES * LANES) * sizeof(*to));
		for (int64_t gate = 0; gate < GATES; gate++)
			turn(w + (gate * h + i * LANES) * h,
				to + gate / 2 * h * WIDTH + gate % 2 * LANES, h, count);
	}
}

/* Cells j of one sample in a step. rec: the recurrent product, of pairs of gates. */
struct cells {
	const float *z, *rec[PAIRS], *before; /* before: c of the step before, or NULL */
	float *gates, *y, *c;
	int64_t h;
};

static inline __attribute__((always_inline)) void run_cells(
	const struct cells *x, int64_t count)
{
	int64_t h = x->h;

#pragma omp simd
	for (int64_t j = 0; j < count; j++) {
		float i = sl_sigmoidf(x->z[j] + x->rec[0][j]);
		float f = sl_sigmoidf(x->z[h + j] + x->rec[0][LANES + j]);
		float g = sl_tanhf(x->z[2 * h + j] + x->rec[1][j]);
		float o = sl_sigmoidf(x->z[3 * h + j] + x->rec[1][LANES + j]);
		float c = i * g + (x->before ? f * x->before[j] : 0.0f);
		x->gates[j] = i;
		x->gates[h + j] = f;
		x->gates[2 * h + j] = g;
		x->gates[3 * h + j] = o;
		x->c[j] = c;
		x->y[j] = o * sl_tanhf(c);
	}
}

static void forward_rows(const struct sl_call *c, const struct step *st, int64_t panel,
	const int64_t rows[2], const float *rec)
{
	int64_t h = st->s.h;
	int64_t j = panel * LANES;
	const float *c0 = c->in[3];

	for (int64_t n = rows[0]; n < rows[1]; n++, rec += WIDTH) {
		int64_t row = st->t * st->s.n + n;
		float *cell = (float *)c->out[2] + row * h + j;
		struct cells x = {
			.z = (const float *)c->in[0] + row * GATES * h + j,
			.rec = {rec, rec + ROWS * WIDTH},
			.before = st->t ? cell - st->s.n * h
				  : c0	? c0 + n * h + j
					: NULL,
			.gates = (float *)c->out[0] + row * GATES * h + j,
			.y = (float *)c->out[1] + row * h + j,
			.c = cell,
			.h = h,
		};
		if (h - j >= LANES)
			run_cells(&x, LANES);
		else
			run_cells(&x, h - j);
	}
}

PLAIN static void forward_panels(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct step *st = arg;
	const struct sizes *s = &st->s;
	float rec[PAIRS * ROWS * WIDTH] = {0};

	for (int64_t i = begin; i < end; i++) {
		int64_t panel = panel_at(st, i);
		for (int64_t b = 0; first_row(s->n, b) < s->n; b++) {
			const int64_t rows[2] = {
				first_row(s->n, b), first_row(s->n, b + 1)};
			for (int64_t k = 0; st->a && k < PAIRS; k++)
				products[rows[1] - rows[0] - 1](&(struct product){
					.a = st->a + rows[0] * s->h,
					.stride = s->h,
					.w = st->panels +
					     (panel * PAIRS + k) * s->h * WIDTH,
					.depth = s->h,
					.out = rec + k * ROWS * WIDTH,
				});
			forward_rows(c, st, panel, rows, rec);
		}
	}
}

static sl_status forward_run(const struct sl_call *c)
{
	struct step st = {.s = sizes_of(c->node, false), .panels = c->workspace};
	const float *y = c->out[1];

	sl_cpu_for(c, &st.s, st.s.panels, 1, forward_pack);
	for (st.t = 0; st.t < st.s.t; st.t++) {
		st.a = st.t ? y + (st.t - 1) * st.s.n * st.s.h : c->in[2];
		st.back = st.t % 2;
		sl_cpu_for(c, &st, st.s.panels, 1, forward_panels);
	}
	return SL_OK;
}

/* w [4 H, H] to [panel][4 H][32]. */
static void backward_pack(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sizes *s = arg;
	const int64_t width = WIDTH;
	const float *w = c->in[2];

	for (int64_t i = begin; i < end; i++) {
		float *to = (float *)c->workspace + i * s->depth * width;
		int64_t left = s->h - i * width;
		size_t count = (size_t)(left < width ? left : width);
		for (int64_t k = 0; k < s->depth; k++, to += width) {
			memset(to + count, 0, ((size_t)width - count) * sizeof(*to));
			memcpy(to, w + k * s->h + i * width, count * sizeof(*to));
		}
	}
}

/* The same of backward; rec flows into y from behind. */
struct cells_dx {
	const float *gates, *c, *before, *dy, *rec;
	float *dz, *dc;
	int64_t h;
};

static inline __attribute__((always_inline)) void run_cells_dx(
	const struct cells_dx *x, int64_t count)
{
	int64_t h = x->h;

#pragma omp simd
	for (int64_t j = 0; j < count; j++) {
		float i = x->gates[j];
		float f = x->gates[h + j];
		float g = x->gates[2 * h + j];
		float o = x->gates[3 * h + j];
		float before = x->before ? x->before[j] : 0.0f;
		float tc = sl_tanhf(x->c[j]);
		float dh = x->dy[j] + x->rec[j];
		float dc = x->dc[j] + dh * o * (1 - tc * tc);
		x->dz[j] = dc * g * i * (1 - i);
		x->dz[h + j] = dc * before * f * (1 - f);
		x->dz[2 * h + j] = dc * i * (1 - g * g);
		x->dz[3 * h + j] = dh * tc * o * (1 - o);
		x->dc[j] = dc * f;
	}
}

static void backward_rows(const struct sl_call *c, const struct step *st, int64_t panel,
	const int64_t rows[2], const float *rec)
{
	const int64_t width = WIDTH;
	int64_t h = st->s.h;
	int64_t j = panel * width;
	int64_t count = h - j < width ? h - j : width;
	const float *c0 = c->in[3];

	for (int64_t n = rows[0]; n < rows[1]; n++, rec += width) {
		if (st->t < 0) {
			memcpy((float *)c->out[1] + n * h + j, rec,
				(size_t)count * sizeof(*rec));
			continue;
		}
		int64_t row = st->t * st->s.n + n;
		const float *cell = (const float *)c->in[1] + row * h + j;
		struct cells_dx x = {
			.gates = (const float *)c->in[0] + row * GATES * h + j,
			.c = cell,
			.before = st->t ? cell - st->s.n * h
				  : c0	? c0 + n * h + j
					: NULL,
			.dy = (const float *)c->in[4] + row * h + j,
			.rec = rec,
			.dz = (float *)c->out[0] + row * GATES * h + j,
			.dc = (float *)c->out[2] + n * h + j,
			.h = h,
		};
		if (count == width)
			run_cells_dx(&x, width);
		else
			run_cells_dx(&x, count);
	}
}

PLAIN static void backward_panels(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct step *st = arg;
	const struct sizes *s = &st->s;
	const int64_t width = WIDTH;
	float rec[ROWS * WIDTH] = {0};

	for (int64_t i = begin; i < end; i++) {
		int64_t panel = panel_at(st, i);
		for (int64_t b = 0; first_row(s->n, b) < s->n; b++) {
			const int64_t rows[2] = {
				first_row(s->n, b), first_row(s->n, b + 1)};
			if (st->a)
				products[rows[1] - rows[0] - 1](&(struct product){
					.a = st->a + rows[0] * s->depth,
					.stride = s->depth,
					.w = st->panels + panel * s->depth * width,
					.depth = s->depth,
					.out = rec,
				});
			backward_rows(c, st, panel, rows, rec);
		}
	}
}

/* From the last step to the first, and once more for what flows into h0. */
static sl_status backward_run(const struct sl_call *c)
{
	struct step st = {.s = sizes_of(c->node, true), .panels = c->workspace};
	const float *dz = c->out[0];

	sl_cpu_for(c, &st.s, st.s.panels, 1, backward_pack);
	memset(c->out[2], 0, (size_t)(st.s.n * st.s.h) * sizeof(float));
	for (st.t = st.s.t - 1; st.t >= -1; st.t--) {
		st.a = st.t + 1 < st.s.t ? dz + (st.t + 1) * st.s.n * st.s.depth : NULL;
		st.back = st.t % 2;
		sl_cpu_for(c, &st, st.s.panels, 1, backward_panels);
	}
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_lstm_steps = {
	.name = "vec_lstm_steps",
	.op = "lstm_steps",
	.rank = 10,
	.accepts = accepts,
	.prepare = forward_prepare,
	.run = forward_run,
};

const struct sl_kernel sl_kernel_vec_lstm_steps_dx = {
	.name = "vec_lstm_steps_dx",
	.op = "lstm_steps_dx",
	.rank = 10,
	.accepts = accepts,
	.prepare = backward_prepare,
	.run = backward_run,
};

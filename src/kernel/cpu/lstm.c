/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lstm_steps and lstm_steps_dx: the recurrent product of a step in panels of cells, and
 * what the cells do with it while it is in the first-level cache.
 *
 * The weights are read anew in each step, so they are brought into panels first, in the
 * order in which a step reads them: forward [H, 4, 16], the four gates of 16 cells,
 * backward [4 H, 32]. A panel is multiplied with a few samples at a time, whose sums stay
 * in registers. Panels are shared out among threads, steps follow each other.
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
#define FORWARD_VECTORS GATES
#define BACKWARD_VECTORS 2
#define FORWARD_ROWS 6
#define BACKWARD_ROWS 12
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
	int64_t width = backward ? BACKWARD_VECTORS * LANES : LANES;

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
	int64_t width = LANES * (backward ? BACKWARD_VECTORS : FORWARD_VECTORS);

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

/* A panel times `rows` samples: out [rows, vectors, LANES]. */
struct product {
	const float *a; /* the first sample's row */
	int64_t stride; /* to the next one's */
	const float *w;
	int64_t depth;
	float *out;
};

/* `rows` and `vectors` are constants where this is called: the sums stay in registers. */
static inline __attribute__((always_inline)) PLAIN void multiply(
	const struct product *p, int rows, int vectors)
{
	lanes sum[BACKWARD_ROWS][FORWARD_VECTORS];
	const float *w = p->w;
	const float *a = p->a;

#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++)
			sum[r][v] = (lanes){0};
	for (int64_t k = 0; k < p->depth; k++, w += vectors * LANES) {
		lanes part[FORWARD_VECTORS];
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++)
			part[v] = *(const lanes *)(w + v * LANES);
#pragma GCC unroll 16
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < vectors; v++)
				sum[r][v] += a[r * p->stride + k] * part[v];
	}
#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++)
			*(lanes *)(p->out + (r * vectors + v) * LANES) = sum[r][v];
}

#define PRODUCT(way, rows, vectors) \
	PLAIN static void way##rows(const struct product *p) \
	{ \
		multiply(p, rows, vectors); \
	}
#define FORWARD(rows) PRODUCT(forward, rows, FORWARD_VECTORS)
#define BACKWARD(rows) PRODUCT(backward, rows, BACKWARD_VECTORS)
FORWARD(1)
FORWARD(2)
FORWARD(3)
FORWARD(4)
FORWARD(5)
FORWARD(6)
BACKWARD(1)
BACKWARD(2)
BACKWARD(3)
BACKWARD(4)
BACKWARD(5)
BACKWARD(6)
BACKWARD(7)
BACKWARD(8)
BACKWARD(9)
BACKWARD(10)
BACKWARD(11)
BACKWARD(12)

static void (*const forward[FORWARD_ROWS])(const struct product *) = {
	forward1, forward2, forward3, forward4, forward5, forward6};
static void (*const backward[BACKWARD_ROWS])(const struct product *) = {backward1,
	backward2, backward3, backward4, backward5, backward6, backward7, backward8,
	backward9, backward10, backward11, backward12};

/* Samples of block b when n of them are cut evenly into blocks of at most `most`. */
static int64_t first_row(int64_t n, int64_t most, int64_t b)
{
	return b * n / ((n + most - 1) / most);
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

/* w [4 H, H] to [panel][H][gate][lane]: a column of w becomes a row. */
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
		for (int64_t row = 0; row < GATES * count; row++) {
			int64_t gate = row / count;
			int64_t lane = row % count;
			const float *from = w + (gate * h + i * LANES + lane) * h;
			for (int64_t k = 0; k < h; k++)
				to[(k * GATES + gate) * LANES + lane] = from[k];
		}
	}
}

/* Cells j of one sample in a step. rec: [gate][LANES], the recurrent product. */
struct cells {
	const float *z, *rec, *before; /* before: c of the step before, or NULL */
	float *gates, *y, *c;
	int64_t h;
};

static inline __attribute__((always_inline)) void run_cells(
	const struct cells *x, int64_t count)
{
	int64_t h = x->h;

#pragma omp simd
	for (int64_t j = 0; j < count; j++) {
		float i = sl_sigmoidf(x->z[j] + x->rec[j]);
		float f = sl_sigmoidf(x->z[h + j] + x->rec[LANES + j]);
		float g = sl_tanhf(x->z[2 * h + j] + x->rec[2 * LANES + j]);
		float o = sl_sigmoidf(x->z[3 * h + j] + x->rec[3 * LANES + j]);
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

	for (int64_t n = rows[0]; n < rows[1]; n++, rec += GATES * LANES) {
		int64_t row = st->t * st->s.n + n;
		float *cell = (float *)c->out[2] + row * h + j;
		struct cells x = {
			.z = (const float *)c->in[0] + row * GATES * h + j,
			.rec = rec,
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
	float rec[FORWARD_ROWS * GATES * LANES] = {0};

	for (int64_t i = begin; i < end; i++) {
		int64_t panel = panel_at(st, i);
		for (int64_t b = 0; first_row(s->n, FORWARD_ROWS, b) < s->n; b++) {
			const int64_t rows[2] = {first_row(s->n, FORWARD_ROWS, b),
				first_row(s->n, FORWARD_ROWS, b + 1)};
			if (st->a)
				forward[rows[1] - rows[0] - 1](&(struct product){
					.a = st->a + rows[0] * s->h,
					.stride = s->h,
					.w = st->panels + panel * s->h * GATES * LANES,
					.depth = s->h,
					.out = rec,
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
	const int64_t width = BACKWARD_VECTORS * LANES;
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
	const int64_t width = BACKWARD_VECTORS * LANES;
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
	const int64_t width = BACKWARD_VECTORS * LANES;
	float rec[BACKWARD_ROWS * BACKWARD_VECTORS * LANES] = {0};

	for (int64_t i = begin; i < end; i++) {
		int64_t panel = panel_at(st, i);
		for (int64_t b = 0; first_row(s->n, BACKWARD_ROWS, b) < s->n; b++) {
			const int64_t rows[2] = {first_row(s->n, BACKWARD_ROWS, b),
				first_row(s->n, BACKWARD_ROWS, b + 1)};
			if (st->a)
				backward[rows[1] - rows[0] - 1](&(struct product){
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

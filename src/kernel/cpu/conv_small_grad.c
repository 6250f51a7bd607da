/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dw of few channels and square kernels of 3, 5 or 7.
 *
 * Vectors hold 16 output channels: a strip of rows of dy is transposed to [pixels, 16],
 * and each pixel's vector is multiplied by the elements that the taps read of the rows of
 * x that the strip needs, copied between zeros. Up to 27 sums (some rows of taps) stay in
 * registers while a strip runs; then they are added to the chunk's sums in the workspace.
 *
 * 1. f32. The batch is cut in CHUNKS or fewer, whatever the threads; a chunk's strips are
 * added in order, the chunks' sums in order: no bit depends on the number of workers.
 * 2. Padding is multiplied as zeros.
 */
#include "kernel/cpu/conv_small.h"

#include <string.h>

#include "base/alloc.h"
#include "kernel/cpu/tile.h"

#define LANES SL_CONV_SMALL_LANES
#define CHUNKS 8
#define STRIP 256 /* pixels, unless one row has more */
#define ROWS 9 /* of taps, at most */
#define SUMS 28 /* of taps, at most */
#define CHANNELS_MAX 16
#define ROWS_MAX 32768 /* floats of a strip's padded rows: 128 KiB */

typedef sl_conv_lanes lanes;

struct grad {
	struct sl_conv_small s;
	int64_t chunks, taps, blocks, strip_rows;
	int64_t x_rows; /* that a strip needs */
	/* Floats of a chunk's workspace, and where its parts begin: sums [blocks, taps,
	 * 16], a strip of dy, rows of x. */
	int64_t chunk, strip, x;
};

static struct sl_conv_small sizes_of(const struct sl_node_info *n)
{
	return sl_conv_small_of(n, (const struct sl_shape *[3]){&n->in[0].shape,
					   &n->out[0].shape, &n->in[1].shape});
}

static struct grad grad_of(const struct sl_node_info *n)
{
	struct grad g = {.s = sizes_of(n)};
	const struct sl_conv_small *s = &g.s;

	g.chunks = s->images < CHUNKS ? s->images : CHUNKS;
	g.taps = s->c * s->kh * s->kw;
	g.blocks = (s->o + LANES - 1) / LANES;
	g.strip_rows = STRIP / s->ow > 1 ? STRIP / s->ow : 1;
	g.strip_rows = g.strip_rows < s->oh ? g.strip_rows : s->oh;
	g.x_rows = (g.strip_rows - 1) * s->stride[0] + s->kh;
	g.strip = g.blocks * g.taps * LANES;
	g.x = g.strip + g.strip_rows * s->ow * LANES;
	int64_t x_floats = sl_conv_small_padded(s, g.x_rows);
	g.chunk = g.x + (x_floats + LANES - 1) / LANES * LANES;
	return g;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct grad *g = sl_calloc(1, sizeof(*g));

	(void)env;
	if (!g)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	*g = grad_of(n);
	*out = (struct sl_prepared){
		.state = g,
		.workspace_bytes = (size_t)(g->chunks * g->chunk) * sizeof(float),
		.split = (int)g->chunks,
	};
	return SL_OK;
}

static void release(void *state)
{
	sl_free(state);
}

/* Some rows of taps over one strip. */
struct job {
	const struct grad *g;
	const float *strip; /* [rows, ow, 16] */
	const float *x; /* [c, x_rows, pw] */
	int64_t rows; /* of the strip */
	int64_t tap_row; /* the first, counted over channels and kernel rows */
	float *sums; /* of that row's first tap */
};

/* `rows` rows of `width` taps; constants where this is called, so that the sums stay in
 * registers. */
static inline __attribute__((always_inline)) SL_CONV_PLAIN void taps(
	const struct job *j, int rows, int width)
{
	const struct sl_conv_small *s = &j->g->s;
	const float *from[ROWS] = {0};
	lanes sum[SUMS];
	const float *dy = j->strip;

#pragma GCC unroll 9
	for (int r = 0; r < rows; r++) {
		int64_t at = j->tap_row + r;
		from[r] = j->x + (at / s->kh * j->g->x_rows + at % s->kh) * s->pw;
	}
#pragma GCC unroll 28
	for (int i = 0; i < rows * width; i++)
		sum[i] = (lanes){0};
	for (int64_t h = 0; h < j->rows; h++) {
		for (int64_t i = 0; i < s->ow; i++, dy += LANES) {
			lanes d = *(const lanes *)dy;
			int64_t at = h * s->stride[0] * s->pw + i * s->stride[1];
#pragma GCC unroll 28
			for (int k = 0; k < rows * width; k++)
				sum[k] += from[k / width][at + k % width] * d;
		}
	}
#pragma GCC unroll 28
	for (int i = 0; i < rows * width; i++)
		*(lanes *)(j->sums + i * LANES) += sum[i];
}

#define TAPS(rows, width) \
	SL_CONV_PLAIN static void taps##rows##x##width(const struct job *j) \
	{ \
		taps(j, rows, width); \
	}
TAPS(3, 3)
TAPS(6, 3)
TAPS(9, 3)
TAPS(5, 5)
TAPS(3, 7)
TAPS(4, 7)

typedef void (*taps_fn)(const struct job *);

/* What runs next of `left` rows of taps, and how many it takes. */
static taps_fn next_taps(int64_t width, int64_t left, int *rows)
{
	static const taps_fn of3[] = {taps3x3, taps6x3, taps9x3};

	*rows = 5;
	if (width == 5)
		return taps5x5;
	if (width == 7) {
		*rows = left % 7 == 0 ? 4 : 3;
		return *rows == 4 ? taps4x7 : taps3x7;
	}
	*rows = left < ROWS ? (int)left : ROWS;
	return of3[*rows / 3 - 1];
}

/* Output channels [o, o + 16) of a strip as [pixels, 16], zeros past the last. */
static void transpose(
	const struct grad *g, const float *dy, int64_t o, int64_t pixels, float *strip)
{
	const struct sl_conv_small *s = &g->s;
	int64_t count = s->o - o < LANES ? s->o - o : LANES;

	if (count < LANES)
		memset(strip, 0, (size_t)(pixels * LANES) * sizeof(*strip));
	sl_tile_transpose(
		dy + o * s->oh * s->ow, s->oh * s->ow, count, pixels, strip, LANES);
}

/* Rows [row, row + rows) of one image of dy, in the sums of a chunk. */
static void add_strip(
	const struct grad *g, const float *dy, int64_t row, int64_t rows, float *chunk)
{
	const struct sl_conv_small *s = &g->s;

	for (int64_t b = 0; b < g->blocks; b++) {
		transpose(g, dy + row * s->ow, b * LANES, rows * s->ow, chunk + g->strip);
		struct job j = {
			.g = g,
			.strip = chunk + g->strip,
			.x = chunk + g->x,
			.rows = rows,
			.sums = chunk + b * g->taps * LANES,
		};
		for (int64_t left = s->c * s->kh; left > 0;) {
			int took;
			taps_fn fn = next_taps(s->kw, left, &took);
			fn(&j);
			j.tap_row += took;
			j.sums += took * s->kw * LANES;
			left -= took;
		}
	}
}

static void add_image(
	const struct sl_call *c, const struct grad *g, int64_t image, float *chunk)
{
	const struct sl_conv_small *s = &g->s;
	const float *x = (const float *)c->in[0] + image * s->c * s->h * s->w;
	const float *dy = (const float *)c->in[1] + image * s->o * s->oh * s->ow;

	for (int64_t h = 0; h < s->oh; h += g->strip_rows) {
		int64_t left = s->oh - h;
		sl_conv_small_pad(s, x, h * s->stride[0], g->x_rows, chunk + g->x);
		add_strip(g, dy, h, left < g->strip_rows ? left : g->strip_rows, chunk);
	}
}

static void run_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct grad *g = arg;

	for (int64_t i = begin; i < end; i++) {
		float *chunk = (float *)c->workspace + i * g->chunk;
		int64_t to = (i + 1) * g->s.images / g->chunks;
		memset(chunk, 0, (size_t)g->strip * sizeof(*chunk));
		for (int64_t n = i * g->s.images / g->chunks; n < to; n++)
			add_image(c, g, n, chunk);
	}
}

/* Taps [begin, end) over all blocks: the chunks' sums, each lane to its channel. */
static void add_chunks(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct grad *g = arg;
	const float *sums = c->workspace;
	float *dw = c->out[0];

	for (int64_t i = begin; i < end; i++) {
		float sum[LANES] = {0};
		int64_t o = i / g->taps * LANES;
		int64_t count = g->s.o - o < LANES ? g->s.o - o : LANES;
		for (int64_t k = 0; k < g->chunks; k++)
#pragma omp simd
			for (int64_t l = 0; l < LANES; l++)
				sum[l] += sums[k * g->chunk + i * LANES + l];
		for (int64_t l = 0; l < count; l++)
			dw[(o + l) * g->taps + i % g->taps] = sum[l];
	}
}

static sl_status run(const struct sl_call *c)
{
	const struct grad *g = c->prepared;

	sl_cpu_for(c, g, g->chunks, 1, run_chunks);
	sl_cpu_for(
		c, g, g->blocks * g->taps, sl_cpu_grain(LANES * g->chunks), add_chunks);
	return SL_OK;
}

/* Three quarters of the lanes are of use, or so few channels that the library fares
 * worse. */
static bool accepts(const struct sl_node_info *n)
{
	struct sl_conv_small s = sizes_of(n);

	if (!sl_conv_small_fits(n, &s) || s.kh != s.kw || s.c > CHANNELS_MAX ||
		(s.kw != 3 && s.kw != 5 && s.kw != 7))
		return false;
	struct grad g = grad_of(n);
	return sl_conv_small_padded(&s, g.x_rows) <= ROWS_MAX &&
	       (s.c <= 4 || 4 * s.o >= 3 * LANES * g.blocks);
}

const struct sl_kernel sl_kernel_small_conv2d_dw = {
	.name = "small_conv2d_dw",
	.op = "conv2d_dw",
	.rank = 40,
	.accepts = accepts,
	.prepare = prepare,
	.run = run,
	.release = release,
};

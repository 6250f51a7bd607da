/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of max and average pooling, by rows like the pooling itself (pool.c): the max
 * finds its winners anew, along rows first; the average adds up divided rows of dy and
 * then pools the sum along the row where the stride is 1, or spreads it. f32.
 *
 * 1. Gradients of one plane are added in a fixed order: bits never depend on threads.
 * 2. Where windows do not overlap, the gradient of max may take the bytes of x: each
 * window owns the rectangle up to the next one, which is cleared once its winner is
 * known.
 */
#include "kernel/cpu/pool.h"

static bool is_apart(const struct sl_pool2d *p)
{
	return p->stride[0] >= p->kernel[0] && p->stride[1] >= p->kernel[1];
}

/* What windows [block) of an axis own of it: all up to the first window of the next
 * block. */
static struct sl_pool_span owned(
	const struct sl_pool2d *p, int axis, struct sl_pool_span block)
{
	int64_t count = axis ? p->ow : p->oh;
	int64_t size = axis ? p->w : p->h;

	return (struct sl_pool_span){
		.from = block.from ? block.from * p->stride[axis] - p->pad[axis] : 0,
		.to = block.to < count ? block.to * p->stride[axis] - p->pad[axis] : size,
	};
}

static void clear_owned(
	const struct sl_pool2d *p, float *dx, int64_t oh, struct sl_pool_span block)
{
	struct sl_pool_span rows = owned(p, 0, (struct sl_pool_span){oh, oh + 1});
	struct sl_pool_span cols = owned(p, 1, block);

	for (int64_t h = rows.from; h < rows.to; h++)
		memset(dx + h * p->w + cols.from, 0,
			(size_t)(cols.to - cols.from) * sizeof(*dx));
}

/* Largest elements so far, and their places in the plane. */
struct winners {
	float best[SL_POOL_BLOCK];
	int32_t where[SL_POOL_BLOCK];
};

/* Winners along row r, whose line is given. */
static SL_INLINE void winners_by(const struct sl_pool2d *p, const float *line,
	const struct sl_pool_block *b, int64_t stride, int64_t r, struct winners *out)
{
	const int32_t first = (int32_t)(r * p->w + b->column); /* place of line[0] */
	const int32_t inside = first + (int32_t)b->inside.from;

	for (int64_t i = 0; i < b->lanes; i += SL_LANES) {
		sl_lanes best, v;
		sl_mask place = {0}, where, won;
		for (int j = 0; j < SL_LANES; j++)
			place[j] = first + (int32_t)((i + j) * stride);
		/* All -inf: nothing wins, so the first element must hold already. */
		won = place < inside;
		where = (won & inside) | (~won & place);
		load_lanes(line + i * stride, stride, b->n - i, &best);
		for (int64_t k = 1; k < p->kernel[1]; k++) {
			load_lanes(line + i * stride + k, stride, b->n - i, &v);
			challenge(&v, &best, &won);
			where = (won & (place + (int32_t)k)) | (~won & where);
		}
		*(sl_lanes *)(out->best + i) = best;
		*(sl_places *)(out->where + i) = where;
	}
}

SL_PLAIN static void winners_along_row(const struct sl_pool2d *p, const float *line,
	const struct sl_pool_block *b, int64_t r, struct winners *out)
{
	if (p->stride[1] == 1)
		winners_by(p, line, b, 1, r, out);
	else if (p->stride[1] == 2)
		winners_by(p, line, b, 2, r, out);
	else
		winners_by(p, line, b, p->stride[1], r, out);
}

SL_PLAIN static void add_winners(
	struct winners *out, const struct winners *row, int64_t n)
{
	for (int64_t i = 0; i < n; i += SL_LANES) {
		sl_places *where = (sl_places *)(out->where + i);
		sl_mask won;
		challenge((const sl_lanes *)(row->best + i), (sl_lanes *)(out->best + i),
			&won);
		*where = (won & *(const sl_places *)(row->where + i)) | (~won & *where);
	}
}

/* Adds dy to the winners. */
static void max_dx_block(const struct sl_pool2d *p, const float *x, const float *dy,
	float *dx, const struct sl_pool_block *b)
{
	const struct sl_pool_span block = {b->from, b->from + b->n};
	struct winners ring[SL_POOL_RING], out;
	float line[SL_POOL_LINE_ROOM];
	int64_t pooled = 0;

	fill(line, b->used + SL_LANES, -INFINITY);
	for (int64_t oh = 0; oh < p->oh; oh++) {
		struct sl_pool_span rows = rows_of(p, oh);
		for (int64_t r = rows.from; r < rows.to; r++) {
			struct winners *row = &ring[r % SL_POOL_RING];
			if (r >= pooled || p->kernel[0] > SL_POOL_RING) {
				copy_inside(line, x + r * p->w, b);
				winners_along_row(p, line, b, r, row);
				pooled = r + 1;
			}
			if (r == rows.from)
				out = *row;
			else
				add_winners(&out, row, b->lanes);
		}
		if (is_apart(p))
			clear_owned(p, dx, oh, block);
		for (int64_t i = 0; i < b->n; i++)
			dx[out.where[i]] += dy[oh * p->ow + b->from + i];
	}
}

/* Outputs whose windows hold input `at` of an axis. */
static struct sl_pool_span holders(const struct sl_pool2d *p, int axis, int64_t at)
{
	int64_t end = at + p->pad[axis]; /* the last one begins here or before */
	int64_t from = end - p->kernel[axis];
	int64_t last = end / p->stride[axis];
	int64_t count = axis ? p->ow : p->oh;

	return (struct sl_pool_span){
		.from = from < 0 ? 0 : from / p->stride[axis] + 1,
		.to = last < count ? last + 1 : count,
	};
}

static inline void spread_along(float *x, const float *dy, int64_t n, int64_t stride)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		x[i * stride] += dy[i];
}

/* n columns of dx out of a line of sums; the first reads the line's first kernel width.
 */
SL_PLAIN static void gather_row(
	const struct sl_pool2d *p, const float *line, int64_t n, float *out)
{
	const struct sl_pool_block b = {
		.n = n, .lanes = (n + SL_LANES - 1) / SL_LANES * SL_LANES};

	along_row_by(p, line, &b, 1, out);
}

struct dy_rows {
	float ring[SL_POOL_RING][SL_POOL_BLOCK], columns[SL_POOL_BLOCK];
	int64_t ready; /* rows before it have been divided */
};

/* Sums of the divided rows of dy whose windows hold row h of x. */
static void sum_rows(const struct sl_pool2d *p, const float *dy,
	const struct sl_pool_block *b, int64_t h, struct dy_rows *rows, float *sum)
{
	struct sl_pool_span s = holders(p, 0, h);

	fill(sum, b->lanes, 0);
	for (int64_t r = s.from; r < s.to; r++) {
		float *row = rows->ring[r % SL_POOL_RING];
		if (r >= rows->ready || p->kernel[0] > SL_POOL_RING) {
			memcpy(row, dy + r * p->ow + b->from,
				(size_t)b->n * sizeof(*row));
			divide(row, rows->columns, counted(p, 0, r), b->lanes);
			rows->ready = r + 1;
		}
		spread_along(sum, row, b->lanes, 1);
	}
}

/* Columns [column) of dx. */
static void avg_dx_block(
	const struct sl_pool2d *p, const float *dy, float *dx, struct sl_pool_span column)
{
	/* One that begins at the first column or before, though it may not reach it. */
	int64_t begin = (column.from + p->pad[1]) / p->stride[1];
	int64_t first = holders(p, 1, column.from).from;
	int64_t last = holders(p, 1, column.to - 1).to;
	first = first < begin ? first : begin;
	struct sl_pool_block b = block_at(p, first, last > first ? last - first : 0);
	struct dy_rows rows;
	float line[SL_POOL_LINE_ROOM], sum[SL_POOL_BLOCK], out[SL_POOL_BLOCK];
	int64_t shift = column.from - b.column; /* of the first column in the line */
	int64_t size = column.to - column.from;
	int64_t used = size + p->kernel[1] + 2 * SL_LANES;

	rows.ready = 0;
	for (int i = 0; i < SL_POOL_RING; i++)
		fill(rows.ring[i], b.lanes, 0);
	count_columns(p, &b, rows.columns);
	if (p->stride[1] > 1)
		used = b.used > shift + size ? b.used : shift + size;
	fill(line, used, 0);
	for (int64_t h = 0; h < p->h; h++) {
		const float *from = p->stride[1] > 1 ? line + shift : out;
		sum_rows(p, dy, &b, h, &rows, sum);
		if (p->stride[1] > 1) {
			fill(line, used, 0);
			for (int64_t k = 0; k < p->kernel[1]; k++)
				spread_along(line + k, sum, b.lanes, p->stride[1]);
		} else {
			memcpy(line + p->kernel[1] - 1 - shift, sum,
				(size_t)b.n * sizeof(*sum));
			gather_row(p, line, size, out);
		}
		memcpy(dx + h * p->w + column.from, from, (size_t)size * sizeof(*dx));
	}
}

static void max_dx_plane(
	const struct sl_pool2d *p, const float *x, const float *dy, float *dx)
{
	if (!is_apart(p))
		memset(dx, 0, (size_t)(p->h * p->w) * sizeof(*dx));
	for (struct sl_pool_block b = {0}; next_block(p, &b);)
		max_dx_block(p, x, dy, dx, &b);
}

static void avg_dx_plane(const struct sl_pool2d *p, const float *dy, float *dx)
{
	/* As many columns as one block of outputs reaches. */
	int64_t most = (block_size(p) - 1) * p->stride[1] - p->kernel[1] + 2;

	for (int64_t from = 0; from < p->w; from += most)
		avg_dx_block(p, dy, dx,
			(struct sl_pool_span){
				from, from + most < p->w ? from + most : p->w});
}

static void backward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_pool2d *p = arg;
	int64_t size = p->h * p->w;
	int64_t size_y = p->oh * p->ow;

	for (int64_t plane = begin; plane < end; plane++) {
		float *dx = (float *)c->out[0] + plane * size;
		const float *x = (const float *)c->in[0] + plane * size;
		const float *dy = (const float *)c->in[p->max ? 1 : 0] + plane * size_y;
		if (p->max)
			max_dx_plane(p, x, dy, dx);
		else
			avg_dx_plane(p, dy, dx);
	}
}

static sl_status run(const struct sl_call *c, bool max)
{
	struct sl_pool2d p = pool_of(c->node->attr, &c->node->out[0].shape,
		&c->node->in[max ? 1 : 0].shape, max);

	sl_pool_over_planes(c, &p, backward);
	return SL_OK;
}

static sl_status max_dx_run(const struct sl_call *c)
{
	return run(c, true);
}

static sl_status avg_dx_run(const struct sl_call *c)
{
	return run(c, false);
}

SL_POOL_KERNEL(max_pool2d_dx, max_dx_run)
SL_POOL_KERNEL(avg_pool2d_dx, avg_dx_run)

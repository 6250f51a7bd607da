/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max and average pooling, own loops on the plain layout: the
 * library's kernels treat NaN and ties in a way of their own, need the index workspace
 * kept, and want blocked channels.
 *
 * A plane (n, c) is one item of work. A row of x is copied between its padding into a
 * line and pooled along it once; a ring keeps the pooled rows that windows share, and
 * each row of the result is pooled from them: kernel height + width operations an element
 * instead of their product. Lines are computed to a whole number of vectors, as rows of
 * deep layers are shorter than two. f32; reads x once, writes y once.
 *
 * Max: the first NaN, else the first largest element in row-major order, as in the
 * reference.
 */
#include "kernel/cpu/pool.h"

/* One specialisation a stride that occurs. */
SL_PLAIN static void along_row(const struct sl_pool2d *p, const float *line,
	const struct sl_pool_block *b, float *out)
{
	if (p->stride[1] == 1)
		along_row_by(p, line, b, 1, out);
	else if (p->stride[1] == 2)
		along_row_by(p, line, b, 2, out);
	else
		along_row_by(p, line, b, p->stride[1], out);
}

/* Pools another row into out. */
SL_PLAIN static void add_row(
	const struct sl_pool2d *p, const float *row, int64_t n, float *out)
{
	for (int64_t i = 0; i < n; i += SL_LANES) {
		const sl_lanes *v = (const sl_lanes *)(row + i);
		sl_lanes *all = (sl_lanes *)(out + i);
		sl_mask won;
		if (p->max)
			challenge(v, all, &won);
		else
			*all += *v;
	}
}

static void forward_block(const struct sl_pool2d *p, const float *x, float *y,
	const struct sl_pool_block *b)
{
	float line[SL_POOL_LINE_ROOM], ring[SL_POOL_RING][SL_POOL_BLOCK],
		out[SL_POOL_BLOCK], columns[SL_POOL_BLOCK];
	int64_t pooled = 0; /* rows before it have been */

	fill(line, b->used + SL_LANES, p->max ? -INFINITY : 0.0f);
	count_columns(p, b, columns);
	for (int64_t oh = 0; oh < p->oh; oh++) {
		struct sl_pool_span rows = rows_of(p, oh);
		for (int64_t r = rows.from; r < rows.to; r++) {
			float *row = ring[r % SL_POOL_RING];
			if (r >= pooled || p->kernel[0] > SL_POOL_RING) {
				copy_inside(line, x + r * p->w, b);
				along_row(p, line, b, row);
				pooled = r + 1;
			}
			if (r > rows.from)
				add_row(p, row, b->lanes, out);
			else
				memcpy(out, row, (size_t)b->lanes * sizeof(*out));
		}
		if (!p->max)
			divide(out, columns, counted(p, 0, oh), b->lanes);
		memcpy(y + oh * p->ow + b->from, out, (size_t)b->n * sizeof(*out));
	}
}

static void forward(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct sl_pool2d *p = arg;

	for (int64_t plane = begin; plane < end; plane++) {
		const float *x = (const float *)c->in[0] + plane * p->h * p->w;
		float *y = (float *)c->out[0] + plane * p->oh * p->ow;
		for (struct sl_pool_block b = {0}; next_block(p, &b);)
			forward_block(p, x, y, &b);
	}
}

bool sl_pool_accepts(const struct sl_node_info *n)
{
	const struct sl_pool_attr *a = n->attr;
	const struct sl_shape *out = &n->out[0].shape;
	const struct sl_shape *in = &n->in[0].shape;

	return sl_cpu_is_f32(n) && a->kernel[1] <= SL_POOL_KERNEL_MOST &&
	       a->stride[1] <= SL_POOL_STRIDE_MOST &&
	       sl_shape_span(in, 2, 4) <= INT32_MAX &&
	       sl_shape_span(out, 2, 4) <= INT32_MAX;
}

void sl_pool_over_planes(
	const struct sl_call *c, const struct sl_pool2d *p, sl_cpu_range_fn fn)
{
	int64_t planes = sl_shape_span(&c->node->out[0].shape, 0, 2);

	sl_cpu_for(c, p, planes, sl_cpu_grain(p->h * p->w), fn);
}

static sl_status run(const struct sl_call *c, bool max)
{
	struct sl_pool2d p = pool_of(
		c->node->attr, &c->node->in[0].shape, &c->node->out[0].shape, max);

	sl_pool_over_planes(c, &p, forward);
	return SL_OK;
}

static sl_status max_run(const struct sl_call *c)
{
	return run(c, true);
}

static sl_status avg_run(const struct sl_call *c)
{
	return run(c, false);
}

SL_POOL_KERNEL(max_pool2d, max_run)
SL_POOL_KERNEL(avg_pool2d, avg_run)

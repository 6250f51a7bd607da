/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops around the micro-kernel. A task is a rectangle of y; along k it goes block by
 * block of `depth`, packs what it needs of a and b into its lane's buffer, which stays in
 * the second-level cache, and runs the tiles. An operand that many tasks need and that is
 * not large is packed whole by all threads first.
 */
#include "kernel/cpu/gemm_pack.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/thread.h"

#define DEPTH 512
#define B_FLOATS (384 * DEPTH) /* 768 KB: half of 2 MB, most of 1 MB */
#define A_FLOATS (280 * DEPTH)
#define WHOLE_MOST (2 << 20) /* floats */
#define WHOLE_LEAST (64 << 10) /* under this packing twice is faster than waiting */
#define WHOLE_PANELS 4 /* a chunk */
#define TASK_COLS 192
#define TASK_ROWS 112

struct work {
	const struct sl_pack *p;
	const struct sl_pack_io *io;
	int64_t chunks, row_tasks, col_tasks;
	_Atomic int64_t next_chunk, packed, next_task;
};

/* A block of the product: packed operands and the rectangle of y. */
struct block {
	const float *a, *b;
	float *y;
	int64_t a_at, b_at; /* elements where the operands of its batch begin */
	int64_t row, rows, col, cols, k, depth;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t each)
{
	return (n + each - 1) / each;
}

static int64_t padded(int64_t n, int64_t unit)
{
	return parts(n, unit) * unit;
}

static struct sl_axis plain(int64_t step)
{
	return (struct sl_axis){step, SL_PACK_PLAIN, 0};
}

struct sl_pack_form sl_pack_form_of(const struct sl_gemm *g)
{
	return (struct sl_pack_form){
		.m = g->m,
		.n = g->n,
		.k = g->k,
		.a_row = plain(g->trans_a ? 1 : g->k),
		.a_k = plain(g->trans_a ? g->m : 1),
		.b_col = plain(g->trans_b ? g->k : 1),
		.b_k = plain(g->trans_b ? 1 : g->n),
		.y_row = g->n,
		.y_col = plain(1),
	};
}

/* Parts of at most `most`, as many as a multiple of `by`, each a multiple of unit. */
static int64_t cut(int64_t n, int64_t most, int64_t unit, int64_t by)
{
	return padded(parts(n, padded(parts(n, most), by)), unit);
}

static void choose_whole(struct sl_pack *p, int threads)
{
	const struct sl_pack_form *f = &p->form;
	int64_t small = (f->m < f->n ? f->m : f->n) * f->k;

	if (p->batches > 1 || small > WHOLE_MOST || (threads > 1 && small < WHOLE_LEAST))
		return;
	p->whole_a = f->m <= f->n;
	p->whole_b = !p->whole_a;
}

static void choose_tasks(struct sl_pack *p, int threads)
{
	const struct sl_pack_form *f = &p->form;
	int64_t by = p->batches >= threads ? 1 : threads;
	int64_t rows = A_FLOATS / p->depth / SL_TILE_ROWS * SL_TILE_ROWS;
	int64_t cols = B_FLOATS / p->depth / SL_TILE_COLS * SL_TILE_COLS;

	p->task_rows = f->m;
	p->task_cols = f->n;
	if (p->whole_a)
		p->task_cols = cut(f->n, least(cols, TASK_COLS), SL_TILE_COLS, by);
	else if (p->whole_b)
		p->task_rows = cut(f->m, least(rows, TASK_ROWS), SL_TILE_ROWS, by);
	else if (f->n < f->m)
		p->task_rows = cut(f->m, rows, SL_TILE_ROWS, by);
	else
		p->task_cols = cut(f->n, f->n, SL_TILE_COLS, by);
	if (!p->whole_a && p->task_rows > rows)
		p->task_rows = cut(f->m, rows, SL_TILE_ROWS, 1);
	p->block_cols = least(cols, padded(p->task_cols, SL_TILE_COLS));
}

struct sl_pack sl_pack_of(
	const struct sl_pack_form *form, const struct sl_gemm *g, int threads)
{
	struct sl_pack p = {.form = *form, .batches = 1};

	if (g) {
		p.batch = *g;
		p.batches = sl_gemm_batches(g);
	}
	p.depth = least(form->k, padded(parts(form->k, parts(form->k, DEPTH)), 16));
	choose_whole(&p, threads);
	choose_tasks(&p, threads);
	if (p.whole_a)
		p.whole_floats = padded(padded(form->m, SL_TILE_ROWS) * form->k, 16);
	else
		p.lane_a_floats = padded(padded(p.task_rows, SL_TILE_ROWS) * p.depth, 16);
	if (p.whole_b)
		p.whole_floats = padded(form->n, SL_TILE_COLS) * form->k;
	p.lane_floats = p.lane_a_floats + (p.whole_b ? 0 : p.block_cols * p.depth);
	int64_t tasks =
		parts(form->m, p.task_rows) * parts(form->n, p.task_cols) * p.batches;
	p.lanes = (int)least(threads, tasks);
	return p;
}

size_t sl_pack_workspace(const struct sl_pack *p)
{
	return (size_t)(p->whole_floats + p->lanes * p->lane_floats) * sizeof(float);
}

/* y's rectangle of a tile crosses a jump of its columns: by way of a buffer. */
static void run_apart(
	const struct sl_pack *p, const struct sl_tile *t, float *y, int64_t col)
{
	float buffer[SL_TILE_ROWS * SL_TILE_COLS];
	struct sl_tile own = *t;
	const struct sl_axis *x = &p->form.y_col;

	own.y = buffer;
	own.y_step = SL_TILE_COLS;
	own.accumulate = false;
	sl_tile_run(&own);
	for (int64_t i = 0; i < t->cols;) {
		int64_t at = (col + i) % x->span;
		int64_t run = least(t->cols - i, x->span - at);
		float *to = y + (col + i) / x->span * x->jump + at;
		for (int r = 0; r < t->rows; r++, to += t->y_step)
			for (int64_t j = 0; j < run; j++)
				to[j] = buffer[r * SL_TILE_COLS + i + j] +
					(t->accumulate ? to[j] : 0.0f);
		i += run;
	}
}

static void run_tile(const struct sl_pack *p, struct sl_tile *t, float *y, int64_t col)
{
	const struct sl_axis *x = &p->form.y_col;

	if (col / x->span != (col + t->cols - 1) / x->span) {
		run_apart(p, t, y, col);
		return;
	}
	t->y = y + col / x->span * x->jump + col % x->span;
	sl_tile_run(t);
}

static void run_block(
	const struct sl_pack *p, const struct sl_pack_io *io, const struct block *b)
{
	bool last = b->k + b->depth == p->form.k;
	struct sl_tile t = {
		.depth = b->depth,
		.y_step = p->form.y_row,
		.accumulate = io->accumulate || b->k > 0,
	};

	for (int64_t i = 0; i < b->rows; i += SL_TILE_ROWS) {
		t.a = b->a + i * b->depth;
		t.rows = (int)least(SL_TILE_ROWS, b->rows - i);
		t.row_bias = last && io->row_bias ? io->row_bias + b->row + i : NULL;
		for (int64_t j = 0; j < b->cols; j += SL_TILE_COLS) {
			t.b = b->b + j * b->depth;
			t.cols = (int)least(SL_TILE_COLS, b->cols - j);
			t.col_bias =
				last && io->col_bias ? io->col_bias + b->col + j : NULL;
			if (io->tile)
				io->tile(io->tile_ctx, &t, b->row + i, b->col + j);
			else
				run_tile(p, &t, b->y + (b->row + i) * t.y_step,
					b->col + j);
		}
	}
}

/* One rectangle of y, all of k. */
static void run_task(const struct sl_pack *p, const struct sl_pack_io *io, struct block b,
	float *buffer)
{
	const struct sl_pack_form *f = &p->form;
	struct sl_panel_source a = {io->a, p->low_a, b.a_at, f->a_row, f->a_k};
	struct sl_panel_source right = {io->b, p->low_b, b.b_at, f->b_col, f->b_k};
	int64_t first = b.col;
	int64_t end = b.col + b.cols;
	float *b_at = buffer + p->lane_a_floats;

	for (b.k = 0; b.k < f->k; b.k += b.depth) {
		b.depth = least(p->depth, f->k - b.k);
		b.a = buffer;
		if (p->whole_a)
			b.a = io->workspace + padded(f->m, SL_TILE_ROWS) * b.k +
			      b.row * b.depth;
		else
			sl_panel_pack(&a, SL_TILE_ROWS,
				&(struct sl_panel_box){b.row, b.rows, b.k, b.depth},
				buffer);
		for (b.col = first; b.col < end; b.col += p->block_cols) {
			b.cols = least(p->block_cols, end - b.col);
			b.b = b_at;
			if (p->whole_b)
				b.b = io->workspace + padded(f->n, SL_TILE_COLS) * b.k +
				      b.col * b.depth;
			else
				sl_panel_pack(&right, SL_TILE_COLS,
					&(struct sl_panel_box){
						b.col, b.cols, b.k, b.depth},
					b_at);
			run_block(p, io, &b);
		}
	}
}

static void pack_chunk(const struct work *w, int64_t chunk)
{
	const struct sl_pack_form *f = &w->p->form;
	bool is_a = w->p->whole_a;
	int width = is_a ? SL_TILE_ROWS : SL_TILE_COLS;
	int64_t count = is_a ? f->m : f->n;
	struct sl_panel_source s = {is_a ? w->io->a : w->io->b,
		is_a ? w->p->low_a : w->p->low_b, 0, is_a ? f->a_row : f->b_col,
		is_a ? f->a_k : f->b_k};
	struct sl_panel_box box = {.lane = chunk * WHOLE_PANELS * width};

	box.lanes = least(count - box.lane, WHOLE_PANELS * width);
	for (; box.k < f->k; box.k += box.depth) {
		box.depth = least(w->p->depth, f->k - box.k);
		sl_panel_pack(&s, width, &box,
			w->io->workspace + padded(count, width) * box.k +
				box.lane * box.depth);
	}
}

/* Takes its share of the packing and returns when all is packed. The wait is for chunks
 * that other threads are at, some microseconds: not worth a second waking of them. */
static void pack_whole(struct work *w)
{
	int64_t i;

	while ((i = atomic_fetch_add(&w->next_chunk, 1)) < w->chunks) {
		pack_chunk(w, i);
		atomic_fetch_add(&w->packed, 1);
	}
	while (atomic_load(&w->packed) < w->chunks)
		sched_yield();
}

/* Tasks until none is left, with the buffer of one lane. */
static void run_lane(void *ctx, int64_t lane)
{
	struct work *w = ctx;
	const struct sl_pack *p = w->p;
	float *buffer = w->io->workspace + p->whole_floats + lane * p->lane_floats;
	int64_t tasks = p->batches * w->row_tasks * w->col_tasks;
	int64_t i;

	pack_whole(w);
	while ((i = atomic_fetch_add(&w->next_task, 1)) < tasks) {
		int64_t batch = i / (w->row_tasks * w->col_tasks);
		struct block b = {
			.row = i % w->row_tasks * p->task_rows,
			.col = i / w->row_tasks % w->col_tasks * p->task_cols,
			.y = w->io->y + batch * p->form.m * p->form.n,
		};
		sl_gemm_offsets(&p->batch, batch, &b.a_at, &b.b_at);
		b.rows = least(p->task_rows, p->form.m - b.row);
		b.cols = least(p->task_cols, p->form.n - b.col);
		run_task(p, w->io, b, buffer);
	}
}

void sl_pack_run(const struct sl_pack *p, const struct sl_pack_io *io)
{
	struct work w = {
		.p = p,
		.io = io,
		.row_tasks = parts(p->form.m, p->task_rows),
		.col_tasks = parts(p->form.n, p->task_cols),
	};

	if (p->whole_a)
		w.chunks = parts(p->form.m, WHOLE_PANELS * SL_TILE_ROWS);
	else if (p->whole_b)
		w.chunks = parts(p->form.n, WHOLE_PANELS * SL_TILE_COLS);
	sl_pool_run(io->pool, p->lanes, run_lane, &w);
}

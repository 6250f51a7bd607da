/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic programming over the stages of a chain. A job is to do the backward ops of
 * stages `last` down to `first`, with the input of `first` on the device all the while,
 * and what is saved of `last` there (`there`) or not. Either that is one stage, or stages
 * `first` to k are run once more and k's output kept, with what is saved of k or without;
 * then come the jobs above k and, at last, the one up to k. `front` has for each job the
 * times that there are, by the bytes they take: more bytes, less time.
 *
 * The first way through the forward pass is such a job, too, whose runs cost nothing.
 */
#include "memory/policy/optimal_chain_int.h"

#include "base/alloc.h"
#include "base/units.h"

struct point {
	uint64_t peak, ns;
	uint32_t k; /* == the last stage: no split */
	uint32_t above, below; /* points of the two jobs */
	bool saved;
};

struct front {
	uint32_t first, n;
};

struct list {
	struct point *points;
	size_t n, cap;
};

struct solver {
	struct sl_chain c;
	uint64_t room;
	uint32_t max_points;
	struct point *points;
	size_t n_points, cap_points;
	struct front fronts[SL_CHAIN_MAX][SL_CHAIN_MAX][2];
	struct front forward[SL_CHAIN_MAX]; /* from this stage on, for the first time */
	struct list found, best, merged; /* by rising peak and falling time */
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static sl_status append(struct list *l, const struct point *p)
{
	if (sl_grow((void **)&l->points, &l->cap, l->n + 1, sizeof(*l->points),
		    UINT32_MAX / 8))
		return no_memory();
	l->points[l->n++] = *p;
	return SL_OK;
}

static sl_status add_found(struct solver *s, const struct point *p)
{
	return p->peak > s->room ? SL_OK : append(&s->found, p);
}

static bool comes_first(const struct point *a, const struct point *b)
{
	return a->peak != b->peak ? a->peak < b->peak : a->ns <= b->ns;
}

/* Takes the points found, in order as they are, into the best ones of the job at hand. */
static sl_status merge_found(struct solver *s)
{
	struct list *a = &s->best, *b = &s->found, *m = &s->merged, old;
	size_t i = 0, k = 0;

	m->n = 0;
	while (i < a->n || k < b->n) {
		bool first = k == b->n ||
			     (i < a->n && comes_first(&a->points[i], &b->points[k]));
		const struct point *p = first ? &a->points[i++] : &b->points[k++];

		if (m->n == 0 || p->ns < m->points[m->n - 1].ns)
			SL_TRY(append(m, p));
	}
	b->n = 0;
	old = *a;
	*a = *m;
	*m = old;
	return SL_OK;
}

/* The best points are the job's front; where they are too many, some of them, evenly. */
static sl_status end_front(struct solver *s, struct front *out)
{
	size_t n, kept;

	SL_TRY(merge_found(s));
	n = s->best.n;
	kept = n > s->max_points ? s->max_points : n;
	out->first = (uint32_t)s->n_points;
	out->n = (uint32_t)kept;
	for (size_t i = 0; i < kept; i++) {
		size_t at = kept < n ? i * (n - 1) / (kept - 1) : i;

		if (sl_grow((void **)&s->points, &s->cap_points, s->n_points + 1,
			    sizeof(*s->points), UINT32_MAX / 8))
			return no_memory();
		s->points[s->n_points++] = s->best.points[at];
	}
	s->best.n = 0;
	return SL_OK;
}

/* Two jobs, one after the other, and what they take beside their own bytes. */
struct pair {
	struct front above, below;
	uint64_t above_bytes; /* held meanwhile */
	uint64_t peak, ns; /* of the runs before */
	uint32_t k;
	bool saved;
};

static sl_status combine(struct solver *s, const struct pair *x)
{
	const struct point *a = &s->points[x->above.first];
	const struct point *b = &s->points[x->below.first];
	uint32_t i = 0, k = 0;

	if (x->above.n == 0 || x->below.n == 0)
		return SL_OK;
	for (;;) {
		struct point p = {.k = x->k,
			.saved = x->saved,
			.above = x->above.first + i,
			.below = x->below.first + k,
			.ns = sl_add_ns(x->ns, sl_add_ns(a[i].ns, b[k].ns)),
			.peak = max_u64(
				x->peak, max_u64(a[i].peak + x->above_bytes, b[k].peak))};
		uint64_t next_a =
			i + 1 < x->above.n ? a[i + 1].peak + x->above_bytes : UINT64_MAX;
		uint64_t next_b = k + 1 < x->below.n ? b[k + 1].peak : UINT64_MAX;

		SL_TRY(add_found(s, &p));
		if (next_a > s->room && next_b > s->room)
			return merge_found(s);
		if (next_a <= next_b)
			i++;
		else
			k++;
	}
}

static uint64_t input_bytes(const struct solver *s, uint32_t stage)
{
	return stage > 0 ? s->c.stages[stage - 1].output_bytes : 0;
}

/* What is held of stage k beside its output while the jobs above it are done. */
static uint64_t held_bytes(const struct sl_stage *k, bool saved)
{
	if (!saved)
		return 0;
	return k->saved_bytes - (k->output_saved ? k->output_bytes : 0);
}

/* A pair that splits the job from `first` on at k, without the runs before. */
static struct pair split_at(
	const struct solver *s, uint32_t first, uint32_t k, bool saved)
{
	return (struct pair){.k = k,
		.saved = saved,
		.below = s->fronts[first][k][saved],
		.above_bytes =
			input_bytes(s, first) + held_bytes(&s->c.stages[k], saved)};
}

/* Stages first to k, run again before the backward ops of `last`. */
static void add_runs(
	const struct solver *s, struct pair *x, uint32_t first, uint64_t beside)
{
	uint64_t input = input_bytes(s, first);

	for (uint32_t i = first; i <= x->k; i++) {
		const struct sl_stage *g = &s->c.stages[i];
		bool saved = x->saved && i == x->k;

		x->ns = g->again ? sl_add_ns(x->ns, g->ns[saved]) : UINT64_MAX;
		x->peak = max_u64(x->peak, beside + input + g->peak[1][saved][i > first]);
	}
}

static sl_status solve_one(struct solver *s, uint32_t stage, bool there)
{
	const struct sl_stage *g = &s->c.stages[stage];
	struct point p = {.k = stage,
		.peak = input_bytes(s, stage) +
			max_u64(g->back_peak, there ? g->saved_bytes : 0)};

	if (!there && g->saved_bytes > 0) {
		p.ns = g->ns[1];
		p.peak = max_u64(
			p.peak, input_bytes(s, stage) + g->back_load + g->peak[1][1][0]);
		if (!g->again)
			return SL_OK;
	}
	return add_found(s, &p);
}

static bool has_backward(const struct sl_stage *g)
{
	return g->back_from < g->back_to;
}

static sl_status solve_job(struct solver *s, uint32_t first, uint32_t last, bool there)
{
	const struct sl_stage *g = &s->c.stages[last];
	uint64_t beside = g->back_load + (there ? g->saved_bytes : 0);

	if (first == last)
		SL_TRY(solve_one(s, first, there));
	for (uint32_t k = first; k < last; k++) {
		for (int saved = 0; saved < 2; saved++) {
			struct pair x = split_at(s, first, k, saved);

			x.above = s->fronts[k + 1][last][there];
			add_runs(s, &x, first, beside);
			if (x.ns != UINT64_MAX)
				SL_TRY(combine(s, &x));
		}
	}
	return end_front(s, &s->fronts[first][last][there]);
}

/* The first way through, from a stage on. */
static sl_status solve_forward(struct solver *s, uint32_t first)
{
	const struct sl_stage *end = &s->c.stages[s->c.n - 1];
	uint64_t input = input_bytes(s, first);

	if (first + 1 == s->c.n)
		return add_found(s, &(struct point){.k = first,
					    .peak = input + max_u64(end->back_peak,
								    end->peak[0][1][0])});
	for (uint32_t k = first; k + 1 < s->c.n; k++) {
		for (int saved = 0; saved < 2; saved++) {
			struct pair x = split_at(s, first, k, saved);

			x.above = s->forward[k + 1];
			for (uint32_t i = first; i <= k; i++)
				x.peak = max_u64(x.peak,
					input + s->c.stages[i].peak[0][saved && i == k]
								   [i > first]);
			SL_TRY(combine(s, &x));
		}
	}
	return SL_OK;
}

static sl_status solve(struct solver *s)
{
	for (uint32_t length = 0; length < s->c.n; length++) {
		for (uint32_t first = 0; first + length < s->c.n; first++) {
			uint32_t last = first + length;

			if (first < last && !has_backward(&s->c.stages[last])) {
				s->fronts[first][last][0] = s->fronts[first][last - 1][0];
				s->fronts[first][last][1] = s->fronts[first][last - 1][0];
				continue;
			}
			SL_TRY(solve_job(s, first, last, false));
			SL_TRY(solve_job(s, first, last, true));
		}
	}
	for (uint32_t first = s->c.n; first-- > 0;) {
		SL_TRY(solve_forward(s, first));
		SL_TRY(end_front(s, &s->forward[first]));
	}
	return SL_OK;
}

static sl_status emit_range(uint32_t from, uint32_t to, struct sl_order *out)
{
	for (uint32_t op = from; op < to; op++)
		SL_TRY(sl_order_add(out, op));
	return SL_OK;
}

/* A job of which a point is the way to do it. */
struct job {
	uint32_t first, last, point;
	bool there;
};

static sl_status emit_job(struct solver *s, struct job j, struct sl_order *out)
{
	const struct point p = s->points[j.point];
	const struct sl_stage *g = &s->c.stages[j.last];

	if (j.first == j.last) {
		if (!j.there && g->saved_bytes > 0)
			SL_TRY(sl_chain_rerun(&s->c, j.last, true, out));
		return emit_range(g->back_from, g->back_to, out);
	}
	if (!has_backward(g))
		return emit_job(
			s, (struct job){j.first, j.last - 1, j.point, false}, out);
	for (uint32_t i = j.first; i <= p.k; i++)
		SL_TRY(sl_chain_rerun(&s->c, i, p.saved && i == p.k, out));
	SL_TRY(emit_job(s, (struct job){p.k + 1, j.last, p.above, j.there}, out));
	return emit_job(s, (struct job){j.first, p.k, p.below, p.saved}, out);
}

static sl_status emit_forward(
	struct solver *s, uint32_t first, uint32_t point, struct sl_order *out)
{
	const struct point p = s->points[point];
	const struct sl_stage *end = &s->c.stages[s->c.n - 1];

	SL_TRY(emit_range(s->c.stages[first].from, s->c.stages[p.k].to, out));
	if (first + 1 == s->c.n)
		return emit_range(end->back_from, end->back_to, out);
	SL_TRY(emit_forward(s, p.k + 1, p.above, out));
	return emit_job(s, (struct job){first, p.k, p.below, p.saved}, out);
}

static void finish(struct solver *s)
{
	sl_chain_finish(&s->c);
	sl_free(s->points);
	sl_free(s->found.points);
	sl_free(s->best.points);
	sl_free(s->merged.points);
	sl_free(s);
}

sl_status sl_optimal_chain(
	const struct sl_optimal *o, uint64_t bytes, uint32_t points, struct sl_order *out)
{
	struct solver *s = sl_calloc(1, sizeof(*s));
	const struct front *f;
	sl_status st = SL_OK;

	if (!s)
		return no_memory();
	SL_TRY_OUT(sl_chain_find(o, &s->c));
	if (s->c.n == 0 || bytes < o->base)
		goto out;
	s->room = bytes - o->base;
	s->max_points = points / s->c.n + 2;
	SL_TRY_OUT(solve(s));
	f = &s->forward[0];
	if (f->n == 0)
		goto out;
	out->again_ns = s->points[f->first + f->n - 1].ns;
	SL_TRY_OUT(emit_forward(s, 0, f->first + f->n - 1, out));
out:
	finish(s);
	return st;
}

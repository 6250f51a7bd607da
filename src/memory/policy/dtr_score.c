/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DTR's scores: what having a value again would take, over its bytes and the time since
 * its last use. What is gone around a value is found by walking; a value that comes or
 * goes makes the sums of those stale that see it.
 */
#include <math.h>

#include "base/alloc.h"
#include "memory/policy/dtr_int.h"

/* The neighbours of v, in one direction, by calls of fn. */
typedef void (*neighbour_fn)(struct sl_dtr *d, uint32_t v, void *ctx);

static void children(struct sl_dtr *d, uint32_t v, neighbour_fn fn, void *ctx)
{
	const struct sl_trace_index *x = &d->l->x;

	for (uint32_t u = x->first[v]; u < x->first[v + 1] && x->uses[u].op <= d->at;
		u++) {
		const struct sl_trace_op *o = &d->t->ops[x->uses[u].op];

		if (x->uses[u].births)
			continue;
		for (uint32_t k = 0; k < sl_dtr_results(o); k++) {
			uint32_t w = sl_dtr_made(d, x->uses[u].op, k);

			if (w != v && !sl_lineage_stays(d->l, w))
				fn(d, w, ctx);
		}
	}
}

static void parents(struct sl_dtr *d, uint32_t v, neighbour_fn fn, void *ctx)
{
	const struct sl_trace_index *x = &d->l->x;

	for (uint32_t u = x->first[v]; u < x->first[v + 1] && x->uses[u].op <= d->at;
		u++) {
		const struct sl_trace_op *o = &d->t->ops[x->uses[u].op];

		if (!x->uses[u].writes)
			continue;
		for (uint32_t k = 0; k < sl_dtr_inputs(o); k++) {
			uint32_t w = sl_dtr_input(d, x->uses[u].op, k);

			if (w != v && !sl_lineage_stays(d->l, w))
				fn(d, w, ctx);
		}
	}
}

static uint32_t sooner(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The next op in its turn that uses v; n_ops: none. */
static uint32_t next_use(struct sl_dtr *d, uint32_t v)
{
	uint32_t *u = &d->cursor[v];

	while (*u < d->l->x.first[v + 1] && d->l->x.uses[*u].op < d->at)
		++*u;
	return *u < d->l->x.first[v + 1] ? d->l->x.uses[*u].op : d->t->n_ops;
}

struct walk {
	uint32_t base;
	uint32_t n; /* on the stack */
	double ns;
	uint32_t wanted; /* first op that uses one of them */
	bool marks; /* those that are there become dirty */
};

static void reach(struct sl_dtr *d, uint32_t v, void *ctx)
{
	struct walk *w = ctx;

	d->work++;
	if (d->there[v]) {
		if (w->marks)
			d->dirty[v] = 1;
	} else if (d->stamp[v] != d->now && v != w->base) {
		d->stamp[v] = d->now;
		d->stack[w->n++] = v;
		w->ns += (double)d->ns[v];
		if (d->start_ns)
			w->wanted = sooner(w->wanted, next_use(d, v));
	}
}

/* All that is gone and can be reached from v by what is gone, one way. */
static struct walk walk(struct sl_dtr *d, uint32_t v, bool up, bool marks)
{
	struct walk w = {.base = v, .marks = marks, .wanted = d->t->n_ops};
	uint32_t x = v;

	d->now++;
	for (;;) {
		if (up)
			parents(d, x, reach, &w);
		else
			children(d, x, reach, &w);
		if (w.n == 0)
			return w;
		x = d->stack[--w.n];
	}
}

static uint32_t class_of(struct sl_dtr *d, uint32_t v)
{
	uint32_t i = d->node[v];

	while (d->class_up[i] != i) {
		d->class_up[i] = d->class_up[d->class_up[i]];
		i = d->class_up[i];
	}
	return i;
}

static sl_status new_class(struct sl_dtr *d, uint32_t v, double ns)
{
	if (sl_grow((void **)&d->class_up, &d->cap_class_up, d->n_classes + 1,
		    sizeof(*d->class_up), SL_RUNS_MAX_STEPS) ||
		sl_grow((void **)&d->class_ns, &d->cap_class_ns, d->n_classes + 1,
			sizeof(*d->class_ns), SL_RUNS_MAX_STEPS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	d->node[v] = (uint32_t)d->n_classes;
	d->class_up[d->n_classes] = (uint32_t)d->n_classes;
	d->class_ns[d->n_classes++] = ns;
	return SL_OK;
}

static void join(struct sl_dtr *d, uint32_t v, void *ctx)
{
	uint32_t mine, its;

	d->work++;
	if (d->there[v] || d->node[v] == SL_NO_ID)
		return;
	mine = class_of(d, *(uint32_t *)ctx);
	its = class_of(d, v);
	if (mine == its)
		return;
	d->class_up[its] = mine;
	d->class_ns[mine] += d->class_ns[its];
}

/* Each class next to a value counts once. */
struct classes {
	uint32_t seen[16];
	uint32_t n;
	double ns;
};

static void see_class(struct sl_dtr *d, uint32_t v, void *ctx)
{
	struct classes *c = ctx;
	uint32_t its;

	d->work++;
	if (d->there[v] || d->node[v] == SL_NO_ID)
		return;
	its = class_of(d, v);
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->seen[i] == its)
			return;
	}
	if (c->n < sizeof(c->seen) / sizeof(c->seen[0]))
		c->seen[c->n++] = its;
	c->ns += d->class_ns[its];
}

static bool walks(const struct sl_dtr *d)
{
	return d->rules.score == SL_DTR_EXACT || d->rules.score == SL_DTR_AHEAD;
}

sl_status sl_dtr_score_new(struct sl_dtr *d, uint32_t v)
{
	return d->rules.score == SL_DTR_CLASSES ? new_class(d, v, 0) : SL_OK;
}

sl_status sl_dtr_score_gone(struct sl_dtr *d, uint32_t v)
{
	if (walks(d)) {
		(void)walk(d, v, true, true);
		(void)walk(d, v, false, true);
	} else if (d->rules.score == SL_DTR_CLASSES) {
		SL_TRY(new_class(d, v, (double)d->ns[v]));
		parents(d, v, join, &v);
		children(d, v, join, &v);
	}
	return SL_OK;
}

void sl_dtr_score_back(struct sl_dtr *d, uint32_t v)
{
	d->dirty[v] = 1;
	if (walks(d)) {
		(void)walk(d, v, true, true);
		(void)walk(d, v, false, true);
	} else if (d->rules.score == SL_DTR_CLASSES && d->node[v] != SL_NO_ID) {
		d->class_ns[class_of(d, v)] -= (double)d->ns[v];
		d->node[v] = SL_NO_ID;
	}
}

static double around(struct sl_dtr *d, uint32_t v)
{
	struct classes c = {.n = 0};

	if (d->rules.score == SL_DTR_LOCAL)
		return 0;
	if (d->rules.score == SL_DTR_CLASSES) {
		parents(d, v, see_class, &c);
		children(d, v, see_class, &c);
		return c.ns;
	}
	if (d->dirty[v])
		d->around[v] = walk(d, v, true, false).ns + walk(d, v, false, false).ns;
	d->dirty[v] = 0;
	return d->around[v];
}

static double score_ahead(struct sl_dtr *d, uint32_t v, uint64_t missing)
{
	double bytes = (double)sl_dtr_room(d, v), weight;
	uint32_t wanted;
	uint64_t ns;

	if (d->dirty[v]) {
		struct walk down = walk(d, v, false, false);

		d->around[v] = walk(d, v, true, false).ns;
		d->wanted[v] = down.wanted;
		d->dirty[v] = 0;
	}
	if (d->rules.fit && bytes > (double)missing)
		bytes = (double)missing;
	wanted = sooner(d->wanted[v], next_use(d, v));
	if (wanted == d->t->n_ops)
		return 0;
	weight = d->rules.weight ? d->rules.weight[v] : 1;
	ns = d->start_ns[wanted] - d->start_ns[d->at] + 1;
	return weight * ((double)d->ns[v] + d->around[v]) /
	       (bytes * pow((double)ns, d->rules.far));
}

static double score_of(struct sl_dtr *d, uint32_t v, uint64_t missing)
{
	double below = (double)sl_dtr_room(d, v) * (double)(d->clock - d->last[v]);

	if (d->rules.score == SL_DTR_AHEAD)
		return score_ahead(d, v, missing);
	return below > 0 ? ((double)d->ns[v] + around(d, v)) / below : HUGE_VAL;
}

uint32_t sl_dtr_choose(struct sl_dtr *d, uint64_t missing)
{
	uint32_t n = d->t->n_values, best = SL_NO_ID;
	double least = HUGE_VAL;

	for (uint32_t v = d->after[n]; v != n; v = d->after[v]) {
		double score = score_of(d, v, missing);

		d->work++;
		if (score <= least) {
			least = score;
			best = v;
		}
		if (score == 0)
			break;
	}
	return best;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a page shows of a plan, gathered: when its replay did what, and where on the
 * device values stayed from when to when. */
#include "session/page_int.h"

#include "base/alloc.h"

#define MOST_SPANS ((size_t)16 << 20)

/* Of the walk by position. */
struct walk {
	struct sl_page *g;
	const struct sl_trace *t;
	const struct sl_plan *p;
	struct sl_page_box *open; /* [n_values] bytes 0: not on the device */
	uint32_t *last; /* [n_values] step of the last access */
	/* Spans of each value by kind, in order: [2 n_values] the next one of out, in. */
	uint32_t *next_copy, *copy_after; /* [spans] */
	uint32_t next_op, next_again, next_move; /* spans looked at so far */
	uint32_t step;
	uint64_t now_ns;
};

static sl_status see(void *ctx, const struct sl_replay_span *s)
{
	struct sl_page *g = ctx;
	struct sl_replay_span *to;

	if (s->iteration != 1)
		return SL_OK;
	if (sl_grow((void **)&g->spans, &g->cap_spans, g->n_spans + 1, sizeof(*g->spans),
		    MOST_SPANS))
		return SL_FAIL(SL_E_NOMEM, "no host memory for a page's spans");
	to = &g->spans[g->n_spans++];
	*to = *s;
	return SL_OK;
}

/* Two iterations; the second one's begin is the first one's end. */
static sl_status replay(struct sl_page *g)
{
	struct sl_replay_job job = {
		.trace = &g->planner->trace, .plan = g->plan, .iterations = 2};
	struct sl_replay_opts opts = {.jobs = &job, .n_jobs = 1, .span = see, .ctx = g};
	struct sl_replay_result result = {0};
	struct sl_replay_total total = {0};

	SL_TRY(sl_replay(&opts, &result, &total));
	sl_replay_total_finish(&total);
	g->begin_ns = result.first_iter_ns;
	g->iter_ns = result.steady_iter_ns;
	for (uint32_t i = 0; i < g->n_spans; i++) {
		g->spans[i].asked_ns -= g->begin_ns;
		g->spans[i].begin_ns -= g->begin_ns;
		g->spans[i].end_ns -= g->begin_ns;
	}
	return SL_OK;
}

static uint32_t *queue_of(struct walk *w, uint32_t value, bool in)
{
	return &w->next_copy[2 * value + (in ? 1 : 0)];
}

/* Copies of one value and direction end in the order in which the plan issues them. */
static void queue_copies(struct walk *w)
{
	for (uint32_t i = w->g->n_spans; i-- > 0;) {
		const struct sl_replay_span *s = &w->g->spans[i];
		uint32_t *queue;

		if (s->kind != SL_REPLAY_IN && s->kind != SL_REPLAY_OUT)
			continue;
		queue = queue_of(w, s->id, s->kind == SL_REPLAY_IN);
		w->copy_after[i] = *queue;
		*queue = i;
	}
}

/* The span of the copy that an action asks for; NULL: it was given up. */
static const struct sl_replay_span *take_copy(struct walk *w, uint32_t value, bool in)
{
	uint32_t *queue = queue_of(w, value, in);
	uint32_t i = *queue;

	if (i == SL_NO_ID)
		return NULL;
	*queue = w->copy_after[i];
	return &w->g->spans[i];
}

/* The next span of a kind that the device runs. */
static const struct sl_replay_span *take(
	struct walk *w, uint32_t *next, enum sl_replay_kind kind)
{
	while (*next < w->g->n_spans && w->g->spans[*next].kind != kind)
		++*next;
	return *next < w->g->n_spans ? &w->g->spans[(*next)++] : NULL;
}

static sl_status add_box(struct walk *w, const struct sl_page_box *b)
{
	struct sl_page *g = w->g;

	if (sl_grow((void **)&g->boxes, &g->cap_boxes, g->n_boxes + 1, sizeof(*g->boxes),
		    MOST_SPANS))
		return SL_FAIL(SL_E_NOMEM, "no host memory for a page's boxes");
	g->boxes[g->n_boxes++] = *b;
	return SL_OK;
}

static void enter(struct walk *w, uint32_t v, enum sl_page_origin origin, uint64_t ns,
	uint64_t offset)
{
	w->open[v] = (struct sl_page_box){.id = v,
		.origin = origin,
		.from_ns = ns,
		.offset = offset,
		.bytes = w->t->values[v].bytes};
}

static sl_status leave(struct walk *w, uint32_t v, uint64_t ns)
{
	struct sl_page_box box = w->open[v];

	if (box.bytes == 0)
		return SL_OK;
	w->open[v].bytes = 0;
	box.to_ns = ns > box.from_ns ? ns : box.from_ns;
	return add_box(w, &box);
}

typedef void (*value_fn)(struct walk *w, uint32_t v);

static void each_value(struct walk *w, const struct sl_trace_op *o, value_fn fn)
{
	for (uint32_t i = 0; i < o->n_in; i++)
		fn(w, sl_trace_root(w->t, o->in[i]));
	for (uint32_t i = 0; i < o->n_mutates; i++)
		fn(w, sl_trace_root(w->t, o->mutates[i]));
	for (uint32_t i = 0; i < o->n_out; i++)
		fn(w, sl_trace_root(w->t, o->out[i]));
}

static void note_last(struct walk *w, uint32_t v)
{
	w->last[v] = w->step;
}

/* Lists of an op's values end lives that no later step of the plan touches. */
static sl_status end_lives(struct walk *w, const struct sl_trace_op *o, uint64_t ns)
{
	const uint32_t *lists[] = {o->in, o->mutates, o->out};
	const uint32_t n[] = {o->n_in, o->n_mutates, o->n_out};

	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < n[k]; i++) {
			uint32_t v = sl_trace_root(w->t, lists[k][i]);

			if (w->last[v] == w->step &&
				!sl_class_persistent(w->t->values[v].cls))
				SL_TRY(leave(w, v, ns));
		}
	}
	return SL_OK;
}

static sl_status workspace(
	struct walk *w, uint32_t op, uint64_t offset, const struct sl_replay_span *s)
{
	uint64_t bytes = w->t->ops[op].workspace_bytes;

	if (bytes == 0 || offset == SL_NO_OFFSET)
		return SL_OK;
	return add_box(w, &(struct sl_page_box){.id = op,
				  .origin = SL_PAGE_WORK,
				  .from_ns = s->begin_ns,
				  .to_ns = s->end_ns,
				  .offset = offset,
				  .bytes = bytes});
}

static sl_status see_out(struct walk *w, const struct sl_action *a)
{
	const struct sl_replay_span *s = take_copy(w, a->value, false);

	return leave(w, a->value, s != NULL ? s->end_ns : w->now_ns);
}

/* It stays where it is. */
static sl_status see_save(struct walk *w, const struct sl_action *a)
{
	(void)take_copy(w, a->value, false);
	return SL_OK;
}

static sl_status see_in(struct walk *w, const struct sl_action *a)
{
	const struct sl_replay_span *s = take_copy(w, a->value, true);

	enter(w, a->value, SL_PAGE_CAME_IN, s != NULL ? s->begin_ns : w->now_ns,
		a->offset);
	return SL_OK;
}

static sl_status see_drop(struct walk *w, const struct sl_action *a)
{
	return leave(w, a->value, w->now_ns);
}

static sl_status see_move(struct walk *w, const struct sl_action *a)
{
	const struct sl_replay_span *s = take(w, &w->next_move, SL_REPLAY_MOVE);
	enum sl_page_origin origin = w->open[a->value].origin;

	if (s != NULL)
		w->now_ns = s->end_ns;
	SL_TRY(leave(w, a->value, w->now_ns));
	enter(w, a->value, origin, w->now_ns, a->offset);
	return SL_OK;
}

static sl_status see_again(struct walk *w, const struct sl_action *a)
{
	uint32_t n = sl_plan_group_lines(w->p, (uint32_t)(a - w->p->actions));
	const struct sl_replay_span *s = take(w, &w->next_again, SL_REPLAY_AGAIN);

	if (s == NULL)
		return SL_OK;
	for (uint32_t i = 0; i < n; i++)
		if (a[i].offset != SL_NO_OFFSET)
			enter(w, a[i].value, SL_PAGE_AGAIN, s->begin_ns, a[i].offset);
	SL_TRY(workspace(w, a->again, a->workspace_offset, s));
	w->now_ns = s->end_ns;
	SL_TRY(end_lives(w, &w->t->ops[a->again], s->end_ns));
	w->step++;
	return SL_OK;
}

typedef sl_status (*see_fn)(struct walk *w, const struct sl_action *a);

static const see_fn see_rows[SL_ACTION_COUNT] = {
	[SL_ACTION_OUT] = see_out,
	[SL_ACTION_SAVE] = see_save,
	[SL_ACTION_IN] = see_in,
	[SL_ACTION_DROP] = see_drop,
	[SL_ACTION_DROP_CLEAN] = see_drop,
	[SL_ACTION_MOVE] = see_move,
	[SL_ACTION_RECOMPUTE] = see_again,
};

/* All actions of a position; dry: only whose last accesses are where. */
static sl_status actions(
	struct walk *w, uint32_t *next, uint32_t op, enum sl_phase phase, bool dry)
{
	while (*next < w->p->n_actions && w->p->actions[*next].op == op &&
		w->p->actions[*next].phase == phase) {
		const struct sl_action *a = &w->p->actions[*next];
		uint32_t n = sl_plan_group_lines(w->p, *next);

		*next += n > 0 ? n : 1;
		if (!dry) {
			if (see_rows[a->kind] != NULL)
				SL_TRY(see_rows[a->kind](w, a));
		} else if (n > 0) {
			each_value(w, &w->t->ops[a->again], note_last);
			w->step++;
		}
	}
	return SL_OK;
}

static sl_status run_op(struct walk *w, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];
	const struct sl_replay_span *s = take(w, &w->next_op, SL_REPLAY_OP);

	if (s == NULL)
		return SL_OK;
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(w->t, o->out[i]);

		if (w->open[v].bytes == 0 && w->p->value_offset[v] != SL_NO_OFFSET)
			enter(w, v, SL_PAGE_BORN, s->begin_ns, w->p->value_offset[v]);
	}
	SL_TRY(workspace(w, op, w->p->workspace_offset[op], s));
	w->now_ns = s->end_ns;
	SL_TRY(end_lives(w, o, s->end_ns));
	w->step++;
	return SL_OK;
}

static sl_status walk_plan(struct walk *w, bool dry)
{
	uint32_t next = 0;

	w->step = 0;
	for (uint32_t op = 0; op < w->t->n_ops; op++) {
		SL_TRY(actions(w, &next, op, SL_BEFORE, dry));
		if (dry) {
			each_value(w, &w->t->ops[op], note_last);
			w->step++;
		} else {
			SL_TRY(run_op(w, op));
		}
		SL_TRY(actions(w, &next, op, SL_AFTER, dry));
	}
	return SL_OK;
}

static sl_status find_boxes(struct walk *w)
{
	SL_TRY(walk_plan(w, true));
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		const struct sl_trace_value *x = &w->t->values[v];

		if (x->alias == SL_NO_ID && sl_class_persistent(x->cls) &&
			w->p->value_offset[v] != SL_NO_OFFSET &&
			sl_plan_starts_on_device(w->p, v))
			enter(w, v, SL_PAGE_BORN, 0, w->p->value_offset[v]);
	}
	SL_TRY(walk_plan(w, false));
	for (uint32_t v = 0; v < w->t->n_values; v++)
		SL_TRY(leave(w, v, w->g->iter_ns));
	return SL_OK;
}

static sl_status gather_boxes(struct sl_page *g)
{
	const struct sl_trace *t = &g->planner->trace;
	size_t values = t->n_values + (size_t)1;
	struct walk w = {.g = g, .t = t, .p = g->plan};
	sl_status st = SL_OK;

	w.open = sl_calloc(values, sizeof(*w.open));
	w.last = sl_calloc(values, sizeof(*w.last));
	w.next_copy = sl_alloc(2 * values * sizeof(*w.next_copy));
	w.copy_after = sl_calloc(g->n_spans + (size_t)1, sizeof(*w.copy_after));
	if (!w.open || !w.last || !w.next_copy || !w.copy_after) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory for a page");
		goto out;
	}
	for (size_t i = 0; i < 2 * values; i++)
		w.next_copy[i] = SL_NO_ID;
	queue_copies(&w);
	SL_TRY_OUT(find_boxes(&w));
out:
	sl_free(w.open);
	sl_free(w.last);
	sl_free(w.next_copy);
	sl_free(w.copy_after);
	return st;
}

/* From the first to the last access; what persists, always. */
static void add_life(struct sl_page *g, const struct sl_trace_index *x, uint32_t v)
{
	const struct sl_trace *t = &g->planner->trace;
	uint32_t n = x->first[v + 1] - x->first[v];
	bool always = sl_class_persistent(t->values[v].cls);
	uint32_t from = 0, to = t->n_ops;

	if (t->values[v].alias != SL_NO_ID || (!always && n == 0))
		return;
	if (!always) {
		from = x->uses[x->first[v]].op;
		to = x->uses[x->first[v + 1] - 1].op + 1;
	}
	g->live[from] += t->values[v].bytes;
	g->live[to] -= t->values[v].bytes;
}

static sl_status gather_live(struct sl_page *g)
{
	const struct sl_trace *t = &g->planner->trace;
	struct sl_trace_index x;

	g->live = sl_calloc(t->n_ops + (size_t)1, sizeof(*g->live));
	g->waits = sl_calloc(t->n_ops + (size_t)1, sizeof(*g->waits));
	if (!g->live || !g->waits)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a page");
	SL_TRY(sl_trace_index_init(t, &x));
	for (uint32_t v = 0; v < t->n_values; v++)
		add_life(g, &x, v);
	sl_trace_index_finish(&x);
	for (uint32_t op = 1; op <= t->n_ops; op++)
		g->live[op] += g->live[op - 1]; /* steps up and down, modulo 2^64 */
	for (uint32_t op = 0; op < t->n_ops; op++)
		g->live[op] += t->ops[op].workspace_bytes;
	return SL_OK;
}

sl_status sl_page_gather(
	const struct sl_planner *p, const struct sl_plan *plan, struct sl_page *out)
{
	struct sl_page g = {.planner = p, .plan = plan};
	struct sl_plan_price price;
	sl_status st;

	SL_TRY_OUT(replay(&g));
	SL_TRY_OUT(gather_boxes(&g));
	SL_TRY_OUT(gather_live(&g));
	SL_TRY_OUT(sl_plan_price_waits(&p->trace, plan, &price, NULL, g.waits));
	*out = g;
	g = (struct sl_page){0};
out:
	sl_page_finish(&g);
	return st;
}

void sl_page_finish(struct sl_page *g)
{
	sl_free(g->spans);
	sl_free(g->boxes);
	sl_free(g->live);
	sl_free(g->waits);
	*g = (struct sl_page){0};
}

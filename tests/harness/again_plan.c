/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs again for tests. A view of the plan by position says which values are on the
 * device and with which content; chains are built depth first from it.
 */
#include "harness/again_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"

#define MAX_LINES 48u
#define MAX_DEPTH 4
#define MAX_CHOICES 200
#define PAGE 4096u

struct view {
	struct sl_rng *rng;
	const struct sl_trace *t;
	uint64_t budget;
	uint64_t *at; /* [n_values] */
	uint32_t *content; /* [n_values] op, SL_NO_ID: start */
	uint32_t *birth; /* [n_values] */
	uint64_t *last; /* [n_values] position of the last access */
	struct sl_action *died; /* [n_values] a drop where it died; value SL_NO_ID: not */
	struct sl_action lines[MAX_LINES], drops[MAX_LINES];
	uint32_t n_lines, n_drops;
};

static uint64_t position(uint32_t op, unsigned moment)
{
	return (3 * (uint64_t)op + moment + 1) << 32;
}

static uint32_t root_of(const struct view *w, uint32_t v)
{
	return sl_trace_root(w->t, v);
}

static bool persists(const struct view *w, uint32_t v)
{
	return sl_class_persistent(w->t->values[v].cls);
}

static bool lists(const struct view *w, const uint32_t *list, uint32_t n, uint32_t v)
{
	for (uint32_t i = 0; i < n; i++) {
		if (root_of(w, list[i]) == v)
			return true;
	}
	return false;
}

static bool writes(const struct view *w, uint32_t op, uint32_t v)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	return lists(w, o->out, o->n_out, v) || lists(w, o->mutates, o->n_mutates, v);
}

static bool touches(const struct view *w, uint32_t op, uint32_t v)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	return writes(w, op, v) || lists(w, o->in, o->n_in, v);
}

/* Last writer of v before op. */
static uint32_t writer(const struct view *w, uint32_t op, uint32_t v)
{
	while (op-- > 0) {
		if (writes(w, op, v))
			return op;
	}
	return SL_NO_ID;
}

static sl_status view_init(struct view *w)
{
	size_t n = (size_t)w->t->n_values + 1;

	w->at = sl_calloc(n, sizeof(*w->at));
	w->content = sl_calloc(n, sizeof(*w->content));
	w->birth = sl_calloc(n, sizeof(*w->birth));
	w->last = sl_calloc(n, sizeof(*w->last));
	w->died = sl_calloc(n, sizeof(*w->died));
	if (!w->at || !w->content || !w->birth || !w->last || !w->died)
		return SL_FAIL(SL_E_NOMEM, "no view of a plan");
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		w->birth[v] = SL_NO_ID;
		for (uint32_t op = 0; op < w->t->n_ops && !persists(w, v); op++) {
			const struct sl_trace_op *o = &w->t->ops[op];

			if (w->birth[v] == SL_NO_ID && lists(w, o->out, o->n_out, v))
				w->birth[v] = op;
		}
	}
	return SL_OK;
}

static void view_finish(struct view *w)
{
	sl_free(w->at);
	sl_free(w->content);
	sl_free(w->birth);
	sl_free(w->last);
	sl_free(w->died);
}

static void see(struct view *w, const uint32_t *list, uint32_t n, uint64_t when)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = root_of(w, list[i]);

		w->last[v] = when > w->last[v] ? when : w->last[v];
	}
}

static void see_op(struct view *w, uint32_t op, uint64_t when)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	see(w, o->in, o->n_in, when);
	see(w, o->mutates, o->n_mutates, when);
	see(w, o->out, o->n_out, when);
}

static uint64_t action_position(const struct sl_plan *p, uint32_t i)
{
	const struct sl_action *a = &p->actions[i];

	return position(a->op, a->phase == SL_BEFORE ? 0 : 2) | i;
}

static void write_all(struct view *w, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		w->content[root_of(w, list[i])] = op;
}

static void bury(struct view *w, uint64_t when, uint32_t op, enum sl_phase phase)
{
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		if (w->last[v] != when || persists(w, v))
			continue;
		w->at[v] = SL_NO_OFFSET;
		w->died[v] = (struct sl_action){
			.op = op, .phase = phase, .kind = SL_ACTION_DROP, .value = v};
	}
}

/* What a run leaves; births have their places. */
static void view_run(struct view *w, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	write_all(w, op, o->out, o->n_out);
	write_all(w, op, o->mutates, o->n_mutates);
}

static uint32_t view_action(struct view *w, const struct sl_plan *p, uint32_t i)
{
	const struct sl_action *a = &p->actions[i];
	uint32_t n = sl_plan_group_lines(p, i);

	if (n == 0) {
		bool lands = a->kind == SL_ACTION_IN || a->kind == SL_ACTION_MOVE;

		w->at[a->value] = lands ? a->offset : SL_NO_OFFSET;
		return 1;
	}
	for (uint32_t k = 0; k < n; k++) {
		if (a[k].offset != SL_NO_OFFSET)
			w->at[a[k].value] = a[k].offset;
	}
	view_run(w, a->again);
	bury(w, action_position(p, i), a->op, a->phase);
	return n;
}

/* The plan's start, and when each value is accessed last. */
static void view_start(struct view *w, const struct sl_plan *p)
{
	memset(w->at, 0xff, w->t->n_values * sizeof(*w->at));
	memset(w->content, 0xff, w->t->n_values * sizeof(*w->content));
	memset(w->last, 0, w->t->n_values * sizeof(*w->last));
	for (uint32_t i = 0; i < w->t->n_ops; i++)
		see_op(w, i, position(i, 1));
	for (uint32_t i = 0, n; i<p->n_actions; i += n> 0 ? n : 1) {
		n = sl_plan_group_lines(p, i);
		if (n > 0)
			see_op(w, p->actions[i].again, action_position(p, i));
	}
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		w->died[v].value = SL_NO_ID;
		if (persists(w, v) && sl_plan_starts_on_device(p, v))
			w->at[v] = p->value_offset[v];
	}
}

static void view_op(struct view *w, const struct sl_plan *p, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	for (uint32_t k = 0; k < o->n_out; k++) {
		uint32_t v = root_of(w, o->out[k]);

		if (w->birth[v] == op)
			w->at[v] = p->value_offset[v];
	}
	view_run(w, op);
	bury(w, position(op, 1), op, SL_AFTER);
}

/* The view before op (phase SL_BEFORE) or after it, after the plan's actions there. */
static void view_at(
	struct view *w, const struct sl_plan *p, uint32_t op, enum sl_phase phase)
{
	uint64_t end = position(op, phase == SL_BEFORE ? 1 : 3);
	uint32_t next = 0;

	view_start(w, p);
	for (uint32_t i = 0; position(i, 0) < end; i++) {
		while (next < p->n_actions && action_position(p, next) < position(i, 1))
			next += view_action(w, p, next);
		if (position(i, 1) >= end)
			return;
		view_op(w, p, i);
		while (next < p->n_actions && action_position(p, next) < position(i, 3))
			next += view_action(w, p, next);
	}
}

static bool is_free(const struct view *w, uint64_t at, uint64_t bytes)
{
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		if (w->at[v] != SL_NO_OFFSET && at < w->at[v] + w->t->values[v].bytes &&
			w->at[v] < at + bytes)
			return false;
	}
	return true;
}

/* A random free place by this view; what comes later is the checker's business. */
static uint64_t room(struct view *w, uint64_t bytes)
{
	uint64_t pages = w->budget / PAGE, first;

	if (bytes > w->budget)
		return SL_NO_OFFSET;
	first = sl_rng_below(w->rng, pages);
	for (uint64_t i = 0; i < pages; i++) {
		uint64_t at = (first + i) % pages * PAGE;

		if (at + bytes <= w->budget && is_free(w, at, bytes))
			return at;
	}
	return SL_NO_OFFSET;
}

static bool add_line(struct view *w, uint32_t op, uint32_t v, uint64_t offset)
{
	if (w->n_lines == MAX_LINES)
		return false;
	w->lines[w->n_lines++] = (struct sl_action){.kind = SL_ACTION_RECOMPUTE,
		.value = v,
		.again = op,
		.offset = offset,
		.workspace_offset = SL_NO_OFFSET};
	return true;
}

/* A run that accesses what is dead by now keeps it alive until then, so drop it there. */
static bool emit_drop(struct view *w, uint32_t v)
{
	if (w->died[v].value == SL_NO_ID)
		return true;
	if (w->n_drops == MAX_LINES)
		return false;
	w->drops[w->n_drops++] = w->died[v];
	w->died[v].value = SL_NO_ID;
	return true;
}

static bool emit_births(struct view *w, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = root_of(w, o->out[i]);

		if (w->birth[v] != op || w->at[v] != SL_NO_OFFSET)
			continue;
		if (!emit_drop(w, v))
			return false;
		w->at[v] = room(w, w->t->values[v].bytes);
		if (w->at[v] == SL_NO_OFFSET || !add_line(w, op, v, w->at[v]))
			return false;
	}
	return true;
}

/* The group of lines that runs op again. */
static bool emit_run(struct view *w, uint32_t op)
{
	const struct sl_trace_op *o = &w->t->ops[op];
	uint32_t first = w->n_lines;

	/* Groups of one op in a row would be one. */
	if (first > 0 && w->lines[first - 1].again == op)
		return false;
	if (!emit_births(w, op))
		return false;
	if (w->n_lines == first &&
		(o->n_mutates == 0 ||
			!add_line(w, op, root_of(w, o->mutates[0]), SL_NO_OFFSET)))
		return false;
	if (o->workspace_bytes > 0)
		w->lines[first].workspace_offset = room(w, o->workspace_bytes);
	write_all(w, op, o->out, o->n_out);
	write_all(w, op, o->mutates, o->n_mutates);
	return true;
}

static bool rebuild(struct view *w, uint32_t v, uint32_t want, int depth);

static bool rebuild_list(
	struct view *w, uint32_t op, const uint32_t *list, uint32_t n, int depth)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = root_of(w, list[i]);

		if (!rebuild(w, v, writer(w, op, v), depth))
			return false;
	}
	return true;
}

/* Lines that give v the content of op `want`; false if this view has no way. */
static bool rebuild(struct view *w, uint32_t v, uint32_t want, int depth)
{
	uint32_t op = w->birth[v];

	if (w->at[v] != SL_NO_OFFSET && w->content[v] == want)
		return true;
	if (persists(w, v) || depth == 0 || want == SL_NO_ID || op == SL_NO_ID)
		return false;
	if (w->at[v] != SL_NO_OFFSET)
		op = w->content[v] + 1;
	else if (!emit_drop(w, v))
		return false;
	for (; op <= want; op++) {
		const struct sl_trace_op *o = &w->t->ops[op];

		if (!writes(w, op, v))
			continue;
		if (!rebuild_list(w, op, o->in, o->n_in, depth - 1) ||
			!rebuild_list(w, op, o->mutates, o->n_mutates, depth - 1) ||
			!emit_run(w, op))
			return false;
	}
	return w->at[v] != SL_NO_OFFSET && w->content[v] == want;
}

static sl_status copy_plan(
	const struct sl_trace *t, const struct sl_plan *p, struct sl_plan *out)
{
	SL_TRY(sl_plan_begin(out, t, p->budget, p->policy));
	memcpy(out->value_offset, p->value_offset,
		t->n_values * sizeof(*p->value_offset));
	memcpy(out->workspace_offset, p->workspace_offset,
		t->n_ops * sizeof(*p->workspace_offset));
	for (uint32_t i = 0; i < p->n_starts; i++)
		SL_TRY(sl_plan_add_start(out, &p->starts[i]));
	for (uint32_t i = 0; i < p->n_selects; i++)
		SL_TRY(sl_plan_add_select(out, &p->selects[i]));
	for (uint32_t i = 0; i < p->n_actions; i++)
		SL_TRY(sl_plan_add_action(out, &p->actions[i]));
	return sl_plan_seal(out, t);
}

/* Where an attempt drops v and where it comes back: after op `from`, at `to`. */
struct gap {
	uint32_t value, from, to;
	enum sl_phase phase;
};

/* A value that does not persist, one of its accesses, and mostly the next one. */
static bool choose(struct view *w, struct gap *g)
{
	const struct sl_trace *t = w->t;

	g->value = (uint32_t)sl_rng_below(w->rng, t->n_values);
	g->from = (uint32_t)sl_rng_below(w->rng, t->n_ops);
	g->phase = SL_BEFORE;
	if (t->values[g->value].alias != SL_NO_ID || persists(w, g->value) ||
		!touches(w, g->from, g->value))
		return false;
	for (g->to = g->from + 1; g->to < t->n_ops; g->to++) {
		if (touches(w, g->to, g->value))
			break;
	}
	if (g->to == t->n_ops || sl_rng_below(w->rng, 5) == 0) {
		g->to = g->from + (uint32_t)sl_rng_below(w->rng, t->n_ops - g->from);
		g->phase = SL_AFTER;
	}
	return true;
}

static sl_status add_lines(const struct view *w, const struct gap *g,
	const struct sl_trace *t, struct sl_plan *p)
{
	for (uint32_t i = 0; i < w->n_drops; i++)
		SL_TRY(sl_plan_add_action(p, &w->drops[i]));
	for (uint32_t i = 0; i < w->n_lines; i++) {
		struct sl_action a = w->lines[i];

		a.op = g->to;
		a.phase = g->phase;
		SL_TRY(sl_plan_add_action(p, &a));
	}
	return sl_plan_seal(p, t);
}

static sl_status try_once(struct view *w, struct sl_plan *p, bool *kept)
{
	struct sl_plan next = SL_PLAN_INIT;
	struct sl_action drop = {.phase = SL_AFTER, .kind = SL_ACTION_DROP};
	struct gap g;
	sl_status st = SL_OK;
	uint32_t want;

	*kept = false;
	for (int i = 0; !choose(w, &g); i++) {
		if (i == MAX_CHOICES)
			return SL_OK;
	}
	SL_TRY_OUT(copy_plan(w->t, p, &next));
	view_at(w, &next, g.from, SL_AFTER);
	drop.op = g.from;
	drop.value = g.value;
	if (w->at[g.value] != SL_NO_OFFSET)
		SL_TRY_OUT(sl_plan_add_action(&next, &drop));
	SL_TRY_OUT(sl_plan_seal(&next, w->t));
	view_at(w, &next, g.to, g.phase);
	w->n_lines = w->n_drops = 0;
	want = writer(w, g.phase == SL_BEFORE ? g.to : g.to + 1, g.value);
	if (!rebuild(w, g.value, want, MAX_DEPTH) || w->n_lines == 0)
		goto out;
	SL_TRY_OUT(add_lines(w, &g, w->t, &next));
	if (sl_plan_check(w->t, &next, w->budget, NULL) == SL_OK) {
		sl_plan_finish(p);
		sl_plan_move(p, &next);
		*kept = true;
	}
out:
	sl_plan_finish(&next);
	return st;
}

sl_status sl_again_plan(struct sl_rng *rng, const struct sl_trace *t, uint64_t budget,
	int tries, struct sl_plan *p)
{
	struct view w = {.rng = rng, .t = t, .budget = budget};
	bool kept;
	sl_status st;

	SL_TRY_OUT(view_init(&w));
	p->budget = budget;
	for (int i = 0; i < tries; i++)
		SL_TRY_OUT(try_once(&w, p, &kept));
out:
	view_finish(&w);
	return st;
}

uint32_t sl_again_count(
	const struct sl_trace *t, const struct sl_plan *p, const char *kind)
{
	uint32_t count = 0, n;

	for (uint32_t i = 0; i<p->n_actions; i += n> 0 ? n : 1) {
		n = sl_plan_group_lines(p, i);
		count += n > 0 &&
			 (kind == NULL ||
				 strcmp(t->ops[p->actions[i].again].kind, kind) == 0);
	}
	return count;
}

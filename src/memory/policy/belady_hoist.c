/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies as early as their bytes allow. The simulation acts at the last moment; here each
 * `out` and `drop-clean` goes up to the last event of its value (birth, access, arrival,
 * move), and each `in` up to the moment from which nobody else holds its bytes, in the
 * order of deadlines on its channel.
 *
 * Sound by position: bytes that are free when an action happens late were given up by
 * their earlier holders at some moment; any time after the last of those moments is as
 * good. Giving bytes up earlier harms nobody. So one sweep in the simulation's order
 * suffices, with, for device and tiers, a tree that knows for any range the last moment
 * at which a part of it was given up.
 *
 * Moments: 4 i before op i, 4 i + 2 the end of op i (deaths, workspace), 4 i + 3 after op
 * i. Actions that come to share a moment keep the simulation's order.
 */
#include "memory/policy/belady_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct tree {
	uint64_t *cuts; /* sorted ends of ranges */
	size_t n;
	size_t leaves; /* power of two; leaf i is [cuts[i], cuts[i + 1]) */
	uint32_t *whole; /* last moment noted for all of a node */
	uint32_t *most; /* last moment within a node */
};

struct hoist {
	const struct sl_belady_env *env;
	struct sl_plan *p;
	struct tree device;
	struct tree tiers[SL_REACH_MAX];
	uint64_t *at; /* [n_values] */
	uint64_t *slot; /* [n_values] */
	uint32_t *tier_of; /* [n_values] index of a tree */
	uint32_t *event; /* [n_values] moment of the last event */
	uint32_t *gone; /* [n_values] moment at which it left the device */
	uint32_t *queue; /* [n_links] moment of the last arrival */
	uint32_t next; /* action */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void tree_finish(struct tree *t)
{
	sl_free(t->cuts);
	sl_free(t->whole);
	sl_free(t->most);
	*t = (struct tree){0};
}

/* Takes cuts (any order, n of them). */
static sl_status tree_init(struct tree *t, uint64_t *cuts, size_t n)
{
	*t = (struct tree){.cuts = cuts, .leaves = 1};
	qsort(cuts, n, sizeof(*cuts), by_value);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || cuts[i] != cuts[t->n - 1])
			cuts[t->n++] = cuts[i];
	}
	while (t->leaves < t->n)
		t->leaves *= 2;
	t->whole = sl_calloc(2 * t->leaves, sizeof(*t->whole));
	t->most = sl_calloc(2 * t->leaves, sizeof(*t->most));
	if (!t->whole || !t->most)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	return SL_OK;
}

static size_t cut_index(const struct tree *t, uint64_t offset)
{
	const uint64_t *found =
		bsearch(&offset, t->cuts, t->n, sizeof(*t->cuts), by_value);

	return found ? (size_t)(found - t->cuts) : t->n;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void note_up(struct tree *t, size_t node, uint32_t moment)
{
	for (node /= 2; node > 0; node /= 2)
		t->most[node] = max_u32(t->most[node], moment);
}

/* Bottom-up over the nodes that make up [offset, end). */
static void tree_note(struct tree *t, uint64_t offset, uint64_t end, uint32_t moment)
{
	size_t lo = cut_index(t, offset) + t->leaves, hi = cut_index(t, end) + t->leaves;
	size_t first = lo, last = hi - 1;

	for (; lo < hi; lo /= 2, hi /= 2) {
		if (lo & 1) {
			t->whole[lo] = max_u32(t->whole[lo], moment);
			t->most[lo] = max_u32(t->most[lo], moment);
			lo++;
		}
		if (hi & 1) {
			hi--;
			t->whole[hi] = max_u32(t->whole[hi], moment);
			t->most[hi] = max_u32(t->most[hi], moment);
		}
	}
	note_up(t, first, moment);
	note_up(t, last, moment);
}

static uint32_t whole_above(const struct tree *t, size_t node)
{
	uint32_t moment = 0;

	for (; node > 0; node /= 2)
		moment = max_u32(moment, t->whole[node]);
	return moment;
}

static uint32_t tree_last(const struct tree *t, uint64_t offset, uint64_t end)
{
	size_t lo = cut_index(t, offset) + t->leaves, hi = cut_index(t, end) + t->leaves;
	uint32_t moment = max_u32(whole_above(t, lo), whole_above(t, hi - 1));

	for (; lo < hi; lo /= 2, hi /= 2) {
		if (lo & 1)
			moment =
				max_u32(moment, max_u32(t->most[lo], whole_above(t, lo))),
			lo++;
		if (hi & 1)
			hi--, moment = max_u32(
				      moment, max_u32(t->most[hi], whole_above(t, hi)));
	}
	return moment;
}

static uint64_t room_of(const struct hoist *h, uint32_t v)
{
	return sl_room_value(&h->env->t->values[v]);
}

static uint64_t page_room(const struct hoist *h, uint32_t v)
{
	return sl_align_up(h->env->t->values[v].bytes, SL_PAGE_BYTES);
}

static size_t tree_of_tier(const struct hoist *h, uint32_t tier)
{
	size_t k = 0;

	while (k + 1 < h->env->n_tiers && h->env->tiers[k].tier != tier)
		k++;
	return k;
}

static void cut_pair(uint64_t *cuts, size_t *n, uint64_t offset, uint64_t bytes)
{
	if (offset == SL_NO_OFFSET)
		return;
	cuts[(*n)++] = offset;
	cuts[(*n)++] = offset + bytes;
}

static size_t cut_device(const struct hoist *h, uint64_t *cuts)
{
	const struct sl_plan *p = h->p;
	size_t n = 0;

	for (uint32_t v = 0; v < p->n_values; v++)
		cut_pair(cuts, &n, p->value_offset[v], room_of(h, v));
	for (uint32_t i = 0; i < p->n_ops; i++)
		cut_pair(cuts, &n, p->workspace_offset[i],
			sl_room_workspace(&h->env->t->ops[i]));
	for (uint32_t i = 0; i < p->n_actions; i++) {
		const struct sl_action *a = &p->actions[i];

		if (a->kind == SL_ACTION_IN || a->kind == SL_ACTION_MOVE)
			cut_pair(cuts, &n, a->offset, room_of(h, a->value));
	}
	return n;
}

static size_t cut_tier(const struct hoist *h, uint32_t tier, uint64_t *cuts)
{
	size_t n = 0;

	for (uint32_t i = 0; i < h->p->n_starts; i++) {
		const struct sl_plan_start *s = &h->p->starts[i];

		if (s->tier == tier)
			cut_pair(cuts, &n, s->offset, page_room(h, s->value));
	}
	for (uint32_t i = 0; i < h->p->n_actions; i++) {
		const struct sl_action *a = &h->p->actions[i];

		if (a->kind == SL_ACTION_OUT && a->tier == tier)
			cut_pair(cuts, &n, a->offset, page_room(h, a->value));
	}
	return n;
}

static sl_status init_trees(struct hoist *h)
{
	size_t most = 2 * ((size_t)h->p->n_values + h->p->n_ops + h->p->n_actions +
				  h->p->n_starts) +
		      1;

	for (uint32_t k = 0; k <= h->env->n_tiers; k++) {
		struct tree *t = k == 0 ? &h->device : &h->tiers[k - 1];
		uint64_t *cuts = sl_calloc(most, sizeof(*cuts));
		size_t n;

		if (!cuts)
			return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		n = k == 0 ? cut_device(h, cuts)
			   : cut_tier(h, h->env->tiers[k - 1].tier, cuts);
		SL_TRY(tree_init(t, cuts, n));
	}
	return SL_OK;
}

static sl_status init_tables(struct hoist *h)
{
	size_t n = (size_t)h->env->t->n_values + 1;

	h->at = sl_calloc(n, sizeof(*h->at));
	h->slot = sl_calloc(n, sizeof(*h->slot));
	h->tier_of = sl_calloc(n, sizeof(*h->tier_of));
	h->event = sl_calloc(n, sizeof(*h->event));
	h->gone = sl_calloc(n, sizeof(*h->gone));
	h->queue = sl_calloc((size_t)h->env->t->n_links + 1, sizeof(*h->queue));
	if (!h->at || !h->slot || !h->tier_of || !h->event || !h->gone || !h->queue)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	memcpy(h->at, h->p->value_offset, (n - 1) * sizeof(*h->at));
	memset(h->slot, 0xff, n * sizeof(*h->slot));
	return SL_OK;
}

/* The first moment for actions at or after a moment: an op's end is followed by its
 * `after`. */
static uint32_t action_moment(uint32_t moment)
{
	return moment % 4 == 2 ? moment + 1 : moment;
}

static uint32_t hoist_out(struct hoist *h, const struct sl_action *a)
{
	uint32_t v = a->value, moment = h->event[v];

	if (a->kind == SL_ACTION_OUT) {
		size_t k = tree_of_tier(h, a->tier);

		if (h->slot[v] == SL_NO_OFFSET)
			moment = max_u32(moment, tree_last(&h->tiers[k], a->offset,
							 a->offset + page_room(h, v)));
		h->slot[v] = a->offset;
		h->tier_of[v] = (uint32_t)k;
	}
	moment = action_moment(moment);
	tree_note(&h->device, h->at[v], h->at[v] + room_of(h, v), moment);
	h->gone[v] = moment;
	return moment;
}

static uint32_t hoist_in(struct hoist *h, const struct sl_action *a)
{
	uint32_t v = a->value;
	uint32_t moment = tree_last(&h->device, a->offset, a->offset + room_of(h, v));

	moment = action_moment(max_u32(moment, h->gone[v]));
	moment = max_u32(moment, h->queue[a->channel]);
	h->queue[a->channel] = moment;
	h->at[v] = a->offset;
	h->event[v] = moment;
	return moment;
}

static uint32_t note_move(struct hoist *h, const struct sl_action *a, uint32_t moment)
{
	uint32_t v = a->value;

	tree_note(&h->device, h->at[v], h->at[v] + room_of(h, v), moment);
	h->at[v] = a->offset;
	h->event[v] = moment;
	return moment;
}

static void sweep_actions(struct hoist *h, uint32_t op, enum sl_phase phase)
{
	uint32_t now = 4 * op + (phase == SL_BEFORE ? 0 : 3);

	for (; h->next < h->p->n_actions; h->next++) {
		struct sl_action *a = &h->p->actions[h->next];
		uint32_t moment;

		if (a->op != op || a->phase != phase)
			return;
		if (a->kind == SL_ACTION_IN)
			moment = hoist_in(h, a);
		else if (a->kind == SL_ACTION_MOVE)
			moment = note_move(h, a, now);
		else
			moment = hoist_out(h, a);
		a->op = moment / 4;
		a->phase = moment % 4 == 0 ? SL_BEFORE : SL_AFTER;
	}
}

static void pass_list(struct hoist *h, uint32_t op, const uint32_t *list, uint32_t n)
{
	const struct sl_trace_index *x = &h->env->x;
	uint32_t moment = 4 * op + 2;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(h->env->t, list[i]);
		bool last = x->uses[x->first[v + 1] - 1].op == op;

		h->event[v] = moment;
		if (!last || sl_class_persistent(h->env->t->values[v].cls) ||
			h->at[v] == SL_NO_OFFSET)
			continue;
		tree_note(&h->device, h->at[v], h->at[v] + room_of(h, v), moment);
		if (h->slot[v] != SL_NO_OFFSET)
			tree_note(&h->tiers[h->tier_of[v]], h->slot[v],
				h->slot[v] + page_room(h, v), moment);
		h->at[v] = SL_NO_OFFSET;
	}
}

static void sweep(struct hoist *h)
{
	const struct sl_trace *t = h->env->t;

	for (uint32_t op = 0; op < t->n_ops; op++) {
		const struct sl_trace_op *o = &t->ops[op];
		uint64_t ws = h->p->workspace_offset[op];

		sweep_actions(h, op, SL_BEFORE);
		if (ws != SL_NO_OFFSET)
			tree_note(&h->device, ws, ws + sl_room_workspace(o), 4 * op + 2);
		pass_list(h, op, o->in, o->n_in);
		pass_list(h, op, o->mutates, o->n_mutates);
		pass_list(h, op, o->out, o->n_out);
		sweep_actions(h, op, SL_AFTER);
	}
}

sl_status sl_belady_hoist(const struct sl_belady_env *env, struct sl_plan *p)
{
	struct hoist h = {.env = env, .p = p};
	sl_status st = SL_OK;

	SL_TRY_OUT(init_tables(&h));
	SL_TRY_OUT(init_trees(&h));
	sweep(&h);
out:
	tree_finish(&h.device);
	for (uint32_t k = 0; k < SL_REACH_MAX; k++)
		tree_finish(&h.tiers[k]);
	sl_free(h.at);
	sl_free(h.slot);
	sl_free(h.tier_of);
	sl_free(h.event);
	sl_free(h.gone);
	sl_free(h.queue);
	return st;
}

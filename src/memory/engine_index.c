/* SPDX-License-Identifier: Apache-2.0 */
/* What a step looks up, laid out by op once for each (trace, plan) pair. */
#include "memory/engine_int.h"

#include "base/alloc.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no memory for the engine's index");
}

/* Counts in first[i + 1] become starts. */
static void counts_to_starts(uint32_t *first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		first[i + 1] += first[i];
}

static uint32_t touch_flags(const struct sl_trace *t, const struct sl_trace_index *uses,
	uint32_t v, uint32_t i)
{
	const struct sl_trace_use *use = &uses->uses[i];
	bool persistent = sl_class_persistent(t->values[v].cls);
	uint32_t flags = 0;

	if (use->writes)
		flags |= SL_TOUCH_WRITE;
	if (!persistent && use->births)
		flags |= SL_TOUCH_BIRTH;
	if (!persistent && i + 1 == uses->first[v + 1])
		flags |= SL_TOUCH_LAST;
	return flags;
}

/* By value becomes by op: count, sum up, fill (which shifts each start to its end), shift
 * back. */
static void invert(struct sl_engine_index *x, const struct sl_trace *t,
	const struct sl_plan *p, const struct sl_trace_index *uses)
{
	for (uint32_t i = 0; i < uses->first[t->n_values]; i++)
		x->touch_first[uses->uses[i].op + 1]++;
	counts_to_starts(x->touch_first, t->n_ops);
	for (uint32_t v = 0; v < t->n_values; v++) {
		for (uint32_t i = uses->first[v]; i < uses->first[v + 1]; i++) {
			uint32_t slot = x->touch_first[uses->uses[i].op]++;
			x->touches[slot] = (struct sl_touch){
				v, touch_flags(t, uses, v, i), p->value_offset[v]};
		}
	}
	for (uint32_t op = t->n_ops; op > 0; op--)
		x->touch_first[op] = x->touch_first[op - 1];
	x->touch_first[0] = 0;
}

static sl_status index_touches(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_trace_index uses = {0};

	SL_TRY(sl_trace_index_init(t, &uses));
	x->touch_first = sl_calloc((size_t)t->n_ops + 2, sizeof(*x->touch_first));
	x->touches = sl_calloc((size_t)uses.first[t->n_values] + 1, sizeof(*x->touches));
	if (x->touch_first && x->touches)
		invert(x, t, p, &uses);
	sl_trace_index_finish(&uses);
	return x->touch_first && x->touches ? SL_OK : no_memory();
}

static sl_status index_roots(struct sl_engine_index *x, const struct sl_trace *t)
{
	size_t n = t->n_values;

	x->root = sl_calloc(n + 1, sizeof(*x->root));
	x->alias_first = sl_calloc(n + 2, sizeof(*x->alias_first));
	x->aliases = sl_calloc(n + 1, sizeof(*x->aliases));
	x->persistent = sl_calloc(n + 1, sizeof(*x->persistent));
	if (!x->root || !x->alias_first || !x->aliases || !x->persistent)
		return no_memory();
	for (uint32_t v = 0; v < n; v++) {
		x->root[v] = sl_trace_root(t, v);
		if (x->root[v] != v)
			x->alias_first[x->root[v] + 1]++;
		else if (sl_class_persistent(t->values[v].cls))
			x->persistent[x->n_persistent++] = v;
	}
	counts_to_starts(x->alias_first, n);
	for (uint32_t v = 0; v < n; v++) {
		if (x->root[v] != v)
			x->aliases[x->alias_first[x->root[v]]++] = v;
	}
	for (size_t v = n; v > 0; v--)
		x->alias_first[v] = x->alias_first[v - 1];
	x->alias_first[0] = 0;
	return SL_OK;
}

static sl_status refuse_action(const struct sl_action *a, const char *why)
{
	return SL_FAIL(SL_E_INVALID, "plan: action on v%u at op %u: %s; plan again",
		a->value, a->op, why);
}

static sl_status check_action(const struct sl_trace *t, const struct sl_action *a)
{
	const struct sl_trace_link *link;

	if (a->op >= t->n_ops || a->value >= t->n_values || a->iter != 0)
		return refuse_action(a, "no such op, value or iteration");
	if (a->kind > SL_ACTION_RECOMPUTE)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"plan: action kind %u on v%u at op %u is reserved; plan again",
			(unsigned)a->kind, a->value, a->op);
	if (!sl_action_copies(a->kind))
		return SL_OK;
	if (a->channel >= t->n_links || a->tier == SL_TIER_DEVICE || a->tier > t->n_tiers)
		return refuse_action(a, "no such tier or channel");
	link = &t->links[a->channel];
	/* A link may carry in its reverse direction too. */
	if (!(link->from == SL_TIER_DEVICE && link->to == a->tier) &&
		!(link->from == a->tier && link->to == SL_TIER_DEVICE))
		return refuse_action(
			a, "its channel does not join the device and that tier");
	return SL_OK;
}

/* The plan's actions are sorted by op and phase: only the starts are missing. */
static sl_status index_actions(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p)
{
	uint64_t key, last = 0;

	x->action_first = sl_calloc(2 * (size_t)t->n_ops + 2, sizeof(*x->action_first));
	if (!x->action_first)
		return no_memory();
	for (uint32_t i = 0; i < p->n_actions; i++) {
		const struct sl_action *a = &p->actions[i];

		SL_TRY(check_action(t, a));
		key = 2 * (uint64_t)a->op + (a->phase == SL_AFTER);
		if (key < last)
			return refuse_action(
				a, "actions are not in order of op and phase");
		last = key;
		x->action_first[key + 1]++;
		if (sl_action_copies(a->kind))
			x->channel_copies[a->channel]++;
		x->saves = x->saves || a->kind == SL_ACTION_SAVE;
	}
	counts_to_starts(x->action_first, 2 * (size_t)t->n_ops);
	return SL_OK;
}

sl_status sl_engine_index_init(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p)
{
	sl_status st;

	*x = (struct sl_engine_index){0};
	if (t->n_links > SL_ENGINE_MAX_CHANNELS)
		return SL_FAIL(SL_E_LIMIT, "%u links; at most %u are possible",
			t->n_links, SL_ENGINE_MAX_CHANNELS);
	SL_TRY_OUT(index_roots(x, t));
	SL_TRY_OUT(index_touches(x, t, p));
	SL_TRY_OUT(index_actions(x, t, p));
	SL_TRY_OUT(sl_engine_index_again(x, t, p));
	SL_TRY_OUT(sl_engine_index_takes(x, t, p));
out:
	if (st != SL_OK)
		sl_engine_index_finish(x);
	return st;
}

void sl_engine_index_finish(struct sl_engine_index *x)
{
	sl_free(x->touch_first);
	sl_free(x->touches);
	sl_free(x->again);
	sl_free(x->again_touches);
	sl_free(x->again_of);
	sl_free(x->takes);
	sl_free(x->action_first);
	sl_free(x->root);
	sl_free(x->alias_first);
	sl_free(x->aliases);
	sl_free(x->persistent);
	*x = (struct sl_engine_index){0};
}

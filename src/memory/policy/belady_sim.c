/* SPDX-License-Identifier: Apache-2.0 */
/* One iteration of the simulation, op by op, and the way back to the state of its start.
 */
#include "memory/policy/belady_int.h"

/* Notes that the op under way touches v; says whether for the first time. */
static bool touch(struct sl_belady_sim *s, uint32_t v)
{
	bool first = s->touched[v] != s->op + 1;

	s->touched[v] = s->op + 1;
	return first;
}

static void want_value(struct sl_belady_sim *s, uint32_t v, enum sl_belady_item_kind kind)
{
	const struct sl_trace_value *value = &s->env->t->values[v];

	s->items[s->n_items++] = (struct sl_belady_item){.kind = kind,
		.owner = v,
		.bytes = sl_room_value(value),
		.align = value->align};
}

static void want_list(struct sl_belady_sim *s, const uint32_t *list, uint32_t n)
{
	const struct sl_trace_index *x = &s->env->x;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(s->env->t, list[i]);

		if (!touch(s, v) || s->env->fixed[v] != SL_NO_OFFSET ||
			s->at[v] != SL_NO_OFFSET)
			continue;
		want_value(s, v,
			x->uses[s->next[v]].births ? SL_BELADY_BORN : SL_BELADY_ARRIVES);
	}
}

static void want_all(struct sl_belady_sim *s)
{
	const struct sl_trace_op *o = &s->env->t->ops[s->op];

	s->n_items = 0;
	want_list(s, o->in, o->n_in);
	want_list(s, o->mutates, o->n_mutates);
	want_list(s, o->out, o->n_out);
	if (o->workspace_bytes > 0)
		s->items[s->n_items++] =
			(struct sl_belady_item){.kind = SL_BELADY_WORKSPACE,
				.owner = s->op,
				.bytes = sl_room_workspace(o),
				.align = sl_room_workspace_align(o->workspace_bytes)};
}

static sl_status settle(struct sl_belady_sim *s)
{
	for (size_t i = 0; i < s->n_items; i++) {
		const struct sl_belady_item *it = &s->items[i];

		if (it->kind == SL_BELADY_WORKSPACE) {
			s->plan.workspace_offset[it->owner] = it->offset;
		} else if (it->kind == SL_BELADY_BORN) {
			s->plan.value_offset[it->owner] = it->offset;
			sl_belady_enter(s, it->owner, it->offset);
		} else {
			SL_TRY(sl_belady_arrive(s, it->owner, it->offset));
		}
	}
	return SL_OK;
}

/* The op has run: writes make copies stale, last accesses end lives. */
static sl_status pass_list(struct sl_belady_sim *s, const uint32_t *list, uint32_t n)
{
	const struct sl_trace_index *x = &s->env->x;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(s->env->t, list[i]);

		if (s->next[v] == x->first[v + 1] || x->uses[s->next[v]].op != s->op)
			continue; /* passed already */
		if (x->uses[s->next[v]].writes)
			s->clean[v] = false;
		s->next[v]++;
		if (s->next[v] == x->first[v + 1] && s->env->fixed[v] == SL_NO_OFFSET &&
			!sl_class_persistent(s->env->t->values[v].cls))
			SL_TRY(sl_belady_bury(s, v));
	}
	return SL_OK;
}

static sl_status step(struct sl_belady_sim *s)
{
	const struct sl_trace_op *o = &s->env->t->ops[s->op];

	s->phase = SL_BEFORE;
	want_all(s);
	SL_TRY(sl_belady_make_room(s));
	SL_TRY(settle(s));
	if (o->workspace_bytes > 0)
		SL_TRY(sl_pool_give(&s->device, s->plan.workspace_offset[s->op],
			sl_room_workspace(o)));
	SL_TRY(pass_list(s, o->in, o->n_in));
	SL_TRY(pass_list(s, o->mutates, o->n_mutates));
	return pass_list(s, o->out, o->n_out);
}

static bool is_home(const struct sl_belady_sim *s, uint32_t v)
{
	return s->at[v] == s->home[v];
}

/* Whether v could go to its home now; its own bytes do not stand in its way. */
static sl_status try_home(struct sl_belady_sim *s, uint32_t v, bool *moved)
{
	uint64_t room = sl_room_value(&s->env->t->values[v]);
	uint64_t from = s->at[v];
	bool fits;

	SL_TRY(sl_pool_give(&s->device, from, room));
	fits = sl_pool_is_free(&s->device, s->home[v], room);
	SL_TRY(sl_pool_take(&s->device, from, room));
	if (!fits)
		return SL_OK;
	*moved = true;
	return sl_belady_move(s, v, s->home[v]);
}

/* Evicts residents: those without a home, or (any) all that are not in it. */
static sl_status evict_astray(struct sl_belady_sim *s, bool any)
{
	for (uint32_t i = s->n_residents; i > 0; i--) {
		uint32_t v = s->residents[i - 1];

		if (s->home[v] == SL_NO_OFFSET || (any && !is_home(s, v)))
			SL_TRY(sl_belady_evict(s, v));
	}
	return SL_OK;
}

static sl_status walk_home(struct sl_belady_sim *s)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < s->n_residents; i++) {
			uint32_t v = s->residents[i];

			if (!is_home(s, v))
				SL_TRY(try_home(s, v, &moved));
		}
	}
	return SL_OK;
}

/* Back to the start: what has no home leaves, the rest goes home by move or by way of its
 * tier. */
sl_status sl_belady_restore(struct sl_belady_sim *s)
{
	if (s->env->t->n_ops == 0)
		return SL_OK;
	s->op = s->env->t->n_ops - 1;
	s->phase = SL_AFTER;
	SL_TRY(evict_astray(s, false));
	SL_TRY(walk_home(s));
	SL_TRY(evict_astray(s, true));
	for (uint32_t v = 0; v < s->env->t->n_values; v++) {
		if (s->home[v] == SL_NO_OFFSET || s->at[v] != SL_NO_OFFSET)
			continue;
		SL_TRY(sl_pool_take(
			&s->device, s->home[v], sl_room_value(&s->env->t->values[v])));
		SL_TRY(sl_belady_arrive(s, v, s->home[v]));
	}
	return SL_OK;
}

sl_status sl_belady_run(struct sl_belady_sim *s)
{
	for (s->op = 0; s->op < s->env->t->n_ops; s->op++)
		SL_TRY(step(s));
	return SL_OK;
}

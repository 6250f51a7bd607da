/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of a simulated iteration: who lies where, with the actions that changed it.
 *
 *            born                arrive (in)
 *   nowhere ------> on device <--------------- below (slot, current)
 *                     |    |                      ^
 *                     |    +--- evict (out, or drop-clean if the slot is current)
 *                     +--- bury: after the last access; the slot is given back
 *
 * A slot, once given, stays the value's own until its death: what starts below comes back
 * to the same bytes, and a value that goes out twice costs one slot.
 */
#include "memory/policy/belady_int.h"

#include <string.h>

#include "base/alloc.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static sl_status init_tables(struct sl_belady_sim *s)
{
	size_t n = (size_t)s->env->t->n_values + 1;

	s->at = sl_calloc(n, sizeof(*s->at));
	s->slot = sl_calloc(n, sizeof(*s->slot));
	s->slot_tier = sl_calloc(n, sizeof(*s->slot_tier));
	s->clean = sl_calloc(n, sizeof(*s->clean));
	s->evicted = sl_calloc(n, sizeof(*s->evicted));
	s->next = sl_calloc(n, sizeof(*s->next));
	s->touched = sl_calloc(n, sizeof(*s->touched));
	s->residents = sl_calloc(n, sizeof(*s->residents));
	s->items = sl_calloc(s->env->max_touched + 1, sizeof(*s->items));
	if (!s->at || !s->slot || !s->slot_tier || !s->clean || !s->evicted || !s->next)
		return no_memory();
	if (!s->touched || !s->residents || !s->items)
		return no_memory();
	memset(s->at, 0xff, n * sizeof(*s->at));
	memset(s->slot, 0xff, n * sizeof(*s->slot));
	memcpy(s->next, s->env->x.first, (n - 1) * sizeof(*s->next));
	return SL_OK;
}

static uint64_t slot_bytes(const struct sl_belady_sim *s, uint32_t v)
{
	return sl_align_up(s->env->t->values[v].bytes, SL_PAGE_BYTES);
}

/* A slot in the fastest tier with room; slot stays SL_NO_OFFSET if there is none. */
static sl_status find_slot(struct sl_belady_sim *s, uint32_t v)
{
	for (uint32_t k = 0; k < s->env->n_tiers; k++) {
		SL_TRY(sl_pool_alloc(&s->tiers[k], slot_bytes(s, v), SL_PAGE_BYTES,
			SL_POOL_LOW, &s->slot[v]));
		s->slot_tier[v] = (uint8_t)k;
		if (s->slot[v] != SL_POOL_NONE)
			break;
	}
	return SL_OK;
}

static sl_status need_slot(struct sl_belady_sim *s, uint32_t v)
{
	const struct sl_reach *last = &s->env->tiers[s->env->n_tiers - 1];
	char have[SL_SIZE_TEXT], need[SL_SIZE_TEXT];

	if (s->slot[v] == SL_NO_OFFSET)
		SL_TRY(find_slot(s, v));
	if (s->slot[v] != SL_NO_OFFSET)
		return SL_OK;
	return SL_FAIL(SL_E_INFEASIBLE,
		"tier %s of %llu bytes (%s) has no room for %llu bytes (%s) more of v%u; "
		"give the tier "
		"more bytes or raise --budget",
		s->env->t->tiers[last->tier - 1].name, (unsigned long long)last->bytes,
		sl_size_print(last->bytes, have), (unsigned long long)slot_bytes(s, v),
		sl_size_print(slot_bytes(s, v), need), v);
}

static sl_status add_start(struct sl_belady_sim *s, uint32_t v, bool below)
{
	struct sl_plan_start start = {.value = v};

	if (below) {
		start.tier = s->env->tiers[s->slot_tier[v]].tier;
		start.offset = s->slot[v];
	}
	return sl_plan_add_start(&s->plan, &start);
}

static bool is_movable_persistent(const struct sl_belady_env *env, uint32_t v)
{
	return env->t->values[v].alias == SL_NO_ID && env->fixed[v] == SL_NO_OFFSET &&
	       sl_class_persistent(env->t->values[v].cls);
}

/* What has no home starts below, in its slot. */
static sl_status start_below(struct sl_belady_sim *s)
{
	for (uint32_t v = 0; v < s->env->t->n_values; v++) {
		if (!is_movable_persistent(s->env, v) || s->home[v] != SL_NO_OFFSET)
			continue;
		SL_TRY(need_slot(s, v));
		s->clean[v] = true;
		SL_TRY(add_start(s, v, true));
	}
	return SL_OK;
}

/*
 * What is never written starts with a copy below as well, so that it can be dropped:
 * unless that would take more than half of the tier's free bytes, which dirty values may
 * need.
 */
static sl_status start_copy(struct sl_belady_sim *s, uint32_t v)
{
	uint64_t room = 0;

	for (uint32_t k = 0; k < s->env->n_tiers; k++)
		room += s->tiers[k].free_bytes;
	if (s->env->written[v] || slot_bytes(s, v) > room / 2)
		return SL_OK;
	SL_TRY(find_slot(s, v));
	if (s->slot[v] == SL_NO_OFFSET)
		return SL_OK;
	s->clean[v] = true;
	SL_TRY(add_start(s, v, false));
	return add_start(s, v, true);
}

static sl_status start_home(struct sl_belady_sim *s)
{
	for (uint32_t v = 0; v < s->env->t->n_values; v++) {
		if (!is_movable_persistent(s->env, v) || s->home[v] == SL_NO_OFFSET)
			continue;
		SL_TRY(sl_pool_take(
			&s->device, s->home[v], sl_room_value(&s->env->t->values[v])));
		sl_belady_enter(s, v, s->home[v]);
		s->plan.value_offset[v] = s->home[v];
		SL_TRY(start_copy(s, v));
	}
	return SL_OK;
}

static sl_status place_fixed(struct sl_belady_sim *s)
{
	if (s->env->fixed_bytes > 0)
		SL_TRY(sl_pool_take(&s->device, 0, s->env->fixed_bytes));
	for (uint32_t v = 0; v < s->env->t->n_values; v++) {
		bool used = s->env->x.first[v + 1] > s->env->x.first[v];

		if (used || sl_class_persistent(s->env->t->values[v].cls))
			s->plan.value_offset[v] = s->env->fixed[v];
		s->at[v] = s->env->fixed[v];
	}
	return SL_OK;
}

sl_status sl_belady_begin(struct sl_belady_sim *s, const struct sl_belady_env *env,
	const uint64_t *home, enum sl_belady_style style)
{
	*s = (struct sl_belady_sim){.env = env, .home = home, .style = style};
	SL_TRY(init_tables(s));
	SL_TRY(sl_plan_begin(&s->plan, env->t, env->budget, "belady"));
	SL_TRY(sl_pool_init(&s->device, env->budget));
	for (uint32_t k = 0; k < env->n_tiers; k++)
		SL_TRY(sl_pool_init(&s->tiers[k], env->tiers[k].bytes));
	SL_TRY(place_fixed(s));
	SL_TRY(start_below(s));
	return start_home(s);
}

void sl_belady_finish(struct sl_belady_sim *s)
{
	sl_plan_finish(&s->plan);
	sl_pool_finish(&s->device);
	for (uint32_t k = 0; k < SL_REACH_MAX; k++)
		sl_pool_finish(&s->tiers[k]);
	sl_free(s->at);
	sl_free(s->slot);
	sl_free(s->slot_tier);
	sl_free(s->clean);
	sl_free(s->evicted);
	sl_free(s->next);
	sl_free(s->touched);
	sl_free(s->residents);
	sl_free(s->items);
	*s = (struct sl_belady_sim){0};
}

/* Index of the first resident at or above offset. */
static uint32_t resident_index(const struct sl_belady_sim *s, uint64_t offset)
{
	uint32_t lo = 0, hi = s->n_residents;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->at[s->residents[mid]] < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void sl_belady_enter(struct sl_belady_sim *s, uint32_t v, uint64_t offset)
{
	uint32_t i = resident_index(s, offset);

	memmove(&s->residents[i + 1], &s->residents[i],
		(s->n_residents - i) * sizeof(*s->residents));
	s->residents[i] = v;
	s->n_residents++;
	s->at[v] = offset;
}

static sl_status leave(struct sl_belady_sim *s, uint32_t v)
{
	uint32_t i = resident_index(s, s->at[v]);

	s->n_residents--;
	memmove(&s->residents[i], &s->residents[i + 1],
		(s->n_residents - i) * sizeof(*s->residents));
	SL_TRY(sl_pool_give(&s->device, s->at[v], sl_room_value(&s->env->t->values[v])));
	s->at[v] = SL_NO_OFFSET;
	return SL_OK;
}

static sl_status act(struct sl_belady_sim *s, struct sl_action a)
{
	a.op = s->op;
	a.phase = s->phase;
	return sl_plan_add_action(&s->plan, &a);
}

sl_status sl_belady_evict(struct sl_belady_sim *s, uint32_t v)
{
	s->evicted[v] = true;
	if (s->clean[v]) {
		SL_TRY(act(
			s, (struct sl_action){.kind = SL_ACTION_DROP_CLEAN, .value = v}));
		return leave(s, v);
	}
	SL_TRY(need_slot(s, v));
	SL_TRY(act(s, (struct sl_action){.kind = SL_ACTION_OUT,
			      .value = v,
			      .tier = s->env->tiers[s->slot_tier[v]].tier,
			      .channel = s->env->tiers[s->slot_tier[v]].out_link,
			      .offset = s->slot[v]}));
	s->clean[v] = true;
	s->out_bytes += s->env->t->values[v].bytes;
	return leave(s, v);
}

sl_status sl_belady_arrive(struct sl_belady_sim *s, uint32_t v, uint64_t offset)
{
	SL_TRY(act(s, (struct sl_action){.kind = SL_ACTION_IN,
			      .value = v,
			      .tier = s->env->tiers[s->slot_tier[v]].tier,
			      .channel = s->env->tiers[s->slot_tier[v]].in_link,
			      .offset = offset}));
	s->in_bytes += s->env->t->values[v].bytes;
	sl_belady_enter(s, v, offset);
	return SL_OK;
}

sl_status sl_belady_move(struct sl_belady_sim *s, uint32_t v, uint64_t offset)
{
	uint64_t room = sl_room_value(&s->env->t->values[v]);

	SL_TRY(leave(s, v));
	SL_TRY(sl_pool_take(&s->device, offset, room));
	sl_belady_enter(s, v, offset);
	s->move_bytes += s->env->t->values[v].bytes;
	return act(s,
		(struct sl_action){.kind = SL_ACTION_MOVE, .value = v, .offset = offset});
}

sl_status sl_belady_bury(struct sl_belady_sim *s, uint32_t v)
{
	SL_TRY(leave(s, v));
	if (s->slot[v] != SL_NO_OFFSET)
		SL_TRY(sl_pool_give(
			&s->tiers[s->slot_tier[v]], s->slot[v], slot_bytes(s, v)));
	s->slot[v] = SL_NO_OFFSET;
	return SL_OK;
}

uint64_t sl_belady_next_use(const struct sl_belady_sim *s, uint32_t v)
{
	const struct sl_trace_index *x = &s->env->x;

	if (s->next[v] < x->first[v + 1])
		return x->uses[s->next[v]].op;
	if (x->first[v] == x->first[v + 1])
		return UINT64_MAX;
	return (uint64_t)s->env->t->n_ops + x->uses[x->first[v]].op;
}

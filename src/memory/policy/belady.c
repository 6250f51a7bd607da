/* SPDX-License-Identifier: Apache-2.0 */
/*
 * belady: swapping alone, by farthest next use (Belady 1966, for values of many sizes),
 * with addresses. Plans inside any budget of at least B* (sl_trace_least_budget) when
 * tiers hold what must leave.
 *
 * An iteration is simulated op by op (belady_sim.c, belady_room.c) and copies are then
 * moved to earlier positions (belady_hoist.c). The iteration has to end as it began, so
 * the set K of persistent values that are on the device at the boundary is chosen first:
 * an iteration that begins with everything below shows what would stay; that set, the
 * part of it that never left in a second iteration, and none are tried, each in three
 * styles of eviction, and the plan of the lowest price wins.
 *
 * Departures from Belady: sizes differ, so this is a heuristic and not optimal; values
 * under a page are evicted last; persistent values have their next use in the next
 * iteration.
 */
#include "memory/policy/belady_int.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/policy.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

/* What cannot move lies at the bottom, packed by falling alignment, for the whole
 * iteration. */
static void place_fixed(struct sl_belady_env *env)
{
	const struct sl_trace *t = env->t;

	for (uint64_t align = SL_PAGE_BYTES; align > 0; align /= 2) {
		for (uint32_t v = 0; v < t->n_values; v++) {
			const struct sl_trace_value *value = &t->values[v];

			if (value->align != align || value->alias != SL_NO_ID ||
				!sl_value_fixed(value))
				continue;
			env->fixed[v] = env->fixed_bytes;
			env->fixed_bytes += sl_room_value(value);
		}
	}
}

static sl_status env_begin(
	struct sl_belady_env *env, const struct sl_trace *t, uint64_t budget)
{
	size_t n = (size_t)t->n_values + 1;

	*env = (struct sl_belady_env){.t = t, .budget = budget & ~(SL_PAGE_BYTES - 1)};
	env->fixed = sl_calloc(n, sizeof(*env->fixed));
	env->written = sl_calloc(n, sizeof(*env->written));
	if (!env->fixed || !env->written)
		return no_memory();
	memset(env->fixed, 0xff, n * sizeof(*env->fixed));
	SL_TRY(sl_trace_index_init(t, &env->x));
	for (uint32_t v = 0; v < t->n_values; v++) {
		for (uint32_t u = env->x.first[v]; u < env->x.first[v + 1]; u++)
			env->written[v] = env->written[v] || env->x.uses[u].writes;
	}
	for (uint32_t i = 0; i < t->n_ops; i++) {
		size_t touched = (size_t)t->ops[i].n_in + t->ops[i].n_out +
				 t->ops[i].n_mutates + 1;

		if (touched > env->max_touched)
			env->max_touched = touched;
	}
	place_fixed(env);
	env->n_tiers = sl_reach_find(t, env->tiers);
	return SL_OK;
}

static void env_finish(struct sl_belady_env *env)
{
	sl_free(env->fixed);
	sl_free(env->written);
	sl_trace_index_finish(&env->x);
	*env = (struct sl_belady_env){0};
}

/* Homes for the chosen values, packed above what cannot move; false if they do not fit.
 */
static bool pack_homes(
	const struct sl_belady_env *env, const bool *chosen, uint64_t *home)
{
	const struct sl_trace *t = env->t;
	uint64_t end = sl_align_up(env->fixed_bytes, SL_PAGE_BYTES);

	memset(home, 0xff, ((size_t)t->n_values + 1) * sizeof(*home));
	for (uint64_t align = SL_PAGE_BYTES; align > 0; align /= 2) {
		for (uint32_t v = 0; v < t->n_values; v++) {
			if (!chosen[v] || t->values[v].align != align)
				continue;
			home[v] = end;
			end += sl_room_value(&t->values[v]);
		}
	}
	return end <= env->budget;
}

/* The search for K: the best plan so far, and the sets that simulations suggest. */
struct search {
	const struct sl_belady_env *env;
	struct sl_plan best;
	struct sl_plan_price best_price;
	bool *chosen; /* K of the next attempt */
	bool *stayed; /* on the device as the ops of the last attempt had run */
	bool *never_left; /* those of them that were not evicted */
	uint64_t *home;
	bool found;
};

static void harvest(struct search *f, const struct sl_belady_sim *s)
{
	memset(f->stayed, 0, (size_t)f->env->t->n_values + 1);
	memset(f->never_left, 0, (size_t)f->env->t->n_values + 1);
	for (uint32_t i = 0; i < s->n_residents; i++) {
		f->stayed[s->residents[i]] = true;
		f->never_left[s->residents[i]] = !s->evicted[s->residents[i]];
	}
}

static bool is_cheaper(const struct sl_plan_price *a, const struct sl_plan_price *b)
{
	uint64_t bytes_a = a->swap_in_bytes + a->swap_out_bytes;
	uint64_t bytes_b = b->swap_in_bytes + b->swap_out_bytes;

	if (a->iter_ns != b->iter_ns)
		return a->iter_ns < b->iter_ns;
	return bytes_a + a->move_bytes / 4 < bytes_b + b->move_bytes / 4;
}

/* Copies go to their earliest positions first, since that is what will be run. */
static sl_status keep_cheapest(struct search *f, struct sl_plan *p)
{
	struct sl_plan_price price = {0};

	SL_TRY(sl_belady_hoist(f->env, p));
	SL_TRY(sl_plan_seal(p, f->env->t));
	SL_TRY(sl_plan_price(f->env->t, p, &price));
	if (f->found && !is_cheaper(&price, &f->best_price))
		return SL_OK;
	f->found = true;
	f->best_price = price;
	sl_plan_finish(&f->best);
	sl_plan_move(&f->best, p);
	return SL_OK;
}

static sl_status simulate(
	struct search *f, struct sl_belady_sim *s, enum sl_belady_style style)
{
	SL_TRY(sl_belady_begin(s, f->env, f->home, style));
	SL_TRY(sl_belady_run(s));
	harvest(f, s);
	SL_TRY(sl_belady_restore(s));
	return keep_cheapest(f, &s->plan);
}

/* One iteration that begins and ends with the chosen values on the device. */
static sl_status attempt(struct search *f, enum sl_belady_style style)
{
	struct sl_belady_sim s = {0};
	sl_status st;

	if (!pack_homes(f->env, f->chosen, f->home))
		return SL_OK;
	st = simulate(f, &s, style);
	sl_belady_finish(&s);
	return st == SL_E_INFEASIBLE ? SL_OK
				     : st; /* the message stays, in case none is found */
}

static void choose(struct search *f, const bool *set)
{
	memcpy(f->chosen, set, (size_t)f->env->t->n_values + 1);
}

/* Tiers too small for all persistent values: as many as fit stay, in the order of ids. */
static void choose_greedy(struct search *f, uint64_t room)
{
	const struct sl_trace *t = f->env->t;

	for (uint32_t v = 0; v < t->n_values; v++) {
		uint64_t bytes = sl_room_value(&t->values[v]);

		f->chosen[v] = t->values[v].alias == SL_NO_ID &&
			       f->env->fixed[v] == SL_NO_OFFSET &&
			       sl_class_persistent(t->values[v].cls) && bytes <= room;
		if (f->chosen[v])
			room -= bytes;
	}
}

static sl_status search_begin(struct search *f, const struct sl_belady_env *env)
{
	size_t n = (size_t)env->t->n_values + 1;

	*f = (struct search){.env = env, .best = SL_PLAN_INIT};
	f->chosen = sl_calloc(n, sizeof(*f->chosen));
	f->stayed = sl_calloc(n, sizeof(*f->stayed));
	f->never_left = sl_calloc(n, sizeof(*f->never_left));
	f->home = sl_calloc(n, sizeof(*f->home));
	if (!f->chosen || !f->stayed || !f->never_left || !f->home)
		return no_memory();
	return SL_OK;
}

static void search_finish(struct search *f)
{
	sl_plan_finish(&f->best);
	sl_free(f->chosen);
	sl_free(f->stayed);
	sl_free(f->never_left);
	sl_free(f->home);
}

static sl_status try_sets(struct search *f, enum sl_belady_style style)
{
	memset(f->chosen, 0, (size_t)f->env->t->n_values + 1);
	SL_TRY(attempt(f, style)); /* none */
	choose(f, f->stayed);
	SL_TRY(attempt(f, style));
	choose(f, f->never_left);
	return attempt(f, style);
}

static sl_status try_all(struct search *f, uint64_t least)
{
	for (int style = 0; style < SL_BELADY_STYLES; style++)
		SL_TRY(try_sets(f, (enum sl_belady_style)style));
	if (f->found)
		return SL_OK;
	choose_greedy(f, f->env->budget > least ? f->env->budget - least : 0);
	SL_TRY(attempt(f, SL_BELADY_FARTHEST));
	choose_greedy(f, f->env->budget - f->env->fixed_bytes);
	return attempt(f, SL_BELADY_FARTHEST);
}

static sl_status swap_plan(
	const struct sl_trace *t, uint64_t budget, uint64_t least, struct sl_plan *out)
{
	struct sl_belady_env env = {0};
	struct search f = {0};
	sl_status st = SL_OK;

	SL_TRY_OUT(env_begin(&env, t, budget));
	SL_TRY_OUT(search_begin(&f, &env));
	SL_TRY_OUT(try_all(&f, least));
	if (!f.found) {
		/* The message is the simulation's: which tier lacks how much. */
		st = SL_E_INFEASIBLE;
		goto out;
	}
	f.best.budget = budget;
	sl_plan_move(out, &f.best);
out:
	search_finish(&f);
	env_finish(&env);
	return st;
}

static bool can_swap(const struct sl_trace *t)
{
	struct sl_reach tiers[SL_REACH_MAX];

	return sl_reach_find(t, tiers) > 0;
}

static sl_status fail_below(
	const struct sl_trace *t, uint64_t budget, const struct sl_least_budget *least)
{
	char human[SL_SIZE_TEXT];

	return SL_FAIL(SL_E_INFEASIBLE,
		"budget %llu is below the least that works, B* = %llu bytes (%s): op %u "
		"(%s) needs "
		"in %llu + out %llu + workspace %llu + immovable %llu; use --budget %llu "
		"or more",
		(unsigned long long)budget, (unsigned long long)least->bytes,
		sl_size_print(least->bytes, human), least->binding_op,
		t->n_ops ? t->ops[least->binding_op].kind : "none",
		(unsigned long long)least->op_in_bytes,
		(unsigned long long)least->op_out_bytes,
		(unsigned long long)least->op_workspace_bytes,
		(unsigned long long)least->immovable_bytes,
		(unsigned long long)least->bytes);
}

static sl_status fail_without_tier(uint64_t budget, uint64_t peak)
{
	uint64_t need = sl_align_up(peak, SL_PAGE_BYTES);
	char human[SL_SIZE_TEXT];

	return SL_FAIL(SL_E_INFEASIBLE,
		"budget %llu is below %llu bytes (%s), the least without a tier to swap "
		"to; use "
		"--budget %llu or more, or allow a disk or host tier",
		(unsigned long long)budget, (unsigned long long)need,
		sl_size_print(need, human), (unsigned long long)need);
}

static sl_status plan(const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	struct sl_least_budget least = {0};
	uint64_t peak = 0;

	SL_TRY(sl_keep_within(t, budget, "belady", out, &peak));
	if (peak <= budget)
		return SL_OK;
	if (!can_swap(t))
		return fail_without_tier(budget, peak);
	SL_TRY(sl_trace_least_budget(t, &least));
	if (budget < least.bytes)
		return fail_below(t, budget, &least);
	return swap_plan(t, budget, least.bytes, out);
}

static sl_status least_bytes(const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_plan kept = SL_PLAN_INIT;
	struct sl_least_budget least = {0};
	uint64_t peak = 0;

	SL_TRY(sl_keep_plan(t, UINT64_MAX, "belady", &kept, &peak));
	sl_plan_finish(&kept);
	SL_TRY(sl_trace_least_budget(t, &least));
	*out_bytes = sl_align_up(peak, SL_PAGE_BYTES);
	if (can_swap(t) && least.bytes < *out_bytes)
		*out_bytes = least.bytes;
	return SL_OK;
}

const struct sl_mem_policy sl_mem_policy_belady = {
	.name = "belady",
	.source = "belady",
	.summary = "swaps by farthest next use, inside any budget from the least one on",
	.plan = plan,
	.least = least_bytes,
};

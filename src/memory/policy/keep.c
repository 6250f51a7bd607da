/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep: nothing moves. Persistent values are packed from offset 0, those of the largest
 * alignment first and by id among equals, so that instances with the same persistent
 * values agree on their offsets; the rest is placed above by lifetime (memory/place.h).
 * Its peak is the unbudgeted peak.
 */
#include "memory/policy/keep_int.h"

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/policy/policy.h"

/* Packs the persistent roots, immovable or not, by falling alignment; gives the end. */
static uint64_t pack(
	const struct sl_trace *t, struct sl_plan *p, bool immovable, uint64_t end)
{
	for (uint64_t align = SL_PAGE_BYTES; align > 0; align /= 2) {
		for (uint32_t v = 0; v < t->n_values; v++) {
			const struct sl_trace_value *value = &t->values[v];

			if (value->align != align || value->alias != SL_NO_ID ||
				value->immovable != immovable ||
				!sl_class_persistent(value->cls))
				continue;
			p->value_offset[v] = sl_align_up(end, align);
			end = p->value_offset[v] + sl_room_value(value);
		}
	}
	return end;
}

/* Immovable values come first, so that they lie at the same offsets under every policy.
 */
uint64_t sl_keep_pack(const struct sl_trace *t, struct sl_plan *p)
{
	return pack(t, p, false, pack(t, p, true, 0));
}

/* Who an item is: a value, or n_values + op for a workspace. */
struct items {
	struct sl_place_item *items;
	uint32_t *owners;
	size_t n;
};

static void add_item(struct items *it, uint32_t owner, const struct sl_place_item *item)
{
	it->owners[it->n] = owner;
	it->items[it->n++] = *item;
}

static void gather(
	const struct sl_trace *t, const struct sl_trace_index *x, struct items *it)
{
	for (uint32_t v = 0; v < t->n_values; v++) {
		const struct sl_trace_value *value = &t->values[v];
		uint32_t from = x->first[v], to = x->first[v + 1];

		if (sl_class_persistent(value->cls) || from == to)
			continue;
		add_item(it, v,
			&(struct sl_place_item){.first = x->uses[from].op,
				.last = x->uses[to - 1].op,
				.bytes = sl_room_value(value),
				.align = value->align});
	}
	for (uint32_t i = 0; i < t->n_ops; i++) {
		uint64_t bytes = t->ops[i].workspace_bytes;

		if (bytes > 0)
			add_item(it, t->n_values + i,
				&(struct sl_place_item){.first = i,
					.last = i,
					.bytes = sl_room_workspace(&t->ops[i]),
					.align = sl_room_workspace_align(bytes)});
	}
}

static sl_status place_rest(const struct sl_trace *t, struct sl_plan *p, uint64_t base)
{
	sl_status st = SL_OK;
	struct sl_trace_index x = {0};
	struct items it = {0};
	size_t most = (size_t)t->n_values + t->n_ops + 1;
	uint64_t height = 0;

	it.items = sl_calloc(most, sizeof(*it.items));
	it.owners = sl_calloc(most, sizeof(*it.owners));
	if (!it.items || !it.owners) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	SL_TRY_OUT(sl_trace_index_init(t, &x));
	gather(t, &x, &it);
	SL_TRY_OUT(sl_place(it.items, it.n, base, &height));
	for (size_t i = 0; i < it.n; i++) {
		uint32_t owner = it.owners[i];

		if (owner < t->n_values)
			p->value_offset[owner] = it.items[i].offset;
		else
			p->workspace_offset[owner - t->n_values] = it.items[i].offset;
	}
out:
	sl_trace_index_finish(&x);
	sl_free(it.items);
	sl_free(it.owners);
	return st;
}

sl_status sl_keep_plan(const struct sl_trace *t, uint64_t budget, const char *policy,
	struct sl_plan *out, uint64_t *out_peak)
{
	sl_status st = SL_OK;
	struct sl_plan p = SL_PLAN_INIT;

	SL_TRY_OUT(sl_plan_begin(&p, t, budget, policy));
	SL_TRY_OUT(place_rest(t, &p, sl_keep_pack(t, &p)));
	SL_TRY_OUT(sl_plan_seal(&p, t));
	*out_peak = p.peak;
	sl_plan_move(out, &p);
out:
	sl_plan_finish(&p);
	return st;
}

sl_status sl_keep_within(const struct sl_trace *t, uint64_t budget, const char *policy,
	struct sl_plan *out, uint64_t *out_peak)
{
	struct sl_plan p = SL_PLAN_INIT;

	SL_TRY(sl_keep_plan(t, budget, policy, &p, out_peak));
	if (*out_peak <= budget)
		sl_plan_move(out, &p);
	sl_plan_finish(&p);
	return SL_OK;
}

static sl_status plan(const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	struct sl_plan p = SL_PLAN_INIT;
	char have[SL_SIZE_TEXT], need[SL_SIZE_TEXT];
	uint64_t peak = 0, least;

	SL_TRY(sl_keep_plan(t, budget, "keep", &p, &peak));
	if (peak <= budget) {
		sl_plan_move(out, &p);
		return SL_OK;
	}
	sl_plan_finish(&p);
	least = sl_align_up(peak, SL_PAGE_BYTES);
	return SL_FAIL(SL_E_INFEASIBLE,
		"budget %llu (%s) is below the peak of policy keep, %llu bytes (%s); use "
		"--budget "
		"%llu or more, or a policy that swaps",
		(unsigned long long)budget, sl_size_print(budget, have),
		(unsigned long long)least, sl_size_print(least, need),
		(unsigned long long)least);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t peak = 0;

	SL_TRY(sl_keep_plan(t, UINT64_MAX, "keep", &p, &peak));
	sl_plan_finish(&p);
	*out_bytes = sl_align_up(peak, SL_PAGE_BYTES);
	return SL_OK;
}

const struct sl_mem_policy sl_mem_policy_keep = {
	.name = "keep",
	.source = "keep",
	.summary =
		"nothing moves; addresses by lifetime, below 1.03 x the most live bytes",
	.plan = plan,
	.least = least,
};

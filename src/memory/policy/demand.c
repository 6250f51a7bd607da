/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demand: inference whose weights lie in a lower tier and come layer by layer while older
 * layers run [demand]. `pipeline` is 0 seq, 1 sync, 2 async, in two stages: a tier has a
 * link of its own (demand.h).
 *
 * Departures:
 * 1. A plan issues copies by position, not when an event is polled: a layer is asked for
 * before the first op by which its place in the ring is free.
 * 2. An empty ring begins anew at 0 (the published one may wait for ever).
 * 3. Weights that several layers read are read for each. What is written (counters) and
 * what may not move stays.
 * 4. The ring is the smallest of 64 sizes within the budget that none larger one beats;
 * the published search stops at the first size that does not gain.
 * 5. Values are read whole, each by itself: no sectors that two layers share.
 * 6. Traces that train, and budgets below the buffers, get belady's plan (baseline.h).
 */
#include "memory/policy/demand.h"

#include "base/alloc.h"
#include "memory/policy/baseline.h"
#include "memory/policy/demand_net.h"
#include "memory/policy/policy.h"

#define RING_SIZES 64

enum option { PIPELINE };

/* Where a layer's weights come to lie, and before which op they are asked for. */
struct landing {
	uint64_t offset;
	uint32_t ask_op;
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static void land_seq(const struct sl_demand_net *d, struct landing *l)
{
	for (size_t i = 0; i < d->n; i++)
		l[i] = (struct landing){0, d->spans[i].first_op};
}

/* Two buffers in turn; each layer is asked for as the one before it begins. */
static void land_sync(const struct sl_demand_net *d, uint64_t buffer, struct landing *l)
{
	uint32_t ask = 0;
	uint64_t turn = 0;

	for (size_t i = 0; i < d->n; i++) {
		l[i] = (struct landing){turn * buffer, ask};
		ask = d->spans[i].first_op;
		turn ^= d->layers[i].bytes > 0;
	}
}

static sl_status land_async(
	const struct sl_demand_net *d, uint64_t ring, struct landing *l)
{
	uint64_t *offset = sl_calloc(d->n + 1, sizeof(*offset));
	size_t *gone = sl_calloc(d->n + 1, sizeof(*gone));
	uint32_t ask = 0;
	sl_status st = SL_OK;

	if (!offset || !gone) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(sl_ring_plan(d->layers, d->n, ring, offset, gone));
	for (size_t i = 0; i < d->n; i++) {
		uint32_t free = gone[i] > 0 ? d->spans[gone[i] - 1].end_op : 0;

		ask = free > ask ? free : ask;
		l[i] = (struct landing){offset[i], ask};
	}
out:
	sl_free(offset);
	sl_free(gone);
	return st;
}

/* A weight that an older layer holds has to be gone before it comes once more; copies
 * keep their order. */
static sl_status wait_for_reads(const struct sl_demand_net *d, struct landing *l)
{
	uint32_t *until = sl_calloc((size_t)d->t->n_values + 1, sizeof(*until));
	uint32_t ask = 0;

	if (!until)
		return no_memory();
	for (size_t i = 0; i < d->n; i++) {
		const struct sl_demand_span *s = &d->spans[i];
		const uint32_t *weights = &d->weights[s->first_weight];

		ask = l[i].ask_op > ask ? l[i].ask_op : ask;
		for (uint32_t k = 0; k < s->n_weights; k++) {
			ask = until[weights[k]] > ask ? until[weights[k]] : ask;
			until[weights[k]] = s->end_op;
		}
		l[i].ask_op = ask;
	}
	sl_free(until);
	return SL_OK;
}

/* False: the buffers do not fit. */
static sl_status land(const struct sl_demand_net *d, enum sl_demand_mode mode,
	uint64_t budget, struct landing *l, bool *fits)
{
	const struct sl_demand_how how = {.mode = mode, .two_stages = true};
	uint64_t least = sl_demand_bytes(d->layers, d->n, &how), room;
	struct sl_demand_knee knee;

	*fits = d->base <= budget && budget - d->base >= least;
	if (!*fits)
		return SL_OK;
	if (mode == SL_DEMAND_SEQ)
		land_seq(d, l);
	if (mode == SL_DEMAND_SYNC)
		land_sync(d, least / 2, l);
	if (mode != SL_DEMAND_ASYNC)
		return SL_OK;
	room = (budget - d->base) & ~(SL_PAGE_BYTES - 1);
	SL_TRY(sl_demand_knee(d->layers, d->n, &how,
		sl_align_up((room - least) / RING_SIZES + 1, SL_PAGE_BYTES), room,
		&knee));
	return land_async(d, knee.ring_bytes, l);
}

static sl_status emit_layer(const struct sl_demand_net *d, size_t i,
	const struct landing *l, struct sl_plan *p)
{
	const struct sl_demand_span *s = &d->spans[i];
	uint64_t at = d->base + l->offset;

	for (uint32_t k = s->first_weight; k < s->first_weight + s->n_weights; k++) {
		uint32_t v = d->weights[k];
		const struct sl_reach *tier = &d->tiers[d->streams[v] - 1];

		SL_TRY(sl_plan_add_action(p, &(struct sl_action){.op = l->ask_op,
						     .phase = SL_BEFORE,
						     .kind = SL_ACTION_IN,
						     .value = v,
						     .tier = tier->tier,
						     .channel = tier->in_link,
						     .offset = at,
						     .workspace_offset = SL_NO_OFFSET}));
		SL_TRY(sl_plan_add_action(p, &(struct sl_action){.op = s->end_op - 1,
						     .phase = SL_AFTER,
						     .kind = SL_ACTION_DROP_CLEAN,
						     .value = v,
						     .workspace_offset = SL_NO_OFFSET}));
		at += sl_demand_weight_bytes(d, v);
	}
	return SL_OK;
}

static sl_status emit(const struct sl_demand_net *d, const struct landing *l,
	uint64_t budget, const char *name, struct sl_plan *p)
{
	const struct sl_trace *t = d->t;

	SL_TRY(sl_plan_begin(p, t, budget, name));
	for (uint32_t v = 0; v < t->n_values; v++) {
		if (d->home[v] != SL_NO_OFFSET)
			p->value_offset[v] = d->home[v];
		else if (d->items[v].bytes > 0)
			p->value_offset[v] = d->items[v].offset;
		if (d->streams[v] != 0)
			SL_TRY(sl_plan_add_start(
				p, &(struct sl_plan_start){.value = v,
					   .tier = d->tiers[d->streams[v] - 1].tier,
					   .offset = d->slot[v]}));
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		if (t->ops[i].workspace_bytes > 0)
			p->workspace_offset[i] = d->items[t->n_values + i].offset;
	for (size_t i = 0; i < d->n; i++)
		SL_TRY(emit_layer(d, i, &l[i], p));
	return sl_plan_seal(p, t);
}

static sl_status stream(const struct sl_demand_net *d, uint64_t budget, const char *name,
	enum sl_demand_mode mode, struct sl_plan *out)
{
	struct landing *l = sl_calloc(d->n + 1, sizeof(*l));
	bool fits = false;
	sl_status st = SL_OK;

	if (!l) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(land(d, mode, budget, l, &fits));
	SL_TRY_OUT(wait_for_reads(d, l));
	if (fits)
		SL_TRY_OUT(emit(d, l, budget, name, out));
out:
	sl_free(l);
	return st;
}

static sl_status own_plan(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	const int64_t *options = ctx;
	struct sl_demand_net d = {0};
	sl_status st = sl_demand_open(g->t, &d);

	if (st == SL_E_INFEASIBLE)
		return SL_OK; /* the net below is for these */
	SL_TRY(st);
	st = stream(&d, budget, name, (enum sl_demand_mode)options[PIPELINE], out);
	sl_demand_close(&d);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *options,
	struct sl_plan *out)
{
	return sl_baseline_own(t, budget, "demand", own_plan, options, out);
}

static const struct sl_policy_option options[] = {
	[PIPELINE] = {"pipeline", SL_DEMAND_SEQ, SL_DEMAND_ASYNC, SL_DEMAND_ASYNC,
		"0 a layer at a time, 1 sync: two buffers, 2 async: a ring"},
	{.name = NULL},
};

const struct sl_mem_policy sl_mem_policy_demand = {
	.name = "demand",
	.source = "demand",
	.summary = "inference that streams its weights through a ring, layer by layer",
	.options = options,
	.own = own,
	.least = sl_baseline_least,
};

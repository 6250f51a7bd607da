/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies of papers share: the plan without a limit before, the net below. */
#include "memory/policy/baseline.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/policy.h"

sl_status sl_baseline_own(const struct sl_trace *t, uint64_t budget, const char *name,
	sl_baseline_fn fn, const void *ctx, struct sl_plan *out)
{
	struct sl_gaps g = {0};
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st = SL_OK;

	SL_TRY(sl_gaps_init(&g, t));
	if (g.n_tiers > 0)
		SL_TRY_OUT(fn(&g, budget, name, ctx, &p));
	if (p.value_offset)
		sl_plan_move(out, &p);
out:
	sl_plan_finish(&p);
	sl_gaps_finish(&g);
	return st;
}

sl_status sl_baseline_net(
	const struct sl_trace *t, uint64_t budget, const char *name, struct sl_plan *out)
{
	SL_TRY(sl_mem_policy_belady.plan(t, budget, out));
	(void)snprintf(out->policy, sizeof(out->policy), "%s", name);
	return SL_OK;
}

sl_status sl_baseline_plan(const struct sl_trace *t, uint64_t budget, const char *name,
	sl_baseline_fn fn, const void *ctx, struct sl_plan *out)
{
	uint64_t peak = 0;

	SL_TRY(sl_keep_within(t, budget, name, out, &peak));
	if (peak <= budget)
		return SL_OK;
	SL_TRY(sl_baseline_own(t, budget, name, fn, ctx, out));
	return out->value_offset ? SL_OK : sl_baseline_net(t, budget, name, out);
}

sl_status sl_baseline_least(const struct sl_trace *t, uint64_t *out_bytes)
{
	return sl_mem_policy_belady.least(t, out_bytes);
}

/* Resolving makes all moments the latest ones: gives those back that are as they were. */
static void restore(struct sl_gaps *g, const struct sl_gap *was)
{
	for (uint32_t i = 0; i < g->n; i++) {
		struct sl_gap *gap = &g->gaps[i];

		if (was[i].fate != SL_FATE_SWAP || gap->fate != SL_FATE_SWAP)
			continue;
		if (was[i].arrive < gap->arrive)
			gap->arrive = was[i].arrive;
		if (!gap->wraps && was[i].hold > gap->arrive)
			continue; /* wanted back before it is out: by another's chain */
		gap->hold = was[i].hold;
		gap->delay_ns = was[i].delay_ns;
	}
}

sl_status sl_baseline_lower(struct sl_gaps *g, uint64_t budget, const char *name,
	struct sl_plan *out, uint64_t *out_height)
{
	struct sl_redoer *r = NULL;
	const struct sl_redo *redo = NULL;
	uint64_t *level = sl_calloc((size_t)g->t->n_ops + 1, sizeof(*level));
	struct sl_gap *was = sl_calloc((size_t)g->n + 1, sizeof(*was));
	sl_status st = SL_OK;

	*out_height = UINT64_MAX;
	if (!level || !was) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	memcpy(was, g->gaps, g->n * sizeof(*was));
	SL_TRY_OUT(sl_redoer_create(g, level, budget, &r));
	SL_TRY_OUT(sl_redoer_resolve(r, &redo));
	restore(g, was);
	SL_TRY_OUT(sl_gaps_lower(g, redo, budget, name, out, out_height));
out:
	sl_redoer_destroy(r);
	sl_free(level);
	sl_free(was);
	/* Tiers that are too small: the net says so, if it cannot do better. */
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What policies share that only recompute. */
#include "memory/policy/alone.h"

#include "memory/place.h"
#include "memory/policy/policy.h"
#include "memory/policy/reach.h"

sl_status sl_alone_least(
	const struct sl_trace *t, sl_alone_fn fn, const void *ctx, uint64_t *out_bytes)
{
	struct sl_reach tiers[SL_REACH_MAX];
	struct sl_least_budget bound = {0};
	uint64_t lo, hi = 0;

	if (sl_reach_find(t, tiers) > 0)
		return sl_mem_policy_belady.least(t, out_bytes);
	SL_TRY(sl_trace_least_budget(t, &bound));
	SL_TRY(sl_mem_policy_keep.least(t, &hi));
	lo = bound.bytes / SL_PAGE_BYTES;
	hi /= SL_PAGE_BYTES;
	while (lo < hi && hi - lo > hi / 512) {
		uint64_t mid = lo + (hi - lo) / 2;
		struct sl_plan p = SL_PLAN_INIT;
		sl_status st = fn(t, mid * SL_PAGE_BYTES, ctx, &p);

		if (p.value_offset)
			hi = mid;
		else
			lo = mid + 1;
		sl_plan_finish(&p);
		SL_TRY(st);
	}
	*out_bytes = hi * SL_PAGE_BYTES;
	return SL_OK;
}

sl_status sl_alone_fail(uint64_t budget, const char *name, uint64_t least)
{
	char human[SL_SIZE_TEXT];

	return SL_FAIL(SL_E_INFEASIBLE,
		"budget %llu is below %llu bytes (%s), the least that policy %s was "
		"found to work in without a tier; use --budget %llu or more, or allow a "
		"disk or host tier",
		(unsigned long long)budget, (unsigned long long)least,
		sl_size_print(least, human), name, (unsigned long long)least);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Two random plans of a random trace, one after the other. */
#include "harness/pair_rig.h"

void pair_rig_find(struct pair_rig *c, uint64_t seed)
{
	struct sl_rng rng = {.key = {.seed = seed}};

	for (;;) {
		*c = (struct pair_rig){.t = SL_TRACE_INIT};
		if (sl_random_trace(&rng, 14, PAIR_TIER_BYTES, &c->t) == SL_OK &&
			sl_random_plan(&rng, &c->t, PAIR_BUDGET, &c->a) == SL_OK &&
			sl_random_plan(&rng, &c->t, PAIR_BUDGET, &c->b) == SL_OK)
			return;
		pair_rig_finish(c);
	}
}

void pair_rig_finish(struct pair_rig *c)
{
	sl_plan_finish(&c->a);
	sl_plan_finish(&c->b);
	sl_trace_finish(&c->t);
}

sl_status pair_rig_run(const struct pair_rig *c, const struct sl_rig_opts *o)
{
	struct sl_rig_opts opts = *o;
	struct sl_rig rig = {0};
	sl_status st;

	opts.budget = PAIR_BUDGET;
	opts.tier_bytes = PAIR_TIER_BYTES;
	SL_TRY_OUT(sl_rig_open(&rig, &opts, &c->t, &c->a));
	SL_TRY_OUT(sl_rig_step(&rig));
	SL_TRY_OUT(sl_rig_step(&rig));
	SL_TRY_OUT(sl_rig_compare(&rig));
	SL_TRY_OUT(sl_engine_adopt(rig.engine, &c->t, &c->b));
	SL_TRY_OUT(sl_rig_step(&rig));
	SL_TRY_OUT(sl_rig_compare(&rig));
out:
	sl_rig_close(&rig);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory policies: bytes make a trace, a budget and a policy with options; the plan is
 * sound, survives its text form and replays in the time it is priced at, or the budget is
 * infeasible, which no budget from the policy's own least one on is. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "fuzz/hostile_trace.h"
#include "memory/place.h"
#include "memory/policy/policy.h"
#include "memory/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const choices[] = {"tensile", "tensile:effort=0",
	"tensile:published=1", "tensile:cross=0", "tensile:redo=0",
	"tensile:published=1,cross=0", "tensile:published=1,redo=0", "vdnn", "capuchin",
	"mimose", "belady", "keep", "chen", "chen:greedy=1", "dtr", "dtr:score=1",
	"optimal", "optimal:effort=0", "autoswap", "autoswap:score=3",
	"autoswap:score=4,stick=0", "demand", "demand:pipeline=0", "demand:pipeline=1",
	"g10", "g10:host=0,eager=0,wait=0", "joint", "joint:clean=0"};
#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))

static void round_trip(const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_plan back = SL_PLAN_INIT;
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

	SL_BUG(sl_plan_print(p, t, &first) != SL_OK);
	SL_BUG(sl_plan_parse("again", first.data, first.len, t, &back) != SL_OK);
	SL_BUG(sl_plan_check(t, &back, p->budget, NULL) != SL_OK);
	SL_BUG(sl_plan_print(&back, t, &second) != SL_OK);
	SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	sl_plan_finish(&back);
}

static void replays(const struct sl_trace *t, const struct sl_plan *p, bool wild)
{
	struct sl_replay_job job = {.trace = t, .plan = p, .iterations = 1};
	struct sl_replay_opts opts = {.jobs = &job, .n_jobs = 1};
	struct sl_replay_result r = {0};
	struct sl_replay_total total = {0};

	sl_status st = sl_replay(&opts, &r, &total);

	SL_BUG(st != SL_OK && !(wild && st == SL_E_LIMIT));
	SL_BUG(r.peak_bytes > p->budget);
	SL_BUG(!wild && r.recompute_ns + r.stall_ns + r.base_iter_ns != r.first_iter_ns);
	sl_replay_total_finish(&total);
}

static uint64_t budget_of(
	struct hostile *h, const struct sl_policy_choice *c, uint32_t step)
{
	uint64_t least = 0, most = 0;
	struct sl_least_budget l = {0};

	SL_BUG(sl_trace_least_budget(&h->t, &l) != SL_OK);
	if (sl_policy_least(c->policy, &h->t, &least) != SL_OK) {
		SL_BUG(h->t.n_tiers == 0); /* keeping works in any case */
		least = l.bytes;
	}
	if (sl_policy_least(&sl_mem_policy_keep, &h->t, &most) != SL_OK || most < least)
		most = least;
	if (step == 19)
		return least / 2;
	return least + (most - least) / 16 * step;
}

static void plan(struct hostile *h, const char *choice, uint32_t step)
{
	struct sl_policy_choice c;
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0, budget;
	sl_status st;

	SL_BUG(sl_policy_parse(choice, &c) != SL_OK);
	budget = budget_of(h, &c, step);
	st = sl_policy_apply(&c, &h->t, budget, &p);
	if (st == SL_OK) {
		SL_BUG(p.budget != budget || p.peak > budget);
		round_trip(&h->t, &p);
		replays(&h->t, &p, h->wild);
	} else {
		if (st != SL_E_INFEASIBLE)
			fprintf(stderr, "%s\n", sl_last_error());
		SL_BUG(st != SL_E_INFEASIBLE);
		SL_BUG(strchr(choice, ':') == NULL &&
			sl_policy_least(c.policy, &h->t, &least) == SL_OK &&
			budget >= least);
	}
	sl_plan_finish(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hostile h = {.b = {data, size}};

	const char *choice = choices[take(&h.b, N_CHOICES)];
	uint32_t step = take(&h.b, 20);

	if (hostile_trace(&h, 40) == SL_OK)
		plan(&h, choice, step);
	sl_trace_finish(&h.t);
	return 0;
}

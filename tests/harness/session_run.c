/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions from open to close, for tests. */
#include "harness/session_run.h"

#include <stdio.h>

#include "base/compiler.h"
#include "sluice/memory.h"

static void on_step(void *ctx, const struct sl_step_report *r)
{
	struct sl_session_run *run = ctx;

	if (run->n == SL_RUN_LOSSES)
		return;
	run->losses[run->n] = r->loss;
	run->accuracy[run->n] = r->accuracy;
	run->epochs[run->n++] = r->epoch;
}

static void on_eval(void *ctx, const struct sl_eval_report *r)
{
	struct sl_session_run *run = ctx;

	(void)r;
	run->evals++;
}

static void on_note(void *ctx, const char *text)
{
	struct sl_session_run *run = ctx;

	run->notes++;
	snprintf(run->note, sizeof(run->note), "%s", text);
}

sl_status sl_session_run_all(
	const struct sl_session_config *config, struct sl_session_run *out)
{
	const struct sl_session_events events = {
		.ctx = out, .step = on_step, .eval = on_eval, .note = on_note};
	struct sl_session *s = NULL;
	sl_status st;

	*out = (struct sl_session_run){0};
	SL_TRY(sl_session_open(config, &s));
	SL_TRY_OUT(sl_session_prepare(s, &events));
	SL_TRY_OUT(sl_session_train(s, &out->summary));
out:
	sl_session_close(s);
	return st;
}

bool sl_session_small(int i, struct sl_session_config *out)
{
	static const struct sl_session_config small[] = {
		{.model = "mlp:sizes=96-64-10,dropout=0.3", .batch = 24},
		{.model = "lenet5", .batch = 8},
		{.model = "convnet:input=1x16x16", .batch = 8},
		{.model = "gpt2:layers=2,width=64,heads=2,context=24,vocab=96",
			.batch = 3},
		{.model = "resnet18:classes=10,input=3x32x32", .batch = 2},
	};

	if (i < 0 || (size_t)i >= SL_COUNT(small))
		return false;
	*out = small[i];
	out->steps = 3;
	out->clip = 1;
	out->weight_decay = -1;
	out->threads = 2;
	return true;
}

sl_status sl_session_bounds(
	const struct sl_session_config *config, uint64_t *peak, uint64_t *least)
{
	const struct sl_planner_device device = {0};
	struct sl_planner *p = NULL;
	struct sl_plan_report r;
	sl_status st;

	SL_TRY(sl_planner_open(config, &device, &p));
	SL_TRY_OUT(sl_planner_plan(p, "belady", UINT64_MAX, &r, NULL));
	*peak = r.unbudgeted_peak_bytes;
	*least = r.least_budget_bytes;
out:
	sl_planner_close(p);
	return st;
}

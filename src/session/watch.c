/* SPDX-License-Identifier: Apache-2.0 */
/* New plans for the training instance: who watches its times, and when it changes over.
 */
#include "session/machine.h"

#include <string.h>

bool sl_machine_plans_again(const struct sl_session_config *config)
{
	/* In virtual time ops take what the trace says; what kernels take that the host
	 * only launches it does not see. */
	bool timed = config->device == NULL || strcmp(config->device, "cpu") == 0 ||
		     strcmp(config->device, "queue") == 0;

	return timed && !config->no_replan && config->plan_path == NULL &&
	       !config->infer_only;
}

sl_status sl_machine_watch(struct sl_machine *m, const struct sl_session_config *config,
	const struct sl_instance *x)
{
	struct sl_replan_opts opts = {
		.trace = &x->trace,
		.plan = &x->plan,
		.gradual = sl_machine_plans_gradually(config, x),
		.budget = m->arena_bytes,
		.most_p_bytes = m->most_p_bytes,
		.limit = config->replan_drift,
		.share = 10,
		.hook = m->replan_hook,
		.hook_ctx = m->replan_hook_ctx,
	};

	if (!sl_machine_plans_again(config) || x->plan.n_actions == 0)
		return SL_OK;
	SL_TRY(sl_machine_policy(config, &opts.policy));
	SL_TRY(sl_replan_create(&opts, &m->replan));
	m->watched = x;
	return SL_OK;
}

void sl_machine_measured(struct sl_machine *m)
{
	struct sl_engine_link links[SL_REPLAN_MAX_LINKS];

	for (uint32_t i = 0; i < SL_REPLAN_MAX_LINKS; i++)
		sl_engine_link(m->engine, i, &links[i]);
	sl_replan_measured(m->replan, links);
}

/* The new plan may reach higher, and so may values that were parked in free bytes of the
 * budget on their way to their new places. */
static void note_peak(struct sl_machine *m, const struct sl_plan *next)
{
	struct sl_engine_stats stats;

	sl_engine_stats(m->engine, &stats);
	if (next->peak > m->planned_peak)
		m->planned_peak = next->peak;
	if (stats.peak_device_bytes > m->planned_peak)
		m->planned_peak = stats.peak_device_bytes;
}

/* Where the values cannot be carried over, all is as it was. */
sl_status sl_machine_renew(struct sl_machine *m)
{
	const struct sl_plan *next;
	sl_status st;

	if (m->replan == NULL || m->adopted != m->watched)
		return SL_OK;
	next = sl_replan_boundary(m->replan);
	if (next == NULL)
		return SL_OK;
	st = sl_engine_adopt(m->engine, &m->adopted->trace, next);
	sl_replan_adopted(m->replan, st == SL_OK);
	if (st == SL_OK) {
		m->plan = next;
		note_peak(m, next);
	}
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

sl_status sl_machine_offer(struct sl_machine *m, const char *text, size_t len)
{
	struct sl_plan plan = SL_PLAN_INIT;
	sl_status st = SL_OK;

	if (m->replan == NULL)
		return SL_OK;
	SL_TRY_OUT(sl_plan_parse("a joint plan", text, len, &m->watched->trace, &plan));
	SL_TRY_OUT(sl_plan_check(&m->watched->trace, &plan, m->arena_bytes, NULL));
	if (m->gate != NULL && plan.p_bytes > m->most_p_bytes) {
		st = SL_FAIL(SL_E_NO,
			"it leaves %llu bytes on the device over the boundary, of %llu "
			"at most",
			(unsigned long long)plan.p_bytes,
			(unsigned long long)m->most_p_bytes);
		goto out;
	}
	sl_replan_offer(m->replan, &plan);
out:
	sl_plan_finish(&plan);
	return st;
}

uint64_t sl_machine_predicted_ns(const struct sl_machine *m)
{
	struct sl_replan_stats stats;

	if (m->replan == NULL || m->adopted != m->watched)
		return m->plan->price_ns;
	sl_replan_stats(m->replan, &stats);
	return stats.price_ns;
}

uint64_t sl_machine_replans(const struct sl_machine *m)
{
	struct sl_replan_stats stats = {0};

	if (m->replan != NULL)
		sl_replan_stats(m->replan, &stats);
	return stats.plans;
}

uint64_t sl_machine_joint_plans(const struct sl_machine *m)
{
	struct sl_replan_stats stats = {0};

	if (m->replan != NULL)
		sl_replan_stats(m->replan, &stats);
	return stats.joint;
}

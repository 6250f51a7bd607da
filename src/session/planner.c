/* SPDX-License-Identifier: Apache-2.0 */
/* Planning without running: a trace from a sealed model or from a file; preview.c makes
 * plans of it. */
#include "sluice/memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "memory/foreign/foreign.h"
#include "session/planner_int.h"

#define MAX_TEXT_BYTES ((size_t)1 << 30)

static bool names_model(const char *operand)
{
	const char *name, *help;

	for (size_t i = 0; (name = sl_model_at(i, &help)) != NULL; i++)
		if (strlen(name) == strcspn(operand, ":") &&
			strncmp(operand, name, strlen(name)) == 0)
			return true;
	return false;
}

/* A file beside us that is called like a model does not hide it; ./NAME is the file. */
static bool names_file(const char *operand)
{
	if (names_model(operand))
		return false;
	return strchr(operand, '/') != NULL || access(operand, F_OK) == 0;
}

/* The tiers that a run with a budget would have, at the rates of the command line. */
static sl_status describe_tiers(const struct sl_planner *p,
	const struct sl_session_config *config, const struct sl_planner_device *device,
	struct sl_machine *m)
{
	struct sl_session_config c = *config;

	c.budget_bytes = config->budget_bytes > 0 ? config->budget_bytes : UINT64_MAX;
	c.disk_bytes = device->disk_bytes > 0 ? device->disk_bytes : config->disk_bytes;
	SL_TRY(sl_machine_describe(m, &c, p->unbudgeted_peak));
	for (uint32_t i = 0; i < m->n_tiers; i++) {
		bool host = strcmp(m->tier_info[i].name, "host") == 0;
		uint64_t rate =
			host ? device->link_bytes_per_s : device->disk_bytes_per_s;

		m->tier_info[i].half_duplex = device->half_duplex;
		if (rate > 0)
			m->tier_info[i].bytes_per_s = m->tier_info[i].in_bytes_per_s =
				rate;
	}
	return SL_OK;
}

static sl_status open_model(struct sl_planner *p, const struct sl_session_config *config,
	const struct sl_planner_device *device)
{
	const struct sl_instance *x;
	struct sl_machine *m;

	SL_TRY(sl_session_open(config, &p->session));
	x = &p->session->instances[SL_TRAIN];
	m = &p->session->machine;
	SL_TRY(sl_machine_unbudgeted_peak(x, &p->unbudgeted_peak));
	SL_TRY(describe_tiers(p, config, device, m));
	return sl_program_trace(
		x->program, m->tier_info, m->n_tiers, m->costs, &p->trace);
}

/* What the command line says about links that a trace has. */
static void override_links(struct sl_trace *t, const struct sl_planner_device *device)
{
	for (uint32_t i = 0; i < t->n_links; i++) {
		struct sl_trace_link *l = &t->links[i];
		uint32_t below = l->from > 0 ? l->from : l->to;
		const char *name = below > 0 ? t->tiers[below - 1].name : "";
		uint64_t rate = strcmp(name, "host") == 0   ? device->link_bytes_per_s
				: strcmp(name, "disk") == 0 ? device->disk_bytes_per_s
							    : 0;

		l->bytes_per_s = rate > 0 ? rate : l->bytes_per_s;
		l->half_duplex = l->half_duplex || device->half_duplex;
	}
}

/* A trace that names no tier gets those of the command line. */
static sl_status open_file(struct sl_planner *p, const struct sl_session_config *config,
	const struct sl_planner_device *device)
{
	struct sl_machine m = {0};
	sl_status st;

	SL_TRY(sl_foreign_read(config->model, NULL, &p->trace));
	SL_TRY(sl_policy_least(sl_policy_find("keep"), &p->trace, &p->unbudgeted_peak));
	override_links(&p->trace, device);
	if (p->trace.n_tiers > 0)
		return SL_OK;
	SL_TRY_OUT(describe_tiers(p, config, device, &m));
	SL_TRY_OUT(sl_program_add_tiers(&p->trace, m.tier_info, m.n_tiers));
out:
	sl_machine_finish(&m);
	return st;
}

sl_status sl_planner_open(const struct sl_session_config *config,
	const struct sl_planner_device *device, struct sl_planner **out)
{
	struct sl_planner *p = sl_calloc(1, sizeof(*p));
	sl_status st;

	if (p == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a planner");
	p->trace = SL_TRACE_INIT;
	SL_TRY_OUT(names_file(config->model) ? open_file(p, config, device)
					     : open_model(p, config, device));
	SL_TRY_OUT(sl_trace_least_budget(&p->trace, &p->least));
	*out = p;
	return SL_OK;
out:
	sl_planner_close(p);
	return st;
}

sl_status sl_planner_trace(const struct sl_planner *p, struct sl_buf *out)
{
	return sl_trace_print(&p->trace, out);
}

void sl_planner_close(struct sl_planner *p)
{
	if (p == NULL)
		return;
	sl_trace_finish(&p->trace);
	sl_session_close(p->session);
	sl_free(p);
}

sl_status sl_check_files(const char *trace_path, const char *plan_path,
	uint64_t budget_bytes, struct sl_check_report *out)
{
	struct sl_trace trace = SL_TRACE_INIT;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_buf text = SL_BUF_MAX(MAX_TEXT_BYTES);
	sl_status st;

	SL_TRY_OUT(sl_foreign_read(trace_path, NULL, &trace));
	SL_TRY_OUT(sl_fs_read(plan_path, MAX_TEXT_BYTES, &text));
	SL_TRY_OUT(sl_plan_parse(plan_path, sl_buf_text(&text), text.len, &trace, &plan));
	*out = (struct sl_check_report){
		.budget_bytes = budget_bytes > 0 ? budget_bytes : plan.budget,
		.stated_peak_bytes = plan.peak,
		.ops = trace.n_ops,
		.values = trace.n_values,
		.actions = plan.n_actions,
	};
	st = sl_plan_check(&trace, &plan, out->budget_bytes, &out->peak_bytes);
out:
	sl_buf_finish(&text);
	sl_plan_finish(&plan);
	sl_trace_finish(&trace);
	return st;
}

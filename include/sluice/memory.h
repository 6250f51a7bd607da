/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_MEMORY_H
#define SLUICE_MEMORY_H

#include "sluice/session.h"

/*
 * Planning without running: a model's training step or a trace file, any policy, any
 * budget.
 */
struct sl_planner;
struct sl_buf;

/* The tiers below the device where no real ones are meant; zero is the default of each
 * field. */
struct sl_planner_device {
	uint64_t link_bytes_per_s; /* host link each way; 0: 12 GB/s */
	uint64_t disk_bytes_per_s; /* 0: 1.7 GB/s */
	uint64_t disk_bytes; /* 0: four times the unbudgeted peak */
};

/* What one policy makes of one budget; times are virtual, by the price of the plan, but
 * for plan_ns. */
struct sl_plan_report {
	char policy[32];
	bool feasible;
	uint64_t budget_bytes; /* 0: unlimited */
	uint64_t least_budget_bytes; /* the least that this policy works in */
	uint64_t bound_budget_bytes; /* B*: no policy works below it */
	uint32_t binding_op; /* the op that sets it */
	char binding_kind[48], binding_scope[96];
	uint64_t peak_bytes, unbudgeted_peak_bytes;
	uint64_t base_iter_ns, iter_ns, swap_out_bytes, swap_in_bytes, recompute_ns,
		stall_ns, plan_ns;
};

/* config->model is a model, or the path of a trace file (it has a '/' or the file
 * exists). */
SL_NODISCARD sl_status sl_planner_open(const struct sl_session_config *config,
	const struct sl_planner_device *device, struct sl_planner **out);
/* policy NULL: the default (keep without a budget, else belady). An infeasible budget is
 * no failure: the report says so. plan_text may be NULL; else a feasible plan's text is
 * appended. */
SL_NODISCARD sl_status sl_planner_plan(struct sl_planner *p, const char *policy,
	uint64_t budget_bytes, struct sl_plan_report *out, struct sl_buf *plan_text);
/* The failure of the latest infeasible plan, with B*, the binding op and its parts in the
 * message. */
sl_status sl_planner_infeasible(const struct sl_planner *p);
/* The trace as plans see it, appended. */
SL_NODISCARD sl_status sl_planner_trace(const struct sl_planner *p, struct sl_buf *out);
void sl_planner_close(struct sl_planner *p);

/* The independent checker on two files; SL_E_NO with the first breach. budget 0: the
 * plan's own. */
struct sl_check_report {
	uint64_t budget_bytes, peak_bytes, stated_peak_bytes;
	uint32_t ops, values, actions;
};
SL_NODISCARD sl_status sl_check_files(const char *trace_path, const char *plan_path,
	uint64_t budget_bytes, struct sl_check_report *out);

/* Names of policies, devices, tiers below them and cost books, each with a line about it (summary may
 * be NULL); NULL past the end. Borrowed for ever; any thread. */
const char *sl_policy_name_at(size_t i, const char **summary);
const char *sl_device_name_at(size_t i, const char **summary);
const char *sl_tier_name_at(size_t i, const char **summary);
const char *sl_costs_name_at(size_t i, const char **summary);

#endif

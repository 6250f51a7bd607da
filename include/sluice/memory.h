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
 * field. A trace file's own tiers keep their sizes; rates given here, and half duplex,
 * take the place of theirs. */
struct sl_planner_device {
	uint64_t link_bytes_per_s; /* host link each way; 0: 12 GB/s, a file's own */
	uint64_t disk_bytes_per_s; /* 0: 1.7 GB/s, a file's own */
	uint64_t disk_bytes; /* 0: four times the unbudgeted peak */
	bool half_duplex; /* both ways share one wire */
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
	/* What swapping alone cannot do better in this budget: bytes both ways, and each
	 * way by itself; the larger of all ops' time and the bytes' on the links. Bytes
	 * are 0 where no swapping fits. */
	uint64_t bound_bytes, bound_out_bytes, bound_in_bytes, bound_ns;
	/* No plan that swaps and runs again is quicker: the gap of a plan is what it
	 * takes more. 0: not looked for (a curve). */
	uint64_t joint_bound_ns;
	uint64_t move_bytes, recompute_ops;
	uint64_t held_peak_bytes; /* most bytes in use at one time; the rest of the peak
				     lies unused between them */
	uint64_t host_bytes, disk_bytes; /* of these tiers that the plan uses */
};

/* config->model is a model, or the path of a trace file (it has a '/' or the file
 * exists). */
SL_NODISCARD sl_status sl_planner_open(const struct sl_session_config *config,
	const struct sl_planner_device *device, struct sl_planner **out);
/* policy NULL: the default (keep without a budget, else joint). An infeasible budget is
 * no failure: the report says so. plan_text may be NULL; else a feasible plan's text is
 * appended. */
SL_NODISCARD sl_status sl_planner_plan(struct sl_planner *p, const char *policy,
	uint64_t budget_bytes, struct sl_plan_report *out, struct sl_buf *plan_text);
/*
 * The curve of step time against budget, ascending: up to *n budgets at equal distances
 * from the least to the unbudgeted peak; *n becomes how many there are. More is never
 * slower: a plan for less memory is one for more. Plans made quickly come first; while
 * limit_ns of real time lasts, those with the most slowdown are made again with all
 * effort. Bounds in bytes are only given where there is a slowdown.
 */
#define SL_FRONT_MAX 64
SL_NODISCARD sl_status sl_planner_front(struct sl_planner *p, const char *policy,
	uint64_t limit_ns, struct sl_plan_report *out, size_t *n);
/*
 * A plan as an HTML page that needs nothing else: the curve of memory, what the links and
 * the device do, where values lie, the longest waits. Appended; after a failure, in part.
 * SL_E_INFEASIBLE as sl_planner_infeasible().
 */
struct sl_page_config {
	const char *policy; /* as of sl_planner_plan() */
	uint64_t budget_bytes;
	const struct sl_plan_report *policies, *front; /* to show beside it */
	size_t n_policies, n_front; /* 0: none */
};
SL_NODISCARD sl_status sl_planner_page(
	struct sl_planner *p, const struct sl_page_config *c, struct sl_buf *out);
/* The budget that a share of the unbudgeted peak is: whole 4096 bytes, at least 4096. */
uint64_t sl_planner_share(const struct sl_planner *p, double ratio);
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

/*
 * Plans carried out in virtual time, one or several jobs on one device and on wires that
 * they share (bytes of links of the same name are shared equally; each job's copies are
 * first in first out).
 */
struct sl_replay_source {
	const struct sl_planner *planner; /* the trace */
	const char *name; /* NULL: the trace's */
	const char *policy; /* NULL: the default */
	const char *plan_path; /* a stored plan of the trace; NULL: plan now */
	uint64_t budget_bytes; /* of this job; 0: unlimited */
	uint64_t phase_ns; /* when its first iteration begins */
	uint32_t iterations; /* 0 means 1 */
};

struct sl_replay_config {
	bool own_compute; /* each job has a device of its own */
	/* Jobs are planned together, by the policy of the first, with this for all of
	 * them; their own budgets and plan paths are 0 and NULL then. 0: each alone. */
	uint64_t joint_budget_bytes;
	struct sl_buf *events; /* what happened, as JSON for trace viewers; NULL: no */
	struct sl_buf *timeline; /* the same as CSV; NULL: no */
};

/* Of one job. Bytes, ops and times but first_iter_ns are of a mean iteration; the bare
 * times are those of the same jobs without any action, everything on the device. */
struct sl_replay_report {
	char name[64], policy[32];
	uint64_t budget_bytes; /* 0: unlimited */
	uint64_t peak_bytes, unbudgeted_peak_bytes;
	uint64_t held_peak_bytes; /* most bytes in use at one time */
	uint64_t base_iter_ns, bare_iter_ns; /* sum of the ops' durations; bare */
	uint64_t first_iter_ns, iter_ns; /* the first; the mean of the others */
	uint64_t stall_ns, turn_ns; /* waits for copies and moves; for other jobs' ops */
	uint64_t recompute_ns, recompute_ops;
	uint64_t swap_out_bytes, swap_in_bytes, move_bytes;
	uint64_t swap_ins, passive_swap_ins; /* passive: an op had to wait for it */
	double msr; /* 1 - peak / unbudgeted peak */
	double eor; /* iteration / bare iteration - 1 */
	double cbr; /* msr / eor; NaN when nothing is paid */
};

struct sl_replay_wire {
	char from[32], to[32];
	bool half_duplex;
	uint64_t bytes;
	double busy_ratio; /* of all the time */
};

#define SL_REPLAY_WIRES 16
struct sl_replay_sum {
	uint64_t end_ns, bare_end_ns; /* of the last job */
	uint64_t budget_bytes; /* for all, if planned together; else 0 */
	uint64_t peak_bytes, unbudgeted_peak_bytes; /* sums over the jobs */
	uint64_t held_peak_bytes; /* of all jobs together at one time */
	double msr, eor, cbr;
	struct sl_replay_wire wires[SL_REPLAY_WIRES]; /* directions that carried bytes */
	size_t n_wires;
};

/* out is [n]. SL_E_INFEASIBLE for a budget that the policy cannot meet, SL_E_FORMAT for a
 * stored plan that does not fit its trace. */
SL_NODISCARD sl_status sl_replay_jobs(const struct sl_replay_source *jobs, size_t n,
	const struct sl_replay_config *config, struct sl_replay_report *out,
	struct sl_replay_sum *sum);

/*
 * The address planner on a table of buffers (CSV: docs/formats/place.md): each gets an
 * offset so that buffers live at the same time do not overlap. Columns id, lower, upper,
 * size and, optionally, alignment and offset; a buffer lives on [lower, upper), and a
 * given offset is kept.
 */
struct sl_place_config {
	uint64_t base_bytes; /* the lowest offset given */
	uint64_t capacity_bytes; /* no buffer may end above it; 0: as low as is found */
	bool fast; /* no exact search: milliseconds for what orders do not solve */
	bool validate; /* check the offsets of the table; give none */
	int threads; /* of the exact search; 0: all cores. The result is the same. */
	uint64_t nodes; /* of the exact search; 0: as a default says. Without a capacity:
			   for each height tried. */
	bool (*stop)(void *ctx); /* asked now and then: end with the best so far? */
	void (*progress)(void *ctx, uint64_t height, uint64_t nodes);
	void *ctx; /* of both, which may be NULL; called on any thread, by one at a time
		    */
};

struct sl_place_report {
	uint64_t buffers, fixed; /* rows; those with a given offset */
	uint64_t load_bytes; /* most bytes live at one time: no placement is lower */
	uint64_t height_bytes; /* where the highest buffer ends; 0: none was placed */
	uint64_t bound_bytes; /* proved: no placement is lower */
	uint64_t nodes; /* of the exact search */
	uint64_t base_bytes, capacity_bytes;
	uint64_t place_ns; /* real time, reading included */
	bool valid; /* sound and within the capacity */
	bool interrupted;
};

/* SL_E_NO: no placement in the capacity, or the offsets of the table clash; the message
 * says which, and the report is filled. SL_E_FORMAT or SL_E_LIMIT name the line.
 * SL_E_INTERRUPTED: config->stop said so; the best placement so far is given. csv and
 * svg may be NULL: the table with its offsets and a picture of it are appended. */
SL_NODISCARD sl_status sl_place_file(const char *path,
	const struct sl_place_config *config, struct sl_place_report *out,
	struct sl_buf *csv, struct sl_buf *svg);

/* Names of policies, devices, tiers below them and cost books, each with a line about it
 * (summary may be NULL); NULL past the end. Borrowed for ever; any thread. */
const char *sl_policy_name_at(size_t i, const char **summary);
const char *sl_device_name_at(size_t i, const char **summary);
/* What is there of a device that a plug-in brings, in a line of text; SL_E_UNSUPPORTED
 * says what is missing. Loads the plug-in and asks the driver. */
SL_NODISCARD sl_status sl_device_probe(const char *name, char *text, size_t size);
const char *sl_tier_name_at(size_t i, const char **summary);
const char *sl_costs_name_at(size_t i, const char **summary);

/* Option i of a policy, as in --policy NAME:OPTION=VALUE; false past the end, or where
 * there is no such policy. Texts are borrowed for ever; any thread. */
struct sl_policy_option_row {
	const char *name, *help;
	int64_t min, max, usual;
};
bool sl_policy_option_at(const char *policy, size_t i, struct sl_policy_option_row *out);

/*
 * A trace in another form (docs/formats/foreign.md). Kinds: trace, g10, dtr, buffers;
 * what a file is, is told by its content, and what it is to become, by its name.
 */
struct sl_convert_config {
	const char *in;
	const char *out; /* of kernels and tensors: the kernels' file */
	const char *from, *to; /* kinds; NULL: told */
};

struct sl_convert_report {
	const char *from, *to; /* static */
	uint64_t ops, values;
	uint64_t live_peak_bytes, ops_ns; /* of the trace that was read */
};

/* text: where it goes instead of to files; else NULL. SL_E_FORMAT or SL_E_LIMIT name
 * file and line. */
SL_NODISCARD sl_status sl_convert_file(const struct sl_convert_config *config,
	struct sl_buf *text, struct sl_convert_report *out);

#endif

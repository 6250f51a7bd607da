/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SIM_H
#define SL_SHARE_SIM_H

#include "base/buf.h"
#include "share/state.h"

/*
 * A job log run through a policy in virtual time: one device of unit speed, no cost of
 * switching but for what rules.park_bytes_per_s says of moving P. Busy lanes have equal
 * parts of the device; the job whose turn it is has its lane, and residents share it
 * where the policy takes turns. From event to event: how many iterations there are does
 * not matter. Lanes move at once.
 */
#define SL_JOBSIM_NAME 48

struct sl_jobsim_job {
	char name[SL_JOBSIM_NAME];
	uint32_t line, user;
	int32_t priority;
	sl_ns submit_ns, length_ns, turn_ns, deadline_ns; /* turn, deadline 0: none */
	sl_ns declared_ns; /* length as declared; 0: not */
	uint64_t persistent_bytes, ephemeral_bytes;
	/* Results. */
	sl_ns first_ns, end_ns; /* first: -1 until it runs */
	uint32_t lane; /* its last */
	/* While it runs. */
	double share, carry; /* part of the device; service below a nanosecond */
	sl_ns from_ns; /* since when it has had this share */
	sl_ns gone_ns; /* when its P will have moved away and back; -1: it does not */
	sl_ns yield_ns; /* service at which its turn ends for another; -1: none asked */
};

struct sl_jobsim_table {
	struct sl_jobsim_job *jobs; /* by submission */
	size_t n, cap;
	bool no_memory; /* the table has no columns of sizes */
};

/* An interval of constant share. */
struct sl_jobsim_span {
	uint32_t job, lane;
	sl_ns from_ns, to_ns;
	double share;
};

struct sl_jobsim_sum {
	double makespan_s, queue_s, jct_s, p95_s, max_s; /* queue, jct: means */
	double longest_queue_s;
	double jain; /* NaN where no two jobs were ever resident together */
	uint64_t peak_bytes; /* most of P and lanes granted */
	uint64_t switches; /* turns given up for another job before the end */
	uint64_t parks;
	uint64_t steps; /* events and decisions */
	uint32_t lanes; /* most open */
};

struct sl_jobsim {
	const struct sl_job_policy *policy;
	struct sl_share_rules rules; /* capacity, lanes, max_wait */
	bool keep_spans, keep_log;
	struct sl_jobsim_span *spans;
	size_t n_spans, cap_spans;
	struct sl_log log;
	struct sl_jobsim_sum sum;
};

/* docs/formats/jobs.md. SL_E_FORMAT or SL_E_LIMIT with the line; finish in any case. */
SL_NODISCARD sl_status sl_jobsim_table_parse(
	struct sl_jobsim_table *t, const char *source, const char *data, size_t len);
void sl_jobsim_table_finish(struct sl_jobsim_table *t);

/* Runs the table: fills the jobs' results and the sum. SL_E_INFEASIBLE names a job that
 * is larger than the capacity; SL_E_NO is a bug that the check found. */
SL_NODISCARD sl_status sl_jobsim_run(struct sl_jobsim *m, struct sl_jobsim_table *t);
void sl_jobsim_finish(struct sl_jobsim *m);

/* A row a job, a row an interval, and a picture: lanes over time and the jobs' waits. */
SL_NODISCARD sl_status sl_jobsim_jobs_csv(
	const struct sl_jobsim_table *t, struct sl_buf *out);
SL_NODISCARD sl_status sl_jobsim_spans_csv(
	const struct sl_jobsim *m, const struct sl_jobsim_table *t, struct sl_buf *out);
SL_NODISCARD sl_status sl_jobsim_svg(
	const struct sl_jobsim *m, const struct sl_jobsim_table *t, struct sl_buf *out);

/* A recorded log decided again. SL_E_NO says where the first difference is, or which
 * decision is not sound; SL_E_FORMAT an event that does not fit. */
SL_NODISCARD sl_status sl_log_replay(
	const struct sl_log *recorded, const struct sl_job_policy *policy);
/* The same of a log in which the policy changes to others; NULL: to none. */
SL_NODISCARD sl_status sl_log_replay_with(const struct sl_log *recorded,
	const struct sl_job_policy *policy,
	const struct sl_job_policy *(*find)(const char *name));

#endif

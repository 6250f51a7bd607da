/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_JOB_H
#define SLUICE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Jobs that share one device, in virtual time: a table of jobs (docs/formats/jobs.md)
 * under a job policy (Salus, MLSys 2020), from event to event.
 */
struct sl_sim_jobs;
struct sl_buf;

#define SL_SIM_MAX_WAIT_S 21600.0 /* six hours */

struct sl_sim_config {
	const char *policy;
	uint64_t capacity_bytes;
	int64_t lanes; /* at most so many; 0: the policy's */
	/* A job that has waited so long goes before all others (docs/formats/jobs.md);
	 * 0: none does. */
	double max_wait_s;
	/* Service that a resident has before its P may move away for an equal that waits;
	 * 0: nobody's does. How fast P moves; 0: at once. */
	double quantum_s;
	uint64_t park_bytes_per_s;
};

struct sl_sim_report {
	char policy[16];
	uint64_t jobs, capacity_bytes, peak_bytes; /* peak: of P and lanes granted */
	double makespan_s; /* from the first submission to the last end */
	double mean_queue_s, longest_queue_s; /* from submission to the first turn */
	double mean_jct_s, p95_jct_s, max_jct_s; /* from submission to the end */
	/* Jain's index of the residents' parts of the device, over the time with two of
	 * them and more; NaN: there was none. */
	double jain_fairness;
	uint64_t switches; /* turns given up for another job */
	uint64_t parks; /* P moved away for another job */
	uint64_t steps; /* events and decisions */
	uint32_t lanes; /* most open at a time */
};

/* Texts to append to; NULL: not wanted. */
struct sl_sim_output {
	struct sl_buf *jobs; /* CSV, a row a job */
	struct sl_buf *timeline; /* CSV, a row an interval of constant share */
	struct sl_buf *svg; /* lanes over time, jobs and their waits */
	struct sl_buf *decisions; /* the log that sl_sim_replay reads */
};

/* SL_E_FORMAT and SL_E_LIMIT name the line. no_memory: the table has no sizes, all are 0.
 */
SL_NODISCARD sl_status sl_sim_jobs_open(
	const char *path, struct sl_sim_jobs **out, bool *no_memory);
/* SL_E_USAGE for an unknown policy, SL_E_INFEASIBLE for a job above the capacity. */
SL_NODISCARD sl_status sl_sim_jobs_run(struct sl_sim_jobs *j,
	const struct sl_sim_config *config, struct sl_sim_report *out,
	const struct sl_sim_output *texts);
void sl_sim_jobs_close(struct sl_sim_jobs *j);

/* Decides a recorded log again. SL_E_NO: a decision differs or is not sound. */
struct sl_sim_replay {
	char policy[16];
	uint64_t events, decisions;
};
SL_NODISCARD sl_status sl_sim_replay_file(const char *path, struct sl_sim_replay *out);

/* Names of job policies; NULL past the end. Borrowed for ever. */
const char *sl_job_policy_name_at(size_t i, const char **summary);

#endif

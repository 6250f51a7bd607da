/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_JOBS_INT_H
#define SL_MEMORY_POLICY_JOBS_INT_H

#include "memory/policy/jobs.h"

/*
 * What a job pays for few bytes: a grid of budgets from the least to the one beyond which
 * nothing is gained, and the seeds, its parts of two plain splits.
 */
enum sl_jobs_seed { SL_JOBS_EQUAL, SL_JOBS_BY_PEAK, SL_JOBS_SEEDS };
#define SL_JOBS_GRID 11u
#define SL_JOBS_POINTS (SL_JOBS_GRID + SL_JOBS_SEEDS)

struct sl_jobs_point {
	uint64_t bytes; /* ascending */
	uint64_t quick_ns; /* of a quick plan */
	uint64_t full_ns; /* of `plan`; 0: not made yet */
	/* weight x iteration / base, so far as it is known: by a guess from quick_ns, or
	 * of `plan` in the split where it was last looked at. */
	double slow;
	bool moves; /* the plan copies bytes over links */
	struct sl_plan plan;
};

struct sl_jobs_curve {
	struct sl_jobs_point points[SL_JOBS_POINTS];
	uint32_t n; /* at least 1 */
	uint32_t at; /* of the present split */
	uint32_t kept; /* of the best one so far */
	uint32_t like; /* the first job with this very curve: they are treated alike */
	uint32_t count; /* jobs with this curve, in the first one; else 0 */
};

struct sl_jobs_part {
	struct sl_jobs_member *job;
	struct sl_trace view; /* of the job's trace, with its share of the links */
	struct sl_trace_link *links; /* of view */
	double weight, share, planned_share;
	uint64_t most_bytes; /* beyond them nothing is gained */
	uint64_t seeds[SL_JOBS_SEEDS];
	bool moves;
	struct sl_jobs_curve curve;
};

/*
 * jobs_curve.c
 */
/* Quick plans at all points within budget, up to the first without any loss. */
SL_NODISCARD sl_status sl_jobs_draw(
	struct sl_jobs_part *p, const struct sl_policy_choice *quick, uint64_t budget);
/* A plan at the point `at` by the full choice, or the quick one should it be better. */
SL_NODISCARD sl_status sl_jobs_fill(struct sl_jobs_part *p,
	const struct sl_policy_choice *full, const struct sl_policy_choice *quick);
/* Guesses `slow` of points without a plan from those that have one. */
void sl_jobs_guess(struct sl_jobs_part *p);
/* Whether a plan copies bytes over links. */
bool sl_jobs_moves(const struct sl_plan *p);
void sl_jobs_curve_finish(struct sl_jobs_curve *c);
double sl_jobs_slow(const struct sl_jobs_part *p, uint64_t iter_ns);

/*
 * jobs_split.c
 */
/* Finds curves that are the same. */
void sl_jobs_group(struct sl_jobs_part *parts, size_t n);
/* Chooses a point for every curve; the sum of the first ones is within the budget. */
void sl_jobs_split(struct sl_jobs_part *parts, size_t n, uint64_t budget);
/* The last point within the seed for every curve; false if there is none. */
bool sl_jobs_split_plainly(struct sl_jobs_part *parts, size_t n, enum sl_jobs_seed seed);
/* How much slowness falls for a byte between two points. */
double sl_jobs_gain(const struct sl_jobs_curve *c, uint32_t from, uint32_t to);

#endif

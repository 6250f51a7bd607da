/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_JOINT_INT_H
#define SL_MEMORY_POLICY_JOINT_INT_H

#include "memory/policy/joint.h"

/*
 * What a job pays for few bytes: a grid of budgets from the least to the one beyond which
 * nothing is gained, and the seeds, its parts of two plain splits.
 */
enum sl_joint_seed { SL_JOINT_EQUAL, SL_JOINT_BY_PEAK, SL_JOINT_SEEDS };
#define SL_JOINT_GRID 11u
#define SL_JOINT_POINTS (SL_JOINT_GRID + SL_JOINT_SEEDS)

struct sl_joint_point {
	uint64_t bytes; /* ascending */
	uint64_t quick_ns; /* of a quick plan */
	uint64_t full_ns; /* of `plan`; 0: not made yet */
	/* weight x iteration / base, so far as it is known: by a guess from quick_ns, or
	 * of `plan` in the split where it was last looked at. */
	double slow;
	bool moves; /* the plan copies bytes over links */
	struct sl_plan plan;
};

struct sl_joint_curve {
	struct sl_joint_point points[SL_JOINT_POINTS];
	uint32_t n; /* at least 1 */
	uint32_t at; /* of the present split */
	uint32_t kept; /* of the best one so far */
	uint32_t like; /* the first job with this very curve: they are treated alike */
	uint32_t count; /* jobs with this curve, in the first one; else 0 */
};

struct sl_joint_part {
	struct sl_joint_job *job;
	struct sl_trace view; /* of the job's trace, with its share of the links */
	struct sl_trace_link *links; /* of view */
	double weight, share, planned_share;
	uint64_t most_bytes; /* beyond them nothing is gained */
	uint64_t seeds[SL_JOINT_SEEDS];
	bool moves;
	struct sl_joint_curve curve;
};

/*
 * joint_curve.c
 */
/* Quick plans at all points within budget, up to the first without any loss. */
SL_NODISCARD sl_status sl_joint_draw(
	struct sl_joint_part *p, const struct sl_policy_choice *quick, uint64_t budget);
/* A plan at the point `at` by the full choice, or the quick one should it be better. */
SL_NODISCARD sl_status sl_joint_fill(struct sl_joint_part *p,
	const struct sl_policy_choice *full, const struct sl_policy_choice *quick);
/* Guesses `slow` of points without a plan from those that have one. */
void sl_joint_guess(struct sl_joint_part *p);
/* Whether a plan copies bytes over links. */
bool sl_joint_moves(const struct sl_plan *p);
void sl_joint_curve_finish(struct sl_joint_curve *c);
double sl_joint_slow(const struct sl_joint_part *p, uint64_t iter_ns);

/*
 * joint_split.c
 */
/* Finds curves that are the same. */
void sl_joint_group(struct sl_joint_part *parts, size_t n);
/* Chooses a point for every curve; the sum of the first ones is within the budget. */
void sl_joint_split(struct sl_joint_part *parts, size_t n, uint64_t budget);
/* The last point within the seed for every curve; false if there is none. */
bool sl_joint_split_plainly(
	struct sl_joint_part *parts, size_t n, enum sl_joint_seed seed);
/* How much slowness falls for a byte between two points. */
double sl_joint_gain(const struct sl_joint_curve *c, uint32_t from, uint32_t to);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLAN_CHECK_INT_H
#define SL_MEMORY_PLAN_CHECK_INT_H

#include "memory/plan.h"
#include "memory/plan_ranges_int.h"

#define SL_CHECK_MAX_TIERS 8

/* Position in an iteration as one number that grows: op, then before, run or after it,
 * then action. */
enum sl_check_moment { SL_CHECK_BEFORE, SL_CHECK_RUN, SL_CHECK_AFTER, SL_CHECK_MOMENTS };

static inline uint64_t sl_check_position(
	uint32_t op, enum sl_check_moment moment, uint32_t action)
{
	return ((uint64_t)op * SL_CHECK_MOMENTS + moment + 1) << 32 | action;
}

/* Consecutive recompute lines: actions [first, first + n) of the plan. */
struct sl_check_group {
	uint32_t op;
	uint32_t first, n;
	uint64_t position;
};

/* What the checker knows at a position. Values are roots. Content is known by the op that
 * wrote it last, SL_NO_ID for the start of the iteration; every write makes the copies
 * below stale, so that all copies of a value have one content. */
struct sl_plan_checker {
	const struct sl_trace *t;
	const struct sl_plan *p;
	struct sl_ranges device; /* owners: value, or n_values + op (workspace) */
	struct sl_ranges tiers[SL_CHECK_MAX_TIERS]; /* owners: value */
	uint64_t *at; /* [n_values] device offset or SL_NO_OFFSET */
	uint64_t *slot; /* [n_tiers][n_values] offset of a current copy or SL_NO_OFFSET */
	uint64_t *last_use; /* [n_values] position of the last access; 0: none */
	uint32_t *content; /* [n_values] of what is on the device and below */
	uint32_t *writer; /* [n_values] the op that writes it last in an iteration */
	uint32_t *birth; /* [n_values] first op with it in `out`; SL_NO_ID: persistent */
	/* For each op the contents that it needs of in, mutates and out, in this order,
	 * at need[need_first[op]] and on. */
	size_t *need_first; /* [n_ops + 1] */
	uint32_t *need;
	uint8_t *alive; /* [n_values] */
	uint8_t *started; /* [n_values] bit 0: has a start line, bit 1: one for the device
			   */
	uint32_t next; /* action */
	uint64_t budget;
	uint64_t peak;
};

/* Tables and the state at the start of the iteration. */
SL_NODISCARD sl_status sl_plan_checker_begin(struct sl_plan_checker *c);
/* The end equals the start. */
SL_NODISCARD sl_status sl_plan_checker_end(const struct sl_plan_checker *c);
void sl_plan_checker_finish(struct sl_plan_checker *c);

/* Occupies device bytes [offset, offset + bytes) for owner; moves the peak. */
SL_NODISCARD sl_status sl_plan_checker_hold(
	struct sl_plan_checker *c, uint32_t owner, uint64_t offset, uint64_t bytes);
/* Records a current copy of v in a tier, over its bytes there. */
SL_NODISCARD sl_status sl_plan_checker_copy(
	struct sl_plan_checker *c, uint32_t v, uint32_t tier, uint64_t offset);
/* Fills last_use, content, writer, birth and need; plan_check_need.c. */
SL_NODISCARD sl_status sl_plan_checker_uses(struct sl_plan_checker *c);
/* plan_check_run.c: op in its turn, or again. */
SL_NODISCARD sl_status sl_plan_checker_run(struct sl_plan_checker *c, uint32_t op);
SL_NODISCARD sl_status sl_plan_checker_again(
	struct sl_plan_checker *c, const struct sl_check_group *g);
/* a is for this iteration and names a root that lives and may move. */
SL_NODISCARD sl_status sl_plan_checker_names(
	const struct sl_plan_checker *c, const struct sl_action *a);
/* v is off the device. */
void sl_plan_checker_leave(struct sl_plan_checker *c, uint32_t v);
SL_NODISCARD sl_status sl_plan_checker_resident(
	const struct sl_plan_checker *c, uint32_t v);
/* Forgets every copy of v below the device. */
void sl_plan_checker_stale(struct sl_plan_checker *c, uint32_t v);

#endif

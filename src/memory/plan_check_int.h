/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLAN_CHECK_INT_H
#define SL_MEMORY_PLAN_CHECK_INT_H

#include "memory/plan.h"
#include "memory/plan_ranges_int.h"

#define SL_CHECK_MAX_TIERS 8

/* What the checker knows at a position. Values are roots; a value on the device is
 * current there. */
struct sl_plan_checker {
	const struct sl_trace *t;
	const struct sl_plan *p;
	struct sl_ranges device; /* owners: value, or n_values + op (workspace) */
	struct sl_ranges tiers[SL_CHECK_MAX_TIERS]; /* owners: value */
	uint64_t *at; /* [n_values] device offset or SL_NO_OFFSET */
	uint64_t *slot; /* [n_tiers][n_values] offset of a current copy or SL_NO_OFFSET */
	uint32_t *last_use; /* [n_values] last op that touches the root; SL_NO_ID: none */
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
/* Forgets every copy of v below the device. */
void sl_plan_checker_stale(struct sl_plan_checker *c, uint32_t v);

#endif

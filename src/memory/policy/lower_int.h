/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_LOWER_INT_H
#define SL_MEMORY_POLICY_LOWER_INT_H

#include "memory/place.h"
#include "memory/policy/gaps.h"

/* What lower.c (stays, addresses) and lower_emit.c (actions) share. */
struct sl_lower_owner;

struct sl_lowerer {
	struct sl_gaps *g;
	const struct sl_redo *redo;
	struct sl_plan plan;
	struct sl_place_item *items;
	struct sl_lower_owner *owners;
	size_t n, cap_items, cap_owners;
	uint64_t *home; /* [n_values] */
	uint64_t base; /* end of what never leaves */
	uint64_t *slot; /* [n_values] in the tier, or SL_NO_OFFSET */
	uint64_t *landing; /* [gaps] where a value lands after its gap */
	uint64_t *again_at; /* [births] of temporary ones */
	uint64_t *redo_workspace; /* [runs] */
	uint32_t *time; /* [n_ops + 1] the first of each op */
	uint32_t *born_at; /* [gaps] of REDO: time of the run that bears its value */
	uint32_t *last_again; /* [n_values] last run that touches it, + 1 */
};

/* Persistent, with a gap over the boundary: its last. */
static inline bool sl_lower_lasting(const struct sl_lowerer *l, uint32_t v)
{
	return sl_class_persistent(l->g->t->values[v].cls) &&
	       l->g->first[v] < l->g->first[v + 1];
}

static inline const struct sl_gap *sl_lower_wrap(const struct sl_lowerer *l, uint32_t v)
{
	return &l->g->gaps[l->g->first[v + 1] - 1];
}

/* The gap that a value's redoing before op ends. */
uint32_t sl_lower_gap_of_birth(
	const struct sl_lowerer *l, uint32_t op, const struct sl_redo_birth *b);

/* Adds the actions and start lines; offsets and slots are there. */
SL_NODISCARD sl_status sl_lower_emit(struct sl_lowerer *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_BELADY_INT_H
#define SL_MEMORY_POLICY_BELADY_INT_H

#include "memory/place.h"
#include "memory/plan.h"
#include "memory/policy/reach.h"
#include "memory/pool.h"

/* What does not change between simulations. Arrays are [n_values], for roots. */
struct sl_belady_env {
	const struct sl_trace *t;
	struct sl_trace_index x;
	uint64_t budget; /* whole pages */
	uint64_t fixed_bytes; /* [0, fixed_bytes) holds what cannot move */
	uint64_t *fixed; /* address of what cannot move, else SL_NO_OFFSET */
	bool *written; /* by any op */
	struct sl_reach tiers[SL_REACH_MAX]; /* fastest first */
	uint32_t n_tiers;
	size_t max_touched; /* values of one op, with its workspace */
};

enum sl_belady_item_kind { SL_BELADY_ARRIVES, SL_BELADY_BORN, SL_BELADY_WORKSPACE };

/* Something that an op needs a place for. */
struct sl_belady_item {
	enum sl_belady_item_kind kind;
	uint32_t owner; /* value, or op of a workspace */
	uint64_t bytes, align, offset;
};

/*
 * FARTHEST evicts one by one by next use; WINDOW evicts neighbours that make one hole;
 * RUNS does so too and slides values together only where that moves no more bytes than it
 * wins.
 */
enum sl_belady_style {
	SL_BELADY_FARTHEST,
	SL_BELADY_WINDOW,
	SL_BELADY_RUNS,
	SL_BELADY_STYLES
};

/* One simulated iteration, writing a plan as it goes. Arrays are [n_values]. */
struct sl_belady_sim {
	const struct sl_belady_env *env;
	struct sl_plan plan;
	struct sl_pool device;
	struct sl_pool tiers[SL_REACH_MAX];
	enum sl_belady_style style;
	const uint64_t *home; /* at the boundary; SL_NO_OFFSET: below */
	uint64_t *at; /* device offset or SL_NO_OFFSET */
	uint64_t *slot; /* offset in its tier or SL_NO_OFFSET */
	uint8_t *slot_tier; /* index into env->tiers */
	bool *clean; /* the copy in the slot is current */
	bool *evicted; /* at least once in this iteration */
	uint32_t *next; /* index of the next use in env->x.uses */
	uint32_t *touched; /* op + 1 that touched it last */
	uint32_t *residents; /* movable values on the device, by offset */
	uint32_t n_residents;
	struct sl_belady_item *items; /* of the op under way */
	size_t n_items;
	uint32_t op;
	enum sl_phase phase;
	uint64_t out_bytes, in_bytes, move_bytes;
};

/* belady_state.c: beginning, and the four things that can happen to a value. */
SL_NODISCARD sl_status sl_belady_begin(struct sl_belady_sim *s,
	const struct sl_belady_env *env, const uint64_t *home,
	enum sl_belady_style style);
void sl_belady_finish(struct sl_belady_sim *s);
void sl_belady_enter(
	struct sl_belady_sim *s, uint32_t v, uint64_t offset); /* bytes are taken */
SL_NODISCARD sl_status sl_belady_evict(struct sl_belady_sim *s, uint32_t v);
SL_NODISCARD sl_status sl_belady_arrive(
	struct sl_belady_sim *s, uint32_t v, uint64_t offset);
SL_NODISCARD sl_status sl_belady_move(
	struct sl_belady_sim *s, uint32_t v, uint64_t offset);
SL_NODISCARD sl_status sl_belady_bury(struct sl_belady_sim *s, uint32_t v);
/* Op of the next use, going round the boundary for persistent values. */
uint64_t sl_belady_next_use(const struct sl_belady_sim *s, uint32_t v);

/* belady_room.c: gives every item of s->items an offset and takes its bytes. */
SL_NODISCARD sl_status sl_belady_make_room(struct sl_belady_sim *s);

/* belady_sim.c: the ops of the iteration, s being begun; then the way back to its start.
 */
SL_NODISCARD sl_status sl_belady_run(struct sl_belady_sim *s);
SL_NODISCARD sl_status sl_belady_restore(struct sl_belady_sim *s);

/* belady_hoist.c: copies out and in as early as their bytes allow. */
SL_NODISCARD sl_status sl_belady_hoist(
	const struct sl_belady_env *env, struct sl_plan *p);

#endif

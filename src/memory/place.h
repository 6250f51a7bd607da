/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_H
#define SL_MEMORY_PLACE_H

#include "base/units.h"
#include "memory/trace.h"

/*
 * Offline address assignment (dynamic storage allocation): every lifetime is known,
 * nothing moves.
 *
 * Item i is live at the times [first, last], both included, and wants `bytes` at a
 * multiple of `align`. Two items conflict if their times meet. Gives every item an offset
 * of at least `base` so that items in conflict are disjoint, and *out_height, the highest
 * end (base when there is none). Several greedy orders are tried and the lowest result is
 * kept; the height is at least base + sl_place_load(). Deterministic. Fails with
 * SL_E_NOMEM only.
 */
struct sl_place_item {
	uint32_t first, last;
	uint64_t bytes;
	uint64_t align; /* power of two */
	uint64_t offset; /* the result */
};

SL_NODISCARD sl_status sl_place(
	struct sl_place_item *items, size_t n, uint64_t base, uint64_t *out_height);
/* The most bytes live at one time: no assignment is lower. */
SL_NODISCARD sl_status sl_place_load(
	const struct sl_place_item *items, size_t n, uint64_t *out);

/* Sizes in steps of the alignment, so that a set sorted by alignment packs without gaps.
 */
#define SL_PAGE_BYTES ((uint64_t)4096)
static inline uint64_t sl_room_value(const struct sl_trace_value *v)
{
	return sl_align_up(v->bytes, v->align);
}

/* Workspaces have no alignment of their own in the trace: a page for big ones, else a
 * line. */
static inline uint64_t sl_room_workspace_align(uint64_t bytes)
{
	return bytes >= SL_PAGE_BYTES ? SL_PAGE_BYTES : 64;
}

static inline uint64_t sl_room_workspace(const struct sl_trace_op *op)
{
	return sl_align_up(
		op->workspace_bytes, sl_room_workspace_align(op->workspace_bytes));
}

/* Values whose address cannot change while they live. */
static inline bool sl_value_fixed(const struct sl_trace_value *v)
{
	return v->immovable || v->external;
}

#endif

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
 * multiple of `align`. Two items conflict if their times meet outside
 * their gaps. Items in conflict get disjoint ranges of addresses; *out_height is the
 * highest end (base when there is none). Deterministic. With a fixed item the offset is
 * given and kept.
 */
struct sl_place_gap {
	uint32_t first, last; /* the buffer lives on, but at these times holds nothing */
};

struct sl_place_item {
	uint32_t first, last;
	const struct sl_place_gap *gaps; /* borrowed; in order, apart, within the life */
	uint32_t n_gaps;
	uint64_t bytes;
	uint64_t align; /* power of two */
	uint64_t offset; /* the result; given when fixed */
	bool fixed;
};

/* The sizes add up to at most this; so do those of the items that are not fixed, each
 * with its alignment less one, and the higher one of the base and the fixed items' top.
 */
#define SL_PLACE_MAX_BYTES ((uint64_t)1 << 63)

enum sl_place_effort {
	SL_PLACE_ONE, /* largest first; near n log n */
	SL_PLACE_FAMILY, /* several orders, the lowest height kept */
	SL_PLACE_IMPROVE, /* and bounded searches, some 30 ms of them */
	SL_PLACE_SEARCH /* a second of them */
};

struct sl_place_opts {
	uint64_t base; /* no item that is not fixed lies below */
	uint64_t capacity; /* stop at the first height of at most this; 0: at the load */
	uint64_t hopeless; /* of a family: a first height above this ends it; 0: none does
			    */
	enum sl_place_effort effort;
};

/*
 * Fills the offsets. The height may be above the capacity: then none was found (the
 * caller compares; nothing is possible below base + sl_place_load()). Fails with
 * SL_E_NOMEM, and SL_E_INVALID if fixed items overlap or are not aligned or the sizes
 * pass SL_PLACE_MAX_BYTES; then the offsets are as before.
 */
SL_NODISCARD sl_status sl_place_with(const struct sl_place_opts *opts,
	struct sl_place_item *items, size_t n, uint64_t *out_height);
/* The family without a capacity. */
SL_NODISCARD sl_status sl_place(
	struct sl_place_item *items, size_t n, uint64_t base, uint64_t *out_height);
/* The most bytes live at one time: no assignment is lower. */
SL_NODISCARD sl_status sl_place_load(
	const struct sl_place_item *items, size_t n, uint64_t *out);

/* The independent check, n log n: *clash says whether two items share bytes while both
 * live, and pair which two come first in time. */
SL_NODISCARD sl_status sl_place_check(
	const struct sl_place_item *items, size_t n, bool *clash, size_t pair[2]);

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

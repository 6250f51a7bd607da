/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_GAPS_H
#define SL_MEMORY_POLICY_GAPS_H

#include "memory/plan.h"
#include "memory/policy/reach.h"

/*
 * What most policies decide: the fate of every value in every gap between two of its
 * uses. A policy fills in fates and, if it cares, the moments of the copies;
 * sl_gaps_lower turns that into a plan with addresses. Values are roots.
 *
 * 1. Gaps of a value stand in the order of its uses. A persistent value has one more,
 * from its last use round the boundary to its first (wraps); one that is never used has a
 * single gap with no ends that covers the whole iteration.
 * 2. In the gap (from_op, to_op), ends left out, a value with another fate than KEEP need
 * not lie on the device.
 * 3. leave is the op after which the value leaves; it is from_op. arrive is the op before
 * which it comes back, at most to_op; where a gap wraps, arrive counts from the start of
 * the iteration.
 */
enum sl_fate { SL_FATE_KEEP, SL_FATE_SWAP, SL_FATE_REDO };

struct sl_gap {
	uint32_t value;
	uint32_t from_op, to_op; /* SL_NO_ID: a value without uses */
	uint32_t arrive; /* of SWAP: its copy in is issued before this op */
	uint32_t hold; /* of SWAP: its bytes are reused from this op on (copy out over) */
	uint64_t delay_ns; /* of the copy out, after from_op */
	uint8_t fate; /* enum sl_fate */
	uint8_t tier; /* index into sl_gaps.tiers, of SWAP */
	bool wraps;
	bool dirty; /* a copy out is due when it is swapped (sl_gaps_dirt) */
};

struct sl_gaps {
	const struct sl_trace *t;
	struct sl_trace_index x;
	struct sl_gap *gaps;
	uint32_t *first; /* [n_values + 1] into gaps */
	uint32_t n;
	struct sl_reach tiers[SL_REACH_MAX]; /* fastest first */
	uint32_t n_tiers;
	uint64_t *start_ns; /* [n_ops + 1] when ops start if nothing stalls */
	uint32_t *writer; /* [uses of x] last op that wrote the value before this use, or
			     SL_NO_ID */
};

/* All fates KEEP. */
SL_NODISCARD sl_status sl_gaps_init(struct sl_gaps *g, const struct sl_trace *t);
void sl_gaps_finish(struct sl_gaps *g);
/* Copies fates and moments between two tables of one trace. */
void sl_gaps_copy(struct sl_gaps *to, const struct sl_gaps *from);

/* Whether v may leave the device at all. */
bool sl_gap_movable(const struct sl_gaps *g, const struct sl_gap *gap);
/* Duration of v's copy out / in on the links of its tier. */
uint64_t sl_gap_out_ns(const struct sl_gaps *g, const struct sl_gap *gap);
uint64_t sl_gap_in_ns(const struct sl_gaps *g, const struct sl_gap *gap);
/* Fills in `dirty` of all gaps from the fates. */
void sl_gaps_dirt(struct sl_gaps *g);

/* Bytes on the device while each op runs, workspace included, for the present fates and
 * moments; level is [n_ops]. What redoing needs besides is in `redo` [n_ops], the most
 * bytes on the device just before each op (0: nothing is done again there). */
SL_NODISCARD sl_status sl_gaps_levels(
	const struct sl_gaps *g, uint64_t *level, uint64_t *redo);

/*
 * Gives copies their moments: those out are held, those in are issued, as far from the
 * use as the channels need (booked on the time of start_ns, stretched by `slack_percent`)
 * and as `limit` bytes on the device allow.
 */
SL_NODISCARD sl_status sl_gaps_book(
	struct sl_gaps *g, uint64_t limit, unsigned slack_percent);

/*
 * The plan for the present fates and moments. *out_height is the arena it needs; above
 * `budget` the plan is left empty and the status is SL_OK. Fates that cannot be (a redo
 * whose inputs are gone, a tier that is full) are changed to ones that can.
 */
SL_NODISCARD sl_status sl_gaps_lower(struct sl_gaps *g, uint64_t budget,
	const char *policy, struct sl_plan *out, uint64_t *out_height);

#endif

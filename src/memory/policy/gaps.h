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
 * single gap without ends (SL_NO_ID) that covers the whole iteration.
 * 2. In the gap (from_op, to_op), ends left out, a value with another fate than KEEP need
 * not lie on the device: it leaves after from_op and is back before to_op.
 * 3. from_op <= leave < hold <= arrive <= due <= to_op; where a gap wraps, arrive counts
 * from the start of the iteration and hold to its end.
 */
enum sl_fate { SL_FATE_KEEP, SL_FATE_SWAP, SL_FATE_REDO };

struct sl_gap {
	uint32_t value;
	uint32_t from_op, to_op;
	uint32_t leave; /* it is given up after this op: from_op, or later if runs again
			   touch it meanwhile */
	uint32_t save; /* of SWAP: it is copied out after this op: from_op, or later, the
			* last write of the iteration before; then its bytes are kept
			* over the boundary and it leaves at once */
	uint32_t hold; /* of SWAP: its bytes are reused from this op on */
	uint32_t arrive; /* its copy in, or its redoing, is before this op */
	uint32_t due; /* of SWAP: it has to be there before this op */
	uint64_t delay_ns; /* of the copy out, after from_op */
	uint8_t fate; /* enum sl_fate */
	uint8_t tier; /* of SWAP: index into sl_gaps.tiers */
	uint8_t barred; /* bits of fates (1 << fate) that are not to be chosen */
	bool wraps;
	bool dirty; /* swapping it costs a copy out, too: see sl_gaps_dirt */
};

struct sl_gaps {
	const struct sl_trace *t;
	struct sl_trace_index x;
	struct sl_gap *gaps;
	uint32_t *first; /* [n_values + 1] into gaps */
	uint32_t n;
	struct sl_reach tiers[SL_REACH_MAX]; /* fastest first */
	uint32_t n_tiers;
	const uint8_t *prefer; /* [n_values] the tier where lowering looks for room first;
				  NULL (as at first): the fastest. Of the policy. */
	uint64_t
		*start_ns; /* [n_ops + 1] when ops start; at first as if nothing stalls */
	uint32_t *writer; /* [uses of x] the last op before this use that wrote the value,
			     or SL_NO_ID */
};

/* All fates KEEP. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_gaps_init(struct sl_gaps *g, const struct sl_trace *t);
void sl_gaps_finish(struct sl_gaps *g); /* zeroed: fine */

/* Whether the value of a gap may leave the device and there is something to gain. */
bool sl_gap_movable(const struct sl_gaps *g, const struct sl_gap *gap);
/* Whether it is copied out before the boundary, if it is dirty at all. */
static inline bool sl_gap_saved(const struct sl_gap *gap)
{
	return gap->fate == SL_FATE_SWAP && gap->from_op != SL_NO_ID &&
	       gap->save > gap->from_op;
}
/* How long its copies take on the links of its tier; 0 without tiers. */
uint64_t sl_gap_out_ns(const struct sl_gaps *g, const struct sl_gap *gap);
uint64_t sl_gap_in_ns(const struct sl_gaps *g, const struct sl_gap *gap);
/* The op that runs at ns of start_ns: the last one that starts by then. */
uint32_t sl_gaps_op_at(const struct sl_gaps *g, uint64_t ns);
/* The first op that starts at ns or later; n_ops: none. */
uint32_t sl_gaps_op_from(const struct sl_gaps *g, uint64_t ns);

/* Fills in `dirty` of all gaps: whether a copy below is current at from_op, by the fates
 * of the others. */
void sl_gaps_dirt(struct sl_gaps *g);
void sl_gaps_dirt_of(struct sl_gaps *g, uint32_t v); /* of v, that has gaps */
/* Fate KEEP for all, or a fate for one, with the latest arrival and no hold. */
void sl_gaps_reset(struct sl_gaps *g);
void sl_gap_set(struct sl_gap *gap, enum sl_fate fate);

/* Bytes on the device while each op runs, workspace included, for the present fates and
 * moments, without what redoing needs for a moment; level is [n_ops + 1], the
 * last one is work space. */
void sl_gaps_levels(const struct sl_gaps *g, uint64_t *level);

/*
 * redo.c: what has to run again. Runs of a position (before an op) stand in order; a run
 * is an op, and bears anew those of its values that are not on the device.
 */
struct sl_redo_run {
	uint32_t before_op;
	uint32_t op;
	uint32_t first_birth, n_births;
};
struct sl_redo_birth {
	uint32_t value;
	uint32_t last_run; /* that touches it, at this position or a later one */
	bool temporary; /* gone after last_run; else it stays until its next use */
	bool later; /* temporary, but it has uses later on */
};
struct sl_redo {
	struct sl_redo_run *runs;
	struct sl_redo_birth *births;
	uint32_t n_runs, n_births;
	size_t cap_runs, cap_births;
	uint64_t ns; /* all runs */
};
struct sl_redoer;
/* level (borrowed, [n_ops + 1], kept up to date) and limit: nothing is redone that needs
 * more bytes at a time; what is redone for another value before its own gap ends stays if
 * there is room for it. level NULL: for prices alone. */
SL_NODISCARD sl_status sl_redoer_create(
	struct sl_gaps *g, uint64_t *level, uint64_t limit, struct sl_redoer **out);
void sl_redoer_destroy(struct sl_redoer *r);
/* The runs that the REDO fates ask for. Gaps that cannot be redone, given the other
 * fates, get SWAP (KEEP without a tier) first. Borrowed from r until its next call. */
SL_NODISCARD sl_status sl_redoer_resolve(struct sl_redoer *r, const struct sl_redo **out);
/* What redoing one gap would take, given the other fates. */
struct sl_redo_price {
	uint64_t all_ns; /* of all its runs; UINT64_MAX: it cannot be */
	/* Without those for inputs that are redone for their own sake soon after: they
	 * stay, where there is room. */
	uint64_t own_ns;
	/* On the links: of inputs that were swapped out, once for each run that reads
	 * them. */
	uint64_t recall_ns;
};
/* Also impossible if there are several runs and they take longer than cap_ns. */
SL_NODISCARD sl_status sl_redoer_price_within(struct sl_redoer *r, struct sl_gap *gap,
	uint64_t cap_ns, struct sl_redo_price *out);
/* all_ns, without a cap. */
SL_NODISCARD sl_status sl_redoer_price(
	struct sl_redoer *r, struct sl_gap *gap, uint64_t *out_ns);

/*
 * book.c: gives copies their moments. Those out are held, those in are issued as far from
 * the use as the channels need (booked on start_ns, stretched by slack_percent) and as
 * `limit` bytes on the device allow. SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_gaps_book(
	struct sl_gaps *g, uint64_t limit, unsigned slack_percent, bool wire);

/*
 * lower.c: the plan for the present fates and moments; redo as resolved for them, NULL:
 * none. *out_height is the arena it needs; above `budget` out is left empty and the
 * status is SL_OK. SL_E_INFEASIBLE if the tiers cannot hold what leaves.
 */
SL_NODISCARD sl_status sl_gaps_lower(struct sl_gaps *g, const struct sl_redo *redo,
	uint64_t budget, const char *policy, struct sl_plan *out, uint64_t *out_height);
/* The price of that plan if addresses did not matter, far cheaper to have: the plan's own
 * is no lower. start_ns ([n_ops], may be NULL): when ops start then. */
SL_NODISCARD sl_status sl_gaps_bound(struct sl_gaps *g, const struct sl_redo *redo,
	struct sl_plan_price *out, uint64_t *start_ns);

#endif

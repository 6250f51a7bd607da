/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_AUTOSWAP_H
#define SL_MEMORY_POLICY_AUTOSWAP_H

#include "memory/policy/gaps.h"

/*
 * AutoSwap [autoswap]: of the pairs of accesses (p, q) with the peak between them, those
 * of the best score are swapped until the peak is within the limit. Scores, of what is
 * absent from p to q:
 *
 * - DOA, duration of absence: t_q - t_p less both copies, in ns
 * - AOA, area of absence: DOA x bytes, or DOA / bytes where DOA is negative
 * - WDOA, weighted by overload: the sum of load - limit over the ops between p and q
 * - SWDOA: WDOA anew after each choice, on the load that is left
 * - votes: the ranks by DOA, AOA and WDOA, added up
 */
enum sl_as_score {
	SL_AS_DOA,
	SL_AS_AOA,
	SL_AS_WDOA,
	SL_AS_SWDOA,
	SL_AS_VOTES,
	SL_AS_SCORES
};

struct sl_as_pair {
	struct sl_gap *gap;
	double doa, aoa, wdoa;
	double key; /* the score asked for, or the sum of ranks; largest first */
};

struct sl_as {
	struct sl_gaps *g;
	enum sl_as_score score;
	uint64_t floor_bytes; /* smaller values never leave */
	uint64_t limit;
	uint64_t *level; /* [n_ops + 1] the load, less what was chosen */
	double *sum; /* [n_ops + 1] of load - limit before an op */
	struct sl_as_pair *list; /* around the last peak, best first */
	size_t n;
	struct sl_gap **order; /* [gaps] work space of the schedule */
	uint64_t *ranks; /* [gaps] work space of votes */
};

SL_NODISCARD sl_status sl_as_init(struct sl_as *a, struct sl_gaps *g);
void sl_as_finish(struct sl_as *a); /* zeroed: fine */
/* The op of the most load, the first one of them. */
uint32_t sl_as_peak(const struct sl_as *a);
/* Lists and scores the pairs around it. */
void sl_as_list(struct sl_as *a, uint32_t peak);
/* Gives fates; the load is as if what leaves is away from use to use. False: nothing
 * more can leave and the limit is not met. */
bool sl_as_choose(struct sl_as *a);

/*
 * autoswap_time.c: when copies happen, one after the other in each direction: those out
 * as soon as they are ready, those in as late as they may. `stick`: an op waits for what
 * has to be out by then and copies in start no sooner than there is room, so the load is
 * within the limit; else what does not fit into its absence stays, nothing waits and the
 * load is what results.
 */
void sl_as_time(struct sl_as *a, bool stick);

/* autoswap.c: its own plan, without a net below; *out stays empty if none fits. */
SL_NODISCARD sl_status sl_as_search(struct sl_as *a, uint64_t budget, bool stick,
	const char *name, struct sl_plan *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_TENSILE_INT_H
#define SL_MEMORY_POLICY_TENSILE_INT_H

#include "memory/policy/gaps.h"

/* What tensile.c (the policy), tensile_search.c (points) and tensile_refine.c (single
 * gaps) share. */
struct sl_tensile {
	struct sl_gaps g;
	uint64_t *level; /* [n_ops + 1] */
	double *weight; /* [gaps] of swaps, as many copies are in each other's way */
	double *out_price, *in_price; /* [n_ops] of links by the hour; NULL: 1 */
	uint8_t *ahead; /* [n_values] as in struct sl_choice */
	uint64_t budget; /* whole pages */
	uint64_t asked; /* the budget as it was given, for messages */
	uint64_t total_ns; /* all ops once */
	struct sl_plan best;
	struct sl_plan_price best_price;
	uint64_t limit; /* of the best plan, where a point gave it */
	uint64_t fitted; /* limit of the last plan that fitted; 0: none did */
	uint64_t work; /* done so far, in choices */
	uint64_t point_ns; /* time of the best point so far */
	uint64_t randoms; /* drawn so far */
	bool found;
	bool hasty; /* rather fewer rounds than the last bytes */
	bool cross, redo; /* options */
};

/* A point of the search. */
struct sl_tensile_point {
	double link_price;
	double redo_cap; /* share of total_ns that one chain may take */
	double limit; /* share of the budget that fates and bookings fill; 0: as much as
		       * fits, a little more than the last time at first */
	double wire; /* 1: copies in are booked between those out on a half-duplex link */
	double late; /* 1: copies are booked by when ops start with all stalls */
	int rounds; /* at most so many limits, each lower than the last */
	double slack; /* by which copies in are early, over their own time */
	double cross, copy; /* as in struct sl_choice */
};

/* What a whole search is to do: options of the policies. */
struct sl_tensile_how {
	int effort; /* 0: a first plan; 1: many points; 2: single gaps, too */
	bool cross, redo; /* away over the boundary; runs again */
	bool clean; /* copies ahead of time, so that values are dropped later */
	bool simple; /* belady's plan is a candidate, and not only the net */
	bool alone; /* so is recomputation with the future known (ahead.h) */
};
/* The best plan that is found; *out stays empty if there is none. */
SL_NODISCARD sl_status sl_tensile_find(const struct sl_trace *t, uint64_t budget,
	const struct sl_tensile_how *how, struct sl_plan *out);

/* Takes p for the best if it is cheaper; *iter_ns: its time. */
SL_NODISCARD sl_status sl_tensile_offer(
	struct sl_tensile *s, struct sl_plan *p, uint64_t *iter_ns);
/* The time of the plan for a point, offered; UINT64_MAX: there is none. */
SL_NODISCARD sl_status sl_tensile_attempt(
	struct sl_tensile *s, const struct sl_tensile_point *at, uint64_t *iter_ns);
/* Many points, *at is the best of them; two points. */
SL_NODISCARD sl_status sl_tensile_search(
	struct sl_tensile *s, struct sl_tensile_point *at);
/* Some points around *at. */
SL_NODISCARD sl_status sl_tensile_wander(
	struct sl_tensile *s, struct sl_tensile_point *at, int steps);
/* Fewer bytes, where the best plan takes no time. */
SL_NODISCARD sl_status sl_tensile_thrift(
	struct sl_tensile *s, const struct sl_tensile_point *at);
SL_NODISCARD sl_status sl_tensile_search_quickly(struct sl_tensile *s);
/* Lets the best plan do without single gaps that cost it time; *at goes on. */
SL_NODISCARD sl_status sl_tensile_refine(
	struct sl_tensile *s, struct sl_tensile_point *at);

/* Saves parameters after their last write, where that lets them leave later at once. */
SL_NODISCARD sl_status sl_tensile_clean(
	struct sl_tensile *s, struct sl_tensile_point *at);
/* Finds what the links cost by the hour; with that, parameters are saved after their
 * last write where that lets them leave later at once. */
SL_NODISCARD sl_status sl_tensile_hours(
	struct sl_tensile *s, struct sl_tensile_point *at);

#endif

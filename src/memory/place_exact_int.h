/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_EXACT_INT_H
#define SL_MEMORY_PLACE_EXACT_INT_H

#include "memory/place_exact.h"

/*
 * Sizes and addresses count in units: what divides them all. Sections are the largest
 * sets of items that live at one time, in order of time; an item lives in one range of
 * them, or in several if its lifetime has gaps.
 */
#define SL_PX_MOST ((uint32_t)1 << 30) /* units of a target */
#define SL_PX_NEVER UINT32_MAX

struct sl_px_range {
	uint32_t first, last;
};

struct sl_px_item {
	uint32_t bytes, align;
	uint32_t first, last; /* sections, gaps included */
	uint32_t range, ranges; /* begin and end among x->ranges */
	uint32_t alike; /* the first item of the same ranges, if it may change places */
	uint32_t source; /* the item of the caller */
	uint32_t at; /* fixed ones */
	bool fixed;
	double life, area, load, meets;
};

struct sl_place_exact {
	uint32_t n, n_sections, n_fixed, n_ranges;
	uint64_t unit;
	uint32_t start; /* the base */
	uint64_t load; /* units */
	bool rounded; /* sizes are rounded up: nothing is proved */
	bool plain; /* no alignments, nothing fixed */
	struct sl_px_item *items; /* free ones first, then fixed ones by falling offset */
	struct sl_px_range *ranges;
	uint32_t *neighbours,
		*begin; /* free ones that meet item i: begin[i], begin[i + 1]
			 */
	uint64_t *total; /* bytes of the free items of each section */
	uint32_t *crossing; /* free items that live in it and in the next */
	const struct sl_place_item *caller;
	size_t caller_n;
	uint64_t base; /* in bytes */
};

#define SL_PX_FAILED_BITS 18 /* of the index into the table of states that failed */

/* How a run chooses where to place next. */
enum sl_px_pick {
	SL_PX_LOWEST, /* the lowest address */
	SL_PX_FEWEST, /* the section with the fewest items that could come next */
	SL_PX_WEIGHED, /* the same, over how often it made branches fail */
	SL_PX_LOW_FEW /* the lowest address, then the fewest items */
};

struct sl_px_undo {
	uint32_t item, floor, refused;
};

struct sl_px_ranked {
	double key[3];
	uint32_t item;
};

struct sl_place_worker {
	const struct sl_place_exact *x;
	/* Of items. An unplaced one cannot lie below its floor; if its floor is refused,
	 * it cannot lie there either: what follows from that is in `least`. */
	uint32_t *floor, *refused, *least, *rank, *offset;
	bool *placed, *ready;
	/* of sections */
	uint32_t *left, *crossing, *sum, *lowest, *choices;
	double *weight;
	struct sl_px_undo *trail;
	size_t n_trail;
	struct sl_px_ranked *ranked;
	uint32_t *lists;
	uint64_t *failed; /* hashes of states without a solution */
	uint64_t salt;
	enum sl_px_pick pick;
	uint32_t target, culprit;
	uint64_t nodes, most;
	const struct sl_place_run *run;
	bool stopped;
};

/* The items left of a part, sections a to b. */
struct sl_px_part {
	uint32_t *list, n, a, b;
};

/* Whether two items live in a section together. */
bool sl_px_meet(const struct sl_place_exact *x, const struct sl_px_item *a,
	const struct sl_px_item *b);
/* The lowest address from `at` on that is aligned and free of fixed items. */
uint32_t sl_px_settle(const struct sl_place_exact *x, uint32_t item, uint64_t at);
/* False if some section cannot hold what is left of it; sorts the list by falling
 * `least`. */
bool sl_px_bound(struct sl_place_worker *w, struct sl_px_part *p);
/* The item to place next at its floor, or SL_PX_NEVER. */
uint32_t sl_px_choose(struct sl_place_worker *w, const struct sl_px_part *p);
/* Ranks, pick and allowance of a run. */
void sl_px_strategy(struct sl_place_worker *w, uint32_t index);

#endif

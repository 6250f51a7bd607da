/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_DIVE_INT_H
#define SL_MEMORY_PLACE_DIVE_INT_H

#include "memory/place_int.h"

enum sl_dive_end { SL_DIVE_FOUND, SL_DIVE_NONE, SL_DIVE_STOPPED };

struct sl_dive_item {
	uint64_t bytes, align;
	uint64_t floor; /* the lowest address that what is below leaves */
	uint64_t offset;
	uint32_t first, last; /* sections */
	uint32_t next, prev; /* of those not placed, by rank */
	uint32_t rank;
	bool idle; /* fixed or empty: not searched */
};

struct sl_dive_section {
	uint64_t left; /* bytes not placed */
	uint64_t lowest; /* floor of them */
	uint32_t crossing; /* items not placed that live here and in the next section */
};

struct sl_dive_undo {
	uint32_t item;
	bool placement;
	uint64_t floor;
};

struct sl_dive {
	struct sl_place_work *w;
	struct sl_dive_item *items; /* items[n]: head of the list */
	uint32_t n, n_sections;
	uint32_t *neighbours, *begin; /* of item i: from begin[i] to begin[i + 1] */
	uint32_t *fixed, n_fixed; /* by offset */
	struct sl_dive_section *sections, *fresh;
	uint64_t *contention; /* of each item: the most bytes live in its time */
	struct sl_dive_undo *trail;
	size_t n_trail;
	uint64_t target;
	sl_place_steps steps;
};

/* Searches up to the target for at most `slice` steps, which d->steps counts down; ranks
 * by the given order of the items; a find is kept in d->w. */
enum sl_dive_end sl_dive_try(
	struct sl_dive *d, const uint32_t *order, uint64_t target, sl_place_steps slice);

#endif

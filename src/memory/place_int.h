/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_INT_H
#define SL_MEMORY_PLACE_INT_H

#include "memory/place.h"

/* An instance being placed, and the best assignment so far. */
struct sl_place_work {
	const struct sl_place_item *items;
	size_t n;
	uint64_t base;
	uint64_t bound; /* no height is below it */
	uint64_t goal; /* a height that ends the search: the bound, or a capacity */
	uint64_t hopeless; /* as in struct sl_place_opts */
	bool any_fixed;
	uint32_t *order; /* room for n */
	uint64_t *offsets; /* of the attempt under way */
	uint64_t *best;
	uint64_t best_height;
};

/* Up to so many items are scanned, which also knows the tightest gap. */
#define SL_PLACE_MAX_SCANNED 6000

/* What an attempt may still cost, in steps of inner loops (about a nanosecond each): the
 * same everywhere, which a clock is not. */
typedef int64_t sl_place_steps;

void sl_place_keep(struct sl_place_work *w, uint64_t height);

/*
 * First fit in a given order: each item at the lowest address that no item placed before
 * takes while it lives (or at the tightest gap, if few). Fixed items come first whatever
 * the order says.
 */
struct sl_place_fit;
SL_NODISCARD sl_status sl_place_fit_new(
	const struct sl_place_work *w, struct sl_place_fit **out);
void sl_place_fit_free(struct sl_place_fit *f);
/* *height is UINT64_MAX if it would not be below w->best_height. Fills w->offsets. */
SL_NODISCARD sl_status sl_place_fit_run(struct sl_place_fit *f,
	const struct sl_place_work *w, bool tightest, uint64_t *height);

/* Which addresses are taken at which times, for many items: both calls cost about
 * log^2. */
struct sl_place_map;
SL_NODISCARD sl_status sl_place_map_new(
	const struct sl_place_work *w, struct sl_place_map **out);
void sl_place_map_free(struct sl_place_map *m);
void sl_place_map_clear(struct sl_place_map *m);
uint64_t sl_place_map_lowest(
	struct sl_place_map *m, const struct sl_place_item *it, uint64_t base);
SL_NODISCARD sl_status sl_place_map_take(
	struct sl_place_map *m, const struct sl_place_item *it, uint64_t offset);

/* Depth-first searches for heights between the goal and the best one. */
SL_NODISCARD sl_status sl_place_dive(struct sl_place_work *w, sl_place_steps steps);

/* Births and deaths in order of time; deaths of time t come after its births. The caller
 * frees them. */
struct sl_place_event {
	uint32_t time;
	uint32_t item;
	bool birth;
};
SL_NODISCARD sl_status sl_place_events(
	const struct sl_place_item *items, size_t n, struct sl_place_event **out);
/* The distinct times at which items begin are the sections; item i lives from section
 * ranges[2 i] to ranges[2 i + 1]. The caller frees ranges. */
SL_NODISCARD sl_status sl_place_sections(
	const struct sl_place_item *items, size_t n, uint32_t **ranges, uint32_t *count);

/* Items without gaps, a piece of a life each, in the order of their owners. */
struct sl_place_pieces {
	struct sl_place_item *items;
	uint32_t *owners;
	size_t n;
};
bool sl_place_has_gaps(const struct sl_place_item *items, size_t n);
SL_NODISCARD sl_status sl_place_pieces_make(
	const struct sl_place_item *items, size_t n, struct sl_place_pieces *p);
void sl_place_pieces_finish(struct sl_place_pieces *p);

#endif

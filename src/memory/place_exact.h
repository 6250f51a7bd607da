/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_EXACT_H
#define SL_MEMORY_PLACE_EXACT_H

#include "memory/place.h"

/*
 * Exact placement: whether items can be placed up to a target height, by search.
 *
 * A search is a sequence of runs, 0, 1, 2, ...: each is a strategy with an allowance of
 * nodes that doubles from round to round. A run is a pure function of the instance, the
 * target and its index, so runs may go on at the same time, and the answer of the lowest
 * index that has one is the same whoever ran them. Neither the order of the items nor the
 * direction of time makes a difference.
 */
#define SL_PLACE_EXACT_ITEMS 1000

/* An instance made ready; constant, may be shared by threads. */
struct sl_place_exact;
/* What one run at a time works in. */
struct sl_place_worker;

enum sl_place_answer {
	SL_PLACE_FOUND,
	SL_PLACE_NONE, /* proved: no placement is that low */
	SL_PLACE_STOPPED /* the run's allowance is spent, or it was told to stop */
};

struct sl_place_run {
	uint64_t target;
	uint32_t index;
	uint64_t most_nodes; /* beyond the run's own allowance; 0: no matter */
	bool (*stop)(void *ctx); /* asked now and then, or NULL */
	void *ctx;
	/* results */
	enum sl_place_answer answer;
	uint64_t nodes;
	uint64_t height;
};

/* *out is NULL for more items than SL_PLACE_EXACT_ITEMS or with too many meetings. The
 * items are borrowed; `highest` is the highest target that will be asked for. */
SL_NODISCARD sl_status sl_place_exact_new(const struct sl_place_item *items, size_t n,
	uint64_t base, uint64_t highest, struct sl_place_exact **out);
void sl_place_exact_free(struct sl_place_exact *x);
SL_NODISCARD sl_status sl_place_worker_new(
	const struct sl_place_exact *x, struct sl_place_worker **out);
void sl_place_worker_free(struct sl_place_worker *w);

/* How many runs, from 0 on, have so many nodes between them; at least one. */
uint32_t sl_place_runs(const struct sl_place_exact *x, uint64_t nodes);
/* The nodes that run `index` may spend; it has spent them all if it was stopped by that.
 */
uint64_t sl_place_allowance(const struct sl_place_exact *x, uint32_t index);
/* Fills the results and, where found, offsets[n]. */
void sl_place_run(struct sl_place_worker *w, struct sl_place_run *run, uint64_t *offsets);

#endif

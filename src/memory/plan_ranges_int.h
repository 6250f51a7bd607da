/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLAN_RANGES_INT_H
#define SL_MEMORY_PLAN_RANGES_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * A set of disjoint byte ranges whose possible starts are all known in advance: the
 * checker's own book of who holds which bytes, independent of the planners' pool. Starts
 * are ranked; a bitmap of bitmaps finds the neighbours of a rank in a few steps whatever
 * the size.
 */
#define SL_RANGES_LEVELS 6

struct sl_ranges {
	uint64_t *starts; /* sorted, unique */
	uint64_t *ends; /* of the range at that rank, while set */
	uint32_t *owners;
	size_t n;
	uint64_t *bits[SL_RANGES_LEVELS];
};

/* Takes no ownership of starts (any order, duplicates allowed). */
SL_NODISCARD sl_status sl_ranges_init(
	struct sl_ranges *r, const uint64_t *starts, size_t n);
void sl_ranges_finish(struct sl_ranges *r);
/*
 * Adds [start, end); start is one of those given at init. False, with the owner that is
 * in the way, if bytes of it are held already.
 */
bool sl_ranges_add(struct sl_ranges *r, uint64_t start, uint64_t end, uint32_t owner,
	uint32_t *out_clash);
void sl_ranges_remove(struct sl_ranges *r, uint64_t start);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POOL_H
#define SL_MEMORY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Which bytes of [0, size) are taken: a list of holes by offset. It touches no memory;
 * planners use it for the device and for the tiers.
 *
 *   free --alloc, take--> taken --give--> free
 *
 * 1. Holes are disjoint, ascending, never empty, and never touch each other.
 * 2. free_bytes is the sum of the holes.
 */
struct sl_pool_hole {
	uint64_t offset, bytes;
};

struct sl_pool {
	struct sl_pool_hole *holes;
	size_t n, cap;
	uint64_t size;
	uint64_t free_bytes;
};

enum sl_pool_end { SL_POOL_LOW, SL_POOL_HIGH };

#define SL_POOL_NONE UINT64_MAX

SL_NODISCARD sl_status sl_pool_init(struct sl_pool *p, uint64_t size);
void sl_pool_finish(struct sl_pool *p);
/*
 * Takes bytes > 0 at a multiple of align (a power of two) from the smallest hole that can
 * hold them; among equals the lowest (or highest), and at the low (or high) end of it.
 * *out is SL_POOL_NONE if no hole fits: that is no failure.
 */
SL_NODISCARD sl_status sl_pool_alloc(struct sl_pool *p, uint64_t bytes, uint64_t align,
	enum sl_pool_end end, uint64_t *out);
bool sl_pool_is_free(const struct sl_pool *p, uint64_t offset, uint64_t bytes);
/* Takes exactly these bytes; SL_E_INVALID if some are taken. */
SL_NODISCARD sl_status sl_pool_take(struct sl_pool *p, uint64_t offset, uint64_t bytes);
/* Gives bytes back; SL_E_INVALID if some are free already. */
SL_NODISCARD sl_status sl_pool_give(struct sl_pool *p, uint64_t offset, uint64_t bytes);
uint64_t sl_pool_largest(const struct sl_pool *p);

#endif

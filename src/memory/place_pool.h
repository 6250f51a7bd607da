/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_PLACE_POOL_H
#define SL_MEMORY_PLACE_POOL_H

#include "memory/place.h"

/*
 * SmartPool [autoswap]: one iteration's allocations, known beforehand, packed into one
 * range by weighted interval colouring; and what a pool does that meets them one by one.
 *
 * A block lives at the times [first, last], both included. One that crosses lives from
 * first to the end of the iteration and then until last in the next one; it has two
 * places, as the next instance may come before the last one goes, and iterations use them
 * in turn.
 */
struct sl_place_block {
	uint32_t first, last;
	uint64_t bytes;
	uint64_t align; /* power of two */
	bool crosses;
	uint64_t offset, other; /* results; other: of one that crosses */
};

enum sl_place_rule { SL_PLACE_FIRST_FIT, SL_PLACE_BEST_FIT };

/* Those that cross first, then larger before smaller, then earlier ones. Quadratic.
 * SL_E_INVALID: sizes pass SL_PLACE_MAX_BYTES; SL_E_NOMEM. */
SL_NODISCARD sl_status sl_place_pool(struct sl_place_block *blocks, size_t n,
	enum sl_place_rule rule, uint64_t *out_height);

/* The height that a pool reaches at run time, each block placed as it comes, over as many
 * iterations as may still raise it (three). Sizes count in whole `grain` bytes. */
SL_NODISCARD sl_status sl_place_online(const struct sl_place_block *blocks, size_t n,
	enum sl_place_rule rule, uint64_t grain, uint64_t *out_height);

/* The most bytes that live at one time: no pool is lower. */
SL_NODISCARD sl_status sl_place_blocks_load(
	const struct sl_place_block *blocks, size_t n, uint64_t *out);

#endif

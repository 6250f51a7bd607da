/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_TIER_TIER_H
#define SL_MEMORY_TIER_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * A place below the device that holds copies: blocks of bytes at offsets that the plan chose.
 * put and get are synchronous and called from one copy thread a channel, so a tier must allow one
 * put and one get at the same time on disjoint ranges. What was put is checked when it comes back
 * (CRC-32C a 4 MiB block): a difference is SL_E_IO. Callers see the wrappers below only.
 */
struct sl_tier;
typedef sl_status (*sl_tier_put_fn)(struct sl_tier *t, uint64_t offset, const void *data, size_t len);
typedef sl_status (*sl_tier_get_fn)(struct sl_tier *t, uint64_t offset, void *data, size_t len);
typedef void (*sl_tier_destroy_fn)(struct sl_tier *t);

struct sl_tier_impl {
	const char *name;
	size_t align; /* of data, offset and len; 1 if none */
	sl_tier_put_fn put;
	sl_tier_get_fn get;
	sl_tier_destroy_fn destroy;
};

/* The base; an implementation has it as its first member. */
struct sl_tier {
	const struct sl_tier_impl *impl;
	uint64_t bytes;	     /* capacity */
	const char *warning; /* said once to the user, e.g. "O_DIRECT refused"; NULL: none */
};

size_t sl_tier_align(const struct sl_tier *t);
SL_NODISCARD sl_status sl_tier_put(struct sl_tier *t, uint64_t offset, const void *data, size_t len);
SL_NODISCARD sl_status sl_tier_get(struct sl_tier *t, uint64_t offset, void *data, size_t len);
void sl_tier_destroy(struct sl_tier *t); /* NULL is fine */

/* One unlinked file in `folder`, capped; tmpfs is SL_E_USAGE. O_DIRECT, io_uring or pread/pwrite. */
SL_NODISCARD sl_status sl_tier_disk_create(const char *folder, uint64_t bytes, struct sl_tier **out);
/* A second arena in the same DRAM. */
SL_NODISCARD sl_status sl_tier_host_create(uint64_t bytes, struct sl_tier **out);
/* Decorator for tests: the n-th put or get fails with `st` (0 = never). Takes `inner`. */
SL_NODISCARD sl_status sl_tier_fault_create(struct sl_tier *inner, long n, sl_status st,
	struct sl_tier **out);

#endif

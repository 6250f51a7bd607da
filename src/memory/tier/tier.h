/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_TIER_TIER_H
#define SL_MEMORY_TIER_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * A place below the device that holds copies: blocks of bytes at offsets that the plan
 * chose. put and get are synchronous and called from one copy thread a channel, so a tier
 * must allow one put and one get at the same time on disjoint ranges. The disk tier
 * checks what comes back against what was put (CRC-32C of each 4096-byte block): a
 * difference is SL_E_IO. Bytes that were never put read as zeros. Callers see the
 * wrappers below only.
 */
struct sl_tier;
typedef sl_status (*sl_tier_put_fn)(
	struct sl_tier *t, uint64_t offset, const void *data, size_t len);
typedef sl_status (*sl_tier_get_fn)(
	struct sl_tier *t, uint64_t offset, void *data, size_t len);
typedef void (*sl_tier_destroy_fn)(struct sl_tier *t);
typedef uint8_t *(*sl_tier_memory_fn)(struct sl_tier *t);

struct sl_tier_impl {
	const char *name;
	size_t align; /* of data, offset and len: a power of two, 1 if none */
	sl_tier_put_fn put;
	sl_tier_get_fn get;
	sl_tier_destroy_fn destroy;
	sl_tier_memory_fn memory; /* NULL: not memory of this machine */
};

/* The base; an implementation has it as its first member. */
struct sl_tier {
	const struct sl_tier_impl *impl;
	uint64_t bytes; /* capacity */
	const char
		*warning; /* said once to the user, e.g. "O_DIRECT refused"; NULL: none */
};

/* No tier has a stricter alignment than this. */
#define SL_TIER_MAX_ALIGN 4096u
/* Large transfers are cut into pieces of this size. */
#define SL_TIER_CHUNK_BYTES ((size_t)4 << 20)

size_t sl_tier_align(const struct sl_tier *t);
/* Outside the capacity or misaligned: SL_E_INVALID, nothing is touched. */
SL_NODISCARD sl_status sl_tier_put(
	struct sl_tier *t, uint64_t offset, const void *data, size_t len);
SL_NODISCARD sl_status sl_tier_get(
	struct sl_tier *t, uint64_t offset, void *data, size_t len);
/* Where the tier's bytes lie, for one that is memory of this machine; else NULL. Whoever
 * copies there keeps within its bytes, as put and get do. */
uint8_t *sl_tier_memory(struct sl_tier *t);
void sl_tier_destroy(struct sl_tier *t); /* NULL is fine */

/*
 * One unlinked file in `folder`, capped at `bytes` (rounded down to 4096). Space is taken
 * as it is written: a full disk is SL_E_NOSPACE at that put. O_DIRECT where the file
 * system has it, else buffered with the pages dropped at once and `warning` set;
 * io_uring, else pread and pwrite. tmpfs is SL_E_USAGE; a missing folder SL_E_NOT_FOUND;
 * one without write permission SL_E_WRITE.
 */
SL_NODISCARD sl_status sl_tier_disk_create(
	const char *folder, uint64_t bytes, struct sl_tier **out);
/* The same with a path forced, for tests. */
enum sl_tier_disk_flags {
	SL_TIER_DISK_BUFFERED = 1 << 0, /* as if O_DIRECT were refused */
	SL_TIER_DISK_NO_URING = 1 << 1, /* as if io_uring were missing */
};
SL_NODISCARD sl_status sl_tier_disk_create_forced(
	const char *folder, uint64_t bytes, unsigned flags, struct sl_tier **out);
/* A second arena in the same DRAM; its pages are taken as they are touched. */
SL_NODISCARD sl_status sl_tier_host_create(uint64_t bytes, struct sl_tier **out);
/* The same in memory that is borrowed. */
SL_NODISCARD sl_status sl_tier_host_over(
	void *memory, uint64_t bytes, struct sl_tier **out);
/*
 * Decorator for tests: the n-th put or get from now fails with `st` (0 = never). Takes
 * `inner` when it succeeds; on failure inner is still the caller's.
 */
SL_NODISCARD sl_status sl_tier_fault_create(
	struct sl_tier *inner, long n, sl_status st, struct sl_tier **out);

/* The table of tiers.def: what a user can name. */
struct sl_tier_kind {
	const char *name;
	const char *summary;
	sl_status (*create)(const char *folder, uint64_t bytes, struct sl_tier **out);
};
const struct sl_tier_kind *sl_tier_kind_at(size_t i); /* NULL past the end */
const struct sl_tier_kind *sl_tier_kind_find(const char *name); /* NULL if absent */

#endif

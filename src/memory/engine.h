/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_ENGINE_H
#define SL_MEMORY_ENGINE_H

#include "base/event.h"
#include "base/thread.h"
#include "memory/plan.h"
#include "memory/tier/tier.h"
#include "memory/wire.h"

/*
 * Carries a plan out: the only part of memory/ that touches the world. The executor calls
 * before/after around each op on one thread; copies run on one queue thread a channel.
 * The residency table (memory/residency.h) holds the state machine; this file moves the
 * bytes.
 *
 * 1. Device bytes are only ever inside [0, budget) of the arena handed in.
 * 2. before(op) returns when every value the op touches is resident and every byte that
 * its outputs and workspace will overwrite is free (no copy still reads or writes it).
 * 3. An op that the plan runs again is run by opts.again, from within before or after,
 * when the same holds for its values and its workspace.
 * 4. A copy that failed is reported by the next call, with the value's name; the engine
 * is then only good for destroying.
 */
struct sl_engine;

/* A copy that was issued: number 1, 2, ... of its channel. */
struct sl_engine_issue {
	uint32_t channel;
	bool in;
	uint64_t number;
	uint64_t bytes, delay_ns;
	const uint64_t *after; /* [n_channels] it waits for this number; 0: for none */
	uint32_t n_channels;
};

/*
 * Hears what the compute thread does, in an order that no timing changes: whether a copy
 * is over already makes no difference. For books of virtual time. Slots may not be NULL.
 */
struct sl_engine_watch {
	void *ctx;
	void (*issue)(void *ctx, const struct sl_engine_issue *copy);
	void (*wait)(void *ctx, uint32_t channel, uint64_t number);
	void (*move)(void *ctx, uint64_t bytes);
};

struct sl_engine_opts {
	uint8_t *arena; /* borrowed; budget bytes, 4096-aligned; with a wire never read */
	uint64_t arena_bytes;
	struct sl_tier *const
		*tiers; /* one for each tier of the traces, same order; borrowed */
	uint32_t n_tiers;
	struct sl_event_ring *events; /* may be NULL */
	/* The compute threads: they carry out copies between memories of this machine
	 * (engine_together.c), when they are all the cores there are. Borrowed; NULL: all
	 * copies run on queue threads. */
	struct sl_pool *pool;
	/* With `pool`, where arena and tiers that are memory are private anonymous memory
	 * of this process: whole units of so many bytes change places with those of a
	 * tier instead of being copied. A multiple of 4096, of SL_PAGES_HUGE to keep huge
	 * pages whole; 0: never. */
	uint64_t page_unit;
	/* Bounce bytes for values that are not whole 4096-byte blocks: offset in the
	 * arena of two 4096-byte blocks (one for each direction) that no plan may use, or
	 * SL_NO_OFFSET if the tiers need none. A trace may hold them as a value instead,
	 * so that plans place them: persistent, immovable, 8192 bytes, named "bounce",
	 * touched by no op; its place then counts and this field does not. */
	uint64_t bounce_offset;
	/* Runs op once more, on the compute thread: same kernel, same arguments. While it
	 * runs, sl_engine_offsets and sl_engine_workspace(e, op) say where this run's
	 * bytes are. NULL: plans that recompute are not adopted. */
	sl_status (*again)(void *ctx, uint32_t op);
	void *again_ctx;
	const struct sl_engine_watch *watch; /* borrowed; NULL: nobody */
	/* All copies go over it; then no pool, no watch and no delay. Within a step
	 * nothing is waited for: before(op) returns when the compute queue is behind all
	 * that invariant 2 names, and failures of copies show at the next settle.
	 * Borrowed; NULL: the arena is memory of the host. */
	const struct sl_engine_wire *wire;
	bool poison; /* tests: freed device bytes are filled with 0xAB */
	/* tests: called on the copy thread before each copy, to delay it; may be NULL */
	void (*delay)(void *ctx, uint32_t value);
	void *delay_ctx;
};

SL_NODISCARD sl_status sl_engine_create(
	const struct sl_engine_opts *opts, struct sl_engine **out);
void sl_engine_destroy(struct sl_engine *e); /* waits for copies under way */

/*
 * Makes (trace, plan) the current pair at an iteration boundary; both borrowed until the
 * next adopt or destroy. The first call starts with no contents: persistent values are
 * then written through sl_engine_write before the first step. A later call carries the
 * persistent values over, by ids: every trace of one engine begins with the same
 * persistent values in the same order.
 */
SL_NODISCARD sl_status sl_engine_adopt(
	struct sl_engine *e, const struct sl_trace *t, const struct sl_plan *p);

SL_NODISCARD sl_status sl_engine_before(struct sl_engine *e, uint32_t op);
SL_NODISCARD sl_status sl_engine_after(struct sl_engine *e, uint32_t op);
/* End of the iteration: waits for copies (over a wire: the compute queue does), checks
 * that the end equals the plan's start. */
SL_NODISCARD sl_status sl_engine_end_step(struct sl_engine *e);
/* Between steps: no copy is under way when it returns. Before the arena is somebody
 * else's for a while. */
SL_NODISCARD sl_status sl_engine_settle(struct sl_engine *e);

/* Device offset of each value now, SL_NO_OFFSET if not resident; valid until the next
 * adopt. */
const uint64_t *sl_engine_offsets(const struct sl_engine *e);
/* Device offset of the workspace of op, SL_NO_OFFSET if it has none; within opts.again
 * that of the run. */
uint64_t sl_engine_workspace(const struct sl_engine *e, uint32_t op);

/*
 * Persistent values at a boundary, wherever they lie: bytes [offset, offset + len) of v.
 * For values below the device the copy goes through a staging buffer of one tier block.
 */
SL_NODISCARD sl_status sl_engine_read(
	struct sl_engine *e, uint32_t v, uint64_t offset, void *data, size_t len);
SL_NODISCARD sl_status sl_engine_write(
	struct sl_engine *e, uint32_t v, uint64_t offset, const void *data, size_t len);

/* What the copies of a trace's link took, since create; between steps. */
struct sl_engine_link {
	uint64_t copies, bytes, ns;
};
void sl_engine_link(struct sl_engine *e, uint32_t link, struct sl_engine_link *out);

struct sl_engine_stats {
	uint64_t swap_out_bytes, swap_in_bytes, move_bytes; /* since create */
	uint64_t recompute_ops; /* runs of opts.again */
	uint64_t swap_ins, late_swap_ins; /* late: an op or a run again waited for it */
	uint64_t stall_ns; /* the compute thread waited for copies */
	uint64_t peak_device_bytes; /* highest arena byte ever in use */
	uint64_t peak_tier_bytes[8];
};
void sl_engine_stats(const struct sl_engine *e, struct sl_engine_stats *out);

#endif

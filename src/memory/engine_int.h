/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_ENGINE_INT_H
#define SL_MEMORY_ENGINE_INT_H

#include <pthread.h>

#include "memory/engine.h"
#include "memory/residency.h"

/*
 * The engine's parts, for engine*.c only.
 *
 *   thread          owns                                        shared, under `lock`
 *   compute         residency table, offsets, index, counters    issues copies
 *   copy (channel)  the copy it carries out                      done, failed, why
 *
 * 1. A copy is (channel, number); a channel carries its copies out in order, so "number n
 * is done" is `done >= n`, and a copy waits for others by one number for each other
 * channel.
 * 2. Whatever a copy waits for was issued before it: no cycle is possible.
 * 3. Two copies that touch the same bytes, one of them writing, are in one channel or the
 * later waits for the earlier; the compute thread waits in the same way before it
 * overwrites bytes.
 * 4. After a failure nothing is copied any more, but every copy still ends: nobody waits
 * for ever.
 * 5. A ring has room for all copies of a step, and end_step leaves it empty.
 */
#define SL_ENGINE_MAX_CHANNELS 16u
#define SL_ENGINE_SPARE_BYTES ((size_t)32 << 20)

/* Bytes [at, at + len) of a space: 0 is the device, k + 1 is tier k. */
struct sl_range {
	uint32_t space;
	uint64_t at;
	uint64_t len;
};

struct sl_copy {
	uint32_t value;
	bool in; /* tier to device; else device to tier */
	bool takes; /* nobody reads the bytes at `from` again; true of all copies out of
		     * what leaves */
	struct sl_range from, to;
	uint64_t bytes, delay_ns;
	uint64_t after[SL_ENGINE_MAX_CHANNELS]; /* per channel: this number must be done;
						   0: none */
};

/* Copies of neighbours to neighbours that are carried out as one. */
#define SL_ENGINE_MAX_HELD 8u
struct sl_engine_held {
	struct sl_copy whole; /* of all of them; 0 bytes: none */
	uint32_t channel, n;
	uint32_t values[SL_ENGINE_MAX_HELD];
	uint64_t bytes[SL_ENGINE_MAX_HELD];
};

struct sl_channel {
	struct sl_engine *e;
	uint32_t id;
	bool started;
	pthread_t thread;
	struct sl_copy *ring; /* number n is ring[n & mask] */
	uint64_t mask;
	uint64_t issued;
	uint64_t done; /* under lock */
	struct sl_engine_link took; /* under lock */
	uint64_t seen; /* done, as the compute thread saw it last */
	uint64_t before_step; /* issued before this step */
};

enum sl_touch_flags {
	SL_TOUCH_WRITE = 1 << 0,
	SL_TOUCH_BIRTH = 1 << 1, /* of a value that does not persist */
	SL_TOUCH_LAST = 1 << 2, /* it is dead afterwards */
	SL_TOUCH_AGAIN = 1 << 3, /* with BIRTH: of a value that is recomputed */
	SL_TOUCH_SAME = 1 << 4, /* written with the bits that it has */
};

/* Access of an op to a root value, in its turn or again. */
struct sl_touch {
	uint32_t value;
	uint32_t flags;
	uint64_t at; /* device offset of a birth */
};

/* An op that runs again: a group of recompute lines. */
struct sl_engine_again {
	uint32_t op;
	uint32_t n_lines;
	uint32_t touch_first, touch_end; /* into again_touches */
	uint64_t workspace; /* device offset, SL_NO_OFFSET: none */
};

/* Derived from a (trace, plan) pair, so that a step allocates and searches nothing. */
struct sl_engine_index {
	uint32_t *touch_first; /* [n_ops + 1] into touches */
	struct sl_touch *touches;
	struct sl_engine_again *again; /* groups in the order of the plan */
	struct sl_touch *again_touches;
	bool saves; /* some value is copied out and stays */
	bool *takes; /* [n_actions] copies in whose copy below nobody reads again */
	uint32_t *again_of; /* [n_actions] group that the action begins; NULL: none */
	uint32_t n_again;
	uint32_t *
		action_first; /* [2 n_ops + 1] into the plan's actions, by 2 op + phase */
	uint32_t *root; /* [n_values] */
	uint32_t *alias_first; /* [n_values + 1] into aliases, by root */
	uint32_t *aliases;
	uint32_t *persistent; /* root values that live across iterations, ascending */
	uint32_t n_persistent;
	uint64_t channel_copies[SL_ENGINE_MAX_CHANNELS]; /* in one step */
};

/* What adopt makes new and exchanges as a whole. */
struct sl_engine_pair {
	const struct sl_trace *trace;
	const struct sl_plan *plan;
	struct sl_engine_index index;
	struct sl_residency start; /* as the plan's start says */
	struct sl_residency now;
	uint64_t *offsets; /* [n_values], aliases included */
	uint64_t bounce_offset; /* SL_NO_OFFSET: none */
	struct sl_range
		reserved; /* of the bounce blocks, where the plan does not know them */
};

struct sl_engine {
	struct sl_engine_opts opts;
	struct sl_engine_pair pair;
	uint8_t *staging; /* SL_TIER_CHUNK_BYTES */
	struct sl_engine_held held;
	uint8_t *spare; /* addresses for pages that change places; NULL: they do not */
	uint8_t *bounce; /* two blocks of SL_TIER_MAX_ALIGN; NULL: none */
	const struct sl_engine_again *running; /* while opts.again is called */
	bool in_step;
	bool broken;
	uint64_t pending; /* sum of issued - seen */
	struct sl_engine_stats stats;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a copy was issued or done */
	bool stop;
	sl_status failed;
	char why[512];
	pthread_mutex_t bounce_lock[2]; /* by sl_copy.in */
	uint32_t n_channels;
	struct sl_channel channels[SL_ENGINE_MAX_CHANNELS];
};

static inline bool sl_range_overlap(const struct sl_range *a, const struct sl_range *b)
{
	return a->space == b->space && a->at < b->at + b->len && b->at < a->at + a->len &&
	       a->len > 0 && b->len > 0;
}

/* engine_index.c */
SL_NODISCARD sl_status sl_engine_index_init(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p);
void sl_engine_index_finish(struct sl_engine_index *x);

/* engine_again.c: groups of recompute lines into the index, after its other parts. */
SL_NODISCARD sl_status sl_engine_index_again(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p);

/* engine_copy.c */
SL_NODISCARD sl_status sl_engine_channels_fit(
	struct sl_engine *e, const struct sl_engine_pair *pair);
void sl_engine_channels_stop(struct sl_engine *e);
SL_NODISCARD sl_status sl_engine_issue(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c);
/* The failure of a copy, with its message; SL_OK while there is none. Compute thread. */
SL_NODISCARD sl_status sl_engine_look(struct sl_engine *e);
/* Waits for every pending copy that reads or writes r (reads count only if `write`). */
SL_NODISCARD sl_status sl_engine_wait_range(
	struct sl_engine *e, const struct sl_range *r, bool write);
/* Whether a copy that may not be over reads or writes r. */
bool sl_engine_in_use(const struct sl_engine *e, const struct sl_range *r);
SL_NODISCARD sl_status sl_engine_wait_all(struct sl_engine *e);

/* engine_together.c: copies by the compute threads. */
bool sl_engine_is_together(const struct sl_engine *e, uint32_t space);
/* Waits for what is in the way, and holds the copy: its neighbour may be next. */
SL_NODISCARD sl_status sl_engine_copy_together(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c);

/* Carries out what is held: before anybody touches its bytes. */
void sl_engine_release(struct sl_engine *e);
/* Which copies in may take the pages of the copy below. */
SL_NODISCARD sl_status sl_engine_index_takes(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p);

/* engine_wire.c: over opts.wire. */
SL_NODISCARD sl_status sl_engine_wire_issue(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c);
/* A copy at a boundary, done when it returns. */
SL_NODISCARD sl_status sl_engine_wire_hop(struct sl_engine *e, const struct sl_copy *c);
SL_NODISCARD sl_status sl_engine_wire_wait(
	struct sl_engine *e, struct sl_channel *ch, uint64_t n);
/* Nothing without a wire. */
SL_NODISCARD sl_status sl_engine_wire_settle(struct sl_engine *e);
/* Notes a failure, which every later call then gives; returns st. */
sl_status sl_engine_break(struct sl_engine *e, sl_status st);

/* engine_transfer.c: moves bytes, synchronously, on any thread. */
SL_NODISCARD sl_status sl_engine_transfer(struct sl_engine *e, const struct sl_copy *c);
/* Bytes a value of `bytes` takes in a space. */
uint64_t sl_engine_space_bytes(const struct sl_engine *e, uint32_t space, uint64_t bytes);
void sl_engine_poison(struct sl_engine *e, uint64_t at, uint64_t bytes);
/* Within the device, in the order of what computes; may overlap. */
SL_NODISCARD sl_status sl_engine_move(
	struct sl_engine *e, uint64_t to, uint64_t from, uint64_t bytes);

/* engine_carry.c: persistent values from the old pair's places to the new one's. */
SL_NODISCARD sl_status sl_engine_carry(
	struct sl_engine *e, const struct sl_engine_pair *next);

/* engine.c */
void sl_engine_publish(struct sl_engine *e, uint32_t v, uint64_t at);
void sl_engine_note_peak(struct sl_engine *e, const struct sl_range *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace ring. A writer takes a ticket and fills slot ticket mod slots; the words are
 * relaxed atomics, so that two writers a whole lap apart may spoil a record but never
 * more.
 *
 * Mutable state: which ring is the newest, read only by a program that is about to abort.
 */
#include "base/event.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"

#define DUMPED 32

struct slot {
	_Atomic int64_t at_ns;
	_Atomic uint64_t what; /* channel, kind and id: 16, 16 and 32 bits */
	_Atomic uint64_t arg;
};

struct sl_event_ring {
	size_t slots;
	_Atomic uint64_t ticket;
	struct slot slot[];
};

static const char *const names[SL_EV_COUNT] = {
	[SL_EV_OP_BEGIN] = "op-begin",
	[SL_EV_OP_END] = "op-end",
	[SL_EV_OUT_BEGIN] = "out-begin",
	[SL_EV_OUT_END] = "out-end",
	[SL_EV_IN_BEGIN] = "in-begin",
	[SL_EV_IN_END] = "in-end",
	[SL_EV_MOVE] = "move",
	[SL_EV_WAIT] = "wait",
	[SL_EV_STEP] = "step",
};

static _Atomic(struct sl_event_ring *) newest;

sl_status sl_event_ring_create(size_t slots, struct sl_event_ring **out)
{
	if (!slots || slots & (slots - 1) || slots > SIZE_MAX / 2 / sizeof(struct slot))
		return SL_FAIL(SL_E_INVALID,
			"%zu slots; an event ring has a power of two", slots);
	struct sl_event_ring *r = sl_calloc(1, sizeof(*r) + slots * sizeof(struct slot));
	if (!r)
		return SL_FAIL(SL_E_NOMEM,
			"no host memory for an event ring of %zu slots", slots);
	r->slots = slots;
	atomic_store(&newest, r);
	*out = r;
	return SL_OK;
}

void sl_event_ring_destroy(struct sl_event_ring *r)
{
	struct sl_event_ring *mine = r;

	if (!r)
		return;
	atomic_compare_exchange_strong(&newest, &mine, NULL);
	sl_free(r);
}

void sl_event_emit(
	struct sl_event_ring *r, enum sl_event_kind kind, uint32_t id, uint64_t arg)
{
	sl_event_emit_on(r, 0, kind, id, arg);
}

void sl_event_emit_on(struct sl_event_ring *r, uint32_t channel, enum sl_event_kind kind,
	uint32_t id, uint64_t arg)
{
	if (!r)
		return;
	uint64_t ticket = atomic_fetch_add_explicit(&r->ticket, 1, memory_order_relaxed);
	struct slot *s = &r->slot[ticket & (r->slots - 1)];
	uint64_t what = (uint64_t)channel << 48 | (uint64_t)kind << 32 | id;
	atomic_store_explicit(&s->at_ns, sl_clock_now(), memory_order_relaxed);
	atomic_store_explicit(&s->what, what, memory_order_relaxed);
	atomic_store_explicit(&s->arg, arg, memory_order_relaxed);
}

uint64_t sl_event_count(const struct sl_event_ring *r)
{
	return r ? atomic_load(&r->ticket) : 0;
}

bool sl_event_at(const struct sl_event_ring *r, size_t i, struct sl_event *out)
{
	uint64_t count = sl_event_count(r);
	uint64_t first = r && count > r->slots ? count - r->slots : 0;

	if (i >= count - first)
		return false;
	const struct slot *s = &r->slot[(first + i) & (r->slots - 1)];
	uint64_t what = atomic_load_explicit(&s->what, memory_order_relaxed);
	*out = (struct sl_event){
		.at_ns = atomic_load_explicit(&s->at_ns, memory_order_relaxed),
		.kind = (uint32_t)(what >> 32) & UINT16_MAX,
		.channel = (uint32_t)(what >> 48),
		.id = (uint32_t)what,
		.arg = atomic_load_explicit(&s->arg, memory_order_relaxed),
	};
	return true;
}

const char *sl_event_kind_name(enum sl_event_kind kind)
{
	return (unsigned)kind < SL_EV_COUNT ? names[kind] : "unknown";
}

void sl_event_dump(void)
{
	const struct sl_event_ring *r = atomic_load(&newest);
	struct sl_event e;
	uint64_t held = sl_event_count(r);

	if (!held)
		return;
	if (held > r->slots)
		held = r->slots;
	fprintf(stderr, "sluice: last events (ns kind id arg):\n");
	for (size_t i = held > DUMPED ? (size_t)held - DUMPED : 0; sl_event_at(r, i, &e);
		i++)
		fprintf(stderr, "  %" PRId64 " %s %" PRIu32 " %" PRIu64 "\n", e.at_ns,
			sl_event_kind_name((enum sl_event_kind)e.kind), e.id, e.arg);
}

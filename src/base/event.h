/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_EVENT_H
#define SL_BASE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluice/status.h"

/*
 * The trace ring: what happened, when, emission only. Fixed size, oldest overwritten;
 * many writers (a ticket each), readers look after the writers rested.
 */
enum sl_event_kind {
	SL_EV_OP_BEGIN,
	SL_EV_OP_END,
	SL_EV_OUT_BEGIN,
	SL_EV_OUT_END,
	SL_EV_IN_BEGIN,
	SL_EV_IN_END,
	SL_EV_MOVE,
	SL_EV_WAIT,
	SL_EV_STEP,
	SL_EV_COUNT
};

struct sl_event {
	sl_ns at_ns;
	uint32_t kind;
	uint32_t id; /* op, value or channel */
	uint64_t arg; /* bytes, or nanoseconds waited; of an op: 1 if it runs again */
	uint32_t channel; /* of copies; below 2^16 */
};

struct sl_event_ring;
SL_NODISCARD sl_status sl_event_ring_create(
	size_t slots, struct sl_event_ring **out); /* power of two */
void sl_event_ring_destroy(struct sl_event_ring *r);
/* r may be NULL: nothing is recorded. */
void sl_event_emit(
	struct sl_event_ring *r, enum sl_event_kind kind, uint32_t id, uint64_t arg);
/* The same for what a channel does. */
void sl_event_emit_on(struct sl_event_ring *r, uint32_t channel, enum sl_event_kind kind,
	uint32_t id, uint64_t arg);
uint64_t sl_event_count(const struct sl_event_ring *r); /* emitted ever */
/* The i-th oldest event still held; false past the end. */
bool sl_event_at(const struct sl_event_ring *r, size_t i, struct sl_event *out);
const char *sl_event_kind_name(enum sl_event_kind kind);
/* Prints the last events of the newest ring to stderr; for a program that is about to
 * abort. */
void sl_event_dump(void);

#endif

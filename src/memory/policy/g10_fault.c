/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan leaves to page faults: who makes room, and comes back on demand. */
#include "memory/place.h"
#include "memory/policy/g10_int.h"

/* How long ago, in ops, the value of a gap that is open at op was used; 0: it is not. */
static uint32_t idle(const struct sl_g10 *x, const struct sl_gap *gap, uint32_t op)
{
	uint32_t n = x->g->t->n_ops;

	if (gap->from_op == SL_NO_ID)
		return 2 * n;
	if (gap->wraps && op < gap->to_op)
		return op + n - gap->from_op;
	if (op > gap->from_op && (gap->wraps || op < gap->to_op))
		return op - gap->from_op;
	return 0;
}

/* Whether a gap that is open at op has its value on the device then. */
static bool is_there(const struct sl_gap *gap, uint32_t op)
{
	if (gap->fate != SL_FATE_SWAP)
		return true;
	if (gap->from_op == SL_NO_ID)
		return false;
	if (gap->wraps)
		return op > gap->from_op ? op < gap->hold : op >= gap->arrive;
	return op < gap->hold || op >= gap->arrive;
}

/* A planned copy out that is under way at op, and holds its bytes. */
static bool is_leaving(const struct sl_gap *gap, uint32_t op)
{
	return gap->fate == SL_FATE_SWAP && op < gap->hold && op > gap->from_op;
}

/*
 * What is on its way out is waited for, the first in the queue first; then goes what was
 * used least recently and has its place in the near tier; then what was copied in early.
 * Without wait, the first two change places.
 */
static struct sl_gap *victim(const struct sl_g10 *x, uint32_t op, bool wait)
{
	struct sl_gap *leaving = NULL, *best = NULL, *early = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < x->g->n; i++) {
		struct sl_gap *gap = &x->g->gaps[i];
		uint32_t ago = idle(x, gap, op);

		if (ago == 0 || !is_there(gap, op) || !sl_gap_movable(x->g, gap))
			continue;
		if (is_leaving(gap, op)) {
			if (leaving == NULL || gap->from_op < leaving->from_op)
				leaving = gap;
		} else if (gap->fate == SL_FATE_SWAP) {
			early = gap;
		} else if (ago > most && x->prefer[gap->value] == x->near) {
			best = gap;
			most = ago;
		}
	}
	if (leaving != NULL && (wait || best == NULL))
		return leaving;
	return best != NULL ? best : early;
}

static void leave(struct sl_g10 *x, uint32_t from, uint32_t to, uint64_t bytes)
{
	for (uint32_t i = from; i < to; i++)
		x->level[i] -= bytes;
}

/* Bytes that a planned copy holds at op are given up. */
static void cut(struct sl_g10 *x, struct sl_gap *gap, uint32_t op, uint64_t bytes)
{
	bool ends = gap->wraps ? op > gap->from_op : op < gap->hold;

	if (ends) {
		leave(x, op, gap->hold, bytes);
		gap->hold = op;
	} else {
		leave(x, gap->arrive, op + 1, bytes);
		gap->arrive = op + 1;
	}
}

static void evict(struct sl_g10 *x, struct sl_gap *gap, uint32_t op, uint64_t bytes)
{
	uint32_t n = x->g->t->n_ops;

	sl_gap_set(gap, SL_FATE_SWAP);
	gap->tier = x->prefer[gap->value];
	if (gap->from_op == SL_NO_ID) {
		leave(x, 0, n, bytes);
		return;
	}
	gap->hold = gap->wraps && op < gap->to_op ? n : op;
	leave(x, gap->hold, gap->wraps ? n : gap->to_op, bytes);
	if (gap->wraps)
		leave(x, 0, gap->to_op, bytes);
}

bool sl_g10_fault(struct sl_g10 *x, bool wait)
{
	for (uint32_t op = 0; op < x->g->t->n_ops; op++) {
		while (x->level[op] > x->limit) {
			struct sl_gap *gap = victim(x, op, wait);
			uint64_t bytes;

			if (gap == NULL)
				return false;
			bytes = sl_room_value(&x->g->t->values[gap->value]);
			if (gap->fate == SL_FATE_SWAP)
				cut(x, gap, op, bytes);
			else
				evict(x, gap, op, bytes);
		}
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of one copy between device and tier, synchronously. Tiers want whole
 * aligned blocks; what is not goes through the bounce block of its direction.
 */
#include "memory/engine_int.h"

#include <string.h>

#define POISON 0xAB

uint64_t sl_engine_space_bytes(const struct sl_engine *e, uint32_t space, uint64_t bytes)
{
	uint64_t align;

	if (space == SL_TIER_DEVICE)
		return bytes;
	align = sl_tier_align(e->opts.tiers[space - 1]);
	return (bytes + align - 1) & ~(align - 1);
}

void sl_engine_poison(struct sl_engine *e, uint64_t at, uint64_t bytes)
{
	const struct sl_engine_wire *wire = e->opts.wire;

	if (!e->opts.poison)
		return;
	if (wire)
		(void)sl_engine_break(e, wire->fill(wire->ctx, at, POISON, bytes));
	else
		memset(e->opts.arena + at, POISON, bytes);
}

sl_status sl_engine_move(struct sl_engine *e, uint64_t to, uint64_t from, uint64_t bytes)
{
	const struct sl_engine_wire *wire = e->opts.wire;

	if (wire)
		return sl_engine_break(e, wire->move(wire->ctx, to, from, bytes));
	memmove(e->opts.arena + to, e->opts.arena + from, bytes);
	return SL_OK;
}

static sl_status move_aligned(
	struct sl_tier *t, bool in, uint8_t *data, uint64_t at, size_t len)
{
	return in ? sl_tier_get(t, at, data, len) : sl_tier_put(t, at, data, len);
}

/* Part of a block, or a block at an odd address; the rest of the block in the tier is
 * zeros. */
static sl_status move_bounced(struct sl_engine *e, struct sl_tier *t, bool in,
	uint8_t *data, uint64_t at, size_t len)
{
	size_t align = sl_tier_align(t);
	uint8_t *block = e->bounce + (in ? SL_TIER_MAX_ALIGN : 0);
	sl_status st;

	pthread_mutex_lock(&e->bounce_lock[in]);
	if (!in) {
		memcpy(block, data, len);
		memset(block + len, 0, align - len);
	}
	st = move_aligned(t, in, block, at, align);
	if (in && st == SL_OK)
		memcpy(data, block, len);
	pthread_mutex_unlock(&e->bounce_lock[in]);
	return st;
}

sl_status sl_engine_transfer(struct sl_engine *e, const struct sl_copy *c)
{
	uint32_t space = c->in ? c->from.space : c->to.space;
	uint64_t at = c->in ? c->from.at : c->to.at;
	struct sl_tier *t = e->opts.tiers[space - 1];
	uint8_t *data = e->opts.arena + (c->in ? c->to.at : c->from.at);
	size_t align = sl_tier_align(t), left = c->bytes, whole = 0;

	if (((uintptr_t)data & (align - 1)) == 0)
		whole = left & ~(align - 1);
	if (whole > 0)
		SL_TRY(move_aligned(t, c->in, data, at, whole));
	if (left > whole && !e->bounce)
		return SL_FAIL(SL_E_INVALID,
			"v%u has %llu bytes at offset %llu: the %s tier takes whole "
			"blocks of %zu "
			"and the engine was given no bounce block",
			c->value, (unsigned long long)c->bytes,
			(unsigned long long)(c->in ? c->to.at : c->from.at),
			t->impl->name, align);
	for (left -= whole, data += whole, at += whole; left > 0;) {
		size_t len = left < align ? left : align;

		SL_TRY(move_bounced(e, t, c->in, data, at, len));
		left -= len;
		data += len;
		at += align;
	}
	return SL_OK;
}

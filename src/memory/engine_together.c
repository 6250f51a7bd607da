/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that cost the processor's own time, those between two memories of this machine:
 * no engine but the cores carries them out, so a copy thread beside compute threads would
 * take one of them from its core while the others wait for it. All compute threads carry
 * such a copy out together instead, where the plan issues it, and it is over at once.
 */
#include "memory/engine_int.h"

#include "base/clock.h"
#include "base/copy.h"

/* Waking others is worth it from two pieces on. */
#define PIECE ((uint64_t)256 << 10)

struct job {
	uint8_t *to;
	const uint8_t *from;
	uint64_t bytes;
};

bool sl_engine_is_together(const struct sl_engine *e, uint32_t space)
{
	return e->opts.pool && !e->opts.watch && !e->opts.delay &&
	       space != SL_TIER_DEVICE && sl_tier_memory(e->opts.tiers[space - 1]);
}

static uint8_t *address(const struct sl_engine *e, const struct sl_range *r)
{
	uint8_t *base = r->space == SL_TIER_DEVICE
				? e->opts.arena
				: sl_tier_memory(e->opts.tiers[r->space - 1]);

	return base + r->at;
}

static void copy_piece(void *ctx, int64_t piece)
{
	const struct job *j = ctx;
	uint64_t at = (uint64_t)piece * PIECE, len = j->bytes - at;

	sl_copy_stream(j->to + at, j->from + at, len < PIECE ? len : PIECE);
}

static void note(struct sl_engine *e, struct sl_channel *ch, uint64_t bytes, uint64_t ns)
{
	pthread_mutex_lock(&e->lock);
	ch->took.copies++;
	ch->took.bytes += bytes;
	ch->took.ns += ns;
	pthread_mutex_unlock(&e->lock);
	e->stats.stall_ns += ns;
}

/* Copies under way of other tiers may still read or write these bytes. */
sl_status sl_engine_copy_together(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c)
{
	struct job j = {address(e, &c->to), address(e, &c->from), c->bytes};
	sl_ns begin;

	SL_TRY(sl_engine_wait_range(e, &c->from, false));
	SL_TRY(sl_engine_wait_range(e, &c->to, true));
	begin = sl_clock_now();
	sl_event_emit(e->opts.events, c->in ? SL_EV_IN_BEGIN : SL_EV_OUT_BEGIN, c->value,
		c->bytes);
	sl_pool_run(
		e->opts.pool, (int64_t)((c->bytes + PIECE - 1) / PIECE), copy_piece, &j);
	sl_event_emit(
		e->opts.events, c->in ? SL_EV_IN_END : SL_EV_OUT_END, c->value, c->bytes);
	note(e, &e->channels[channel], c->bytes, (uint64_t)(sl_clock_now() - begin));
	if (!c->in)
		sl_engine_poison(e, c->from.at, c->bytes);
	return SL_OK;
}

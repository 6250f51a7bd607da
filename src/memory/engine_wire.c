/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine over a wire (memory/wire.h): the same edges as with copy threads, but handed
 * to queues. "Seen" is then "the compute queue is behind it", so that a copy which
 * follows the compute queue needs no edge of its own to what was seen.
 */
#include "memory/engine_int.h"

#include <stdio.h>

/* A call that failed left a hole in the order: the engine is good for nothing else. */
sl_status sl_engine_break(struct sl_engine *e, sl_status st)
{
	if (st == SL_OK || e->broken)
		return st;
	e->failed = st;
	e->broken = true;
	(void)snprintf(e->why, sizeof(e->why), "%s", sl_last_error());
	return st;
}

static struct sl_wire_copy wire_copy(const struct sl_engine *e, const struct sl_copy *c)
{
	const struct sl_range *below = c->in ? &c->from : &c->to;

	return (struct sl_wire_copy){
		.in = c->in,
		.tier = below->space - 1,
		.value = c->value,
		.name = e->pair.trace ? e->pair.trace->values[c->value].name : "",
		.arena_at = c->in ? c->to.at : c->from.at,
		.tier_at = below->at,
		.bytes = c->bytes,
	};
}

sl_status sl_engine_wire_issue(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c)
{
	struct sl_wire_copy w = wire_copy(e, c);

	w.poison = e->opts.poison && !c->in && c->takes;
	w.channel = channel;
	w.number = e->channels[channel].issued;
	w.after = c->after;
	w.n_channels = e->n_channels;
	return sl_engine_break(e, e->opts.wire->copy(e->opts.wire->ctx, &w));
}

sl_status sl_engine_wire_hop(struct sl_engine *e, const struct sl_copy *c)
{
	const struct sl_engine_wire *wire = e->opts.wire;
	struct sl_wire_copy w = wire_copy(e, c);

	SL_TRY(wire->hop(wire->ctx, &w));
	return wire->settle(wire->ctx);
}

sl_status sl_engine_wire_wait(struct sl_engine *e, struct sl_channel *ch, uint64_t n)
{
	const struct sl_engine_wire *wire = e->opts.wire;

	SL_TRY(sl_engine_break(e, wire->wait(wire->ctx, ch->id, n)));
	e->pending -= n - ch->seen;
	ch->seen = n;
	return SL_OK;
}

sl_status sl_engine_wire_settle(struct sl_engine *e)
{
	const struct sl_engine_wire *wire = e->opts.wire;

	return wire ? sl_engine_break(e, wire->settle(wire->ctx)) : SL_OK;
}

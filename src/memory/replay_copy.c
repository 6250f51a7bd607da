/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a replayed job, and who waits for them. A copy waits only for copies that
 * were issued before it, so that none waits for ever.
 */
#include "base/alloc.h"
#include "memory/replay_int.h"

static uint64_t bytes_of(const struct sl_player *p, uint32_t v)
{
	return p->trace->values[v].bytes;
}

/* Whether c still uses device bytes that by position are nobody's. */
static bool lingers_at(const struct sl_player_copy *c, uint64_t at, uint64_t bytes)
{
	return (!c->in || c->dropped) && c->at < at + bytes &&
	       at < c->at + bytes_of(c->player, c->value);
}

bool sl_player_free(const struct sl_player *p, uint64_t at, uint64_t bytes)
{
	for (const struct sl_player_copy *c = p->copies; c != NULL; c = c->next) {
		if (lingers_at(c, at, bytes))
			return false;
	}
	return true;
}

void sl_player_take(struct sl_player *p, uint32_t v, uint64_t at)
{
	uint64_t end = at + bytes_of(p, v);

	p->on[v] = true;
	p->at[v] = at;
	if (end > p->result.peak_bytes)
		p->result.peak_bytes = end;
}

bool sl_player_arrived(struct sl_player *p, uint32_t v)
{
	struct sl_player_copy *c = p->coming[v];

	if (c == NULL)
		return true;
	if (!c->waited)
		c->waited_ns = p->run->sim.now_ns;
	c->waited = true;
	return false;
}

/* Bytes of a value that leaves while it is copied out are held until then. */
static bool leave_copies(struct sl_player *p, uint32_t v)
{
	struct sl_player_copy *last = NULL;

	for (struct sl_player_copy *c = p->copies; c != NULL; c = c->next) {
		if (c->value == v && c->stays)
			last = c;
	}
	if (last != NULL)
		last->stays = false;
	return last != NULL;
}

void sl_player_drop(struct sl_player *p, uint32_t v)
{
	if (p->coming[v] != NULL)
		p->coming[v]->dropped = true;
	else if (p->on[v] && !leave_copies(p, v))
		sl_player_release(p, bytes_of(p, v));
	p->coming[v] = NULL;
	p->on[v] = false;
}

/* Whether c, of the same value as an earlier e, needs what e brings. */
static bool follows(const struct sl_player_copy *c, const struct sl_player_copy *e)
{
	if (c->in)
		return !e->in && e->tier == c->tier;
	return e->in && !e->dropped;
}

static bool may_start(void *ctx)
{
	const struct sl_player_copy *c = ctx;
	uint64_t bytes = bytes_of(c->player, c->value);

	for (const struct sl_player_copy *e = c->player->copies; e != c; e = e->next) {
		if (e->value == c->value && follows(c, e))
			return false;
		if (c->in && lingers_at(e, c->at, bytes))
			return false;
	}
	return true;
}

static sl_status started(void *ctx)
{
	struct sl_player_copy *c = ctx;

	c->begin_ns = c->player->run->sim.now_ns;
	if (c->in)
		sl_player_hold(c->player, bytes_of(c->player, c->value));
	return SL_OK;
}

static void unlink_copy(struct sl_player *p, const struct sl_player_copy *c)
{
	struct sl_player_copy **from = &p->copies, *before = NULL;

	for (; *from != c; from = &before->next)
		before = *from;
	*from = c->next;
	if (p->last_copy == c)
		p->last_copy = before;
}

static sl_status done(void *ctx)
{
	struct sl_player_copy *c = ctx;
	struct sl_player *p = c->player;
	struct sl_replay_span span = {.kind = c->in ? SL_REPLAY_IN : SL_REPLAY_OUT,
		.id = c->value,
		.channel = c->channel,
		.begin_ns = c->begin_ns,
		.bytes = bytes_of(p, c->value)};

	unlink_copy(p, c);
	if (c->in ? c->dropped : !c->stays)
		sl_player_release(p, span.bytes);
	if (p->coming[c->value] == c)
		p->coming[c->value] = NULL;
	if (c->waited && p->run->sim.now_ns > c->waited_ns)
		p->result.passive_swap_ins++;
	sl_free(c);
	SL_TRY(sl_player_tell(p, span));
	for (uint32_t i = 0; i < 2 * p->trace->n_links; i++)
		SL_TRY(sl_channel_kick(&p->queues[i]));
	return sl_player_go_on(p);
}

sl_status sl_player_issue(struct sl_player *p, const struct sl_action *a)
{
	const struct sl_trace_link *link = &p->trace->links[a->channel];
	struct sl_player_copy *c = sl_calloc(1, sizeof(*c));
	uint32_t v = sl_trace_root(p->trace, a->value);

	if (c == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to replay a plan");
	*c = (struct sl_player_copy){.player = p,
		.value = v,
		.tier = a->tier,
		.channel = a->channel,
		.in = a->kind == SL_ACTION_IN,
		.stays = a->kind == SL_ACTION_SAVE,
		.at = a->kind == SL_ACTION_IN ? a->offset : p->at[v]};
	c->transfer = (struct sl_transfer){.bytes = bytes_of(p, v),
		.bytes_per_s = link->bytes_per_s,
		.latency_ns = link->latency_ns,
		.not_before_ns = sl_add_ns(p->run->sim.now_ns, a->delay_ns),
		.ctx = c,
		.may_start = may_start,
		.started = started,
		.done = done};
	*(p->last_copy != NULL ? &p->last_copy->next : &p->copies) = c;
	p->last_copy = c;
	if (c->in) {
		sl_player_take(p, v, a->offset);
		p->coming[v] = c;
		p->result.swap_ins++;
		p->result.swap_in_bytes += bytes_of(p, v);
	} else {
		if (!c->stays) {
			p->on[v] = false;
			p->coming[v] = NULL;
		}
		p->result.swap_out_bytes += bytes_of(p, v);
	}
	return sl_channel_push(
		&p->queues[p->queue_of[2 * a->channel + (c->in ? 1 : 0)]], &c->transfer);
}

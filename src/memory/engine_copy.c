/* SPDX-License-Identifier: Apache-2.0 */
/* The channels: one thread each that carries copies out in order, and the waits for them.
 */
#include "memory/engine_int.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/compiler.h"

/* Under lock. */
static bool may_start(const struct sl_engine *e, const struct sl_copy *c)
{
	for (uint32_t i = 0; i < e->n_channels; i++) {
		if (e->channels[i].done < c->after[i])
			return false;
	}
	return true;
}

/* Under lock; the first failure wins. */
static void note_failure(struct sl_engine *e, const struct sl_copy *c, sl_status st)
{
	uint32_t space = c->in ? c->from.space : c->to.space;

	if (e->failed != SL_OK)
		return;
	e->failed =
		sl_fail_prefix(st, "copying %s (v%u, %llu bytes) %s the %s tier failed",
			e->pair.trace->values[c->value].name, c->value,
			(unsigned long long)c->bytes, c->in ? "in from" : "out to",
			e->opts.tiers[space - 1]->impl->name);
	(void)snprintf(e->why, sizeof(e->why), "%s", sl_last_error());
}

static sl_status carry_out(
	struct sl_engine *e, const struct sl_channel *ch, const struct sl_copy *c)
{
	sl_status st;

	if (e->opts.delay)
		e->opts.delay(e->opts.delay_ctx, c->value);
	sl_event_emit_on(e->opts.events, ch->id, c->in ? SL_EV_IN_BEGIN : SL_EV_OUT_BEGIN,
		c->value, c->bytes);
	st = sl_engine_transfer(e, c);
	sl_event_emit_on(e->opts.events, ch->id, c->in ? SL_EV_IN_END : SL_EV_OUT_END,
		c->value, c->bytes);
	if (st == SL_OK && !c->in && c->takes)
		sl_engine_poison(e, c->from.at, c->bytes);
	return st;
}

static void *channel_main(void *arg)
{
	struct sl_channel *ch = arg;
	struct sl_engine *e = ch->e;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		while (!e->stop && ch->done == ch->issued)
			pthread_cond_wait(&e->changed, &e->lock);
		if (ch->done == ch->issued)
			break;
		const struct sl_copy *c = &ch->ring[(ch->done + 1) & ch->mask];
		while (!e->failed && !may_start(e, c))
			pthread_cond_wait(&e->changed, &e->lock);
		if (!e->failed) {
			pthread_mutex_unlock(&e->lock);
			sl_ns begin = sl_clock_now();
			sl_status st = carry_out(e, ch, c);
			sl_ns took = sl_clock_now() - begin;
			pthread_mutex_lock(&e->lock);
			ch->took.copies++;
			ch->took.bytes += c->bytes;
			ch->took.ns += (uint64_t)took;
			if (st != SL_OK)
				note_failure(e, c, st);
		}
		ch->done++;
		pthread_cond_broadcast(&e->changed);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

void sl_engine_link(struct sl_engine *e, uint32_t link, struct sl_engine_link *out)
{
	*out = (struct sl_engine_link){0};
	if (link >= SL_ENGINE_MAX_CHANNELS)
		return;
	pthread_mutex_lock(&e->lock);
	*out = e->channels[link].took;
	pthread_mutex_unlock(&e->lock);
}

static sl_status start_channel(struct sl_engine *e, uint32_t i)
{
	struct sl_channel *ch = &e->channels[i];

	if (ch->started)
		return SL_OK;
	ch->e = e;
	ch->id = i;
	if (pthread_create(&ch->thread, NULL, channel_main, ch) != 0)
		return SL_FAIL(SL_E_NOMEM,
			"the system gives no thread for copies; end other "
			"programs or raise `ulimit -u`");
	ch->started = true;
	return SL_OK;
}

/* Room for `copies` in the ring; only while the channel is empty. */
static sl_status fit_ring(struct sl_engine *e, struct sl_channel *ch, uint64_t copies)
{
	struct sl_copy *ring;
	uint64_t cap = 1;

	SL_ASSERT(ch->seen == ch->issued);
	while (cap < copies)
		cap *= 2;
	if (ch->ring && cap <= ch->mask + 1)
		return SL_OK;
	ring = sl_calloc(cap, sizeof(*ring));
	if (!ring)
		return SL_FAIL(SL_E_NOMEM, "no memory for a queue of %llu copies",
			(unsigned long long)cap);
	pthread_mutex_lock(&e->lock);
	sl_free(ch->ring);
	ch->ring = ring;
	ch->mask = cap - 1;
	pthread_mutex_unlock(&e->lock);
	return SL_OK;
}

static sl_status fit_wire(struct sl_engine *e, uint32_t i)
{
	const struct sl_engine_wire *wire = e->opts.wire;

	e->channels[i].id = i;
	return wire->fit(wire->ctx, i, e->channels[i].mask + 1);
}

sl_status sl_engine_channels_fit(struct sl_engine *e, const struct sl_engine_pair *pair)
{
	uint32_t n = pair->trace->n_links;

	for (uint32_t i = 0; i < n; i++) {
		if (pair->index.channel_copies[i] == 0)
			continue;
		SL_TRY(fit_ring(e, &e->channels[i], pair->index.channel_copies[i]));
		SL_TRY(e->opts.wire ? fit_wire(e, i) : start_channel(e, i));
	}
	pthread_mutex_lock(&e->lock);
	if (n > e->n_channels)
		e->n_channels = n;
	pthread_mutex_unlock(&e->lock);
	return SL_OK;
}

void sl_engine_channels_stop(struct sl_engine *e)
{
	pthread_mutex_lock(&e->lock);
	e->stop = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	for (uint32_t i = 0; i < SL_ENGINE_MAX_CHANNELS; i++) {
		if (e->channels[i].started)
			(void)pthread_join(e->channels[i].thread, NULL);
		sl_free(e->channels[i].ring);
	}
}

static bool conflicts(const struct sl_copy *earlier, const struct sl_range *r, bool write)
{
	return sl_range_overlap(&earlier->to, r) ||
	       (write && sl_range_overlap(&earlier->from, r));
}

/* Copies up to this number are no longer looked at. Who watches is told of all of the
 * step, whatever is over already; the ring has them. */
static uint64_t looked_past(const struct sl_channel *ch)
{
	return ch->e && ch->e->opts.watch ? ch->before_step : ch->seen;
}

/* The last number of ch that must be done before r may be read or written; 0: none. */
static uint64_t last_conflict(
	const struct sl_channel *ch, const struct sl_range *r, bool write)
{
	for (uint64_t n = ch->issued; n > looked_past(ch); n--) {
		if (conflicts(&ch->ring[n & ch->mask], r, write))
			return n;
	}
	return 0;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static sl_status enqueue(struct sl_engine *e, uint32_t channel, const struct sl_copy *c)
{
	struct sl_channel *ch = &e->channels[channel];
	struct sl_copy *slot = &ch->ring[(ch->issued + 1) & ch->mask];

	/* What leaves is spoilt for who copies it a second time. */
	bool spoils = e->opts.poison && c->takes;

	SL_BUG(ch->issued - ch->seen > ch->mask);
	*slot = *c;
	for (uint32_t i = 0; i < e->n_channels; i++) {
		const struct sl_channel *other = &e->channels[i];

		slot->after[i] = 0;
		if (other != ch && other->issued != looked_past(other))
			slot->after[i] = later(last_conflict(other, &c->from, spoils),
				last_conflict(other, &c->to, true));
	}
	e->pending++;
	if (e->opts.watch)
		e->opts.watch->issue(
			e->opts.watch->ctx, &(struct sl_engine_issue){.channel = channel,
						    .in = c->in,
						    .number = ch->issued + 1,
						    .bytes = c->bytes,
						    .delay_ns = c->delay_ns,
						    .after = slot->after,
						    .n_channels = e->n_channels});
	pthread_mutex_lock(&e->lock);
	ch->issued++;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	return e->opts.wire ? sl_engine_wire_issue(e, channel, slot) : SL_OK;
}

sl_status sl_engine_issue(struct sl_engine *e, uint32_t channel, const struct sl_copy *c)
{
	if (c->in)
		e->stats.swap_in_bytes += c->bytes;
	else
		e->stats.swap_out_bytes += c->bytes;
	if (sl_engine_is_together(e, c->in ? c->from.space : c->to.space))
		return sl_engine_copy_together(e, channel, c);
	sl_engine_release(e);
	return enqueue(e, channel, c);
}

/* Under lock. */
static void catch_up(struct sl_engine *e)
{
	for (uint32_t i = 0; i < e->n_channels; i++) {
		struct sl_channel *ch = &e->channels[i];

		e->pending -= ch->done - ch->seen;
		ch->seen = ch->done;
	}
	e->broken = e->failed != SL_OK;
}

sl_status sl_engine_look(struct sl_engine *e)
{
	if (e->pending > 0 && !e->opts.wire) {
		pthread_mutex_lock(&e->lock);
		catch_up(e);
		pthread_mutex_unlock(&e->lock);
	}
	/* Nobody writes `failed` and `why` again once they are set. */
	return SL_LIKELY(!e->broken) ? SL_OK : SL_FAIL(e->failed, "%s", e->why);
}

/* Waits until number n of ch is done. */
static sl_status wait_number(struct sl_engine *e, struct sl_channel *ch, uint64_t n)
{
	sl_ns begin, waited;

	if (ch->seen >= n)
		return sl_engine_look(e);
	if (e->opts.wire)
		return sl_engine_wire_wait(e, ch, n);
	begin = sl_clock_now();
	pthread_mutex_lock(&e->lock);
	while (ch->done < n && !e->failed)
		pthread_cond_wait(&e->changed, &e->lock);
	catch_up(e);
	pthread_mutex_unlock(&e->lock);
	waited = sl_clock_now() - begin;
	e->stats.stall_ns += (uint64_t)waited;
	sl_event_emit(e->opts.events, SL_EV_WAIT, ch->id, (uint64_t)waited);
	return sl_engine_look(e);
}

sl_status sl_engine_wait_range(struct sl_engine *e, const struct sl_range *r, bool write)
{
	if (SL_LIKELY(e->pending == 0 && !e->opts.watch))
		return sl_engine_look(e);
	SL_TRY(sl_engine_look(e));
	for (uint32_t i = 0; i < e->n_channels; i++) {
		struct sl_channel *ch = &e->channels[i];
		uint64_t n = last_conflict(ch, r, write);

		if (n > 0 && e->opts.watch)
			e->opts.watch->wait(e->opts.watch->ctx, i, n);
		if (n > 0)
			SL_TRY(wait_number(e, ch, n));
	}
	return SL_OK;
}

bool sl_engine_in_use(const struct sl_engine *e, const struct sl_range *r)
{
	bool in_use = false;

	for (uint32_t i = 0; i < e->n_channels && e->pending > 0; i++)
		in_use = in_use || last_conflict(&e->channels[i], r, true) > 0;
	return in_use;
}

sl_status sl_engine_wait_all(struct sl_engine *e)
{
	for (uint32_t i = 0; i < e->n_channels; i++) {
		struct sl_channel *ch = &e->channels[i];

		SL_TRY(wait_number(e, ch, ch->issued));
		ch->before_step = ch->issued;
	}
	return sl_engine_look(e);
}

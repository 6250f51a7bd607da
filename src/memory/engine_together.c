/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that cost the processor's own time, those between two memories of this machine:
 * no engine but the cores carries them out, so a copy thread beside compute threads would
 * take one of them from its core while the others wait for it. All compute threads carry
 * such a copy out together instead, where the plan issues it, and it is over at once.
 *
 * Cheaper still is no copying: whole pages in the middle of a value change places with
 * those of its other place, where both lie alike within a page and the copy that is read
 * is not read again. Neighbours that go to neighbours are one range: the pages that they
 * share change places too.
 */
#include "memory/engine_int.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/pages.h"

/* Waking others is worth it from two pieces on. */
#define PIECE ((uint64_t)256 << 10)

/* What is copied: [0, head) and the bytes from `tail` on. */
struct job {
	uint8_t *to, *from;
	uint64_t bytes, head, tail;
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

static int64_t pieces(uint64_t bytes)
{
	return (int64_t)((bytes + PIECE - 1) / PIECE);
}

static void copy_piece(void *ctx, int64_t piece)
{
	const struct job *j = ctx;
	int64_t n_head = pieces(j->head);
	bool in_head = piece < n_head;
	uint64_t at = in_head ? (uint64_t)piece * PIECE
			      : j->tail + (uint64_t)(piece - n_head) * PIECE;
	uint64_t len = (in_head ? j->head : j->bytes) - at;

	sl_copy_stream(j->to + at, j->from + at, len < PIECE ? len : PIECE);
}

/* Bytes from `at` on whose pages have changed places, at most `len`. */
static uint64_t exchange_some(
	const struct sl_engine *e, const struct job *j, uint64_t at, uint64_t len)
{
	len = len < SL_ENGINE_SPARE_BYTES ? len : SL_ENGINE_SPARE_BYTES;
	if (sl_pages_exchange(j->to + at, j->from + at, e->spare, len))
		return len;
	/* Several mappings at once are too much for older kernels. */
	if (len > e->opts.page_unit &&
		sl_pages_exchange(j->to + at, j->from + at, e->spare, e->opts.page_unit))
		return e->opts.page_unit;
	return 0;
}

/* Whole units in the middle change places; the job keeps what is left to copy. */
static void exchange(const struct sl_engine *e, struct job *j)
{
	uint64_t unit = e->opts.page_unit, to = (uintptr_t)j->to, head, end, some = 1;

	if (!e->spare || ((to ^ (uintptr_t)j->from) & (unit - 1)) != 0)
		return;
	head = ((to + unit - 1) & ~(unit - 1)) - to;
	if (head + unit > j->bytes)
		return;
	end = head + ((j->bytes - head) & ~(unit - 1));
	j->head = j->tail = head;
	while (j->tail < end && some > 0) {
		some = exchange_some(e, j, j->tail, end - j->tail);
		j->tail += some;
	}
}

static void note(struct sl_engine *e, struct sl_channel *ch, uint64_t ns)
{
	pthread_mutex_lock(&e->lock);
	ch->took.copies += e->held.n;
	ch->took.bytes += e->held.whole.bytes;
	ch->took.ns += ns;
	pthread_mutex_unlock(&e->lock);
	e->stats.stall_ns += ns;
}

static void emit(const struct sl_engine *e, uint32_t i, bool end)
{
	const struct sl_engine_held *h = &e->held;
	enum sl_event_kind in = end ? SL_EV_IN_END : SL_EV_IN_BEGIN;
	enum sl_event_kind out = end ? SL_EV_OUT_END : SL_EV_OUT_BEGIN;

	sl_event_emit_on(e->opts.events, h->channel, h->whole.in ? in : out, h->values[i],
		h->bytes[i]);
}

/* The time is the first one's; the others are said to take none. */
void sl_engine_release(struct sl_engine *e)
{
	struct sl_engine_held *h = &e->held;
	const struct sl_copy *c = &h->whole;
	struct job j;
	sl_ns begin;

	if (h->n == 0)
		return;
	j = (struct job){.to = address(e, &c->to),
		.from = address(e, &c->from),
		.bytes = c->bytes};
	begin = sl_clock_now();
	emit(e, 0, false);
	if (c->takes)
		exchange(e, &j);
	sl_pool_run(
		e->opts.pool, pieces(j.head) + pieces(j.bytes - j.tail), copy_piece, &j);
	emit(e, 0, true);
	for (uint32_t i = 1; i < h->n; i++) {
		emit(e, i, false);
		emit(e, i, true);
	}
	note(e, &e->channels[h->channel], (uint64_t)(sl_clock_now() - begin));
	if (!c->in && c->takes)
		sl_engine_poison(e, c->from.at, c->bytes);
	h->n = 0;
}

static bool follows(const struct sl_range *a, const struct sl_range *b, uint64_t bytes)
{
	return a->space == b->space && a->at + bytes == b->at;
}

static bool goes_along(
	const struct sl_engine_held *h, uint32_t channel, const struct sl_copy *c)
{
	const struct sl_copy *w = &h->whole;

	return h->n > 0 && h->n < SL_ENGINE_MAX_HELD && h->channel == channel &&
	       w->in == c->in && w->takes == c->takes &&
	       follows(&w->from, &c->from, w->bytes) && follows(&w->to, &c->to, w->bytes);
}

/* Copies under way of other tiers may still read or write these bytes. */
sl_status sl_engine_copy_together(
	struct sl_engine *e, uint32_t channel, const struct sl_copy *c)
{
	struct sl_engine_held *h = &e->held;

	SL_TRY(sl_engine_wait_range(e, &c->from, c->takes));
	SL_TRY(sl_engine_wait_range(e, &c->to, true));
	if (goes_along(h, channel, c)) {
		h->whole.bytes += c->bytes;
	} else {
		sl_engine_release(e);
		h->whole = *c;
		h->channel = channel;
	}
	h->values[h->n] = c->value;
	h->bytes[h->n++] = c->bytes;
	return SL_OK;
}

/* From the end backwards: whether a value's copy below is still read. */
struct taking {
	struct sl_engine_index *x;
	const struct sl_plan *p;
	bool *needed; /* [n_values] */
};

static void look_at_actions(struct taking *k, uint32_t first, uint32_t end)
{
	for (uint32_t i = end; i > first; i--) {
		const struct sl_action *a = &k->p->actions[i - 1];
		bool *needed = &k->needed[k->x->root[a->value]];

		if (a->kind == SL_ACTION_IN)
			k->x->takes[i - 1] = !*needed;
		if (a->kind == SL_ACTION_IN || a->kind == SL_ACTION_DROP_CLEAN)
			*needed = true;
	}
}

static void look_at_op(struct taking *k, uint32_t op)
{
	const struct sl_engine_index *x = k->x;
	const uint32_t *first = &x->action_first[2 * (size_t)op];

	look_at_actions(k, first[1], first[2]);
	for (uint32_t i = x->touch_first[op]; i < x->touch_first[op + 1]; i++) {
		if (x->touches[i].flags & SL_TOUCH_WRITE)
			k->needed[x->touches[i].value] = false;
	}
	look_at_actions(k, first[0], first[1]);
}

sl_status sl_engine_index_takes(
	struct sl_engine_index *x, const struct sl_trace *t, const struct sl_plan *p)
{
	struct taking k = {.x = x,
		.p = p,
		.needed = sl_calloc((size_t)t->n_values + 1, sizeof(bool))};

	x->takes = sl_calloc((size_t)p->n_actions + 1, sizeof(*x->takes));
	if (!x->takes || !k.needed) {
		sl_free(k.needed);
		return SL_FAIL(
			SL_E_NOMEM, "no memory to look through %u actions", p->n_actions);
	}
	for (uint32_t i = 0; i < x->n_persistent; i++)
		k.needed[x->persistent[i]] = true;
	for (uint32_t op = t->n_ops; op > 0; op--)
		look_at_op(&k, op - 1);
	sl_free(k.needed);
	return SL_OK;
}

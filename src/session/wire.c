/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's copies on a device's streams; the order is explained in wire.h. */
#include "session/wire_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define STAGE SL_TIER_CHUNK_BYTES
/* A value that moves by less goes over the stage: so many bytes a copy are too few. */
#define SHIFT_LEAST ((uint64_t)1 << 20)

/* Part of a copy that a host function brings to or from a tier. */
struct piece {
	struct sl_tier *tier;
	const char *name;
	uint8_t *data; /* `whole` bytes of the stage */
	uint64_t at, bytes, whole;
	bool in;
};

static sl_status run_piece(void *ctx)
{
	const struct piece *p = ctx;
	sl_status st;

	if (p->bytes < p->whole)
		memset(p->data + p->bytes, 0, p->whole - p->bytes);
	st = p->in ? sl_tier_get(p->tier, p->at, p->data, p->whole)
		   : sl_tier_put(p->tier, p->at, p->data, p->whole);
	return st == SL_OK
		       ? st
		       : sl_fail_prefix(st, "copying %s %s the %s tier failed", p->name,
				 p->in ? "in from" : "out to", p->tier->impl->name);
}

static sl_status submit_piece(struct sl_wire *w, struct sl_stream *s,
	const struct sl_wire_copy *c, uint8_t *stage, uint64_t done)
{
	struct piece *p = sl_arena_alloc(&w->parts, sizeof(*p));
	uint64_t left = c->bytes - done;

	if (p == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a piece of a copy");
	*p = (struct piece){.tier = w->opts.tiers[c->tier],
		.name = c->name,
		.data = stage,
		.at = c->tier_at + done,
		.bytes = left < STAGE ? left : STAGE,
		.in = c->in};
	p->whole = sl_align_up(p->bytes, sl_tier_align(p->tier));
	return sl_device_submit(w->opts.device, s, run_piece, p);
}

/* One stage a stream: its order keeps the pieces apart. */
static sl_status copy_staged(struct sl_wire *w, struct sl_stream *s,
	const struct sl_wire_copy *c, uint8_t *stage)
{
	uint8_t *at = w->opts.arena + c->arena_at;

	for (uint64_t done = 0; done < c->bytes; done += STAGE) {
		uint64_t left = c->bytes - done;
		uint64_t bytes = left < STAGE ? left : STAGE;

		if (c->in)
			SL_TRY(submit_piece(w, s, c, stage, done));
		SL_TRY(sl_device_copy(w->opts.device, s, c->in ? at + done : stage,
			c->in ? stage : at + done, bytes));
		if (!c->in)
			SL_TRY(submit_piece(w, s, c, stage, done));
	}
	return SL_OK;
}

static sl_status copy_on(struct sl_wire *w, struct sl_stream *s,
	const struct sl_wire_copy *c, uint8_t *stage)
{
	uint8_t *memory = sl_tier_memory(w->opts.tiers[c->tier]);
	uint8_t *at = w->opts.arena + c->arena_at;

	if (memory == NULL)
		SL_TRY(copy_staged(w, s, c, stage));
	else
		SL_TRY(sl_device_copy(w->opts.device, s, c->in ? at : memory + c->tier_at,
			c->in ? memory + c->tier_at : at, c->bytes));
	return c->poison ? sl_device_fill(w->opts.device, s, at, 0xAB, c->bytes) : SL_OK;
}

static struct sl_fence *done_of(const struct sl_wire_channel *ch, uint64_t number)
{
	return ch->done[number & (ch->cap - 1)];
}

static sl_status copy(void *ctx, const struct sl_wire_copy *c)
{
	struct sl_wire *w = ctx;
	struct sl_device *d = w->opts.device;
	struct sl_wire_channel *ch = &w->channels[c->channel];
	struct sl_fence *ready = ch->ready[c->number & (ch->cap - 1)];

	SL_TRY(sl_device_fence_record(d, ready, w->compute));
	SL_TRY(sl_device_stream_wait(d, ch->stream, ready));
	for (uint32_t i = 0; i < c->n_channels; i++)
		if (c->after[i] > 0)
			SL_TRY(sl_device_stream_wait(
				d, ch->stream, done_of(&w->channels[i], c->after[i])));
	SL_TRY(copy_on(w, ch->stream, c, ch->stage));
	return sl_device_fence_record(d, done_of(ch, c->number), ch->stream);
}

static sl_status wait_for(void *ctx, uint32_t channel, uint64_t number)
{
	struct sl_wire *w = ctx;

	return sl_device_stream_wait(
		w->opts.device, w->compute, done_of(&w->channels[channel], number));
}

static sl_status hop(void *ctx, const struct sl_wire_copy *c)
{
	struct sl_wire *w = ctx;

	return copy_on(w, w->compute, c, w->stage);
}

static sl_status fill(void *ctx, uint64_t at, int byte, uint64_t bytes)
{
	struct sl_wire *w = ctx;

	return sl_device_fill(
		w->opts.device, w->compute, w->opts.arena + at, (uint8_t)byte, bytes);
}

static sl_status move_piece(
	struct sl_wire *w, uint64_t to, uint64_t from, uint64_t bytes, bool staged)
{
	struct sl_device *d = w->opts.device;
	uint8_t *a = w->opts.arena;

	if (!staged)
		return sl_device_copy(d, w->compute, a + to, a + from, bytes);
	SL_TRY(sl_device_copy(d, w->compute, w->stage, a + from, bytes));
	return sl_device_copy(d, w->compute, a + to, w->stage, bytes);
}

/* Down from the front, up from the back: no piece overwrites what is still to be read. */
static sl_status move(void *ctx, uint64_t to, uint64_t from, uint64_t bytes)
{
	uint64_t shift = to < from ? from - to : to - from;
	bool staged = shift < bytes && shift < SHIFT_LEAST;
	uint64_t piece = staged ? STAGE : shift;

	if (shift == 0)
		return SL_OK;
	for (uint64_t done = 0; done < bytes; done += piece) {
		uint64_t left = bytes - done, len = left < piece ? left : piece;
		uint64_t at = to < from ? done : left - len;

		SL_TRY(move_piece(ctx, to + at, from + at, len, staged));
	}
	return SL_OK;
}

static sl_status read_bytes(void *ctx, uint64_t at, void *data, size_t len)
{
	struct sl_wire *w = ctx;

	for (size_t done = 0; done < len; done += STAGE) {
		size_t left = len - done, bytes = left < STAGE ? left : STAGE;

		SL_TRY(sl_device_copy(w->opts.device, w->compute, w->stage,
			w->opts.arena + at + done, bytes));
		SL_TRY(sl_wire_settle(w));
		memcpy((uint8_t *)data + done, w->stage, bytes);
	}
	return SL_OK;
}

static sl_status write_bytes(void *ctx, uint64_t at, const void *data, size_t len)
{
	struct sl_wire *w = ctx;

	for (size_t done = 0; done < len; done += STAGE) {
		size_t left = len - done, bytes = left < STAGE ? left : STAGE;

		memcpy(w->stage, (const uint8_t *)data + done, bytes);
		SL_TRY(sl_device_copy(w->opts.device, w->compute,
			w->opts.arena + at + done, w->stage, bytes));
		SL_TRY(sl_wire_settle(w));
	}
	return SL_OK;
}

static void keep_failure(struct sl_wire *w, sl_status st)
{
	if (st == SL_OK || w->failed != SL_OK)
		return;
	w->failed = st;
	(void)snprintf(w->why, sizeof(w->why), "%s", sl_last_error());
}

/* Host functions name their op; of what only was enqueued nobody knows which it was. */
static sl_status blame_kernels(const struct sl_wire *w, sl_status st)
{
	if (st == SL_OK || w->opts.launches || w->program == NULL)
		return st;
	return sl_fail_prefix(st,
		"in one of %u kernels of a step (CUDA_LAUNCH_BLOCKING=1 shows which)",
		w->program->n_ops);
}

/* Copies first: what they did not bring is why others fail. */
sl_status sl_wire_settle(struct sl_wire *w)
{
	for (uint32_t i = 0; i < SL_WIRE_CHANNELS; i++)
		if (w->channels[i].stream != NULL)
			keep_failure(
				w, sl_device_sync(w->opts.device, w->channels[i].stream));
	keep_failure(w, blame_kernels(w, sl_device_sync(w->opts.device, w->compute)));
	if (w->failed != SL_OK)
		return SL_FAIL(w->failed, "%s", w->why);
	sl_arena_finish(&w->parts);
	return SL_OK;
}

static sl_status settle(void *ctx)
{
	return sl_wire_settle(ctx);
}

static sl_status make_fences(struct sl_device *d, struct sl_fence **list, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		SL_TRY(sl_device_fence_create(d, &list[i]));
	return SL_OK;
}

static void drop_fences(struct sl_device *d, struct sl_wire_channel *ch)
{
	for (uint64_t i = 0; i < ch->cap; i++) {
		sl_device_fence_destroy(d, ch->done[i]);
		sl_device_fence_destroy(d, ch->ready[i]);
	}
	sl_free(ch->done);
	sl_free(ch->ready);
	ch->done = ch->ready = NULL;
	ch->cap = 0;
}

static sl_status fit_fences(struct sl_wire *w, struct sl_wire_channel *ch, uint64_t cap)
{
	if (ch->cap >= cap)
		return SL_OK;
	drop_fences(w->opts.device, ch);
	ch->done = sl_calloc(cap, sizeof(struct sl_fence *));
	ch->ready = sl_calloc(cap, sizeof(struct sl_fence *));
	if (ch->done == NULL || ch->ready == NULL) {
		sl_free(ch->done);
		sl_free(ch->ready);
		ch->done = ch->ready = NULL;
		return SL_FAIL(SL_E_NOMEM, "no host memory for the order of %llu copies",
			(unsigned long long)cap);
	}
	ch->cap = cap;
	SL_TRY(make_fences(w->opts.device, ch->done, cap));
	return make_fences(w->opts.device, ch->ready, cap);
}

static bool needs_stage(const struct sl_wire *w)
{
	for (uint32_t i = 0; i < w->opts.n_tiers; i++)
		if (sl_tier_memory(w->opts.tiers[i]) == NULL)
			return true;
	return false;
}

static sl_status take_stage(struct sl_wire *w, uint8_t **out)
{
	void *p;

	SL_TRY(sl_device_pinned_create(w->opts.device, STAGE, &p));
	*out = p;
	return SL_OK;
}

static sl_status fit(void *ctx, uint32_t channel, uint64_t copies)
{
	struct sl_wire *w = ctx;
	struct sl_wire_channel *ch = &w->channels[channel];

	if (ch->stream == NULL)
		SL_TRY(sl_device_stream_create(w->opts.device, &ch->stream));
	if (ch->stage == NULL && needs_stage(w))
		SL_TRY(take_stage(w, &ch->stage));
	return fit_fences(w, ch, copies);
}

sl_status sl_wire_create(const struct sl_wire_opts *opts, struct sl_wire **out)
{
	struct sl_wire *w = sl_calloc(1, sizeof(*w));
	sl_status st;

	if (w == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the streams of a device");
	w->opts = *opts;
	w->engine = (struct sl_engine_wire){.ctx = w,
		.fit = fit,
		.copy = copy,
		.wait = wait_for,
		.move = move,
		.fill = fill,
		.hop = hop,
		.read = read_bytes,
		.write = write_bytes,
		.settle = settle};
	sl_wire_step_init(w);
	SL_TRY_OUT(sl_device_stream_create(opts->device, &w->compute));
	SL_TRY_OUT(take_stage(w, &w->stage));
	*out = w;
	return SL_OK;
out:
	sl_wire_destroy(w);
	return st;
}

/* Streams first: they wait for what still uses the rest. */
void sl_wire_destroy(struct sl_wire *w)
{
	struct sl_device *d;

	if (w == NULL)
		return;
	d = w->opts.device;
	for (uint32_t i = 0; i < SL_WIRE_CHANNELS; i++)
		sl_device_stream_destroy(d, w->channels[i].stream);
	sl_device_stream_destroy(d, w->compute);
	for (uint32_t i = 0; i < SL_WIRE_CHANNELS; i++) {
		drop_fences(d, &w->channels[i]);
		sl_device_pinned_destroy(d, w->channels[i].stage);
	}
	sl_device_pinned_destroy(d, w->stage);
	sl_wire_step_finish(w);
	sl_arena_finish(&w->parts);
	sl_free(w);
}

const struct sl_engine_wire *sl_wire_engine(const struct sl_wire *w)
{
	return &w->engine;
}

struct sl_stream *sl_wire_compute(const struct sl_wire *w)
{
	return w->compute;
}

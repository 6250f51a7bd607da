/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_FUZZ_HOSTILE_TRACE_H
#define SL_TESTS_FUZZ_HOSTILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/trace.h"

/* A trace made from any bytes, with all that the format allows: what one byte decides is
 * next to what the byte before it decided, so that a fuzzer learns. Past the end: 0. */
struct bytes {
	const uint8_t *at;
	size_t left;
};

static inline uint32_t take(struct bytes *b, uint32_t n)
{
	uint32_t x;

	if (b->left == 0)
		return 0;
	x = *b->at++;
	b->left--;
	return n > 0 ? x % n : 0;
}

#define HOSTILE_MAX_VALUES 200

struct hostile {
	struct bytes b;
	struct sl_trace t;
	bool wild; /* sizes and times from the far ends of their ranges */
	uint32_t live[HOSTILE_MAX_VALUES]; /* what ops may read */
	uint32_t n_live, n_persistent;
	sl_status st;
};

static inline void hostile_keep(struct hostile *h, sl_status st)
{
	if (h->st == SL_OK)
		h->st = st;
}

static inline uint64_t hostile_bytes(struct hostile *h)
{
	static const uint64_t sizes[] = {1, 3, 63, 64, 4095, 4096, 4097, 8192, 65536,
		1 << 20, (uint64_t)1 << 40, (uint64_t)1 << 52};

	if (h->wild)
		return sizes[take(&h->b, 12)];
	return take(&h->b, 4) == 0 ? 1 + take(&h->b, 0xff)
				   : (1 + (uint64_t)take(&h->b, 15)) * 4096;
}

static inline uint64_t hostile_ns(struct hostile *h)
{
	static const uint64_t ns[] = {0, 1, 999, 1000000, 1000000000, (uint64_t)1 << 40,
		(uint64_t)1 << 50, (uint64_t)1 << 54, UINT64_MAX};

	return h->wild ? ns[take(&h->b, 9 - (h->b.left % 16 != 0))]
		       : 100 * (uint64_t)take(&h->b, 0xff);
}

static inline void hostile_link(struct hostile *h, uint32_t from, uint32_t to)
{
	static const uint64_t rates[] = {100000000, 1000000000, 10000000000, 1, 1000,
		(uint64_t)1 << 63, UINT64_MAX};
	struct sl_trace_link l = {.from = from, .to = to};

	l.bytes_per_s = rates[take(&h->b, h->wild ? 7 : 3)];
	l.latency_ns = h->wild ? (uint64_t)1 << take(&h->b, 41) : 0;
	l.half_duplex = take(&h->b, 2);
	hostile_keep(h, sl_trace_add_link(&h->t, &l));
}

/* None, one or more tiers, with links in both, either or no direction. */
static inline void hostile_tiers(struct hostile *h)
{
	static const char *const names[] = {"disk", "host", "far"};
	static const uint64_t room[] = {
		(uint64_t)1 << 50, 1 << 30, 1 << 16, 4096, 4095, 0};
	uint32_t n = (1 + take(&h->b, 4)) % 4;

	for (uint32_t i = 0; i < n; i++)
		hostile_keep(h, sl_trace_add_tier(&h->t, names[i],
					room[take(&h->b, h->wild ? 6 : 2)]));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t how = take(&h->b, 12);

		if (how != 9)
			hostile_link(h, how == 10 ? i + 1 : 0, how == 10 ? 0 : i + 1);
		if (how < 9)
			hostile_link(h, how == 8 ? 0 : i + 1, how == 8 ? i + 1 : 0);
	}
}

static inline uint32_t hostile_value(struct hostile *h, enum sl_class cls)
{
	struct sl_trace_value v = {
		.bytes = hostile_bytes(h), .cls = cls, .alias = SL_NO_ID};
	uint32_t flags = take(&h->b, 64);

	v.align = (uint64_t)1 << (h->wild ? take(&h->b, 13) : 12 * (flags & 1));
	v.immovable = flags == 63;
	v.external = flags == 62;
	hostile_keep(h, sl_trace_add_value(&h->t, &v));
	if (h->n_live < HOSTILE_MAX_VALUES)
		h->live[h->n_live++] = h->t.n_values - 1;
	return h->t.n_values - 1;
}

/* Another name for what lives, with as many bytes or fewer. */
static inline uint32_t hostile_alias(struct hostile *h, uint32_t of)
{
	uint32_t root = sl_trace_root(&h->t, of);
	struct sl_trace_value v = h->t.values[root];

	v.alias = root;
	v.bytes = v.bytes > 1 ? v.bytes - take(&h->b, 2) : 1;
	hostile_keep(h, sl_trace_add_value(&h->t, &v));
	return h->t.n_values - 1;
}

/* Mostly recent ones, at times any. */
static inline uint32_t hostile_pick(struct hostile *h)
{
	uint32_t far = take(&h->b, 0xff);

	if (far < 100 && h->n_live > 3)
		return h->live[h->n_live - 1 - far % 3];
	return h->live[far % h->n_live];
}

static inline void hostile_op(struct hostile *h)
{
	uint32_t in[4], out[4], mutates[4], shape = take(&h->b, 0xff);
	static const enum sl_class born[] = {SL_CLASS_ACT, SL_CLASS_ACT, SL_CLASS_GRAD,
		SL_CLASS_INPUT, SL_CLASS_SCRATCH};
	static const char *const kinds[] = {"conv2d", "matmul", "relu", "add"};
	struct sl_trace_op o = {.in = in, .out = out, .mutates = mutates};

	o.kind = kinds[take(&h->b, 4)];
	o.pure = shape % 8 != 7;
	o.n_in = h->n_live > 0 ? shape / 8 % 4 : 0;
	for (uint32_t i = 0; i < o.n_in; i++)
		in[i] = hostile_pick(h);
	if (h->n_live > 0 && shape / 32 == 7) {
		o.n_mutates = 1 + take(&h->b, 3);
		for (uint32_t i = 0; i < o.n_mutates; i++)
			mutates[i] = hostile_pick(h);
	}
	if (h->n_live > 0 && shape == 100)
		in[o.n_in++] = hostile_alias(h, hostile_pick(h));
	if (h->n_persistent > 0 && shape % 64 == 33)
		out[o.n_out++] = take(&h->b, h->n_persistent);
	for (uint32_t i = shape / 32 == 7 ? 1 : 0; i < 1 + (shape % 16 == 5); i++)
		out[o.n_out++] = hostile_value(h, born[take(&h->b, 5)]);
	o.dur_ns = hostile_ns(h);
	o.workspace_bytes = take(&h->b, 4) == 3 ? hostile_bytes(h) : 0;
	hostile_keep(h, sl_trace_add_op(&h->t, &o));
}

/* SL_E_FORMAT: the bytes do not make a trace. */
static inline sl_status hostile_trace(struct hostile *h, uint32_t max_ops)
{
	static const enum sl_class lasting[] = {
		SL_CLASS_PARAM, SL_CLASS_STATE, SL_CLASS_CONST};
	uint32_t n;

	h->t = SL_TRACE_INIT;
	h->st = SL_OK;
	h->n_live = 0;
	h->wild = take(&h->b, 3) == 1;
	hostile_tiers(h);
	h->n_persistent = take(&h->b, 6);
	for (uint32_t i = 0; i < h->n_persistent; i++)
		(void)hostile_value(h, lasting[take(&h->b, 3)]);
	n = 1 + take(&h->b, max_ops);
	for (uint32_t i = 0; i < n; i++)
		hostile_op(h);
	hostile_keep(h, sl_trace_check(&h->t));
	return h->st;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_GEN_H
#define SL_TESTS_MEMORY_GEN_H

/*
 * Traces for tests. gen_training: one step of a residual network of transformer-like
 * blocks with Adam, in the shape that a sealed graph has (gradients die in the update,
 * updates mutate weights and moments, activations are mutated in place). gen_random:
 * small valid traces with everything a trace may hold. Deterministic in their arguments.
 * Failures are remembered and given by gen_end.
 */
#include <string.h>

#include "base/rng.h"
#include "memory/place.h"

struct gen {
	struct sl_trace t;
	sl_status st;
	struct sl_rng rng;
	uint32_t list[64];
};

static inline uint32_t gen_value(struct gen *g, enum sl_class cls, uint64_t bytes)
{
	struct sl_trace_value v = {.bytes = bytes,
		.align = bytes >= SL_PAGE_BYTES ? SL_PAGE_BYTES : 64,
		.alias = SL_NO_ID,
		.cls = cls};

	v.bytes = sl_room_value(&v);
	if (g->st == SL_OK)
		g->st = sl_trace_add_value(&g->t, &v);
	return g->t.n_values - 1;
}

/* Adds an op; lists end at SL_NO_ID. */
static inline void gen_op(struct gen *g, const char *kind, uint64_t workspace,
	const uint32_t *in, const uint32_t *out, const uint32_t *mutates)
{
	struct sl_trace_op op = {
		.kind = kind, .workspace_bytes = workspace, .pure = true};
	uint64_t bytes = workspace;

	op.in = memcpy(g->list, in, 8 * sizeof(*in));
	op.out = memcpy(g->list + 8, out, 8 * sizeof(*out));
	op.mutates = memcpy(g->list + 16, mutates, 8 * sizeof(*mutates));
	for (; op.n_in < 8 && op.in[op.n_in] != SL_NO_ID; op.n_in++)
		bytes += g->t.values[op.in[op.n_in]].bytes;
	for (; op.n_out < 8 && op.out[op.n_out] != SL_NO_ID; op.n_out++)
		bytes += g->t.values[op.out[op.n_out]].bytes;
	while (op.n_mutates < 8 && op.mutates[op.n_mutates] != SL_NO_ID)
		op.n_mutates++;
	op.dur_ns = 1000 + bytes / 4;
	if (g->st == SL_OK)
		g->st = sl_trace_add_op(&g->t, &op);
}

#define GEN_L(...) \
	(const uint32_t[8]) \
	{ \
		__VA_ARGS__ \
	}
#define GEN_E SL_NO_ID
#define GEN_NONE GEN_L(GEN_E)

static inline void gen_tier(
	struct gen *g, const char *name, uint64_t bytes, uint64_t rate)
{
	uint32_t tier;

	if (g->st == SL_OK)
		g->st = sl_trace_add_tier(&g->t, name, bytes);
	tier = g->t.n_tiers;
	for (int dir = 0; dir < 2 && g->st == SL_OK; dir++)
		g->st = sl_trace_add_link(
			&g->t, &(struct sl_trace_link){.from = dir ? tier : 0,
				       .to = dir ? 0 : tier,
				       .bytes_per_s = rate,
				       .latency_ns = 50000});
}

struct gen_block {
	uint32_t w1, w2, bias, scale; /* parameters */
	uint32_t x, norm, wide, act, y;
};

/* Width d, rows n: weights d x 4d and 4d x d, activations n x d and n x 4d, floats. */
static inline void gen_forward(struct gen *g, struct gen_block *b, uint64_t d, uint64_t n)
{
	uint32_t sum;

	b->norm = gen_value(g, SL_CLASS_ACT, n * d * 4);
	gen_op(g, "norm", 0, GEN_L(b->x, b->scale, GEN_E), GEN_L(b->norm, GEN_E),
		GEN_NONE);
	b->wide = gen_value(g, SL_CLASS_ACT, n * d * 16);
	gen_op(g, "matmul", d * 64, GEN_L(b->norm, b->w1, GEN_E), GEN_L(b->wide, GEN_E),
		GEN_NONE);
	gen_op(g, "bias", 0, GEN_L(b->bias, GEN_E), GEN_NONE, GEN_L(b->wide, GEN_E));
	b->act = gen_value(g, SL_CLASS_ACT, n * d * 16);
	gen_op(g, "gelu", 0, GEN_L(b->wide, GEN_E), GEN_L(b->act, GEN_E), GEN_NONE);
	sum = gen_value(g, SL_CLASS_ACT, n * d * 4);
	gen_op(g, "matmul", d * 64, GEN_L(b->act, b->w2, GEN_E), GEN_L(sum, GEN_E),
		GEN_NONE);
	gen_op(g, "add", 0, GEN_L(b->x, GEN_E), GEN_NONE, GEN_L(sum, GEN_E));
	b->y = sum;
}

static inline void gen_update(struct gen *g, uint32_t w, uint32_t grad)
{
	/* Moments follow their parameter in id order: gen_param made them. */
	gen_op(g, "adam", 0, GEN_L(grad, GEN_E), GEN_NONE, GEN_L(w, w + 1, w + 2, GEN_E));
}

static inline uint32_t gen_param(struct gen *g, uint64_t bytes)
{
	uint32_t w = gen_value(g, SL_CLASS_PARAM, bytes);

	(void)gen_value(g, SL_CLASS_STATE, bytes);
	(void)gen_value(g, SL_CLASS_STATE, bytes);
	return w;
}

/* The gradient of y comes in as dy and leaves, mutated in place, as that of x. */
static inline void gen_backward(
	struct gen *g, const struct gen_block *b, uint32_t dy, uint64_t d, uint64_t n)
{
	uint32_t dact = gen_value(g, SL_CLASS_GRAD, n * d * 16);
	uint32_t dw2 = gen_value(g, SL_CLASS_GRAD, d * d * 16);
	uint32_t dw1 = gen_value(g, SL_CLASS_GRAD, d * d * 16);
	uint32_t dbias = gen_value(g, SL_CLASS_GRAD, d * 16);
	uint32_t dnorm = gen_value(g, SL_CLASS_GRAD, n * d * 4);
	uint32_t dscale = gen_value(g, SL_CLASS_GRAD, d * 4);

	gen_op(g, "matmul_grad", d * 64, GEN_L(dy, b->w2, GEN_E), GEN_L(dact, GEN_E),
		GEN_NONE);
	gen_op(g, "matmul_grad", d * 64, GEN_L(dy, b->act, GEN_E), GEN_L(dw2, GEN_E),
		GEN_NONE);
	gen_op(g, "gelu_grad", 0, GEN_L(b->wide, GEN_E), GEN_NONE, GEN_L(dact, GEN_E));
	gen_op(g, "bias_grad", 0, GEN_L(dact, GEN_E), GEN_L(dbias, GEN_E), GEN_NONE);
	gen_op(g, "matmul_grad", 0, GEN_L(dact, b->norm, GEN_E), GEN_L(dw1, GEN_E),
		GEN_NONE);
	gen_op(g, "matmul_grad", d * 64, GEN_L(dact, b->w1, GEN_E), GEN_L(dnorm, GEN_E),
		GEN_NONE);
	gen_op(g, "norm_grad", 4096, GEN_L(b->x, b->scale, dnorm, GEN_E),
		GEN_L(dscale, GEN_E), GEN_L(dy, GEN_E));
	gen_update(g, b->w2, dw2);
	gen_update(g, b->bias, dbias);
	gen_update(g, b->w1, dw1);
	gen_update(g, b->scale, dscale);
}

#define GEN_MAX_BLOCKS 640

/* Tiers: disk_bytes 0 for none. 17 ops and 24 values a block. */
static inline struct gen gen_training(
	uint32_t blocks, uint64_t d, uint64_t n, uint64_t disk_bytes)
{
	struct gen g = {.t = SL_TRACE_INIT, .st = SL_OK};
	struct gen_block b[GEN_MAX_BLOCKS] = {0};
	uint32_t x, dy;

	if (disk_bytes)
		gen_tier(&g, "disk", disk_bytes, 2000000000);
	for (uint32_t i = 0; i < blocks; i++) {
		b[i].w1 = gen_param(&g, d * d * 16);
		b[i].w2 = gen_param(&g, d * d * 16);
		b[i].bias = gen_param(&g, d * 16);
		b[i].scale = gen_param(&g, d * 4);
	}
	x = gen_value(&g, SL_CLASS_INPUT, n * d * 4);
	gen_op(&g, "feed", 0, GEN_NONE, GEN_L(x, GEN_E), GEN_NONE);
	for (uint32_t i = 0; i < blocks; i++) {
		b[i].x = x;
		gen_forward(&g, &b[i], d, n);
		x = b[i].y;
	}
	dy = gen_value(&g, SL_CLASS_GRAD, n * d * 4);
	gen_op(&g, "loss", 8192, GEN_L(x, GEN_E), GEN_L(dy, GEN_E), GEN_NONE);
	for (uint32_t i = blocks; i > 0; i--)
		gen_backward(&g, &b[i - 1], dy, d, n);
	return g;
}

static inline uint64_t gen_size(struct gen *g)
{
	static const uint64_t sizes[] = {
		1, 60, 64, 700, 4096, 5000, 8192, 12288, 40960, 100000};

	return sizes[sl_rng_below(&g->rng, sizeof(sizes) / sizeof(sizes[0]))];
}

static inline uint32_t gen_random_value(struct gen *g, enum sl_class cls, uint32_t alias)
{
	struct sl_trace_value v = {
		.bytes = gen_size(g), .align = 1, .alias = alias, .cls = cls};

	v.align = 1ull << sl_rng_below(&g->rng, 13);
	if (alias != SL_NO_ID && v.bytes > g->t.values[alias].bytes)
		v.bytes = g->t.values[alias].bytes;
	v.immovable = alias == SL_NO_ID && sl_rng_below(&g->rng, 12) == 0;
	if (g->st == SL_OK)
		g->st = sl_trace_add_value(&g->t, &v);
	return g->t.n_values - 1;
}

static inline void gen_random_op(struct gen *g)
{
	struct sl_trace_op op = {.kind = "op", .dur_ns = sl_rng_below(&g->rng, 200000)};
	uint32_t known = g->t.n_values;

	op.pure = op.dur_ns % 5 != 0;
	op.in = g->list;
	op.mutates = g->list + 16;
	op.out = g->list + 32;
	for (uint64_t k = sl_rng_below(&g->rng, 4); k > 0 && known; k--)
		op.in[op.n_in++] = (uint32_t)sl_rng_below(&g->rng, known);
	if (sl_rng_below(&g->rng, 3) == 0 && known)
		op.mutates[op.n_mutates++] = (uint32_t)sl_rng_below(&g->rng, known);
	for (uint64_t k = sl_rng_below(&g->rng, 3); k > 0; k--)
		op.out[op.n_out++] = gen_random_value(g, SL_CLASS_ACT, SL_NO_ID);
	if (op.n_out && sl_rng_below(&g->rng, 4) == 0) /* a view, read by later ops */
		(void)gen_random_value(g, SL_CLASS_ACT, op.out[0]);
	if (sl_rng_below(&g->rng, 6) == 0 && known)
		op.out[op.n_out++] = 0; /* overwrites a persistent value whole */
	if (sl_rng_below(&g->rng, 3) == 0)
		op.workspace_bytes = gen_size(g);
	if (g->st == SL_OK)
		g->st = sl_trace_add_op(&g->t, &op);
}

/* Two tiers: a small fast host and a disk that holds everything. */
static inline struct gen gen_random(uint64_t seed, uint32_t n_ops)
{
	static const enum sl_class classes[] = {
		SL_CLASS_PARAM, SL_CLASS_STATE, SL_CLASS_CONST};
	struct gen g = {.t = SL_TRACE_INIT, .st = SL_OK, .rng = {.key = {.seed = seed}}};
	uint64_t persistent = 1 + sl_rng_below(&g.rng, 10);

	gen_tier(&g, "disk", 1ull << 30, 1000000000);
	gen_tier(&g, "host", 200000, 10000000000);
	for (uint64_t i = 0; i < persistent; i++)
		(void)gen_random_value(&g, classes[sl_rng_below(&g.rng, 3)], SL_NO_ID);
	for (uint32_t i = 0; i < n_ops; i++)
		gen_random_op(&g);
	return g;
}

static inline sl_status gen_end(const struct gen *g)
{
	return g->st != SL_OK ? g->st : sl_trace_check(&g->t);
}

#endif

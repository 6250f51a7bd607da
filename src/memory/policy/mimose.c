/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mimose: as many blocks as the budget asks for are checkpointed, and run again in the
 * backward pass [mimose]. Its other half, many input sizes, is memory/sizes.h.
 *
 * Departures:
 * 1. Bytes are the trace's: nothing is collected and estimated for one trace.
 * 2. Savings do not add up where the backward pass brings back what a picked block gave
 * up: what is missing grows by what a plan was too high, and blocks are picked anew.
 * 3. A block runs again value by value, where each is wanted first; what there is room
 * for stays for the rest of its backward pass.
 * 4. No reserve is kept: addresses are part of the plan.
 * 5. Where all blocks together do not do, belady's plan is used (baseline.h).
 */
#include "memory/policy/mimose.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/baseline.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/policy.h"

#define ROUNDS 24
#define LEAST_PARTS 256

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

/* The first op that bears a gradient; without one there is no backward pass. */
static uint32_t backward_begins(const struct sl_trace *t)
{
	for (uint32_t i = 0; i < t->n_ops; i++) {
		for (uint32_t k = 0; k < t->ops[i].n_out; k++) {
			if (t->values[sl_trace_root(t, t->ops[i].out[k])].cls ==
				SL_CLASS_GRAD)
				return i;
		}
	}
	return 0;
}

static bool ends_component(char c)
{
	return c == '.' || c == '/' || c == '\0';
}

/* Length of a scope up to its first component that is a number, or all of it. */
static size_t layer_length(const char *scope)
{
	size_t begin = 0, i = 0;
	bool number = true;

	for (;; i++) {
		if (!ends_component(scope[i])) {
			number = number && scope[i] >= '0' && scope[i] <= '9';
			continue;
		}
		if ((number && i > begin) || scope[i] == '\0')
			return i;
		begin = i + 1;
		number = true;
	}
}

static bool has_scope(const struct sl_trace_op *op)
{
	return op->scope != NULL && op->scope[0] != '\0' && strcmp(op->scope, "-") != 0;
}

static bool same_layer(const struct sl_trace_op *a, const struct sl_trace_op *b)
{
	size_t n;

	if (!has_scope(a) || !has_scope(b))
		return !has_scope(a) && !has_scope(b);
	n = layer_length(a->scope);
	return n == layer_length(b->scope) && memcmp(a->scope, b->scope, n) == 0;
}

static void cut_blocks(struct sl_mimose *m, uint32_t n_ops)
{
	const struct sl_trace *t = m->g.t;
	uint32_t longest = 1;

	while ((uint64_t)longest * longest < n_ops)
		longest++;
	for (uint32_t i = 0; i < n_ops; i++) {
		struct sl_mimose_block *last = m->n > 0 ? &m->blocks[m->n - 1] : NULL;
		bool more =
			last != NULL && same_layer(&t->ops[last->first_op], &t->ops[i]);

		if (more && !has_scope(&t->ops[i]) && i - last->first_op >= longest)
			more = false;
		if (!more)
			m->blocks[m->n++] = (struct sl_mimose_block){.first_op = i};
		m->blocks[m->n - 1].end_op = i + 1;
	}
}

static bool runs_again(const struct sl_gaps *g, uint32_t v)
{
	for (uint32_t u = g->x.first[v]; u < g->x.first[v + 1]; u++) {
		if (g->x.uses[u].writes && !g->t->ops[g->x.uses[u].op].pure)
			return false;
	}
	return true;
}

/* The gap of v that reaches from its block into the backward pass, if only that block
 * reads it before. */
static void note_value(struct sl_mimose *m, uint32_t v, uint32_t block, uint32_t backward)
{
	const struct sl_gaps *g = &m->g;
	struct sl_mimose_block *b = &m->blocks[block];

	for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->from_op >= b->end_op || gap->to_op < backward)
			continue;
		if (!sl_gap_movable(g, gap) || !runs_again(g, v))
			return;
		m->block_of_gap[i] = block;
		b->saving += sl_room_value(&g->t->values[v]);
		return;
	}
}

static void note_savings(struct sl_mimose *m, uint32_t backward)
{
	const struct sl_trace *t = m->g.t;
	uint32_t block = 0;

	for (uint32_t i = 0; i < backward; i++) {
		block += i >= m->blocks[block].end_op;
		for (uint32_t k = 0; k < t->ops[i].n_out; k++) {
			uint32_t v = sl_trace_root(t, t->ops[i].out[k]);

			if (!sl_class_persistent(t->values[v].cls))
				note_value(m, v, block, backward);
		}
	}
}

sl_status sl_mimose_open(struct sl_mimose *m, const struct sl_trace *t)
{
	uint32_t backward = backward_begins(t);
	sl_status st = SL_OK;

	*m = (struct sl_mimose){0};
	SL_TRY(sl_gaps_init(&m->g, t));
	m->g.n_tiers = 0; /* what cannot run again stays */
	m->blocks = sl_calloc((size_t)backward + 1, sizeof(*m->blocks));
	m->block_of_gap = sl_calloc((size_t)m->g.n + 1, sizeof(*m->block_of_gap));
	if (m->blocks == NULL || m->block_of_gap == NULL) {
		st = no_memory();
		goto out;
	}
	for (uint32_t i = 0; i < m->g.n; i++)
		m->block_of_gap[i] = SL_NO_ID;
	cut_blocks(m, backward);
	if (m->n > 0)
		note_savings(m, backward);
	return SL_OK;
out:
	sl_mimose_close(m);
	return st;
}

void sl_mimose_close(struct sl_mimose *m)
{
	sl_gaps_finish(&m->g);
	sl_free(m->blocks);
	sl_free(m->block_of_gap);
	*m = (struct sl_mimose){0};
}

sl_status sl_mimose_lower(struct sl_mimose *m, uint64_t budget, const char *name,
	struct sl_plan *out, uint64_t *out_height)
{
	sl_gaps_reset(&m->g);
	for (uint32_t i = 0; i < m->g.n; i++) {
		uint32_t block = m->block_of_gap[i];

		if (block != SL_NO_ID && m->blocks[block].picked)
			sl_gap_set(&m->g.gaps[i], SL_FATE_REDO);
	}
	return sl_baseline_lower(&m->g, budget, name, out, out_height);
}

static bool all_picked(const struct sl_mimose *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->blocks[i].saving > 0 && !m->blocks[i].picked)
			return false;
	}
	return true;
}

sl_status sl_mimose_choose(struct sl_mimose *m, uint64_t budget, uint64_t need,
	const char *name, struct sl_plan *out)
{
	uint64_t height;

	for (int i = 0; i < ROUNDS; i++) {
		if (i + 1 == ROUNDS)
			need = UINT64_MAX;
		SL_TRY(sl_mimose_pick(m->blocks, m->n, need));
		SL_TRY(sl_mimose_lower(m, budget, name, out, &height));
		if (height <= budget || all_picked(m))
			return SL_OK;
		need = height - budget < UINT64_MAX - need ? need + height - budget
							   : UINT64_MAX;
	}
	return SL_OK;
}

static sl_status choose(
	const struct sl_trace *t, uint64_t budget, uint64_t need, struct sl_plan *out)
{
	struct sl_mimose m = {0};
	struct sl_plan p = SL_PLAN_INIT;
	sl_status st;

	SL_TRY(sl_mimose_open(&m, t));
	SL_TRY_OUT(sl_mimose_choose(&m, budget, need, "mimose", &p));
	if (p.value_offset)
		sl_plan_move(out, &p);
out:
	sl_plan_finish(&p);
	sl_mimose_close(&m);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	uint64_t peak = 0;

	(void)option;
	SL_TRY(sl_mem_policy_keep.least(t, &peak));
	return choose(t, budget, peak - budget, out);
}

/* With all picked; *fits: within so many bytes. */
static sl_status try_all(struct sl_mimose *m, uint64_t bytes, bool *fits)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t height = UINT64_MAX;
	sl_status st;

	for (uint32_t i = 0; i < m->n; i++)
		m->blocks[i].picked = true;
	st = sl_mimose_lower(m, bytes, "mimose", &p, &height);
	sl_plan_finish(&p);
	*fits = st == SL_OK && height <= bytes;
	return st;
}

/* Without a tier, what all blocks together can do may be less than what belady needs: to
 * a part in LEAST_PARTS. */
static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	struct sl_mimose m = {0};
	struct sl_reach tiers[SL_REACH_MAX];
	uint64_t low = 0, high;
	bool fits;
	sl_status st;

	SL_TRY(sl_mem_policy_belady.least(t, out_bytes));
	if (sl_reach_find(t, tiers) > 0)
		return SL_OK;
	SL_TRY(sl_mimose_open(&m, t));
	high = *out_bytes / SL_PAGE_BYTES + 1;
	while (high - low > high / LEAST_PARTS + 1) {
		uint64_t mid = low + (high - low) / 2;

		SL_TRY_OUT(try_all(&m, mid * SL_PAGE_BYTES, &fits));
		*(fits ? &high : &low) = mid;
	}
	if (high * SL_PAGE_BYTES < *out_bytes)
		*out_bytes = high * SL_PAGE_BYTES;
out:
	sl_mimose_close(&m);
	return st;
}

const struct sl_mem_policy sl_mem_policy_mimose = {
	.name = "mimose",
	.source = "mimose",
	.summary = "blocks give up what they hold and run again, as many as it takes",
	.own = own,
	.least = least,
};

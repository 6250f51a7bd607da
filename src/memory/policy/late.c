/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which copies make others wait. Channels are booked once more, first in first out, at
 * the moments at which a plan issues its copies and on the clock of g->start_ns, where
 * nothing stalls. What ends after it is needed is late, and so is whoever was in front of
 * it without a pause between them.
 */
#include "memory/policy/late.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/units.h"

struct copy {
	uint32_t gap;
	bool in;
	uint64_t issue_ns, due_ns;
	uint32_t issue_op, due_op; /* orders copies of one moment */
	uint64_t start_ns, end_ns;
};

struct lane {
	struct copy *copies;
	size_t n;
};

static uint64_t end_of_op(const struct sl_gaps *g, uint32_t op)
{
	return g->start_ns[op] + g->t->ops[op].dur_ns;
}

static void add_out(const struct sl_gaps *g, uint32_t i, struct lane *lane)
{
	const struct sl_gap *gap = &g->gaps[i];

	lane->copies[lane->n++] = (struct copy){.gap = i,
		.issue_ns = sl_add_ns(end_of_op(g, gap->save), gap->delay_ns),
		.issue_op = gap->save + 1,
		.due_op = sl_gap_saved(gap) ? g->t->n_ops : gap->hold};
	lane->copies[lane->n - 1].due_ns = g->start_ns[lane->copies[lane->n - 1].due_op];
}

static void add_in(const struct sl_gaps *g, uint32_t i, struct lane *lane)
{
	const struct sl_gap *gap = &g->gaps[i];

	lane->copies[lane->n++] = (struct copy){.gap = i,
		.in = true,
		.issue_ns = g->start_ns[gap->arrive],
		.issue_op = gap->arrive,
		.due_op = gap->due,
		.due_ns = g->start_ns[gap->due]};
}

static int by_issue(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->issue_op != y->issue_op)
		return x->issue_op < y->issue_op ? -1 : 1;
	if (x->in != y->in)
		return x->in ? 1 : -1;
	if (x->due_op != y->due_op)
		return x->due_op < y->due_op ? -1 : 1;
	return x->gap < y->gap ? -1 : x->gap > y->gap;
}

static uint64_t late_ns(const struct copy *c)
{
	return c->end_ns > c->due_ns ? c->end_ns - c->due_ns : 0;
}

static void blame_lane(
	const struct sl_gaps *g, struct lane *lane, uint64_t *out_ns, uint64_t *in_ns)
{
	uint64_t now = 0, late = 0;

	qsort(lane->copies, lane->n, sizeof(*lane->copies), by_issue);
	for (size_t i = 0; i < lane->n; i++) {
		struct copy *c = &lane->copies[i];
		const struct sl_gap *gap = &g->gaps[c->gap];

		c->start_ns = c->issue_ns > now ? c->issue_ns : now;
		now = sl_add_ns(c->start_ns,
			c->in ? sl_gap_in_ns(g, gap) : sl_gap_out_ns(g, gap));
		c->end_ns = now;
	}
	for (size_t i = lane->n; i > 0; i--) {
		const struct copy *c = &lane->copies[i - 1];
		uint64_t *blame_ns;

		if (i < lane->n && lane->copies[i].start_ns > c->end_ns)
			late = 0;
		late = late_ns(c) > late ? late_ns(c) : late;
		blame_ns = c->in ? in_ns : out_ns;
		if (late > blame_ns[c->gap])
			blame_ns[c->gap] = late;
	}
}

/* Whether both ways of a tier share one wire. */
static bool shared(const struct sl_gaps *g, uint32_t tier)
{
	return g->t->links[g->tiers[tier].in_link].half_duplex;
}

static void list_tier(
	const struct sl_gaps *g, uint32_t tier, struct lane *out, struct lane *in)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->fate != SL_FATE_SWAP || gap->from_op == SL_NO_ID ||
			gap->tier != tier)
			continue;
		if (gap->dirty)
			add_out(g, i, out);
		add_in(g, i, in);
	}
}

sl_status sl_gaps_late(const struct sl_gaps *g, uint64_t *out_ns, uint64_t *in_ns)
{
	struct lane out = {0}, in = {0};
	sl_status st = SL_OK;

	out.copies = sl_calloc(2 * (size_t)g->n + 1, sizeof(*out.copies));
	in.copies = sl_calloc((size_t)g->n + 1, sizeof(*in.copies));
	if (!out.copies || !in.copies) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	for (uint32_t i = 0; i < g->n; i++)
		out_ns[i] = in_ns[i] = 0;
	for (uint32_t tier = 0; tier < g->n_tiers; tier++) {
		bool one = shared(g, tier);

		out.n = in.n = 0;
		list_tier(g, tier, &out, one ? &out : &in);
		blame_lane(g, &out, out_ns, in_ns);
		blame_lane(g, &in, out_ns, in_ns);
	}
out:
	sl_free(out.copies);
	sl_free(in.copies);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capuchin: swap what has most free time between two accesses around the peak, as long as
 * copies fit into that time; beyond that the cheaper of the exposed copy and of
 * recomputation, most memory saved per second first [capuchin]. A copy in that came late
 * is triggered 5 % of its time earlier in the next iteration.
 *
 * Departures:
 * 1. Accesses and times are the trace's: there is no passive first iteration.
 * 2. Feedback comes from pricing the plan, at plan time, FEEDBACK rounds at most; the
 * cheapest round counts. A copy is late if its use starts later than the op before ends.
 * 3. Recomputation is priced with its chain at the moment of choice, not for all
 * candidates anew after each.
 * 4. Choices are repeated with a lower limit where addresses need more than bytes.
 * 5. Where nothing fits the budget belady's plan is used (baseline.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/baseline.h"
#include "memory/policy/policy.h"

#define FEEDBACK 10
#define LIMIT_ROUNDS 6

struct candidate {
	struct sl_gap *gap;
	int64_t free_ns; /* between the end of its copy out and the latest start of that
			    in */
	uint64_t exposed_ns;
	double saved_per_ns;
};

struct capuchin {
	struct sl_gaps *g;
	struct candidate *list;
	size_t n;
	uint64_t *level; /* [n_ops + 1] */
	uint64_t *lead_ns; /* [gaps] by how much its copy in is triggered early */
	uint64_t *start_ns; /* [n_ops + 1] of the priced plan */
	struct sl_redoer *redoer;
};

static uint64_t end_ns(const struct sl_gaps *g, uint32_t op)
{
	return g->start_ns[op] + g->t->ops[op].dur_ns;
}

static int by_free_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->free_ns != y->free_ns)
		return x->free_ns > y->free_ns ? -1 : 1;
	return x->gap < y->gap ? -1 : x->gap > y->gap;
}

static int by_saving(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->saved_per_ns < y->saved_per_ns || x->saved_per_ns > y->saved_per_ns)
		return x->saved_per_ns > y->saved_per_ns ? -1 : 1;
	return x->gap < y->gap ? -1 : x->gap > y->gap;
}

/* Pairs of accesses that leave something out between them; weights never leave. */
static void list_candidates(struct capuchin *c)
{
	struct sl_gaps *g = c->g;

	c->n = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		struct sl_gap *gap = &g->gaps[i];

		if (sl_class_persistent(g->t->values[gap->value].cls) ||
			!sl_gap_movable(g, gap))
			continue;
		c->list[c->n++] = (struct candidate){.gap = gap,
			.free_ns = (int64_t)g->start_ns[gap->to_op] -
				   (int64_t)end_ns(g, gap->from_op) -
				   (int64_t)sl_gap_out_ns(g, gap) -
				   (int64_t)sl_gap_in_ns(g, gap)};
	}
	qsort(c->list, c->n, sizeof(*c->list), by_free_time);
}

/* When the copy in is triggered: its time, and the lead, before the use; never later
 * than now. */
static void set_arrival(struct capuchin *c, struct sl_gap *gap)
{
	uint64_t before = sl_gap_in_ns(c->g, gap) + c->lead_ns[gap - c->g->gaps];
	uint64_t use = c->g->start_ns[gap->to_op];
	uint32_t op = sl_gaps_op_at(c->g, use > before ? use - before : 0);

	if (op < gap->arrive)
		gap->arrive = op > gap->hold ? op : gap->hold;
}

/* Whether there is too much on the device while the value would be away. */
static bool relieves(const struct capuchin *c, const struct sl_gap *gap, uint64_t limit)
{
	for (uint32_t i = gap->hold; i < gap->arrive; i++) {
		if (c->level[i] > limit)
			return true;
	}
	return false;
}

static void take(struct capuchin *c, const struct sl_gap *gap)
{
	uint64_t bytes = sl_room_value(&c->g->t->values[gap->value]);

	for (uint32_t i = gap->hold; i < gap->arrive; i++)
		c->level[i] -= bytes;
}

/* Copies that hide in the free time of their value. */
static void swap_hidden(struct capuchin *c, uint64_t limit)
{
	for (size_t i = 0; i < c->n && c->list[i].free_ns >= 0; i++) {
		struct sl_gap *gap = c->list[i].gap;
		uint32_t hold;

		sl_gap_set(gap, SL_FATE_SWAP);
		hold = sl_gaps_op_from(
			c->g, end_ns(c->g, gap->from_op) + sl_gap_out_ns(c->g, gap));
		if (hold > gap->hold) /* ops of no length start together */
			gap->hold = hold < gap->to_op ? hold : gap->to_op;
		set_arrival(c, gap);
		if (relieves(c, gap, limit))
			take(c, gap);
		else
			sl_gap_set(gap, SL_FATE_KEEP);
	}
}

/* What is left, by the bytes saved per ns of the cheaper remedy. */
static sl_status weigh(struct capuchin *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct candidate *x = &c->list[i];
		uint64_t bytes = sl_room_value(&c->g->t->values[x->gap->value]), redo_ns;

		if (x->gap->fate != SL_FATE_KEEP)
			continue;
		x->exposed_ns = x->free_ns < 0 ? (uint64_t)-x->free_ns : 0;
		SL_TRY(sl_redoer_price(c->redoer, x->gap, &redo_ns));
		if (redo_ns > x->exposed_ns)
			redo_ns = x->exposed_ns;
		x->saved_per_ns = (double)bytes / (double)(redo_ns + 1);
		c->list[n++] = *x;
	}
	c->n = n;
	qsort(c->list, n, sizeof(*c->list), by_saving);
	return SL_OK;
}

static sl_status pay(struct capuchin *c, uint64_t limit)
{
	SL_TRY(weigh(c));
	for (size_t i = 0; i < c->n; i++) {
		struct candidate *x = &c->list[i];
		uint64_t redo_ns;

		sl_gap_set(x->gap, SL_FATE_KEEP); /* away from use to use */
		if (!relieves(c, x->gap, limit))
			continue;
		SL_TRY(sl_redoer_price(c->redoer, x->gap, &redo_ns));
		sl_gap_set(x->gap, redo_ns < x->exposed_ns ? SL_FATE_REDO : SL_FATE_SWAP);
		take(c, x->gap);
	}
	return SL_OK;
}

static sl_status choose(struct capuchin *c, uint64_t limit)
{
	sl_gaps_reset(c->g);
	sl_gaps_levels(c->g, c->level);
	list_candidates(c);
	swap_hidden(c, limit);
	return pay(c, limit);
}

/* Triggers what came late earlier; false if nothing did. */
static bool adjust(struct capuchin *c)
{
	bool late = false;

	for (uint32_t i = 0; i < c->g->n; i++) {
		struct sl_gap *gap = &c->g->gaps[i];
		uint32_t op = gap->to_op;

		if (gap->fate != SL_FATE_SWAP || gap->wraps || op == 0 ||
			c->start_ns[op] <=
				c->start_ns[op - 1] + c->g->t->ops[op - 1].dur_ns)
			continue;
		c->lead_ns[i] += sl_gap_in_ns(c->g, gap) / 20 + 1;
		set_arrival(c, gap);
		late = true;
	}
	return late;
}

static sl_status feedback(
	struct capuchin *c, uint64_t budget, const char *name, struct sl_plan *out)
{
	struct sl_plan next = SL_PLAN_INIT;
	struct sl_plan_price price = {0}, best = {0};
	uint64_t height;
	sl_status st = SL_OK;

	SL_TRY(sl_plan_price_timed(c->g->t, out, &best, c->start_ns));
	for (int i = 0; i < FEEDBACK && adjust(c); i++) {
		SL_TRY_OUT(sl_baseline_lower(c->g, budget, name, &next, &height));
		if (height > budget)
			break;
		SL_TRY_OUT(sl_plan_price_timed(c->g->t, &next, &price, c->start_ns));
		if (price.iter_ns < best.iter_ns) {
			best = price;
			sl_plan_finish(out);
			sl_plan_move(out, &next);
		}
		sl_plan_finish(&next);
	}
out:
	sl_plan_finish(&next);
	return st;
}

static sl_status search(
	struct capuchin *c, uint64_t budget, const char *name, struct sl_plan *out)
{
	uint64_t limit = budget, height = 0;

	for (int i = 0; i < LIMIT_ROUNDS; i++) {
		SL_TRY(choose(c, limit));
		SL_TRY(sl_baseline_lower(c->g, budget, name, out, &height));
		if (height <= budget)
			return feedback(c, budget, name, out);
		if (height - budget > limit / 2)
			break;
		limit -= height - budget;
	}
	return SL_OK;
}

static sl_status fates(struct sl_gaps *g, uint64_t budget, const char *name,
	const void *ctx, struct sl_plan *out)
{
	struct capuchin c = {.g = g};
	sl_status st = SL_OK;
	(void)ctx;

	c.list = sl_calloc((size_t)g->n + 1, sizeof(*c.list));
	c.level = sl_calloc((size_t)g->t->n_ops + 1, sizeof(*c.level));
	c.lead_ns = sl_calloc((size_t)g->n + 1, sizeof(*c.lead_ns));
	c.start_ns = sl_calloc((size_t)g->t->n_ops + 1, sizeof(*c.start_ns));
	if (!c.list || !c.level || !c.lead_ns || !c.start_ns) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	SL_TRY_OUT(sl_redoer_create(g, NULL, 0, &c.redoer));
	SL_TRY_OUT(search(&c, budget, name, out));
out:
	sl_redoer_destroy(c.redoer);
	sl_free(c.list);
	sl_free(c.level);
	sl_free(c.lead_ns);
	sl_free(c.start_ns);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	(void)option;
	return sl_baseline_own(t, budget, "capuchin", fates, NULL, out);
}

const struct sl_mem_policy sl_mem_policy_capuchin = {
	.name = "capuchin",
	.source = "capuchin",
	.summary = "swaps by free time around the peak, recomputes by bytes per second",
	.own = own,
	.least = sl_baseline_least,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which gaps to use so that no op has more than `limit` bytes on the device, at the least
 * cost. A sweep over the ops takes, wherever there is too much, the gap that relieves
 * most byte-ops of excess per nanosecond of cost; a second pass gives back what turned
 * out not to be needed, dearest first.
 *
 * Swapping costs its time on the link times `link_price`: 0 where copies hide behind
 * compute, 1 where every copied byte is waited for, between them where the link is the
 * scarcer the higher. Redoing costs its runs. With equal prices for all bytes this is
 * Belady's farthest next use.
 */
#include "memory/policy/choose_int.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"

#define WORSE_AGAIN 1.05 /* a cost that grew by more goes back into the heap */

struct candidate {
	double score;
	uint32_t gap;
	enum sl_fate fate;
};

/* The ops [0, head) and [from, to) without the bytes of a gap. */
struct span {
	uint32_t head, from, to;
};

struct chooser {
	struct sl_gaps *g;
	const struct sl_choice *how;
	struct sl_redoer *redoer;
	uint64_t *level;
	uint32_t *excess; /* [n_ops + 1] ops before this one with too much */
	int64_t *off; /* [n_ops + 1] differences of what chosen gaps take off */
	struct candidate *order; /* by the op at which they open; scores come later */
	uint32_t *open_first; /* [n_ops + 2] into order */
	struct candidate *heap;
	size_t n_heap;
};

static void sift_up(struct candidate *heap, size_t i)
{
	while (i > 0 && heap[(i - 1) / 2].score < heap[i].score) {
		struct candidate c = heap[i];

		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = c;
		i = (i - 1) / 2;
	}
}

static void push(struct chooser *c, struct candidate x)
{
	c->heap[c->n_heap] = x;
	sift_up(c->heap, c->n_heap++);
}

static struct candidate pop(struct chooser *c)
{
	struct candidate top = c->heap[0], *heap = c->heap;
	size_t i = 0;

	heap[0] = heap[--c->n_heap];
	for (;;) {
		size_t best = i, l = 2 * i + 1;

		if (l < c->n_heap && heap[l].score > heap[best].score)
			best = l;
		if (l + 1 < c->n_heap && heap[l + 1].score > heap[best].score)
			best = l + 1;
		if (best == i)
			return top;
		struct candidate x = heap[i];
		heap[i] = heap[best];
		heap[best] = x;
		i = best;
	}
}

static uint64_t room(const struct chooser *c, const struct sl_gap *gap)
{
	return sl_room_value(&c->g->t->values[gap->value]);
}

static uint32_t excess_between(const struct chooser *c, uint32_t from, uint32_t to)
{
	return from < to ? c->excess[to] - c->excess[from] : 0;
}

static uint64_t part(double share, uint64_t ns)
{
	double x = share * (double)ns;

	return x < 9e18 ? (uint64_t)x : UINT64_MAX;
}

/* A swap relieves no op while its copies are under way, so much of their time as
 * copy_share says. */
static void shrink(const struct chooser *c, const struct sl_gap *gap, struct span *s)
{
	double share = c->how->copy_share;
	uint32_t *to = gap->wraps ? &s->head : &s->to, op;
	uint64_t begin = c->g->start_ns[gap->to_op];
	uint64_t in = part(share, sl_gap_in_ns(c->g, gap)), end;

	if (share <= 0)
		return;
	end = sl_add_ns(c->g->start_ns[gap->from_op], c->g->t->ops[gap->from_op].dur_ns);
	if (gap->dirty)
		end = sl_add_ns(end, part(share, sl_gap_out_ns(c->g, gap)));
	op = sl_gaps_op_from(c->g, end);
	s->from = op > s->from ? op : s->from;
	op = begin > in ? sl_gaps_op_at(c->g, begin - in) : 0;
	*to = op < *to ? op : *to;
}

static struct span span_of(
	const struct chooser *c, const struct sl_gap *gap, enum sl_fate fate)
{
	struct span s = {.to = c->g->t->n_ops};

	if (gap->from_op == SL_NO_ID)
		return s;
	s.from = gap->from_op + 1;
	if (gap->wraps)
		s.head = gap->to_op;
	else
		s.to = gap->to_op;
	if (fate == SL_FATE_SWAP)
		shrink(c, gap, &s);
	s.from = s.from < s.to ? s.from : s.to;
	return s;
}

static bool covers(const struct span *s, uint32_t op)
{
	return op < s->head || (op >= s->from && op < s->to);
}

/* Ops with too much that a span covers. */
static uint32_t covered(const struct chooser *c, const struct span *s)
{
	return excess_between(c, 0, s->head) + excess_between(c, s->from, s->to);
}

/* What a candidate relieves a nanosecond of its cost; 0: it cannot be or relieves
 * nothing. */
static sl_status appraise(struct chooser *c, const struct candidate *x, double *score)
{
	struct sl_gap *gap = &c->g->gaps[x->gap];
	struct span s = span_of(c, gap, x->fate);
	struct sl_redo_price redo;
	double cost;

	*score = 0;
	if (covered(c, &s) == 0)
		return SL_OK;
	if (x->fate == SL_FATE_SWAP) {
		cost = sl_choice_swap_cost(c->g, c->how, gap);
	} else {
		SL_TRY(sl_redoer_price_within(
			c->redoer, gap, c->how->redo_cap_ns, &redo));
		cost = redo.own_ns == UINT64_MAX ? -1 : 1 + (double)redo.own_ns;
	}
	if (cost >= 0)
		*score = (double)room(c, gap) * covered(c, &s) / cost;
	return SL_OK;
}

static sl_status open_gaps(struct chooser *c, uint32_t op)
{
	for (uint32_t k = c->open_first[op]; k < c->open_first[op + 1]; k++) {
		struct candidate x = c->order[k];

		if (c->g->gaps[x.gap].fate != SL_FATE_KEEP)
			continue;
		SL_TRY(appraise(c, &x, &x.score));
		if (x.score > 0)
			push(c, x);
	}
	return SL_OK;
}

static void take_off(struct chooser *c, uint32_t from, uint32_t to, uint64_t bytes)
{
	if (from < to) {
		c->off[from] += (int64_t)bytes;
		c->off[to] -= (int64_t)bytes;
	}
}

static void apply(struct chooser *c, const struct candidate *x)
{
	struct sl_gap *gap = &c->g->gaps[x->gap];
	struct span s = span_of(c, gap, x->fate);

	sl_gap_set(gap, x->fate);
	if (x->fate == SL_FATE_SWAP)
		gap->save = sl_choice_save(c->g, c->how, gap);
	if (c->how->out_price) /* what leaves twice is copied once */
		sl_gaps_dirt_of(c->g, gap->value);
	take_off(c, 0, s.head, room(c, gap));
	take_off(c, s.from, s.to, room(c, gap));
	if (gap->from_op == SL_NO_ID || x->fate != SL_FATE_SWAP)
		return;
	gap->hold = s.from;
	gap->arrive = gap->wraps ? s.head : s.to;
}

/* Chooses one more gap that covers op; *taken is 0 if none is left. */
static sl_status choose_one(struct chooser *c, uint32_t op, uint64_t *taken)
{
	*taken = 0;
	while (c->n_heap > 0 && *taken == 0) {
		struct candidate x = pop(c);
		const struct sl_gap *gap = &c->g->gaps[x.gap];
		struct span s = span_of(c, gap, x.fate);
		double before = x.score;

		if (gap->fate != SL_FATE_KEEP || !covers(&s, op))
			continue;
		/* Prices of redoing rise as inputs leave. */
		SL_TRY(appraise(c, &x, &x.score));
		if (x.score <= 0)
			continue;
		if (x.score * WORSE_AGAIN < before) {
			push(c, x);
			continue;
		}
		apply(c, &x);
		*taken = room(c, gap);
	}
	return SL_OK;
}

static sl_status sweep(struct chooser *c, bool *enough)
{
	int64_t off = 0;

	*enough = true;
	for (uint32_t op = 0; op < c->g->t->n_ops; op++) {
		uint64_t level, taken = 1;

		SL_TRY(open_gaps(c, op));
		off += c->off[op];
		level = c->level[op] - (uint64_t)off;
		while (level > c->how->limit && taken > 0) {
			int64_t before = c->off[op];

			SL_TRY(choose_one(c, op, &taken));
			/* Gaps that opened earlier count from here on. */
			if (taken > 0 && c->off[op] == before)
				off += (int64_t)taken;
			else
				off += c->off[op] - before;
			level -= taken;
		}
		*enough = *enough && level <= c->how->limit;
	}
	return SL_OK;
}

struct chosen {
	double cost;
	uint32_t gap;
};

static int by_cost(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost > y->cost ? -1 : 1;
	return x->gap < y->gap ? -1 : x->gap > y->gap;
}

static bool fits(const struct chooser *c, uint32_t from, uint32_t to, uint64_t bytes)
{
	for (uint32_t i = from; i < to; i++) {
		if (c->level[i] + bytes > c->how->limit)
			return false;
	}
	return true;
}

static void put_back(struct chooser *c, uint32_t from, uint32_t to, uint64_t bytes)
{
	for (uint32_t i = from; i < to; i++)
		c->level[i] += bytes;
}

static void give_back(struct chooser *c, struct sl_gap *gap)
{
	struct span s = span_of(c, gap, (enum sl_fate)gap->fate);
	uint64_t bytes = room(c, gap);

	if (!fits(c, 0, s.head, bytes) || !fits(c, s.from, s.to, bytes))
		return;
	put_back(c, 0, s.head, bytes);
	put_back(c, s.from, s.to, bytes);
	sl_gap_set(gap, SL_FATE_KEEP);
}

static sl_status give_back_unneeded(struct chooser *c)
{
	struct chosen *list = sl_calloc((size_t)c->g->n + 1, sizeof(*list));
	size_t n = 0;
	sl_status st = SL_OK;

	if (!list)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	sl_gaps_dirt(c->g);
	sl_gaps_levels(c->g, c->level);
	for (uint32_t i = 0; i < c->g->n; i++) {
		struct sl_gap *gap = &c->g->gaps[i];
		uint64_t ns = 0;

		if (gap->fate == SL_FATE_KEEP)
			continue;
		if (gap->fate == SL_FATE_REDO)
			SL_TRY_OUT(sl_redoer_price(c->redoer, gap, &ns));
		list[n++] =
			(struct chosen){gap->fate == SL_FATE_REDO
						? (double)ns
						: sl_choice_swap_cost(c->g, c->how, gap),
				i};
	}
	qsort(list, n, sizeof(*list), by_cost);
	for (size_t i = 0; i < n; i++)
		give_back(c, &c->g->gaps[list[i].gap]);
out:
	sl_free(list);
	return st;
}

/* Calls fn for each op at which a fate of a gap begins to relieve: where its spans begin.
 */
static void each_opening(struct chooser *c,
	void (*fn)(struct chooser *c, uint32_t op, const struct candidate *x))
{
	for (uint32_t i = 0; i < c->g->n; i++) {
		const struct sl_gap *gap = &c->g->gaps[i];

		for (int fate = SL_FATE_SWAP; fate <= SL_FATE_REDO; fate++) {
			struct candidate x = {.gap = i, .fate = (enum sl_fate)fate};
			struct span s = span_of(c, gap, x.fate);

			if (!sl_gap_movable(c->g, gap) || (gap->barred & 1u << fate) ||
				(fate == SL_FATE_REDO &&
					(gap->wraps || c->how->redo_cap_ns == 0)))
				continue;
			if (s.head > 0)
				fn(c, 0, &x);
			if (s.from < s.to)
				fn(c, s.from, &x);
		}
	}
}

static void count_opening(struct chooser *c, uint32_t op, const struct candidate *x)
{
	(void)x;
	c->open_first[op + 2]++;
}

static void list_opening(struct chooser *c, uint32_t op, const struct candidate *x)
{
	c->order[c->open_first[op + 1]++] = *x;
}

static void list_gaps(struct chooser *c)
{
	each_opening(c, count_opening);
	for (uint32_t i = 2; i < c->g->t->n_ops + 3; i++)
		c->open_first[i] += c->open_first[i - 1];
	each_opening(c, list_opening);
}

static sl_status begin(struct chooser *c)
{
	size_t ops = (size_t)c->g->t->n_ops + 3, gaps = (size_t)c->g->n + 1;

	c->level = sl_calloc(ops, sizeof(*c->level));
	c->excess = sl_calloc(ops, sizeof(*c->excess));
	c->off = sl_calloc(ops, sizeof(*c->off));
	c->order = sl_calloc(3 * gaps, sizeof(*c->order));
	c->open_first = sl_calloc(ops + 1, sizeof(*c->open_first));
	c->heap = sl_calloc(3 * gaps, sizeof(*c->heap));
	if (!c->level || !c->excess || !c->off || !c->order || !c->open_first || !c->heap)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	SL_TRY(sl_redoer_create(c->g, NULL, 0, &c->redoer));
	sl_gaps_reset(c->g);
	sl_gaps_dirt(c->g);
	sl_gaps_levels(c->g, c->level);
	for (uint32_t i = 0; i < c->g->t->n_ops; i++)
		c->excess[i + 1] = c->excess[i] + (c->level[i] > c->how->limit);
	list_gaps(c);
	return SL_OK;
}

sl_status sl_gaps_choose(struct sl_gaps *g, const struct sl_choice *how, bool *enough)
{
	struct chooser c = {.g = g, .how = how};
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&c));
	SL_TRY_OUT(sweep(&c, enough));
	SL_TRY_OUT(give_back_unneeded(&c));
out:
	sl_redoer_destroy(c.redoer);
	sl_free(c.level);
	sl_free(c.excess);
	sl_free(c.off);
	sl_free(c.order);
	sl_free(c.open_first);
	sl_free(c.heap);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* autoswap: the schedule of its copies, one stream for each direction. */
#include "memory/policy/autoswap.h"

#include <stdlib.h>

#include "base/units.h"
#include "memory/place.h"

static int by_leave(const void *a, const void *b)
{
	const struct sl_gap *x = *(struct sl_gap *const *)a;
	const struct sl_gap *y = *(struct sl_gap *const *)b;

	if (x->from_op != y->from_op)
		return x->from_op < y->from_op ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The last one needed first. */
static int by_need(const void *a, const void *b)
{
	const struct sl_gap *x = *(struct sl_gap *const *)a;
	const struct sl_gap *y = *(struct sl_gap *const *)b;

	if (x->to_op != y->to_op)
		return x->to_op > y->to_op ? -1 : 1;
	return x > y ? -1 : x < y;
}

static size_t list_swaps(struct sl_as *a)
{
	size_t n = 0;

	for (uint32_t i = 0; i < a->g->n; i++)
		if (a->g->gaps[i].fate == SL_FATE_SWAP)
			a->order[n++] = &a->g->gaps[i];
	return n;
}

/* Each starts when its last access is over and the copy before it is. */
static void time_outs(struct sl_as *a, size_t n)
{
	const struct sl_gaps *g = a->g;
	uint64_t free_ns = 0;

	qsort(a->order, n, sizeof(struct sl_gap *), by_leave);
	for (size_t i = 0; i < n; i++) {
		struct sl_gap *gap = a->order[i];
		uint64_t ready =
			g->start_ns[gap->from_op] + g->t->ops[gap->from_op].dur_ns;
		uint32_t op;

		if (gap->dirty) {
			ready = ready > free_ns ? ready : free_ns;
			ready = free_ns = sl_add_ns(ready, sl_gap_out_ns(g, gap));
		}
		op = sl_gaps_op_from(g, ready);
		gap->hold = op > gap->from_op ? op : gap->from_op + 1;
		gap->hold = gap->hold < gap->to_op ? gap->hold : gap->to_op;
	}
}

/* Each ends when it is needed or the next one has to start, and is issued before an op
 * that is after its copy out; whether all can be. What cannot comes late (`stick`), or
 * does not leave. */
static bool time_ins(struct sl_as *a, size_t n, bool stick)
{
	const struct sl_gaps *g = a->g;
	uint64_t next_ns = UINT64_MAX;
	bool fits = true;

	qsort(a->order, n, sizeof(struct sl_gap *), by_need);
	for (size_t i = 0; i < n; i++) {
		struct sl_gap *gap = a->order[i];
		uint64_t end = g->start_ns[gap->to_op], ns = sl_gap_in_ns(g, gap);
		uint32_t op;

		end = end < next_ns ? end : next_ns;
		op = sl_gaps_op_at(g, end > ns ? end - ns : 0);
		if (!stick && (end < ns || op < gap->hold)) {
			sl_gap_set(gap, SL_FATE_KEEP);
			fits = false;
			continue;
		}
		next_ns = end > ns ? end - ns : 0;
		op = op > gap->hold ? op : gap->hold;
		gap->arrive = op < gap->to_op ? op : gap->to_op;
	}
	return fits;
}

/* Op i waits for what is still on its way out, soonest out first. */
static struct sl_gap *leaving(const struct sl_as *a, size_t n, uint32_t i)
{
	struct sl_gap *best = NULL;

	for (size_t k = 0; k < n; k++) {
		struct sl_gap *gap = a->order[k];

		if (gap->from_op < i && i < gap->hold &&
			(best == NULL || gap->hold < best->hold))
			best = gap;
	}
	return best;
}

/* What came before it is needed and is needed last. */
static struct sl_gap *early(const struct sl_as *a, size_t n, uint32_t i)
{
	struct sl_gap *best = NULL;

	for (size_t k = 0; k < n; k++) {
		struct sl_gap *gap = a->order[k];

		if (gap->arrive <= i && i < gap->to_op && gap->hold <= i &&
			(best == NULL || gap->to_op > best->to_op))
			best = gap;
	}
	return best;
}

static void lower_level(
	struct sl_as *a, const struct sl_gap *gap, uint32_t from, uint32_t to)
{
	uint64_t bytes = sl_room_value(&a->g->t->values[gap->value]);

	for (uint32_t i = from; i < to; i++)
		a->level[i] -= bytes;
}

/* Brings the load of op i within the limit. */
static void relieve(struct sl_as *a, size_t n, uint32_t i)
{
	struct sl_gap *gap;

	while (a->level[i] > a->limit && (gap = leaving(a, n, i)) != NULL) {
		uint32_t until = gap->hold < gap->arrive ? gap->hold : gap->arrive;

		lower_level(a, gap, i, until);
		gap->hold = i;
	}
	while (a->level[i] > a->limit && (gap = early(a, n, i)) != NULL) {
		lower_level(a, gap, gap->arrive, i + 1);
		gap->arrive = i + 1;
	}
}

void sl_as_time(struct sl_as *a, bool stick)
{
	size_t n;

	do {
		sl_gaps_dirt(a->g);
		n = list_swaps(a);
		time_outs(a, n);
	} while (!time_ins(a, n, stick));
	sl_gaps_levels(a->g, a->level);
	for (uint32_t i = 0; stick && i < a->g->t->n_ops; i++)
		if (a->level[i] > a->limit)
			relieve(a, n, i);
}

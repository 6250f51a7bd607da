/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When copies start: TENSILE's earliest gap for those out and latest gap for those in, on
 * channels that are booked one copy after the other, with the bytes held meanwhile.
 *
 * A copy out begins when its value's use is over; its bytes are kept from others until
 * the copy should have ended. A copy in is asked to begin as late as lets all later ones
 * be in time; then, nearest deadline first, it is moved up to that moment as far as bytes
 * allow.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/gaps.h"

struct booker {
	struct sl_gaps *g;
	uint64_t limit;
	unsigned slack_percent;
	bool wire; /* copies in go between those out where they share a wire */
	uint64_t *level;
	struct sl_gap **swaps;
	uint32_t *wish; /* [gaps] op before which the copy in should be issued */
	struct busy *outs; /* copies out in order of time, by tier */
	size_t n, n_outs[SL_REACH_MAX];
};

struct busy {
	uint64_t start_ns, end_ns;
	struct sl_gap *gap;
};

/* Those that wrap arrive in the next iteration and leave at the end of this one. */
static int by_leave(const void *a, const void *b)
{
	const struct sl_gap *x = *(struct sl_gap *const *)a;
	const struct sl_gap *y = *(struct sl_gap *const *)b;

	if (x->save != y->save)
		return x->save < y->save ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int by_deadline(const void *a, const void *b)
{
	const struct sl_gap *x = *(struct sl_gap *const *)a;
	const struct sl_gap *y = *(struct sl_gap *const *)b;

	if (x->due != y->due)
		return x->due < y->due ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static uint64_t room(const struct booker *b, const struct sl_gap *gap)
{
	return sl_room_value(&b->g->t->values[gap->value]);
}

static bool hold(struct booker *b, uint32_t op, uint64_t bytes)
{
	if (b->level[op] + bytes > b->limit)
		return false;
	b->level[op] += bytes;
	return true;
}

static struct busy *outs_of(const struct booker *b, uint32_t tier)
{
	return &b->outs[tier * (b->g->n + 1)];
}

/* Each as soon as its channel is free. */
static void time_out(struct booker *b)
{
	uint64_t free_ns[SL_REACH_MAX] = {0};

	qsort(b->swaps, b->n, sizeof(struct sl_gap *), by_leave);
	for (size_t i = 0; i < b->n; i++) {
		struct sl_gap *gap = b->swaps[i];
		struct busy *out = &outs_of(b, gap->tier)[b->n_outs[gap->tier]];
		uint64_t start = b->g->start_ns[gap->save] +
				 b->g->t->ops[gap->save].dur_ns + gap->delay_ns;

		if (!gap->dirty)
			continue;
		if (start < free_ns[gap->tier])
			start = free_ns[gap->tier];
		free_ns[gap->tier] = sl_add_ns(start, sl_gap_out_ns(b->g, gap));
		*out = (struct busy){start, free_ns[gap->tier], gap};
		b->n_outs[gap->tier]++;
	}
}

/* Until when the bytes of one that leaves are kept from others at most. */
static uint32_t last_hold(const struct booker *b, const struct busy *out)
{
	const struct sl_gap *gap = out->gap;
	uint32_t last = gap->wraps ? b->g->t->n_ops : b->wish[gap - b->g->gaps];
	uint32_t until = sl_gaps_op_from(b->g, out->end_ns);

	return until < last ? until : last;
}

/* Values that leave keep their bytes until their copies are over, as far as there is
 * room; where there is none, what is copied first gives up its bytes first: who gets them
 * waits for no other copy then. */
static void book_out(struct booker *b, uint32_t tier)
{
	struct busy *outs = outs_of(b, tier);
	size_t first = 0, next = 0;
	uint64_t held = 0;

	for (uint32_t op = 0; op <= b->g->t->n_ops; op++) {
		for (; next < b->n_outs[tier] && outs[next].gap->save < op; next++)
			held += sl_gap_saved(outs[next].gap) ? 0
							     : room(b, outs[next].gap);
		for (size_t i = first; i < next; i++) {
			struct sl_gap *gap = outs[i].gap;
			bool full = op < b->g->t->n_ops && b->level[op] + held > b->limit;

			if (gap->hold == SL_NO_ID &&
				(full || op >= last_hold(b, &outs[i]))) {
				gap->hold = op > gap->from_op + 1 ? op : gap->from_op + 1;
				held -= room(b, gap);
			}
		}
		while (first < next && outs[first].gap->hold != SL_NO_ID)
			first++;
		b->level[op] += held;
	}
}

/* The wire of a tier is one for both directions. */
static bool one_wire(const struct booker *b, uint32_t tier)
{
	const struct sl_gaps *g = b->g;

	return b->wire && g->t->links[g->tiers[tier].in_link].half_duplex &&
	       g->t->links[g->tiers[tier].out_link].half_duplex;
}

/* The latest start of a copy that ends by `end`, between those out of which *outs end
 * before it at most. */
static uint64_t latest_start(
	const struct booker *b, uint32_t tier, uint64_t end, uint64_t ns, size_t *outs)
{
	while (*outs > 0 && one_wire(b, tier)) {
		const struct busy *out = &outs_of(b, tier)[*outs - 1];

		if (out->end_ns <= end && end - out->end_ns >= ns)
			break;
		if (out->start_ns < end)
			end = out->start_ns;
		--*outs;
	}
	return end > ns ? end - ns : 0;
}

static void wish_in(struct booker *b)
{
	uint64_t free_ns[SL_REACH_MAX];
	size_t outs[SL_REACH_MAX];

	for (size_t k = 0; k < SL_REACH_MAX; k++) {
		free_ns[k] = UINT64_MAX;
		outs[k] = b->n_outs[k];
	}
	qsort(b->swaps, b->n, sizeof(struct sl_gap *), by_deadline);
	for (size_t i = b->n; i > 0; i--) {
		struct sl_gap *gap = b->swaps[i - 1];
		uint64_t end = b->g->start_ns[gap->due];
		uint64_t ns = sl_gap_in_ns(b->g, gap);
		uint32_t op;

		ns += ns / 100 * b->slack_percent;
		if (end > free_ns[gap->tier])
			end = free_ns[gap->tier];
		end = latest_start(b, gap->tier, end, ns, &outs[gap->tier]);
		free_ns[gap->tier] = end;
		/* Issued before an op that starts no later than the copy. */
		op = sl_gaps_op_from(b->g, end);
		if (op > 0 && (op == b->g->t->n_ops || b->g->start_ns[op] > end))
			op--;
		b->wish[gap - b->g->gaps] = op;
	}
}

static void book_in(struct booker *b)
{
	qsort(b->swaps, b->n, sizeof(struct sl_gap *), by_deadline);
	for (size_t i = 0; i < b->n; i++) {
		struct sl_gap *gap = b->swaps[i];
		uint32_t first = gap->wraps ? 0 : gap->hold;

		while (gap->arrive > first && gap->arrive > b->wish[gap - b->g->gaps] &&
			hold(b, gap->arrive - 1, room(b, gap)))
			gap->arrive--;
	}
}

sl_status sl_gaps_book(
	struct sl_gaps *g, uint64_t limit, unsigned slack_percent, bool wire)
{
	struct booker b = {
		.g = g, .limit = limit, .slack_percent = slack_percent, .wire = wire};
	sl_status st = SL_OK;

	b.level = sl_calloc((size_t)g->t->n_ops + 1, sizeof(*b.level));
	b.swaps = sl_calloc((size_t)g->n + 1, sizeof(struct sl_gap *));
	b.wish = sl_calloc((size_t)g->n + 1, sizeof(*b.wish));
	b.outs = sl_calloc(((size_t)g->n + 1) * SL_REACH_MAX, sizeof(*b.outs));
	if (!b.level || !b.swaps || !b.wish || !b.outs) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	sl_gaps_dirt(g);
	for (uint32_t i = 0; i < g->n; i++) {
		struct sl_gap *gap = &g->gaps[i];

		if (gap->fate != SL_FATE_SWAP || gap->from_op == SL_NO_ID)
			continue;
		gap->arrive = gap->due;
		gap->hold = gap->from_op + 1;
		b.swaps[b.n++] = gap;
	}
	sl_gaps_levels(g, b.level);
	time_out(&b);
	wish_in(&b);
	for (uint32_t k = 0; k < g->n_tiers; k++) {
		for (size_t i = 0; i < b.n_outs[k]; i++)
			if (!sl_gap_saved(outs_of(&b, k)[i].gap))
				outs_of(&b, k)[i].gap->hold = SL_NO_ID;
		book_out(&b, k);
	}
	book_in(&b);
out:
	sl_free(b.level);
	sl_free(b.swaps);
	sl_free(b.wish);
	sl_free(b.outs);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the links cost by the hour. A plan's late copies say when a link is too busy: its
 * price there rises by how late they are, and falls where nobody waits. After some rounds
 * the choice of gaps sees that a copy out in the forward half is dear and one beside the
 * backward half costs next to nothing, so that a parameter that leaves after its first
 * use had better be saved after its last write: it is clean then, and leaves at once
 * (sl_choice.out_price). This is dual ascent on the capacity of the links, with whole
 * plans in place of the relaxed problem.
 */
#include "memory/policy/tensile_int.h"

#include <string.h>

#include "base/alloc.h"
#include "memory/policy/late.h"

#define ROUNDS 24
#define FALL 0.3 /* of what the latest rise by */
#define LEAST (1.0 / 64)

struct hours {
	struct sl_tensile *s;
	uint64_t *out_ns, *in_ns; /* [gaps] lateness */
	uint64_t *at_ns; /* [n_ops] the same by op */
	double *best_out, *best_in;
	double step; /* by which the price of the latest rises */
};

static sl_status begin(struct hours *h)
{
	size_t ops = (size_t)h->s->g.t->n_ops + 1, gaps = (size_t)h->s->g.n + 1;
	struct sl_tensile *s = h->s;

	h->out_ns = sl_calloc(gaps, sizeof(*h->out_ns));
	h->in_ns = sl_calloc(gaps, sizeof(*h->in_ns));
	h->at_ns = sl_calloc(ops, sizeof(*h->at_ns));
	h->best_out = sl_calloc(ops, sizeof(*h->best_out));
	h->best_in = sl_calloc(ops, sizeof(*h->best_in));
	s->out_price = sl_calloc(ops, sizeof(*s->out_price));
	s->in_price = sl_calloc(ops, sizeof(*s->in_price));
	if (!h->out_ns || !h->in_ns || !h->at_ns || !h->best_out || !h->best_in ||
		!s->out_price || !s->in_price)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (size_t i = 0; i < ops; i++)
		s->out_price[i] = s->in_price[i] = h->best_out[i] = h->best_in[i] = 1;
	return SL_OK;
}

static void finish(struct hours *h)
{
	sl_free(h->out_ns);
	sl_free(h->in_ns);
	sl_free(h->at_ns);
	sl_free(h->best_out);
	sl_free(h->best_in);
}

/* By op: how late the next copy is that leaves after it, or comes for it. */
static void note_hours(struct hours *h, bool in)
{
	const struct sl_gaps *g = &h->s->g;
	uint64_t next = 0;

	memset(h->at_ns, 0xff, g->t->n_ops * sizeof(*h->at_ns));
	for (uint32_t i = 0; i < g->n; i++) {
		const struct sl_gap *gap = &g->gaps[i];
		uint64_t ns = in ? h->in_ns[i] : h->out_ns[i], *at;

		if (gap->fate != SL_FATE_SWAP || gap->from_op == SL_NO_ID ||
			(!in && !gap->dirty))
			continue;
		at = &h->at_ns[in ? gap->to_op : gap->save];
		if (*at == UINT64_MAX || *at < ns)
			*at = ns;
	}
	for (uint32_t i = g->t->n_ops; i > 0; i--) {
		uint64_t *at = &h->at_ns[i - 1];

		*at = *at == UINT64_MAX ? next : *at;
		next = *at;
	}
}

static void change(struct hours *h, double *price, bool in, uint64_t most)
{
	note_hours(h, in);
	for (uint32_t i = 0; i < h->s->g.t->n_ops; i++) {
		if (h->at_ns[i] > 0)
			price[i] *= 1 + h->step * (double)h->at_ns[i] / (double)most;
		else if (price[i] > LEAST)
			price[i] *= 1 - FALL * h->step;
	}
}

/* Where nothing is late all prices fall. */
static void change_prices(struct hours *h, int round)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < h->s->g.n; i++) {
		most = h->out_ns[i] > most ? h->out_ns[i] : most;
		most = h->in_ns[i] > most ? h->in_ns[i] : most;
	}
	h->step = 0.5 / (1 + 0.1 * round);
	change(h, h->s->out_price, false, most);
	change(h, h->s->in_price, true, most);
}

static void copy_prices(struct hours *h, bool back)
{
	size_t bytes = h->s->g.t->n_ops * sizeof(double);

	if (back) {
		memcpy(h->s->out_price, h->best_out, bytes);
		memcpy(h->s->in_price, h->best_in, bytes);
	} else {
		memcpy(h->best_out, h->s->out_price, bytes);
		memcpy(h->best_in, h->s->in_price, bytes);
	}
}

static sl_status find(struct hours *h, const struct sl_tensile_point *at)
{
	struct sl_tensile *s = h->s;
	struct sl_tensile_point on_time = *at;
	uint64_t least = UINT64_MAX, ns;

	on_time.late = 0;
	for (int i = 0; i < ROUNDS && s->best_price.iter_ns > s->total_ns; i++) {
		s->fitted = s->limit;
		SL_TRY(sl_tensile_attempt(s, &on_time, &ns));
		if (ns < least) {
			least = ns;
			copy_prices(h, false);
		}
		SL_TRY(sl_gaps_late(&s->g, h->out_ns, h->in_ns));
		change_prices(h, i);
	}
	copy_prices(h, true);
	return SL_OK;
}

sl_status sl_tensile_hours(struct sl_tensile *s, struct sl_tensile_point *at)
{
	struct hours h = {.s = s};
	sl_status st = SL_OK;

	if (!s->found || s->g.n_tiers == 0 || s->best_price.iter_ns <= s->total_ns)
		return SL_OK;
	SL_TRY_OUT(begin(&h));
	SL_TRY_OUT(find(&h, at));
out:
	finish(&h);
	return st;
}

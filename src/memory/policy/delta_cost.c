/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to have a value back: delta's two ways, and the filter's measure of them.
 */
#include "memory/policy/delta_int.h"

double sl_delta_h(uint64_t back_ns, uint64_t bytes, uint64_t stale_ns)
{
	/* What comes back for nothing is still ranked by bytes and age. */
	return ((double)back_ns + 1) / ((double)bytes * ((double)stale_ns + 1));
}

/* How long a copy that is due at a position may take without any copy being late: copies
 * run in the order in which they are due, as soon as there is room, which is not before
 * the backward pass. */
void sl_delta_slack(struct sl_delta *d)
{
	uint32_t n = d->g->t->n_ops, i = d->op;
	uint64_t load = d->in_free_ns[0] > d->now_ns ? d->in_free_ns[0] - d->now_ns : 0;
	uint64_t lost = i < d->turn ? sl_delta_until(d, d->turn) : 0;
	int64_t least = INT64_MAX;

	for (uint32_t p = i; p <= 2 * n; p++) {
		uint64_t time = sl_delta_until(d, p);

		if (p >= d->turn && time >= lost)
			time -= lost;
		load = sl_add_ns(load, d->due_ns[p]);
		d->slack_ns[p] = (int64_t)(time < INT64_MAX ? time : INT64_MAX) -
				 (int64_t)(load < INT64_MAX ? load : INT64_MAX);
	}
	for (uint32_t p = 2 * n + 1; p-- > i;) {
		if (d->slack_ns[p] < least)
			least = d->slack_ns[p];
		d->slack_ns[p] = least;
	}
}

/* The tier that v has its slot in or would get one in; n_tiers: none. */
uint8_t sl_delta_tier(const struct sl_delta *d, uint32_t v)
{
	uint64_t bytes = sl_align_up(d->g->t->values[v].bytes, SL_PAGE_BYTES);
	uint8_t k = 0;

	if (d->v[v].slotted)
		return d->v[v].tier;
	while (k < d->g->n_tiers && d->tier_bytes[k] + bytes > d->g->tiers[k].bytes)
		k++;
	return k;
}

static bool half_duplex(const struct sl_delta *d, uint8_t tier)
{
	const struct sl_reach *r = &d->g->tiers[tier];

	return d->g->t->links[r->in_link].half_duplex;
}

/* The copy out could begin at the last access: the trace tells which one that was. */
uint64_t sl_delta_out_end(const struct sl_delta *d, uint32_t v, const struct sl_gap *gap)
{
	uint64_t start = d->out_free_ns[gap->tier];

	if (start < d->v[v].last_ns)
		start = d->v[v].last_ns;
	return sl_add_ns(start, sl_gap_out_ns(d->g, gap));
}

/* Copies in come ahead of their use in the backward pass alone (2024: in both). */
static bool hidden_before(const struct sl_delta *d, uint32_t due)
{
	uint32_t n = d->g->t->n_ops;

	return d->rule.knapsack || (due < n ? due : due - n) >= d->turn;
}

static uint64_t in_cost(const struct sl_delta *d, uint32_t due, uint64_t wire)
{
	if (!hidden_before(d, due) || d->slack_ns[due] <= 0)
		return wire;
	return (uint64_t)d->slack_ns[due] < wire ? wire - (uint64_t)d->slack_ns[due] : 0;
}

static uint64_t swap_cost(const struct sl_delta *d, uint32_t v)
{
	struct sl_gap gap = d->g->gaps[d->v[v].gap];
	uint32_t due = sl_delta_due(d, v);
	uint64_t wire, end, shown = 0;

	gap.tier = sl_delta_tier(d, v);
	if (!d->rule.swap || gap.tier >= d->g->n_tiers || gap.fate == SL_FATE_REDO)
		return UINT64_MAX;
	if (due == SL_NO_ID)
		return 0;
	wire = sl_gap_in_ns(d->g, &gap);
	if (!d->v[v].below) {
		end = sl_delta_out_end(d, v, &gap);
		shown = end > d->now_ns ? end - d->now_ns : 0;
		wire = sl_add_ns(
			wire, half_duplex(d, gap.tier) ? sl_gap_out_ns(d->g, &gap) : 0);
	}
	return sl_add_ns(shown, in_cost(d, due, wire));
}

static bool may_redo(const struct sl_delta *d, uint32_t v)
{
	return d->rule.redo && !sl_class_persistent(d->g->t->values[v].cls) &&
	       (d->g->gaps[d->v[v].gap].barred & 1 << SL_FATE_REDO) == 0;
}

sl_status sl_delta_price_redo(struct sl_delta *d, uint32_t v)
{
	struct sl_delta_value *s = &d->v[v];
	struct sl_redo_price price = {0};

	s->priced = true;
	s->redo_ns = UINT64_MAX;
	if (!may_redo(d, v))
		return SL_OK;
	SL_TRY(sl_redoer_price_within(
		d->prices, &d->g->gaps[s->gap], UINT64_MAX, &price));
	s->redo_ns = sl_add_ns(price.all_ns, price.recall_ns);
	return SL_OK;
}

/* What was dropped and is rebuilt by way of v: all those runs. */
static uint64_t below_v(struct sl_delta *d, uint32_t v, int depth);

static uint64_t below_op(struct sl_delta *d, uint32_t op, int depth)
{
	const struct sl_trace_op *o = &d->g->t->ops[op];
	uint64_t sum = 0;
	bool gone = false;

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t w = sl_trace_root(d->g->t, o->out[i]);
		struct sl_delta_value *s = &d->v[w];

		if (s->here || s->seen == d->stamp)
			continue;
		s->seen = d->stamp;
		gone = gone ||
		       (s->gap != SL_NO_ID && d->g->gaps[s->gap].fate == SL_FATE_REDO);
		sum = sl_add_ns(sum, below_v(d, w, depth + 1));
	}
	return gone || sum > 0 ? sl_add_ns(sum, o->dur_ns) : 0;
}

static uint64_t below_v(struct sl_delta *d, uint32_t v, int depth)
{
	const struct sl_gaps *g = d->g;
	uint64_t sum = 0;

	for (uint32_t u = g->x.first[v]; u < g->x.first[v] + d->v[v].next && depth < 32;
		u++) {
		if (!g->x.uses[u].births)
			sum = sl_add_ns(sum, below_op(d, g->x.uses[u].op, depth));
	}
	return sum;
}

uint64_t sl_delta_descendants(struct sl_delta *d, uint32_t v)
{
	d->stamp++;
	return below_v(d, v, 0);
}

struct sl_delta_cost sl_delta_cost_of(const struct sl_delta *d, uint32_t v)
{
	struct sl_delta_cost c = {d->v[v].redo_ns, swap_cost(d, v), 0};

	c.back_ns = c.redo_ns < c.swap_ns ? c.redo_ns : c.swap_ns;
	return c;
}

sl_status sl_delta_price(struct sl_delta *d, uint32_t v, struct sl_delta_cost *out)
{
	sl_delta_slack(d);
	SL_TRY(sl_delta_price_redo(d, v));
	*out = sl_delta_cost_of(d, v);
	return SL_OK;
}

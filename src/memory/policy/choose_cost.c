/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What swapping a gap costs a choice: its time on the link, at the hour's price. What
 * persists may have been copied out over the boundary, where that is cheaper: then it
 * leaves without a copy.
 */
#include "memory/policy/choose_int.h"

static double out_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	double ns = (double)sl_gap_out_ns(g, gap);

	return how->out_price ? ns * how->out_price[gap->from_op] : ns;
}

static double in_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	double ns = (double)sl_gap_in_ns(g, gap);

	return how->in_price ? ns * how->in_price[gap->to_op] : ns;
}

struct sl_gap *sl_choice_ahead(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	struct sl_gap *wrap = &g->gaps[g->first[gap->value + 1] - 1];
	const struct sl_trace_use *uses = &g->x.uses[g->x.first[gap->value]];
	uint32_t at = (uint32_t)(gap - &g->gaps[g->first[gap->value]]);
	double price;

	if (!how->out_price || how->cross_price < 0 || !gap->dirty || wrap == gap ||
		!wrap->wraps || wrap->fate != SL_FATE_KEEP ||
		(wrap->barred & 1u << SL_FATE_SWAP) || !sl_gap_movable(g, wrap))
		return NULL;
	for (uint32_t i = 0; i <= at; i++)
		if (uses[i].writes)
			return NULL;
	price = (out_cost(g, how, wrap) + in_cost(g, how, wrap)) * how->cross_price;
	return price < out_cost(g, how, gap) ? wrap : NULL;
}

double sl_choice_swap_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	double price = how->link_price, ns;
	const struct sl_gap *wrap;

	if (g->n_tiers == 0 || (gap->wraps && how->cross_price < 0))
		return -1;
	if (gap->from_op == SL_NO_ID)
		return 1;
	ns = in_cost(g, how, gap);
	wrap = sl_choice_ahead(g, how, gap);
	/* A second copy of what is below already costs its way in alone. */
	if (wrap)
		ns += (out_cost(g, how, wrap) + in_cost(g, how, wrap)) * how->cross_price;
	else if (gap->dirty)
		ns += out_cost(g, how, gap);
	price *= gap->wraps ? how->cross_price : 1;
	price *= how->weight ? how->weight[gap - g->gaps] : 1;
	return 1 + price * ns;
}

bool sl_choice_is_ahead(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	uint32_t first = g->first[gap->value], n = g->first[gap->value + 1] - first;
	const struct sl_trace_use *uses = &g->x.uses[g->x.first[gap->value]];

	if (!how->out_price || !gap->wraps || gap->from_op == SL_NO_ID)
		return false;
	for (uint32_t i = 0; i + 1 < n && !uses[i].writes; i++)
		if (g->gaps[first + i].fate == SL_FATE_SWAP)
			return true;
	return false;
}

bool sl_choice_is_forced(const struct sl_gaps *g, const struct sl_gap *gap)
{
	return g->n_tiers > 0 &&
	       (gap->barred & (1u << SL_FATE_KEEP | 1u << SL_FATE_SWAP)) ==
		       1u << SL_FATE_KEEP;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What swapping a gap costs a choice: its time on the link, at the hour's price. What
 * persists may have been saved after its last write, where that is cheaper: then it
 * leaves without a copy.
 */
#include "memory/policy/choose_int.h"

static double out_cost(const struct sl_gaps *g, const struct sl_choice *how,
	const struct sl_gap *gap, uint32_t op)
{
	double ns = (double)sl_gap_out_ns(g, gap);

	return how->out_price ? ns * how->out_price[op] : ns;
}

static double in_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	double ns = (double)sl_gap_in_ns(g, gap);

	return how->in_price ? ns * how->in_price[gap->to_op] : ns;
}

/* The last op that writes the value of a gap, if that is in the iteration before and the
 * value stays over the boundary; else from_op. */
static uint32_t last_write(const struct sl_gaps *g, const struct sl_gap *gap)
{
	const struct sl_gap *wrap = &g->gaps[g->first[gap->value + 1] - 1];
	uint32_t first = g->x.first[gap->value], end = g->x.first[gap->value + 1];
	uint32_t at = first + (uint32_t)(gap - &g->gaps[g->first[gap->value]]);

	if (!wrap->wraps || wrap->fate != SL_FATE_KEEP || wrap == gap)
		return gap->from_op;
	for (uint32_t i = first; i <= at; i++)
		if (g->x.uses[i].writes)
			return gap->from_op;
	while (end > first && !g->x.uses[end - 1].writes)
		end--;
	return end > first ? g->x.uses[end - 1].op : gap->from_op;
}

uint32_t sl_choice_save(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	uint32_t write;

	if (!how->out_price || gap->from_op == SL_NO_ID)
		return gap->from_op;
	write = last_write(g, gap);
	if ((how->ahead && how->ahead[gap->value]) ||
		how->out_price[write] < how->out_price[gap->from_op])
		return write;
	return gap->from_op;
}

double sl_choice_swap_cost(
	const struct sl_gaps *g, const struct sl_choice *how, const struct sl_gap *gap)
{
	double price = how->link_price, ns;

	if (g->n_tiers == 0 || (gap->wraps && how->cross_price < 0))
		return -1;
	if (gap->from_op == SL_NO_ID)
		return 1;
	ns = in_cost(g, how, gap);
	/* A second copy of what is below already costs its way in alone. */
	if (gap->dirty)
		ns += out_cost(g, how, gap, sl_choice_save(g, how, gap));
	price *= gap->wraps ? how->cross_price : 1;
	price *= how->weight ? how->weight[gap - g->gaps] : 1;
	return 1 + price * ns;
}

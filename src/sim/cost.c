/* SPDX-License-Identifier: Apache-2.0 */
/* The cost book: rows, links, and what they predict. */
#include "sim/cost.h"

#include <string.h>

static int find_op(const struct sl_cost_book *b, const char *kind, bool *found)
{
	int low = 0, high = (int)b->n_ops;

	while (low < high) {
		int middle = (low + high) / 2;

		if (strcmp(b->ops[middle].kind, kind) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < (int)b->n_ops && strcmp(b->ops[low].kind, kind) == 0;
	return low;
}

const struct sl_cost_op *sl_cost_row(const struct sl_cost_book *b, const char *kind)
{
	bool found;
	int at;

	b = b != NULL ? b : sl_cost_book_at(0, NULL);
	at = find_op(b, kind, &found);

	/* '*' sorts before every letter. */
	return &b->ops[found ? at : 0];
}

const struct sl_cost_link *sl_cost_link_find(
	const struct sl_cost_book *b, const char *from, const char *to)
{
	for (uint32_t i = 0; i < b->n_links; i++)
		if (strcmp(b->links[i].from, from) == 0 &&
			strcmp(b->links[i].to, to) == 0)
			return &b->links[i];
	return NULL;
}

double sl_cost_row_ns(
	const struct sl_cost_op *row, double flops, double bytes, double share)
{
	double arithmetic = flops / row->flops_per_s, memory = bytes / row->bytes_per_s;
	double ns = row->start_ns + (arithmetic > memory ? arithmetic : memory) * 1e9;

	return ns * (1 + row->load * share);
}

uint64_t sl_cost_predict(const struct sl_cost_book *b, const char *kind, double flops,
	double bytes, double share)
{
	const struct sl_cost_op *row = sl_cost_row(b, kind);
	double ns = sl_cost_row_ns(row, flops, bytes, share);

	if (!(ns < SL_COST_MOST_NS))
		return (uint64_t)SL_COST_MOST_NS;
	return ns < 1 ? 1 : (uint64_t)ns;
}

sl_status sl_cost_set_op(struct sl_cost_book *b, const struct sl_cost_op *row)
{
	bool found;
	int at = find_op(b, row->kind, &found);

	if (!found && b->n_ops == SL_COST_MAX_OPS)
		return SL_FAIL(SL_E_LIMIT, "a cost book has at most %u rows of ops",
			SL_COST_MAX_OPS);
	if (!found) {
		memmove(&b->ops[at + 1], &b->ops[at],
			(b->n_ops - (uint32_t)at) * sizeof(*b->ops));
		b->n_ops++;
	}
	b->ops[at] = *row;
	return SL_OK;
}

sl_status sl_cost_set_link(struct sl_cost_book *b, const struct sl_cost_link *row)
{
	for (uint32_t i = 0; i < b->n_links; i++) {
		struct sl_cost_link *old = &b->links[i];

		if (strcmp(old->from, row->from) == 0 && strcmp(old->to, row->to) == 0) {
			*old = *row;
			return SL_OK;
		}
	}
	if (b->n_links == SL_COST_MAX_LINKS)
		return SL_FAIL(SL_E_LIMIT, "a cost book has at most %u links",
			SL_COST_MAX_LINKS);
	b->links[b->n_links++] = *row;
	return SL_OK;
}

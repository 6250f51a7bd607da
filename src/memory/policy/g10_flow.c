/* SPDX-License-Identifier: Apache-2.0 */
/* Channels as buckets, and what a period is worth. */
#include "memory/policy/g10_int.h"

#include "memory/place.h"

void sl_g10_capacities(struct sl_g10 *x)
{
	for (int k = 0; k < 2 * SL_G10_WAYS; k++) {
		const struct sl_reach *tier = &x->g->tiers[k % 2 ? x->far : x->near];
		uint32_t link = k / 2 == SL_G10_OUT ? tier->out_link : tier->in_link;
		double rate = (double)x->g->t->links[link].bytes_per_s * 1e-9;

		for (uint32_t op = 0; op < x->g->t->n_ops; op++)
			x->capacity[k / 2][k % 2][op] =
				rate * (double)x->g->t->ops[op].dur_ns;
	}
}

/* What goes to the far tier passes the near one's wire too. */
double sl_g10_free(const struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t op)
{
	double wire = x->capacity[way][0][op] - x->used[way][0][op];
	double own;

	if (x->near == x->far)
		return wire;
	wire -= x->used[way][1][op];
	own = x->capacity[way][1][op] - x->used[way][1][op];
	return far && own < wire ? own : wire;
}

uint32_t sl_g10_out_end(const struct sl_g10 *x, bool far, uint32_t from, double bytes)
{
	for (uint32_t op = from; op < x->g->t->n_ops; op++) {
		bytes -= sl_g10_free(x, SL_G10_OUT, far, op);
		if (bytes <= 0)
			return op;
	}
	return x->g->t->n_ops - 1;
}

uint32_t sl_g10_in_begin(const struct sl_g10 *x, bool far, uint32_t to, double bytes)
{
	for (uint32_t op = to; op > 0; op--) {
		bytes -= sl_g10_free(x, SL_G10_IN, far, op - 1);
		if (bytes <= 0)
			return op - 1;
	}
	return 0;
}

bool sl_g10_fits(const struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t from,
	uint32_t to, double bytes)
{
	for (uint32_t op = from; op < to && bytes > 0; op++)
		bytes -= sl_g10_free(x, way, far, op);
	return bytes <= 0;
}

void sl_g10_book(
	struct sl_g10 *x, enum sl_g10_way way, bool far, uint32_t from, double bytes)
{
	bool second = far && x->near != x->far;

	for (uint32_t op = from; op < x->g->t->n_ops && bytes > 0; op++) {
		double part = sl_g10_free(x, way, far, op);

		part = part < bytes ? part : bytes;
		x->used[way][second][op] += part;
		bytes -= part;
	}
}

static void sum_room(struct sl_g10 *x, enum sl_g10_way way, bool far)
{
	double *sum = x->free_sum[way][far], room = 0;

	for (uint32_t op = 0; op < x->g->t->n_ops; op++) {
		sum[op] = room;
		room += sl_g10_free(x, way, far, op);
	}
	sum[x->g->t->n_ops] = room;
}

void sl_g10_sum(struct sl_g10 *x)
{
	double over = 0;

	x->above = false;
	for (uint32_t op = 0; op < x->g->t->n_ops; op++) {
		bool above = x->level[op] > x->limit;

		x->over_ns[op] = over;
		over += above ? (double)x->g->t->ops[op].dur_ns : 0;
		x->above = x->above || above;
	}
	x->over_ns[x->g->t->n_ops] = over;
	for (int k = 0; k < 2 * SL_G10_WAYS; k++)
		sum_room(x, (enum sl_g10_way)(k / 2), k % 2);
}

/* The first op of [low, high] whose sum reaches `sum`; high: none before it. */
static uint32_t reach(const double *sums, uint32_t low, uint32_t high, double sum)
{
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (sums[mid] < sum)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Overloaded time from the op in which half of the copy out is done to the one in which
 * the second half of that in begins. */
static double relieved_ns(const struct sl_g10 *x, const struct sl_gap *gap, bool far)
{
	const double *out = x->free_sum[SL_G10_OUT][far];
	const double *in = x->free_sum[SL_G10_IN][far];
	double half = (double)sl_room_value(&x->g->t->values[gap->value]) / 2;
	uint32_t from = gap->from_op + 1;
	uint32_t end = reach(out, from + 1, x->g->t->n_ops, out[from] + half) - 1;
	uint32_t begin = gap->to_op;

	if (in[begin] < half)
		return 0;
	begin = reach(in, 0, begin, in[begin] - half);
	if (begin > 0 && in[begin] > in[gap->to_op] - half)
		begin--;
	return end < begin ? x->over_ns[begin] - x->over_ns[end] : 0;
}

double sl_g10_benefit(const struct sl_g10 *x, const struct sl_gap *gap)
{
	double bytes = (double)sl_room_value(&x->g->t->values[gap->value]);
	uint32_t n = x->g->t->n_ops;
	double near, far;

	if (gap->from_op == SL_NO_ID)
		return bytes * x->over_ns[n];
	if (gap->wraps)
		return bytes * (x->over_ns[n] - x->over_ns[gap->from_op + 1] +
				       x->over_ns[gap->to_op]);
	near = relieved_ns(x, gap, false);
	far = x->near == x->far ? near : relieved_ns(x, gap, true);
	return bytes * (near > far ? near : far);
}

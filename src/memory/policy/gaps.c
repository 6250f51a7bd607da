/* SPDX-License-Identifier: Apache-2.0 */
/* The gaps between the uses of a trace's values, and what their fates mean in bytes. */
#include "memory/policy/gaps.h"

#include "base/alloc.h"
#include "memory/place.h"

#define MOST_COPY_NS 1e18 /* so that the times of two copies add up */

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static bool persistent(const struct sl_gaps *g, uint32_t v)
{
	return sl_class_persistent(g->t->values[v].cls);
}

static uint32_t gaps_of(const struct sl_gaps *g, uint32_t v)
{
	uint32_t uses = g->x.first[v + 1] - g->x.first[v];

	if (g->t->values[v].alias != SL_NO_ID)
		return 0;
	if (persistent(g, v))
		return uses > 0 ? uses : 1;
	return uses > 0 ? uses - 1 : 0;
}

static void add_gaps(struct sl_gaps *g, uint32_t v)
{
	uint32_t n = gaps_of(g, v), first = g->x.first[v];
	uint32_t uses = g->x.first[v + 1] - first;

	g->first[v] = g->n;
	for (uint32_t i = 0; i < n; i++) {
		struct sl_gap *gap = &g->gaps[g->n++];

		*gap = (struct sl_gap){.value = v,
			.wraps = persistent(g, v) && i + 1 == n,
			.from_op = SL_NO_ID,
			.to_op = SL_NO_ID};
		if (uses > 0) {
			gap->from_op = g->x.uses[first + i].op;
			gap->to_op = g->x.uses[first + (i + 1) % uses].op;
		}
		sl_gap_set(gap, SL_FATE_KEEP);
	}
}

static void note_writers(struct sl_gaps *g)
{
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		uint32_t last = SL_NO_ID;

		for (uint32_t u = g->x.first[v]; u < g->x.first[v + 1]; u++) {
			g->writer[u] = last;
			if (g->x.uses[u].writes)
				last = g->x.uses[u].op;
		}
	}
}

sl_status sl_gaps_init(struct sl_gaps *g, const struct sl_trace *t)
{
	size_t most = 0;
	sl_status st = SL_OK;

	*g = (struct sl_gaps){.t = t};
	SL_TRY(sl_trace_index_init(t, &g->x));
	for (uint32_t v = 0; v < t->n_values; v++)
		most += gaps_of(g, v);
	g->gaps = sl_calloc(most + 1, sizeof(*g->gaps));
	g->first = sl_calloc((size_t)t->n_values + 1, sizeof(*g->first));
	g->start_ns = sl_calloc((size_t)t->n_ops + 1, sizeof(*g->start_ns));
	g->writer = sl_calloc((size_t)g->x.first[t->n_values] + 1, sizeof(*g->writer));
	if (!g->gaps || !g->first || !g->start_ns || !g->writer) {
		st = no_memory();
		goto out;
	}
	for (uint32_t v = 0; v < t->n_values; v++)
		add_gaps(g, v);
	g->first[t->n_values] = g->n;
	for (uint32_t i = 0; i < t->n_ops; i++)
		g->start_ns[i + 1] = g->start_ns[i] + t->ops[i].dur_ns;
	note_writers(g);
	g->n_tiers = sl_reach_find(t, g->tiers);
	return SL_OK;
out:
	sl_gaps_finish(g);
	return st;
}

void sl_gaps_finish(struct sl_gaps *g)
{
	sl_trace_index_finish(&g->x);
	sl_free(g->gaps);
	sl_free(g->first);
	sl_free(g->start_ns);
	sl_free(g->writer);
	*g = (struct sl_gaps){0};
}

void sl_gap_set(struct sl_gap *gap, enum sl_fate fate)
{
	gap->fate = (uint8_t)fate;
	gap->arrive = gap->due = gap->to_op;
	gap->hold = gap->from_op == SL_NO_ID ? 0 : gap->from_op + 1;
	gap->leave = gap->save = gap->from_op;
	gap->delay_ns = 0;
}

void sl_gaps_reset(struct sl_gaps *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		sl_gap_set(&g->gaps[i], SL_FATE_KEEP);
}

bool sl_gap_movable(const struct sl_gaps *g, const struct sl_gap *gap)
{
	const struct sl_trace_value *v = &g->t->values[gap->value];

	if (sl_value_fixed(v))
		return false;
	return gap->from_op == SL_NO_ID || gap->wraps || gap->to_op > gap->from_op + 1;
}

static uint64_t copy_ns(const struct sl_gaps *g, const struct sl_gap *gap, uint32_t link)
{
	const struct sl_trace_link *l = &g->t->links[link];
	double ns = (double)g->t->values[gap->value].bytes * 1e9 / (double)l->bytes_per_s;

	return l->latency_ns +
	       (ns < MOST_COPY_NS ? (uint64_t)ns : (uint64_t)MOST_COPY_NS);
}

uint64_t sl_gap_out_ns(const struct sl_gaps *g, const struct sl_gap *gap)
{
	return g->n_tiers == 0 ? 0 : copy_ns(g, gap, g->tiers[gap->tier].out_link);
}

uint64_t sl_gap_in_ns(const struct sl_gaps *g, const struct sl_gap *gap)
{
	return g->n_tiers == 0 ? 0 : copy_ns(g, gap, g->tiers[gap->tier].in_link);
}

/* The gap for which v is copied out at the end of the iteration before; SL_NO_ID: none,
 * or it is below over the boundary anyway. */
static uint32_t saved_gap(const struct sl_gaps *g, uint32_t v)
{
	uint32_t first = g->first[v], n = g->first[v + 1] - first;

	for (uint32_t i = first; i + 1 < first + n; i++) {
		if (g->x.uses[g->x.first[v] + i - first].writes)
			return SL_NO_ID;
		if (sl_gap_saved(&g->gaps[i]))
			return g->gaps[first + n - 1].fate == SL_FATE_KEEP ? i : SL_NO_ID;
	}
	return SL_NO_ID;
}

/* Whether the use at either end of a gap's left end writes; gaps and uses go in step. */
void sl_gaps_dirt_of(struct sl_gaps *g, uint32_t v)
{
	uint32_t first = g->first[v], n = g->first[v + 1] - first;
	uint32_t uses = g->x.first[v + 1] - g->x.first[v];
	bool lasting = persistent(g, v), written = false, below;
	uint32_t saved = lasting ? saved_gap(g, v) : SL_NO_ID;

	for (uint32_t u = g->x.first[v]; u < g->x.first[v + 1]; u++)
		written = written || g->x.uses[u].writes;
	/* What is below at the boundary, or never written, has a current copy at the
	 * start. */
	below = lasting && (g->gaps[first + n - 1].fate == SL_FATE_SWAP || !written ||
				   saved != SL_NO_ID);
	for (uint32_t i = 0; i < n; i++) {
		struct sl_gap *gap = &g->gaps[first + i];

		if (i < uses && g->x.uses[g->x.first[v] + i].writes)
			below = false;
		gap->dirty = (!below || first + i == saved) && gap->from_op != SL_NO_ID;
		/* What is borne anew has no copy any more. */
		if (gap->fate != SL_FATE_KEEP)
			below = gap->fate == SL_FATE_SWAP;
	}
}

void sl_gaps_dirt(struct sl_gaps *g)
{
	for (uint32_t v = 0; v < g->t->n_values; v++) {
		if (g->first[v] < g->first[v + 1])
			sl_gaps_dirt_of(g, v);
	}
}

/* Takes v's bytes off the ops [from, to). */
static void take_off(uint64_t *level, uint32_t from, uint32_t to, uint64_t bytes)
{
	if (from < to) {
		level[from] -= bytes;
		level[to] += bytes;
	}
}

/* Differences first (they may wrap below zero), then their sums. */
static void level_of(const struct sl_gaps *g, uint32_t v, uint64_t *level)
{
	uint32_t n_ops = g->t->n_ops, from = g->x.first[v], to = g->x.first[v + 1];
	uint64_t bytes = sl_room_value(&g->t->values[v]);

	if (g->t->values[v].alias != SL_NO_ID || (!persistent(g, v) && from == to))
		return;
	level[persistent(g, v) ? 0 : g->x.uses[from].op] += bytes;
	level[persistent(g, v) ? n_ops : g->x.uses[to - 1].op + 1] -= bytes;
	for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
		const struct sl_gap *gap = &g->gaps[i];

		if (gap->fate == SL_FATE_KEEP)
			continue;
		if (gap->from_op == SL_NO_ID) {
			take_off(level, 0, n_ops, bytes);
		} else if (gap->wraps) {
			take_off(level, 0, gap->arrive, bytes);
			take_off(level, gap->hold, n_ops, bytes);
		} else {
			take_off(level, gap->hold, gap->arrive, bytes);
		}
	}
}

void sl_gaps_levels(const struct sl_gaps *g, uint64_t *level)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->t->n_ops; i++)
		level[i] = 0;
	level[g->t->n_ops] = 0;
	for (uint32_t v = 0; v < g->t->n_values; v++)
		level_of(g, v, level);
	for (uint32_t i = 0; i < g->t->n_ops; i++) {
		sum += level[i];
		level[i] = sum + sl_room_workspace(&g->t->ops[i]);
	}
}

uint32_t sl_gaps_op_from(const struct sl_gaps *g, uint64_t ns)
{
	uint32_t low = 0, high = g->t->n_ops;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (g->start_ns[mid] < ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t sl_gaps_op_at(const struct sl_gaps *g, uint64_t ns)
{
	uint32_t after = sl_gaps_op_from(g, ns + 1);

	return after > 0 ? after - 1 : 0;
}

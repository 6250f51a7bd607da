/* SPDX-License-Identifier: Apache-2.0 */
/* demand: an inference trace as layers, and the arena below their buffers. */
#include "memory/policy/demand_net.h"

#include <string.h>

#include "base/alloc.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

uint64_t sl_demand_weight_bytes(const struct sl_demand_net *d, uint32_t v)
{
	return sl_align_up(d->t->values[v].bytes, SL_PAGE_BYTES);
}

static bool lasts(const struct sl_demand_net *d, uint32_t v)
{
	return sl_class_persistent(d->t->values[v].cls);
}

static bool trains(const struct sl_trace *t)
{
	for (uint32_t v = 0; v < t->n_values; v++)
		if (t->values[v].cls == SL_CLASS_GRAD)
			return true;
	return false;
}

static bool is_written(const struct sl_demand_net *d, uint32_t v)
{
	for (uint32_t u = d->x.first[v]; u < d->x.first[v + 1]; u++)
		if (d->x.uses[u].writes)
			return true;
	return false;
}

/* The first of the tiers that has room, fastest first. */
static void find_slots(struct sl_demand_net *d)
{
	uint64_t used[SL_REACH_MAX] = {0};

	for (uint32_t v = 0; v < d->t->n_values; v++) {
		const struct sl_trace_value *value = &d->t->values[v];
		uint64_t bytes = sl_demand_weight_bytes(d, v);
		uint32_t k = 0;

		if (!lasts(d, v) || value->alias != SL_NO_ID || sl_value_fixed(value) ||
			is_written(d, v) || value->align > SL_PAGE_BYTES)
			continue;
		while (k < d->n_tiers && d->tiers[k].bytes - used[k] < bytes)
			k++;
		if (k == d->n_tiers)
			continue;
		d->streams[v] = (uint8_t)(k + 1);
		d->slot[v] = used[k];
		used[k] += bytes;
	}
}

static bool has_weight(
	const struct sl_demand_net *d, const struct sl_demand_span *s, uint32_t v)
{
	for (uint32_t i = 0; i < s->n_weights; i++)
		if (d->weights[s->first_weight + i] == v)
			return true;
	return false;
}

static uint64_t read_ns(const struct sl_demand_net *d, uint32_t v)
{
	const struct sl_trace_link *l = &d->t->links[d->tiers[d->streams[v] - 1].in_link];

	return l->latency_ns +
	       (uint64_t)((double)d->t->values[v].bytes * 1e9 / (double)l->bytes_per_s);
}

static sl_status add_weight(struct sl_demand_net *d, uint32_t v)
{
	struct sl_demand_span *s = &d->spans[d->n - 1];

	if (has_weight(d, s, v))
		return SL_OK;
	if (sl_grow((void **)&d->weights, &d->cap_weights, d->n_weights + 1,
		    sizeof(*d->weights), SIZE_MAX / 8))
		return no_memory();
	d->weights[d->n_weights++] = v;
	s->n_weights++;
	d->layers[d->n - 1].bytes += sl_demand_weight_bytes(d, v);
	d->layers[d->n - 1].read_ns += read_ns(d, v);
	return SL_OK;
}

static void add_layer(struct sl_demand_net *d, uint32_t op)
{
	d->layers[d->n] = (struct sl_demand_layer){0};
	d->spans[d->n++] = (struct sl_demand_span){
		.first_op = op, .end_op = op, .first_weight = (uint32_t)d->n_weights};
}

/* Whether the op reads a weight, and one of the present layer. */
static bool reads_weights(
	const struct sl_demand_net *d, const struct sl_trace_op *op, bool *shared)
{
	bool any = false;

	*shared = false;
	for (uint32_t i = 0; i < op->n_in; i++) {
		uint32_t v = sl_trace_root(d->t, op->in[i]);

		any |= d->streams[v] != 0;
		*shared |= d->streams[v] != 0 && d->n > 0 &&
			   has_weight(d, &d->spans[d->n - 1], v);
	}
	return any;
}

static sl_status find_layers(struct sl_demand_net *d)
{
	for (uint32_t i = 0; i < d->t->n_ops; i++) {
		const struct sl_trace_op *op = &d->t->ops[i];
		bool shared, any = reads_weights(d, op, &shared);

		if (d->n == 0 || (any && !shared))
			add_layer(d, i);
		for (uint32_t k = 0; k < op->n_in; k++) {
			uint32_t v = sl_trace_root(d->t, op->in[k]);

			if (d->streams[v] != 0)
				SL_TRY(add_weight(d, v));
		}
		if (any)
			d->spans[d->n - 1].end_op = i + 1;
		d->layers[d->n - 1].kernel_ns =
			sl_add_ns(d->layers[d->n - 1].kernel_ns, op->dur_ns);
	}
	return SL_OK;
}

/* Largest alignment first, so that nothing lies between them. */
static void pack_homes(struct sl_demand_net *d)
{
	uint64_t end = 0;

	memset(d->home, 0xff, ((size_t)d->t->n_values + 1) * sizeof(*d->home));
	for (uint64_t align = SL_PAGE_BYTES; align > 0; align /= 2) {
		for (uint32_t v = 0; v < d->t->n_values; v++) {
			const struct sl_trace_value *value = &d->t->values[v];

			if (!lasts(d, v) || value->alias != SL_NO_ID ||
				d->streams[v] != 0 || value->align != align)
				continue;
			d->home[v] = end;
			end += sl_room_value(value);
		}
	}
	d->fixed_bytes = end;
}

/* Of values that live within the iteration; the others' and no workspace take nothing. */
static void list_items(struct sl_demand_net *d)
{
	const struct sl_trace *t = d->t;

	for (uint32_t v = 0; v < t->n_values; v++) {
		uint32_t from = d->x.first[v], to = d->x.first[v + 1];

		d->items[v].align = 1;
		if (lasts(d, v) || t->values[v].alias != SL_NO_ID || from == to)
			continue;
		d->items[v] = (struct sl_place_item){.first = d->x.uses[from].op,
			.last = d->x.uses[to - 1].op,
			.bytes = sl_room_value(&t->values[v]),
			.align = t->values[v].align};
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		d->items[t->n_values + i] = (struct sl_place_item){.first = i,
			.last = i,
			.bytes = sl_room_workspace(&t->ops[i]),
			.align = sl_room_workspace_align(t->ops[i].workspace_bytes)};
}

static sl_status find_all(struct sl_demand_net *d)
{
	uint64_t height = 0;

	SL_TRY(sl_trace_index_init(d->t, &d->x));
	find_slots(d);
	SL_TRY(find_layers(d));
	if (d->n_weights == 0)
		return SL_FAIL(SL_E_INFEASIBLE,
			"nothing to stream: no op reads a weight that a tier can hold");
	pack_homes(d);
	list_items(d);
	SL_TRY(sl_place(
		d->items, (size_t)d->t->n_values + d->t->n_ops, d->fixed_bytes, &height));
	d->base = sl_align_up(height, SL_PAGE_BYTES);
	return SL_OK;
}

sl_status sl_demand_open(const struct sl_trace *t, struct sl_demand_net *out)
{
	size_t values = (size_t)t->n_values + 1, ops = (size_t)t->n_ops + 1;
	sl_status st;

	*out = (struct sl_demand_net){.t = t};
	out->n_tiers = sl_reach_find(t, out->tiers);
	if (trains(t) || out->n_tiers == 0)
		return SL_FAIL(SL_E_INFEASIBLE, "nothing to stream: the trace %s",
			out->n_tiers == 0 ? "has no tier" : "trains");
	out->layers = sl_calloc(ops, sizeof(*out->layers));
	out->spans = sl_calloc(ops, sizeof(*out->spans));
	out->streams = sl_calloc(values, sizeof(*out->streams));
	out->slot = sl_calloc(values, sizeof(*out->slot));
	out->home = sl_calloc(values, sizeof(*out->home));
	out->items = sl_calloc(values + ops, sizeof(*out->items));
	if (!out->layers || !out->spans || !out->streams || !out->slot || !out->home ||
		!out->items)
		st = no_memory();
	else
		st = find_all(out);
	if (st != SL_OK)
		sl_demand_close(out);
	return st;
}

void sl_demand_close(struct sl_demand_net *d)
{
	sl_trace_index_finish(&d->x);
	sl_free(d->layers);
	sl_free(d->spans);
	sl_free(d->weights);
	sl_free(d->streams);
	sl_free(d->slot);
	sl_free(d->home);
	sl_free(d->items);
	*d = (struct sl_demand_net){0};
}

sl_status sl_demand_least(
	const struct sl_trace *t, enum sl_demand_mode mode, uint64_t *out_bytes)
{
	const struct sl_demand_how how = {.mode = mode, .two_stages = true};
	struct sl_demand_net d = {0};

	SL_TRY(sl_demand_open(t, &d));
	*out_bytes = d.base + sl_demand_bytes(d.layers, d.n, &how);
	sl_demand_close(&d);
	return SL_OK;
}

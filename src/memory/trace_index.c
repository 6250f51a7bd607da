/* SPDX-License-Identifier: Apache-2.0 */
/* What is derived from a trace once: accesses by value, the least budget, the live peak.
 */
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/trace.h"

enum list_kind { LIST_IN, LIST_OUT, LIST_MUTATES, LIST_COUNT };

static uint32_t list_of(
	const struct sl_trace_op *op, enum list_kind kind, const uint32_t **list)
{
	const uint32_t *lists[LIST_COUNT] = {op->in, op->out, op->mutates};
	const uint32_t counts[LIST_COUNT] = {op->n_in, op->n_out, op->n_mutates};

	*list = lists[kind];
	return counts[kind];
}

/* Work area of the two passes: per root the op seen last (+ 1) and the fill position. */
struct filler {
	const struct sl_trace *t;
	struct sl_trace_index *x;
	uint32_t *seen;
	uint32_t *fill; /* NULL in the counting pass */
};

static void note_use(struct filler *f, uint32_t op, uint32_t root, enum list_kind kind)
{
	bool persistent = sl_class_persistent(f->t->values[root].cls);
	struct sl_trace_use *use;

	if (!f->fill) {
		if (f->seen[root] != op + 1)
			f->x->first[root + 1]++;
		f->seen[root] = op + 1;
		return;
	}
	if (f->seen[root] != op + 1) {
		f->x->uses[f->fill[root]++] = (struct sl_trace_use){.op = op};
		f->seen[root] = op + 1;
	}
	use = &f->x->uses[f->fill[root] - 1];
	use->writes = use->writes || kind != LIST_IN;
	/* Only the first access of a value that does not persist is its birth. */
	if (kind == LIST_OUT && !persistent && f->fill[root] - 1 == f->x->first[root])
		use->births = true;
}

static void walk(struct filler *f)
{
	for (uint32_t op = 0; op < f->t->n_ops; op++) {
		for (int kind = 0; kind < LIST_COUNT; kind++) {
			const uint32_t *list;
			uint32_t n = list_of(&f->t->ops[op], (enum list_kind)kind, &list);

			for (uint32_t i = 0; i < n; i++)
				note_use(f, op, sl_trace_root(f->t, list[i]),
					(enum list_kind)kind);
		}
	}
}

sl_status sl_trace_index_init(const struct sl_trace *t, struct sl_trace_index *out)
{
	sl_status st = SL_OK;
	struct sl_trace_index x = {.n_values = t->n_values};
	struct filler f = {.t = t, .x = &x};
	size_t n = t->n_values;
	uint32_t *fill = NULL;

	x.first = sl_calloc(n + 1, sizeof(*x.first));
	f.seen = sl_calloc(n + 1, sizeof(*f.seen));
	fill = sl_calloc(n + 1, sizeof(*fill));
	if (!x.first || !f.seen || !fill) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to index a trace");
		goto out;
	}
	walk(&f);
	for (size_t i = 0; i < n; i++)
		x.first[i + 1] += x.first[i];
	x.uses = sl_calloc((size_t)x.first[n] + 1, sizeof(*x.uses));
	if (!x.uses) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to index a trace");
		goto out;
	}
	memcpy(fill, x.first, n * sizeof(*fill));
	memset(f.seen, 0, n * sizeof(*f.seen));
	f.fill = fill;
	walk(&f);
	*out = x;
	x = (struct sl_trace_index){0};
out:
	sl_free(f.seen);
	sl_free(fill);
	sl_trace_index_finish(&x);
	return st;
}

void sl_trace_index_finish(struct sl_trace_index *x)
{
	if (!x)
		return;
	sl_free(x->first);
	sl_free(x->uses);
	*x = (struct sl_trace_index){0};
}

/* Bytes of each op's movable values by index walk: in (with mutated) and out. */
struct op_bytes {
	uint64_t in, out;
	int64_t live; /* change of live bytes when the op begins */
	int64_t died; /* bytes that die at its end */
};

static void add_value(const struct sl_trace *t, const struct sl_trace_index *x,
	uint32_t v, struct op_bytes *ops)
{
	const struct sl_trace_value *value = &t->values[v];
	uint32_t end = x->first[v + 1];

	for (uint32_t u = x->first[v]; u < end && !sl_value_fixed(value); u++) {
		struct op_bytes *o = &ops[x->uses[u].op];

		*(x->uses[u].births ? &o->out : &o->in) += sl_room_value(value);
	}
	if (sl_class_persistent(value->cls)) {
		ops[0].live += (int64_t)value->bytes;
	} else if (end > x->first[v]) {
		ops[x->uses[x->first[v]].op].live += (int64_t)value->bytes;
		ops[x->uses[end - 1].op].died += (int64_t)value->bytes;
	}
}

static void find_binding(const struct sl_trace *t, const struct op_bytes *ops,
	struct sl_least_budget *least)
{
	uint64_t most = 0;
	int64_t live = 0;

	for (uint32_t i = 0; i < t->n_ops; i++) {
		uint64_t room = sl_room_workspace(&t->ops[i]);
		uint64_t need = ops[i].in + ops[i].out + room;
		uint64_t now;

		live += ops[i].live;
		now = (uint64_t)live + t->ops[i].workspace_bytes;
		if (now > least->live_peak_bytes)
			least->live_peak_bytes = now;
		live -= ops[i].died;
		if (need <= most)
			continue;
		most = need;
		least->binding_op = i;
		least->op_in_bytes = ops[i].in;
		least->op_out_bytes = ops[i].out;
		least->op_workspace_bytes = room;
	}
	least->bytes = sl_align_up(most + least->immovable_bytes, SL_PAGE_BYTES);
}

sl_status sl_trace_least_budget(const struct sl_trace *t, struct sl_least_budget *out)
{
	struct sl_least_budget least = {0};
	struct sl_trace_index x = {0};
	struct op_bytes *ops;

	SL_TRY(sl_trace_index_init(t, &x));
	ops = sl_calloc((size_t)t->n_ops + 1, sizeof(*ops));
	if (!ops) {
		sl_trace_index_finish(&x);
		return SL_FAIL(SL_E_NOMEM, "no host memory left for the least budget");
	}
	for (uint32_t v = 0; v < t->n_values; v++) {
		if (t->values[v].alias != SL_NO_ID)
			continue;
		if (sl_value_fixed(&t->values[v]))
			least.immovable_bytes += sl_room_value(&t->values[v]);
		add_value(t, &x, v, ops);
	}
	if (t->n_ops == 0)
		least.live_peak_bytes = (uint64_t)ops[0].live;
	find_binding(t, ops, &least);
	*out = least;
	sl_free(ops);
	sl_trace_index_finish(&x);
	return SL_OK;
}

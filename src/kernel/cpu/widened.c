/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any node with bf16 among its operands by the kernel that serves the same node in f32:
 * inputs are widened into the workspace (unless that kernel takes them), results narrowed
 * out of it. For operators and
 * machines without a kernel of their own for bf16; costs 6 bytes an element more, and
 * memory for the widened values while it runs. Operands of a product that are f32 are
 * used as they are.
 */
#include "kernel/cpu/low.h"

#include <string.h>

#include "base/alloc.h"

#define ALIGN ((size_t)64)

/* What the inner kernel sees, and where its operands lie in the workspace. */
struct widened {
	const struct sl_kernel *inner;
	struct sl_prepared prepared;
	size_t workspace_at;
	size_t *at; /* [n_in + n_out], of bf16 ones */
	struct sl_type *in, *out;
	void **data; /* [n_in + n_out] pointers of a run */
};

static void widen_type(struct sl_type *t, size_t *at, size_t *end)
{
	if (t->dtype != SL_BF16)
		return;
	t->dtype = SL_F32;
	*at = *end;
	*end += (sl_type_bytes(t) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Fills in, out and at; returns the bytes of the widened operands. */
static size_t widen_types(const struct sl_node_info *n, bool inputs, struct widened *w)
{
	size_t end = 0;

	for (int i = 0; i < n->n_in; i++) {
		w->in[i] = n->in[i];
		if (inputs)
			widen_type(&w->in[i], &w->at[i], &end);
	}
	for (int i = 0; i < n->n_out; i++) {
		w->out[i] = n->out[i];
		widen_type(&w->out[i], &w->at[n->n_in + i], &end);
	}
	return end;
}

static struct sl_node_info wide_info(
	const struct sl_node_info *n, const struct widened *w)
{
	struct sl_node_info wide = *n;

	wide.in = w->in;
	wide.out = w->out;
	return wide;
}

static void finish(void *state)
{
	struct widened *w = state;

	if (w->prepared.state && w->inner->release)
		w->inner->release(w->prepared.state);
	sl_free(w->at);
	sl_free(w->in);
	sl_free(w->out);
	sl_free(w->data);
	sl_free(w);
}

static struct widened *create(const struct sl_node_info *n)
{
	struct widened *w = sl_calloc(1, sizeof(*w));
	size_t both = (size_t)(n->n_in + n->n_out);

	if (!w)
		return NULL;
	w->at = sl_calloc(both + 1, sizeof(*w->at));
	w->data = sl_calloc(both + 1, sizeof(*w->data));
	w->in = sl_calloc((size_t)n->n_in + 1, sizeof(*w->in));
	w->out = sl_calloc((size_t)n->n_out + 1, sizeof(*w->out));
	if (w->at && w->data && w->in && w->out)
		return w;
	finish(w);
	return NULL;
}

/* The kernel of the node with its results or, where there is none, all of its operands
 * widened; NULL: there is none at all. */
static const struct sl_kernel *choose(const struct sl_node_info *n, struct widened *w)
{
	/* Operators that move elements take any type and would not turn it. */
	int first = n->op->low == SL_LOW_ALWAYS ? 0 : 1;

	for (int inputs = first; inputs < 2; inputs++) {
		w->workspace_at = widen_types(n, inputs, w);
		struct sl_node_info wide = wide_info(n, w);
		if (w->workspace_at == 0)
			continue;
		const struct sl_kernel *k = sl_kernel_select(&wide);
		if (k != &sl_kernel_ref && k != &sl_kernel_widened)
			return k;
	}
	return NULL;
}

static bool accepts(const struct sl_node_info *n)
{
	struct sl_type in[SL_OP_MAX_IN];
	struct sl_type out[SL_OP_MAX_OUT];
	size_t at[SL_OP_MAX_IN + SL_OP_MAX_OUT];
	struct widened w = {.in = in, .out = out, .at = at};

	return !n->op->mutates && choose(n, &w) != NULL;
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct widened *w = create(n);
	sl_status st = SL_OK;

	if (!w)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare %s", n->op->name);
	w->inner = choose(n, w);
	struct sl_node_info wide = wide_info(n, w);
	if (w->inner && w->inner->prepare)
		st = w->inner->prepare(&wide, env, &w->prepared);
	if (!w->inner)
		st = SL_FAIL(SL_E_UNSUPPORTED, "%s has no kernel in f32", n->op->name);
	if (st != SL_OK) {
		w->prepared.state = NULL;
		finish(w);
		return st;
	}
	*out = (struct sl_prepared){.state = w,
		.workspace_bytes = w->workspace_at + w->prepared.workspace_bytes,
		.layout = w->prepared.layout,
		.split = w->prepared.split};
	return SL_OK;
}

/* One operand between its own bytes and the workspace's. */
struct turn {
	uint16_t *low;
	float *wide;
	bool narrow;
};

static void turn_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct turn *t = arg;

	(void)c;
	if (t->narrow)
		sl_low_narrow(t->wide + begin, t->low + begin, end - begin);
	else
		sl_low_widen(t->low + begin, t->wide + begin, end - begin);
}

static void turn(const struct sl_call *c, const struct sl_type *t, void *low, void *wide,
	bool narrow)
{
	struct turn job = {.low = low, .wide = wide, .narrow = narrow};

	sl_cpu_for(c, &job, sl_shape_count(&t->shape), SL_CPU_GRAIN, turn_range);
}

static sl_status run(const struct sl_call *c)
{
	const struct widened *w = c->prepared;
	const struct sl_node_info *n = c->node;
	struct sl_node_info wide = wide_info(n, w);
	char *workspace = c->workspace;
	void **in = w->data;
	void **out = w->data + n->n_in;
	struct sl_call inner = *c;

	for (int i = 0; i < n->n_in; i++) {
		bool low = sl_node_has(n, i) && n->in[i].dtype != w->in[i].dtype;
		in[i] = low ? workspace + w->at[i] : c->in[i];
		if (low)
			turn(c, &n->in[i], c->in[i], in[i], false);
	}
	for (int i = 0; i < n->n_out; i++)
		out[i] = n->out[i].dtype == SL_BF16 ? workspace + w->at[n->n_in + i]
						    : c->out[i];
	inner.node = &wide;
	inner.in = in;
	inner.out = out;
	inner.workspace = workspace + w->workspace_at;
	inner.prepared = w->prepared.state;
	SL_TRY(w->inner->run(&inner));
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i].dtype == SL_BF16)
			turn(c, &n->out[i], c->out[i], out[i], true);
	return SL_OK;
}

const struct sl_kernel sl_kernel_widened = {
	.name = "widened",
	.op = "",
	.rank = 1,
	.accepts = accepts,
	.prepare = prepare,
	.run = run,
	.release = finish,
};

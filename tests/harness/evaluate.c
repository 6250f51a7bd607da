/* SPDX-License-Identifier: Apache-2.0 */
/* Runs graphs with the reference kernels, for tests of operators and of gradients. */
#include "harness/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "op/op_util.h"

#define ALIGN 64
#define GUARD_BYTES 64
#define GUARD_BYTE 0xa5

static bool is_root(const struct sl_graph *g, uint32_t v)
{
	return g->values[v].root == v;
}

static bool is_persistent(const struct sl_graph *g, uint32_t v)
{
	return g->values[v].producer == UINT32_MAX;
}

static sl_status make_buffer(struct sl_eval *e, uint32_t v)
{
	size_t bytes = sl_type_bytes(&e->g->values[v].type);

	e->data[v] = sl_alloc_aligned(ALIGN, bytes + GUARD_BYTES);
	if (!e->data[v])
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %zu bytes of a test", bytes);
	memset(e->data[v], 0, bytes);
	memset((char *)e->data[v] + bytes, GUARD_BYTE, GUARD_BYTES);
	return SL_OK;
}

sl_status sl_eval_init(struct sl_eval *e, const struct sl_graph *g)
{
	sl_status st = sl_graph_status(g);

	*e = (struct sl_eval){.g = g};
	if (st != SL_OK)
		return st;
	e->data = sl_calloc(g->n_values, sizeof(*e->data));
	if (!e->data)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %u values", g->n_values);
	for (uint32_t v = 0; v < g->n_values; v++) {
		const struct sl_ir_value *value = &g->values[v];
		if (is_root(g, v))
			SL_TRY_OUT(make_buffer(e, v));
		else
			e->data[v] = (char *)e->data[value->root] + value->root_offset;
		if (is_persistent(g, v) && value->init.kind == SL_INIT_CONST)
			sl_eval_fill(e, (sl_val){v}, value->init.value);
	}
out:
	if (st != SL_OK)
		sl_eval_finish(e);
	return st;
}

void sl_eval_finish(struct sl_eval *e)
{
	for (uint32_t v = 0; e->data && v < e->g->n_values; v++)
		if (is_root(e->g, v))
			sl_free_aligned(e->data[v]);
	sl_free(e->data);
	*e = (struct sl_eval){0};
}

static bool guard_holds(const struct sl_eval *e, sl_val v)
{
	uint32_t root;
	const unsigned char *guard;

	if (sl_val_is_none(v))
		return true;
	root = e->g->values[v.index].root;
	guard = (const unsigned char *)e->data[root] +
		sl_type_bytes(&e->g->values[root].type);
	for (int i = 0; i < GUARD_BYTES; i++)
		if (guard[i] != GUARD_BYTE)
			return false;
	return true;
}

static sl_status call_ref(struct sl_eval *e, const struct sl_call *c)
{
	struct sl_call own = *c;
	size_t bytes =
		c->node->op->ref_workspace ? c->node->op->ref_workspace(c->node) : 0;
	sl_status st;

	(void)e;
	if (bytes) {
		own.workspace = sl_alloc_aligned(ALIGN, bytes);
		if (!own.workspace)
			return SL_FAIL(SL_E_NOMEM,
				"no host memory for a workspace of %zu bytes", bytes);
		memset(own.workspace, 0xff, bytes);
	}
	st = c->node->op->ref(&own);
	sl_free_aligned(own.workspace);
	return st;
}

static sl_status run_node(struct sl_eval *e, uint32_t k)
{
	const struct sl_ir_node *n = &e->g->nodes[k];
	struct sl_node_types types;
	struct sl_node_info info = sl_ir_info(e->g, k, &types);
	void *in[SL_OP_MAX_IN];
	void *out[SL_OP_MAX_OUT];
	struct sl_call c = {.node = &info, .in = in, .out = out, .run = &e->run};

	for (int i = 0; i < n->n_in; i++)
		in[i] = sl_val_is_none(n->in[i]) ? NULL : e->data[n->in[i].index];
	for (int i = 0; i < n->n_out; i++) {
		out[i] = e->data[n->out[i].index];
		memset(out[i], 0xff, sl_type_bytes(&info.out[i]));
	}
	SL_TRY(call_ref(e, &c));
	for (int i = 0; i < n->n_in; i++)
		if (!guard_holds(e, n->in[i]))
			return SL_FAIL(SL_E_IO, "%s (node %u) wrote behind input %d",
				n->op->name, k, i);
	for (int i = 0; i < n->n_out; i++)
		if (!guard_holds(e, n->out[i]))
			return SL_FAIL(SL_E_IO, "%s (node %u) wrote behind output %d",
				n->op->name, k, i);
	return SL_OK;
}

sl_status sl_eval_run_part(struct sl_eval *e, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to && k < e->g->n_nodes; k++) {
		const struct sl_op *op = e->g->nodes[k].op;
		if ((op->flags & SL_OP_VIEW) || (op == &sl_op_feed && !e->run.feed))
			continue;
		sl_status st = run_node(e, k);
		if (st != SL_OK)
			return sl_fail_prefix(st, "%s (node %u)", op->name, k);
	}
	return SL_OK;
}

sl_status sl_eval_run(struct sl_eval *e)
{
	return sl_eval_run_part(e, 0, e->g->n_nodes);
}

void sl_eval_set(struct sl_eval *e, sl_val v, const double *numbers, int64_t n)
{
	SL_BUG(v.index >= e->g->n_values || n != sl_eval_count(e, v));
	for (int64_t i = 0; i < n; i++)
		sl_set(e->data[v.index], e->g->values[v.index].type.dtype, i, numbers[i]);
}

void sl_eval_fill(struct sl_eval *e, sl_val v, double number)
{
	int64_t n = sl_eval_count(e, v);

	for (int64_t i = 0; i < n; i++)
		sl_set(e->data[v.index], e->g->values[v.index].type.dtype, i, number);
}

double sl_eval_get(const struct sl_eval *e, sl_val v, int64_t i)
{
	SL_BUG(v.index >= e->g->n_values || i < 0 || i >= sl_eval_count(e, v));
	return sl_get(e->data[v.index], e->g->values[v.index].type.dtype, i);
}

int64_t sl_eval_count(const struct sl_eval *e, sl_val v)
{
	SL_BUG(v.index >= e->g->n_values);
	return sl_shape_count(&e->g->values[v.index].type.shape);
}

static bool near(double got, double want, double tolerance)
{
	if (isnan(want))
		return isnan(got);
	if (isinf(want))
		return isinf(got) && signbit(got) == signbit(want);
	return fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

bool sl_eval_near(const struct sl_eval *e, sl_val v, const double *want, int64_t n,
	double tolerance)
{
	if (n != sl_eval_count(e, v)) {
		fprintf(stderr, "%" PRId64 " elements; expected %" PRId64 "\n",
			sl_eval_count(e, v), n);
		return false;
	}
	for (int64_t i = 0; i < n; i++) {
		double got = sl_eval_get(e, v, i);
		if (near(got, want[i], tolerance))
			continue;
		fprintf(stderr, "element %" PRId64 " is %.17g; expected %.17g\n", i, got,
			want[i]);
		return false;
	}
	return true;
}

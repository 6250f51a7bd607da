/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse mode: one sweep over the nodes from the loss back, each operator building its
 * own gradient.
 *
 * 1. need[v]: v depends on some wrt through float values (forward sweep); only such
 * values get gradients, and only nodes with a needed input are asked.
 * 2. Program order is a topological order, so when a node is visited all gradients of its
 * outputs have arrived.
 * 3. What a gradient reads of the forward pass must still have the contents that the node
 * saw: versions are compared for each node that the operator added.
 * 4. A root changed in place below the point that a gradient flows to cannot be
 * differentiated.
 * 5. What a gradient reads that is cheap to make from values kept anyway is made again
 * beside it: from its last use of the forward pass to there it holds no memory.
 */
#include "graph/ir.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/ir_int.h"
#include "sluice/ops.h"

struct sweep {
	struct sl_graph *g;
	const struct sl_grad_request *r;
	uint32_t n_values; /* before the sweep */
	uint32_t end; /* one past the node that produced the loss; 0 for a persistent loss
		       */
	bool *need; /* [n_values] */
	bool *flows; /* [n_values] root that a gradient has flown to */
	sl_val *grad; /* [n_values] sum so far */
	sl_val *again; /* [n_values] made again for gradients; itself where it stays */
};

/* Smaller values are not worth a second operator. */
#define AGAIN_LEAST ((uint64_t)64 << 10)

static bool bit(uint32_t mask, int i)
{
	return i < 32 && (mask >> i & 1);
}

static bool is_float(const struct sl_graph *g, sl_val v)
{
	return sl_dtype_is_float(g->values[v.index].type.dtype);
}

static bool needs(const struct sweep *s, sl_val v)
{
	return !sl_val_is_none(v) && s->need[v.index];
}

static void mark_needed(struct sweep *s)
{
	for (size_t i = 0; i < s->r->n_wrt; i++)
		s->need[s->r->wrt[i].index] = is_float(s->g, s->r->wrt[i]);
	for (uint32_t k = s->r->first_node; k < s->end; k++) {
		const struct sl_ir_node *n = &s->g->nodes[k];
		bool any = false;
		for (int i = 0; i < n->n_in; i++)
			any = any || needs(s, n->in[i]);
		for (int i = 0; any && i < n->n_out; i++)
			s->need[n->out[i].index] = is_float(s->g, n->out[i]);
	}
}

/* The first node after `after` that changed the root in place. */
static uint32_t find_mutator(const struct sl_graph *g, uint32_t after, uint32_t root)
{
	for (uint32_t k = after; k < g->n_nodes; k++) {
		const struct sl_ir_node *n = &g->nodes[k];
		for (int i = 0; i < n->n_in; i++)
			if (bit(n->op->mutates, i) && !sl_val_is_none(n->in[i]) &&
				g->values[n->in[i].index].root == root)
				return k;
	}
	return after;
}

static sl_status check_version(
	const struct sl_graph *g, uint32_t node, sl_val v, uint32_t seen)
{
	uint32_t root = g->values[v.index].root;
	char text[SL_IR_NODE_TEXT];

	if (g->values[root].version == seen)
		return SL_OK;
	return SL_FAIL(SL_E_INVALID,
		"it needs value %u '%s', but %s has changed that in place since; take "
		"the gradient "
		"before, or change a copy",
		v.index, g->values[root].name,
		sl_ir_node_print(g, find_mutator(g, node, root), text));
}

/* Version of an output's root when its node was done. */
static uint32_t out_version(const struct sl_graph *g, const struct sl_ir_node *n, int i)
{
	return g->values[n->out[i].index].root == n->out[i].index ? 0 : n->in_version[0];
}

/* Compares what an added node reads with what the forward node saw. */
static sl_status check_read(
	const struct sl_graph *g, uint32_t node, const struct sl_ir_node *n, sl_val read)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i].index == read.index)
			return check_version(g, node, read, n->in_version[i]);
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i].index == read.index)
			return check_version(g, node, read, out_version(g, n, i));
	return SL_OK;
}

static sl_status check_added(const struct sl_graph *g, uint32_t node,
	const struct sl_ir_node *n, uint32_t first_added)
{
	for (uint32_t k = first_added; k < g->n_nodes; k++) {
		const struct sl_ir_node *added = &g->nodes[k];
		for (int i = 0; i < added->n_in; i++)
			if (!sl_val_is_none(added->in[i]))
				SL_TRY(check_read(g, node, n, added->in[i]));
	}
	return SL_OK;
}

static sl_status check_gradient(const struct sl_graph *g, sl_val of, sl_val d)
{
	const struct sl_type *want = &g->values[of.index].type;
	const struct sl_type *got;
	char text_want[SL_SHAPE_TEXT];
	char text_got[SL_SHAPE_TEXT];

	SL_TRY(sl_ir_check_value(g, "a gradient", d));
	got = &g->values[d.index].type;
	if (got->dtype == want->dtype && sl_shape_equal(&got->shape, &want->shape))
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE, "a gradient is %s %s but its value is %s %s",
		sl_dtype_name(got->dtype), sl_shape_print(&got->shape, text_got),
		sl_dtype_name(want->dtype), sl_shape_print(&want->shape, text_want));
}

/* v plus sum by the operator that makes v, if it can. */
static sl_val made_upon(struct sweep *s, sl_val v, sl_val sum)
{
	uint32_t producer = s->g->values[v.index].producer;
	struct sl_node_types types;

	if (producer == SL_IR_NO_NODE)
		return SL_VAL_NONE;
	/* A copy: adding nodes moves the graph's table. */
	const struct sl_ir_node n = s->g->nodes[producer];
	if (!n.op->plus || n.out[0].index != v.index)
		return SL_VAL_NONE;
	struct sl_node_info info = sl_ir_info(s->g, producer, &types);
	return n.op->plus(s->g, &info, n.in, sum);
}

static sl_val sum_of(struct sweep *s, sl_val a, sl_val b)
{
	sl_val sum = made_upon(s, b, a);

	if (sl_val_is_none(sum))
		sum = made_upon(s, a, b);
	return sl_val_is_none(sum) ? sl_add(s->g, a, b) : sum;
}

static sl_status flow(struct sweep *s, sl_val to, sl_val d)
{
	sl_val *sum = &s->grad[to.index];

	SL_TRY(check_gradient(s->g, to, d));
	*sum = sl_val_is_none(*sum) ? d : sum_of(s, *sum, d);
	s->flows[s->g->values[to.index].root] = true;
	return sl_graph_status(s->g);
}

/* Whether node k, run now, would see what it saw, and v still holds what it gave. */
static bool is_unchanged(const struct sl_graph *g, uint32_t k, sl_val v)
{
	const struct sl_ir_node *n = &g->nodes[k];

	for (int i = 0; i < n->n_in; i++)
		if (!sl_val_is_none(n->in[i]) &&
			g->values[g->values[n->in[i].index].root].version !=
				n->in_version[i])
			return false;
	return g->values[g->values[v.index].root].version == 0;
}

/* v as its gradients' readers should take it. Its producer is differentiated, too, and so
 * keeps what it reads. */
static sl_val made_again(struct sweep *s, sl_val v)
{
	uint32_t k = needs(s, v) ? s->g->values[v.index].producer : SL_IR_NO_NODE;
	struct sl_node_types types;

	if (k == SL_IR_NO_NODE || !is_unchanged(s->g, k, v))
		return v;
	if (!sl_val_is_none(s->again[v.index]))
		return s->again[v.index];
	/* A copy: adding nodes moves the graph's table. */
	const struct sl_ir_node n = s->g->nodes[k];
	sl_val made = SL_VAL_NONE;
	if (n.op->flags & SL_OP_VIEW) {
		sl_val in[SL_OP_MAX_IN];
		memcpy(in, n.in, (size_t)n.n_in * sizeof(*in));
		in[0] = made_again(s, n.in[0]);
		if (in[0].index != n.in[0].index)
			made = sl_graph_add(s->g, n.op, n.attr, in, n.n_in, NULL);
	} else if (n.op->again && n.out[0].index == v.index &&
		   sl_type_bytes(&s->g->values[v.index].type) >= AGAIN_LEAST) {
		struct sl_node_info info = sl_ir_info(s->g, k, &types);
		made = n.op->again(s->g, &info, n.in, n.out);
	}
	s->again[v.index] = sl_val_is_none(made) ? v : made;
	return s->again[v.index];
}

static sl_status call_grad(struct sweep *s, uint32_t node, const struct sl_ir_node *n,
	const bool *need, sl_val *din)
{
	struct sl_node_types types;
	struct sl_node_info info = sl_ir_info(s->g, node, &types);
	sl_val in[SL_OP_MAX_IN];
	sl_val dout[SL_OP_MAX_OUT];
	struct sl_grad c = {.g = s->g,
		.node = &info,
		.in = in,
		.out = n->out,
		.dout = dout,
		.need = need,
		.din = din};
	uint32_t first_added = s->g->n_nodes;

	for (int i = 0; i < n->n_out; i++)
		dout[i] = s->grad[n->out[i].index];
	if (!n->op->grad)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"%s has no gradient, but the loss depends on it", n->op->name);
	for (int i = 0; i < n->n_in; i++)
		in[i] = made_again(s, n->in[i]);
	SL_TRY(n->op->grad(&c));
	SL_TRY(sl_graph_status(s->g));
	return check_added(s->g, node, n, first_added);
}

static sl_status visit(struct sweep *s, uint32_t node)
{
	/* A copy: adding nodes moves the graph's table. */
	const struct sl_ir_node n = s->g->nodes[node];
	bool need[SL_OP_MAX_IN];
	sl_val din[SL_OP_MAX_IN];
	bool asked = false;
	bool arrived = false;

	for (int i = 0; i < n.n_in; i++) {
		need[i] = needs(s, n.in[i]);
		din[i] = SL_VAL_NONE;
		asked = asked || need[i];
		if (bit(n.op->mutates, i) && !sl_val_is_none(n.in[i]) &&
			s->flows[s->g->values[n.in[i].index].root])
			return SL_FAIL(SL_E_UNSUPPORTED,
				"the loss depends on what it writes in "
				"place, which has no gradient");
	}
	for (int i = 0; i < n.n_out; i++)
		arrived = arrived || !sl_val_is_none(s->grad[n.out[i].index]);
	if (!asked || !arrived)
		return SL_OK;
	s->g->scope = n.scope;
	SL_TRY(call_grad(s, node, &n, need, din));
	for (int i = 0; i < n.n_in; i++)
		if (need[i] && !sl_val_is_none(din[i]))
			SL_TRY(flow(s, n.in[i], din[i]));
	return SL_OK;
}

static sl_status run_sweep(struct sweep *s)
{
	sl_val seed = s->r->seed;
	char text[SL_IR_NODE_TEXT];

	if (sl_val_is_none(seed)) {
		struct sl_type type = s->g->values[s->r->loss.index].type;
		seed = sl_full(s->g, &type, 1.0);
		SL_TRY(sl_graph_status(s->g));
	}
	SL_TRY(flow(s, s->r->loss, seed));
	for (uint32_t k = s->end; k > s->r->first_node;) {
		sl_status st = visit(s, --k);
		if (st != SL_OK)
			return sl_fail_prefix(
				st, "gradient of %s", sl_ir_node_print(s->g, k, text));
	}
	return SL_OK;
}

static sl_status check_request(const struct sl_graph *g, const struct sl_grad_request *r)
{
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_graph_status(g));
	SL_TRY(sl_ir_check_value(g, "the loss", r->loss));
	const struct sl_type *type = &g->values[r->loss.index].type;
	if (!sl_dtype_is_float(type->dtype) || sl_shape_count(&type->shape) != 1)
		return SL_FAIL(SL_E_SHAPE,
			"the loss is %s %s; it must be one f32 or f64 number",
			sl_dtype_name(type->dtype), sl_shape_print(&type->shape, text));
	for (size_t i = 0; i < r->n_wrt; i++)
		SL_TRY(sl_ir_check_value(g, "a value to differentiate by", r->wrt[i]));
	if (r->first_node > g->n_nodes)
		return SL_FAIL(SL_E_INVALID, "first node %u, but the graph has %u nodes",
			r->first_node, g->n_nodes);
	return SL_OK;
}

/* A gradient handed out is no plain activation for memory policies; nor is the root it
 * views. */
static void name_role(struct sl_graph *g, sl_val v)
{
	if (sl_val_is_none(v))
		return;
	struct sl_ir_value *value = &g->values[v.index];
	struct sl_ir_value *root = &g->values[value->root];
	if (value->role == SL_ROLE_ACT)
		value->role = SL_ROLE_GRAD;
	if (root->role == SL_ROLE_ACT)
		root->role = SL_ROLE_GRAD;
}

static sl_status sweep_init(struct sweep *s)
{
	uint32_t producer = s->g->values[s->r->loss.index].producer;

	s->n_values = s->g->n_values;
	s->need = sl_calloc(s->n_values, sizeof(*s->need));
	s->flows = sl_calloc(s->n_values, sizeof(*s->flows));
	s->grad = sl_calloc(s->n_values, sizeof(*s->grad));
	s->again = sl_calloc(s->n_values, sizeof(*s->again));
	if (!s->need || !s->flows || !s->grad || !s->again)
		return SL_FAIL(SL_E_NOMEM, "no host memory for gradients of %u values",
			s->n_values);
	for (uint32_t i = 0; i < s->n_values; i++)
		s->grad[i] = s->again[i] = SL_VAL_NONE;
	s->end = producer == SL_IR_NO_NODE ? 0 : producer + 1;
	return SL_OK;
}

sl_status sl_graph_grad(
	struct sl_graph *g, const struct sl_grad_request *request, sl_val *out)
{
	struct sweep s = {.g = g, .r = request};
	const char *scope = g->scope;
	sl_status st = SL_OK;

	SL_TRY(check_request(g, request));
	SL_TRY_OUT(sweep_init(&s));
	mark_needed(&s);
	if (s.need[request->loss.index])
		SL_TRY_OUT(run_sweep(&s));
	for (size_t i = 0; i < request->n_wrt; i++) {
		out[i] = s.grad[request->wrt[i].index];
		name_role(g, out[i]);
	}
out:
	if (st != SL_OK)
		sl_graph_poison(g, st);
	g->scope = scope;
	sl_free(s.need);
	sl_free(s.flows);
	sl_free(s.grad);
	sl_free(s.again);
	return st;
}

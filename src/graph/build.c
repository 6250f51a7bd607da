/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending nodes and values.
 *
 * 1. A node's inputs exist before it; its outputs have consecutive ids.
 * 2. The root of a value is never a view: a view of a view points to the first root,
 * offsets added.
 * 3. version counts the in-place changes of a root so far; in_version is what a node saw.
 * 4. After a first failure nothing is added any more.
 */
#include "graph/ir.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "graph/ir_int.h"

sl_status sl_ir_check_name(const char *what, const char *name, size_t max)
{
	size_t len = strlen(name);

	if (!len || len > max)
		return SL_FAIL(SL_E_INVALID,
			"the name of a%s %s has %zu bytes; 1 to %zu are possible",
			strchr("aeiou", what[0]) ? "n" : "", what, len, max);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
			return SL_FAIL(SL_E_INVALID,
				"byte %zu of the name '%s' is a blank or control "
				"character",
				i, name);
	return SL_OK;
}

sl_status sl_ir_check_value(const struct sl_graph *g, const char *what, sl_val v)
{
	if (sl_val_is_none(v))
		return SL_FAIL(SL_E_INVALID, "%s is none; a value is needed", what);
	if (sl_ir_is_poison(v))
		return SL_FAIL(
			SL_E_INVALID, "%s is the result of a failed builder", what);
	if (v.index >= g->n_values)
		return SL_FAIL(SL_E_INVALID,
			"%s is value %u, but this graph has %u; is it another graph's?",
			what, v.index, g->n_values);
	return SL_OK;
}

char *sl_ir_node_print(
	const struct sl_graph *g, uint32_t node, char text[SL_IR_NODE_TEXT])
{
	const struct sl_ir_node *n = &g->nodes[node];

	if (n->scope[0])
		snprintf(text, SL_IR_NODE_TEXT, "%s (node %u in '%.96s')", n->op->name,
			node, n->scope);
	else
		snprintf(text, SL_IR_NODE_TEXT, "%s (node %u)", n->op->name, node);
	return text;
}

sl_status sl_ir_new_value(
	struct sl_graph *g, const struct sl_ir_value *proto, sl_val *out)
{
	void *items = g->values;
	struct sl_ir_value v = *proto;

	v.name = proto->name ? sl_arena_strdup(&g->arena, proto->name) : "";
	if (!v.name)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for the name '%s'", proto->name);
	if (sl_grow(&items, &g->cap_values, g->n_values + (size_t)1, sizeof(*g->values),
		    SL_IR_MAX) != 0)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %u values", g->n_values + 1);
	g->values = items;
	v.root = g->n_values;
	v.root_offset = 0;
	v.version = 0;
	g->values[g->n_values] = v;
	out->index = g->n_values++;
	return SL_OK;
}

struct sl_node_info sl_ir_info(
	const struct sl_graph *g, uint32_t node, struct sl_node_types *types)
{
	const struct sl_ir_node *n = &g->nodes[node];

	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]))
			types->in[i] = (struct sl_type){.dtype = SL_DTYPE_COUNT};
		else
			types->in[i] = g->values[n->in[i].index].type;
	}
	for (int i = 0; i < n->n_out; i++)
		types->out[i] = g->values[n->out[i].index].type;
	return (struct sl_node_info){.op = n->op,
		.attr = n->attr,
		.n_in = n->n_in,
		.n_out = n->n_out,
		.in = types->in,
		.out = types->out,
		.nhwc = n->nhwc};
}

static bool bit(uint32_t mask, int i)
{
	return i < 32 && (mask >> i & 1);
}

static sl_status check_inputs(
	const struct sl_graph *g, const struct sl_op *op, const sl_val *in, int n_in)
{
	char what[32];

	if (n_in < op->min_in || n_in > op->max_in)
		return SL_FAIL(SL_E_INVALID, "%d inputs; it takes %d to %d", n_in,
			op->min_in, op->max_in);
	for (int i = 0; i < n_in; i++) {
		if (sl_val_is_none(in[i]) && bit(op->optional_in, i))
			continue;
		snprintf(what, sizeof(what), "input %d", i);
		SL_TRY(sl_ir_check_value(g, what, in[i]));
	}
	return SL_OK;
}

static sl_status infer(
	const struct sl_graph *g, struct sl_ir_node *n, struct sl_node_types *types)
{
	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]))
			types->in[i] = (struct sl_type){.dtype = SL_DTYPE_COUNT};
		else
			types->in[i] = g->values[n->in[i].index].type;
	}
	struct sl_node_info info = {.op = n->op,
		.attr = n->attr,
		.n_in = n->n_in,
		.n_out = n->n_out,
		.in = types->in};
	SL_TRY(n->op->infer(&info, types->out));
	for (int i = 0; i < n->n_out; i++)
		SL_TRY(sl_shape_check(&types->out[i].shape, NULL));
	return SL_OK;
}

/* The attributes in the graph's arena; none given means all zero. */
static sl_status own_attr(struct sl_graph *g, struct sl_ir_node *n)
{
	size_t bytes = n->op->attr_bytes;

	if (!bytes)
		n->attr = NULL;
	else if (n->attr)
		n->attr = sl_arena_copy(&g->arena, n->attr, bytes);
	else
		n->attr = sl_arena_alloc(&g->arena, bytes);
	if (bytes && !n->attr)
		return SL_FAIL(SL_E_NOMEM, "no host memory for node %u", g->n_nodes);
	return SL_OK;
}

/* Copies inputs and their versions into the graph's arena. */
static sl_status own_lists(struct sl_graph *g, struct sl_ir_node *n, sl_val **out)
{
	size_t n_in = (size_t)n->n_in;
	uint32_t *version = sl_arena_alloc(&g->arena, n_in * sizeof(*version));

	sl_val *in = sl_arena_alloc(&g->arena, n_in * sizeof(*in));

	*out = sl_arena_alloc(&g->arena, (size_t)n->n_out * sizeof(**out));
	if (!version || !in || !*out)
		return SL_FAIL(SL_E_NOMEM, "no host memory for node %u", g->n_nodes);
	for (size_t i = 0; i < n_in; i++) {
		in[i] = n->in[i];
		if (!sl_val_is_none(in[i]))
			version[i] = g->values[g->values[in[i].index].root].version;
	}
	n->in = in;
	n->in_version = version;
	n->out = *out;
	return SL_OK;
}

static void set_view(
	struct sl_graph *g, const struct sl_ir_node *n, struct sl_node_types *types)
{
	struct sl_node_info info = {.op = n->op,
		.attr = n->attr,
		.n_in = n->n_in,
		.n_out = n->n_out,
		.in = types->in,
		.out = types->out};
	const struct sl_ir_value *of = &g->values[n->in[0].index];
	struct sl_ir_value *view = &g->values[n->out[0].index];

	view->root = of->root;
	view->root_offset =
		of->root_offset + (n->op->view_offset ? n->op->view_offset(&info) : 0);
	SL_ASSERT(view->root_offset >= 0);
}

static sl_status append(struct sl_graph *g, struct sl_ir_node *n)
{
	struct sl_node_types types;
	void *items = g->nodes;
	sl_val *out;

	SL_TRY(check_inputs(g, n->op, n->in, n->n_in));
	SL_TRY(own_attr(g, n));
	SL_TRY(infer(g, n, &types));
	if (sl_grow(&items, &g->cap_nodes, g->n_nodes + (size_t)1, sizeof(*g->nodes),
		    SL_IR_MAX) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %u nodes", g->n_nodes + 1);
	g->nodes = items;
	SL_TRY(own_lists(g, n, &out));
	for (int i = 0; i < n->n_out; i++) {
		struct sl_ir_value proto = {.type = types.out[i], .producer = g->n_nodes};
		SL_TRY(sl_ir_new_value(g, &proto, &out[i]));
	}
	if (n->op->flags & SL_OP_VIEW)
		set_view(g, n, &types);
	for (int i = 0; i < n->n_in; i++)
		if (bit(n->op->mutates, i) && !sl_val_is_none(n->in[i]))
			g->values[g->values[n->in[i].index].root].version++;
	g->nodes[g->n_nodes++] = *n;
	return SL_OK;
}

static bool any_poison(const sl_val *in, int n_in)
{
	for (int i = 0; i < n_in; i++)
		if (sl_ir_is_poison(in[i]))
			return true;
	return false;
}

sl_val sl_graph_add(struct sl_graph *g, const struct sl_op *op, const void *attr,
	const sl_val *in, int n_in, sl_val *out)
{
	struct sl_ir_node n = {.op = op,
		.attr = attr,
		.scope = g->scope,
		.n_in = n_in,
		.n_out = op->n_out,
		.in = in};
	sl_status st;

	SL_ASSERT(op->n_out <= SL_OP_MAX_OUT && op->max_in <= SL_OP_MAX_IN);
	for (int i = 0; out && i < op->n_out; i++)
		out[i] = SL_VAL_POISON;
	if (g->failed != SL_OK)
		return SL_VAL_POISON;
	if (any_poison(in, n_in))
		st = SL_FAIL(SL_E_INVALID, "an input is the result of a failed builder");
	else
		st = append(g, &n);
	if (st != SL_OK)
		return sl_graph_poison(g,
			g->scope[0] ? sl_fail_prefix(st, "%s in '%s'", op->name, g->scope)
				    : sl_fail_prefix(st, "%s", op->name));
	for (int i = 0; out && i < op->n_out; i++)
		out[i] = n.out[i];
	return op->n_out ? n.out[0] : SL_VAL_NONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances of a template: every node of the template is built again, in order, with
 * sizes of the instance's own; persistent values are found by name, so that all instances
 * share them.
 */
#include "graph/ir.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/ir_int.h"

struct binding {
	struct sl_graph *g;
	const struct sl_graph *tmpl;
	const struct sl_bind *bind;
	sl_val *map; /* [tmpl values] value of g */
	struct sl_ir_low *low; /* NULL: types are the template's */
};

static sl_val bind_persistent(const struct binding *b, const struct sl_ir_value *v)
{
	if (v->role == SL_ROLE_PARAM)
		return sl_param(b->g, v->name, &v->type, v->init);
	return sl_state(b->g, v->name, &v->type, v->init);
}

static void bind_feed(const struct binding *b, const struct sl_ir_node *n)
{
	const struct sl_ir_value *v = &b->tmpl->values[n->out[0].index];
	struct sl_io_attr attr = *(const struct sl_io_attr *)n->attr;

	attr.part = b->bind->part;
	for (int i = 0; i < v->type.shape.rank; i++)
		if (v->symbol[i] && b->bind->size[v->symbol[i] - 1])
			attr.type.shape.dim[i] = b->bind->size[v->symbol[i] - 1];
	b->map[n->out[0].index] = sl_ir_feed(b->g, &attr, v->symbol);
}

static void bind_fetch(const struct binding *b, const struct sl_ir_node *n)
{
	struct sl_io_attr attr = *(const struct sl_io_attr *)n->attr;

	sl_val v = b->map[n->in[0].index];

	attr.part = b->bind->part;
	if (b->low)
		sl_ir_low_inputs(b->low, n, &v);
	sl_ir_fetch(b->g, &attr, v);
}

/* A copy of the attributes, adjusted to the instance; NULL without host memory. */
static void *bind_attr(
	const struct binding *b, const struct sl_ir_node *n, const sl_val *in)
{
	struct sl_type types[SL_OP_MAX_IN];
	void *attr = sl_alloc(n->op->attr_bytes);

	if (!attr)
		return NULL;
	memcpy(attr, n->attr, n->op->attr_bytes);
	for (int i = 0; i < n->n_in; i++) {
		types[i] = (struct sl_type){.dtype = SL_DTYPE_COUNT};
		if (in[i].index < b->g->n_values)
			types[i] = b->g->values[in[i].index].type;
	}
	if (b->low)
		sl_ir_low_attr(b->low, n, attr);
	if (n->op->rebind)
		n->op->rebind(attr, types, b->bind);
	return attr;
}

static sl_status bind_op(const struct binding *b, const struct sl_ir_node *n)
{
	sl_val in[SL_OP_MAX_IN];
	sl_val out[SL_OP_MAX_OUT];
	void *attr = NULL;

	for (int i = 0; i < n->n_in; i++)
		in[i] = sl_val_is_none(n->in[i]) ? n->in[i] : b->map[n->in[i].index];
	if (b->low)
		sl_ir_low_inputs(b->low, n, in);
	if (n->op->attr_bytes) {
		attr = bind_attr(b, n, in);
		if (!attr)
			return SL_FAIL(
				SL_E_NOMEM, "no host memory to bind %s", n->op->name);
	}
	sl_graph_add(b->g, n->op, attr, in, n->n_in, out);
	sl_free(attr);
	for (int i = 0; i < n->n_out; i++) {
		const struct sl_ir_value *v = &b->tmpl->values[n->out[i].index];
		b->map[n->out[i].index] = out[i];
		if (!sl_ir_is_poison(out[i]))
			b->g->values[out[i].index].role = v->role;
	}
	if (b->low && n->n_out > 0)
		b->map[n->out[0].index] = sl_ir_low_output(b->low, n, out[0]);
	return SL_OK;
}

static sl_status bind_nodes(const struct binding *b)
{
	for (uint32_t i = 0; i < b->tmpl->n_nodes; i++) {
		const struct sl_ir_node *n = &b->tmpl->nodes[i];
		sl_graph_scope(b->g, n->scope);
		if (n->op == &sl_op_feed)
			bind_feed(b, n);
		else if (n->op == &sl_op_fetch)
			bind_fetch(b, n);
		else
			SL_TRY(bind_op(b, n));
		SL_TRY(sl_graph_status(b->g));
	}
	return SL_OK;
}

static sl_status check_bind(const struct binding *b)
{
	static const char *const names[SL_DIM_COUNT] = {"batch", "sequence"};

	SL_TRY(sl_graph_status(b->g));
	if (b->g == b->tmpl)
		return SL_FAIL(SL_E_INVALID, "a graph cannot be an instance of itself");
	for (int i = 0; i < SL_DIM_COUNT; i++)
		if (b->bind->size[i] < 0)
			return SL_FAIL(SL_E_INVALID, "%s size %" PRId64 " is negative",
				names[i], b->bind->size[i]);
	if (b->bind->batch_offset < 0)
		return SL_FAIL(SL_E_INVALID, "batch offset %" PRId64 " is negative",
			b->bind->batch_offset);
	sl_status st = sl_graph_status(b->tmpl);
	return st == SL_OK ? st : sl_fail_prefix(st, "the template failed");
}

static sl_status bind_all(struct binding *b)
{
	const struct sl_graph *tmpl = b->tmpl;

	b->map = sl_calloc(tmpl->n_values, sizeof(*b->map));
	if (!b->map)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory to bind %u values", tmpl->n_values);
	for (uint32_t i = 0; i < tmpl->n_values; i++)
		if (tmpl->values[i].producer == SL_IR_NO_NODE)
			b->map[i] = bind_persistent(b, &tmpl->values[i]);
	SL_TRY(sl_graph_status(b->g));
	return bind_nodes(b);
}

sl_status sl_graph_bind(
	struct sl_graph *g, const struct sl_graph *tmpl, const struct sl_bind *bind)
{
	struct binding b = {.g = g, .tmpl = tmpl, .bind = bind};
	struct sl_ir_low low = {0};
	const char *scope = g->scope;
	sl_status st = SL_OK;

	SL_TRY(check_bind(&b));
	if (bind->low) {
		b.low = &low;
		st = sl_ir_low_init(&low, g, tmpl);
	}
	if (st == SL_OK)
		st = bind_all(&b);
	if (st != SL_OK)
		sl_graph_poison(g, st);
	sl_ir_low_finish(&low);
	sl_free(b.map);
	g->scope = scope;
	return st;
}

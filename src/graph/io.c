/* SPDX-License-Identifier: Apache-2.0 */
/* The two operators at the graph's edge: feed brings a named input in, fetch hands a
 * value out. */
#include "graph/ir.h"

#include <string.h>

#include "graph/ir_int.h"

static const struct sl_attr_field io_fields[] = {
	SL_ATTR(struct sl_io_attr, name, NAME, sizeof(((struct sl_io_attr *)0)->name)),
	SL_ATTR(struct sl_io_attr, part, U32, 1),
};

static sl_status feed_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_io_attr *a = n->attr;

	out[0] = a->type;
	return SL_OK;
}

static sl_status feed_ref(const struct sl_call *c)
{
	const struct sl_io_attr *a = c->node->attr;

	if (!c->run->feed)
		return SL_FAIL(SL_E_INVALID, "nobody feeds the input '%s'", a->name);
	return c->run->feed(
		c->run->io_ctx, a->name, a->part, c->out[0], &c->node->out[0]);
}

static sl_status fetch_infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)n;
	(void)out;
	return SL_OK;
}

/* An output that nobody takes is no failure. */
static sl_status fetch_ref(const struct sl_call *c)
{
	const struct sl_io_attr *a = c->node->attr;

	if (!c->run->fetch)
		return SL_OK;
	return c->run->fetch(c->run->io_ctx, a->name, a->part, c->in[0], &c->node->in[0]);
}

const struct sl_op sl_op_feed = {
	.name = "feed",
	.attr_bytes = sizeof(struct sl_io_attr),
	.fields = io_fields,
	.n_fields = 2,
	.n_out = 1,
	.flags = SL_OP_IMPURE,
	.infer = feed_infer,
	.ref = feed_ref,
};

const struct sl_op sl_op_fetch = {
	.name = "fetch",
	.attr_bytes = sizeof(struct sl_io_attr),
	.fields = io_fields,
	.n_fields = 2,
	.min_in = 1,
	.max_in = 1,
	.flags = SL_OP_IMPURE,
	.infer = fetch_infer,
	.ref = fetch_ref,
};

static sl_status make_attr(const char *what, const char *name, struct sl_io_attr *out)
{
	SL_TRY(sl_ir_check_name(what, name, sizeof(out->name) - 1));
	memset(out, 0, sizeof(*out));
	memcpy(out->name, name, strlen(name));
	return SL_OK;
}

sl_val sl_ir_feed(
	struct sl_graph *g, const struct sl_io_attr *attr, const uint8_t *symbol)
{
	sl_val v = sl_graph_add(g, &sl_op_feed, attr, NULL, 0, NULL);

	if (sl_ir_is_poison(v))
		return v;
	struct sl_ir_value *value = &g->values[v.index];
	const char *name = sl_arena_strdup(&g->arena, attr->name);
	if (!name)
		return sl_graph_poison(
			g, SL_FAIL(SL_E_NOMEM, "no host memory for the input '%s'",
				   attr->name));
	value->name = name;
	value->role = SL_ROLE_INPUT;
	for (int i = 0; symbol && i < attr->type.shape.rank; i++)
		value->symbol[i] = symbol[i];
	return v;
}

static sl_status check_symbols(const struct sl_type *type, const uint8_t *symbol)
{
	for (int i = 0; symbol && i < type->shape.rank && i < SL_MAX_RANK; i++)
		if (symbol[i] > SL_DIM_COUNT)
			return SL_FAIL(SL_E_INVALID,
				"axis %d: symbol %u; 0 to %d are possible", i, symbol[i],
				(int)SL_DIM_COUNT);
	return SL_OK;
}

sl_val sl_input(struct sl_graph *g, const char *name, const struct sl_type *type,
	const uint8_t *symbol)
{
	struct sl_io_attr attr;
	sl_status st = make_attr("input", name, &attr);

	if (st == SL_OK)
		st = check_symbols(type, symbol);
	if (st != SL_OK)
		return sl_graph_poison(g, sl_fail_prefix(st, "input '%.64s'", name));
	attr.type = *type;
	return sl_ir_feed(g, &attr, symbol);
}

void sl_ir_fetch(struct sl_graph *g, const struct sl_io_attr *attr, sl_val v)
{
	sl_graph_add(g, &sl_op_fetch, attr, &v, 1, NULL);
}

void sl_output(struct sl_graph *g, const char *name, sl_val v)
{
	struct sl_io_attr attr;
	sl_status st = make_attr("output", name, &attr);

	if (st == SL_OK && !sl_val_is_none(sl_graph_output(g, name)))
		st = SL_FAIL(SL_E_INVALID,
			"there is one of that name already; give them two names");
	if (st != SL_OK)
		sl_graph_poison(g, sl_fail_prefix(st, "output '%.64s'", name));
	else
		sl_ir_fetch(g, &attr, v);
}

sl_val sl_graph_output(const struct sl_graph *g, const char *name)
{
	/* A split batch hands out its parts under one name: the latest counts. */
	for (uint32_t i = g->n_nodes; i-- > 0;) {
		const struct sl_ir_node *n = &g->nodes[i];
		const struct sl_io_attr *a = n->attr;
		if (n->op == &sl_op_fetch && strcmp(a->name, name) == 0)
			return n->in[0];
	}
	return SL_VAL_NONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints graphs and attributes; the format is in the header. */
#include "graph/text.h"

#include <inttypes.h>
#include <string.h>

#include "graph/ir.h"

typedef sl_status (*print_fn)(struct sl_buf *out, const void *item);

static sl_status print_i64(struct sl_buf *out, const void *item)
{
	int64_t v;

	memcpy(&v, item, sizeof(v));
	return sl_buf_printf(out, "%" PRId64, v);
}

static sl_status print_u64(struct sl_buf *out, const void *item)
{
	uint64_t v;

	memcpy(&v, item, sizeof(v));
	return sl_buf_printf(out, "%" PRIu64, v);
}

static sl_status print_u32(struct sl_buf *out, const void *item)
{
	uint32_t v;

	memcpy(&v, item, sizeof(v));
	return sl_buf_printf(out, "%" PRIu32, v);
}

static sl_status print_f64(struct sl_buf *out, const void *item)
{
	double v;

	memcpy(&v, item, sizeof(v));
	return sl_buf_printf(out, "%.17g", v);
}

static sl_status print_bool(struct sl_buf *out, const void *item)
{
	return sl_buf_puts(out, *(const bool *)item ? "1" : "0");
}

struct kind {
	size_t bytes;
	print_fn print;
};

static const struct kind kinds[] = {
	[SL_ATTR_I64] = {8, print_i64},
	[SL_ATTR_U64] = {8, print_u64},
	[SL_ATTR_U32] = {4, print_u32},
	[SL_ATTR_F64] = {8, print_f64},
	[SL_ATTR_BOOL] = {sizeof(bool), print_bool},
};

static bool all_zero(const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i])
			return false;
	return true;
}

static sl_status print_field(
	struct sl_buf *out, const struct sl_attr_field *f, const char *data)
{
	uint32_t count = f->count;

	if (f->kind == SL_ATTR_NAME)
		return data[0] ? sl_buf_printf(out, " %s=%.*s", f->name, (int)count, data)
			       : SL_OK;
	const struct kind *k = &kinds[f->kind];
	while (count && all_zero(data + (count - 1) * k->bytes, k->bytes))
		count--;
	for (uint32_t i = 0; i < count; i++) {
		SL_TRY(i ? sl_buf_puts(out, ",") : sl_buf_printf(out, " %s=", f->name));
		SL_TRY(k->print(out, data + i * k->bytes));
	}
	return SL_OK;
}

sl_status sl_attr_print(const struct sl_op *op, const void *attr, struct sl_buf *out)
{
	for (int i = 0; i < op->n_fields; i++)
		SL_TRY(print_field(
			out, &op->fields[i], (const char *)attr + op->fields[i].offset));
	return SL_OK;
}

sl_status sl_type_print(const struct sl_type *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, "%s[", sl_dtype_name(t->dtype)));
	for (int i = 0; i < t->shape.rank; i++)
		SL_TRY(sl_buf_printf(out, "%s%" PRId64, i ? "," : "", t->shape.dim[i]));
	return sl_buf_puts(out, "]");
}

static sl_status print_persistent(
	const struct sl_graph *g, uint32_t v, struct sl_buf *out)
{
	const struct sl_ir_value *value = &g->values[v];

	SL_TRY(sl_buf_printf(out, "%s v%" PRIu32 " ",
		value->role == SL_ROLE_PARAM ? "param" : "state", v));
	SL_TRY(sl_type_print(&value->type, out));
	return sl_buf_printf(out, " name=%s\n", value->name);
}

static sl_status print_ins(const struct sl_ir_node *n, struct sl_buf *out)
{
	for (int i = 0; i < n->n_in; i++) {
		SL_TRY(sl_buf_puts(out, i ? "," : " in="));
		if (sl_val_is_none(n->in[i]))
			SL_TRY(sl_buf_puts(out, "-"));
		else
			SL_TRY(sl_buf_printf(out, "v%" PRIu32, n->in[i].index));
	}
	return SL_OK;
}

static sl_status print_outs(
	const struct sl_graph *g, const struct sl_ir_node *n, struct sl_buf *out)
{
	for (int i = 0; i < n->n_out; i++) {
		SL_TRY(sl_buf_printf(
			out, "%sv%" PRIu32 ":", i ? "," : " out=", n->out[i].index));
		SL_TRY(sl_type_print(&g->values[n->out[i].index].type, out));
	}
	if (!(n->op->flags & SL_OP_VIEW))
		return SL_OK;
	const struct sl_ir_value *view = &g->values[n->out[0].index];
	return sl_buf_printf(
		out, " view=v%" PRIu32 "+%" PRId64, view->root, view->root_offset);
}

static sl_status print_node(const struct sl_graph *g, uint32_t k, struct sl_buf *out)
{
	const struct sl_ir_node *n = &g->nodes[k];

	SL_TRY(sl_buf_printf(out, "node %" PRIu32 " %s", k, n->op->name));
	SL_TRY(print_ins(n, out));
	SL_TRY(print_outs(g, n, out));
	SL_TRY(sl_attr_print(n->op, n->attr, out));
	if (n->nhwc)
		SL_TRY(sl_buf_puts(out, " layout=nhwc"));
	if (n->scope[0])
		SL_TRY(sl_buf_printf(out, " scope=%s", n->scope));
	return sl_buf_puts(out, "\n");
}

sl_status sl_graph_print(const struct sl_graph *g, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, "graph 1\n"));
	for (uint32_t v = 0; v < g->n_values; v++)
		if (g->values[v].producer == UINT32_MAX)
			SL_TRY(print_persistent(g, v, out));
	for (uint32_t k = 0; k < g->n_nodes; k++)
		SL_TRY(print_node(g, k, out));
	return SL_OK;
}

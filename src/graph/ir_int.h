/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_IR_INT_H
#define SL_GRAPH_IR_INT_H

#include "graph/ir.h"

/* Steps of building shared by the files of graph/. */

#define SL_IR_NO_NODE UINT32_MAX
#define SL_IR_MAX ((size_t)1 << 26) /* nodes, values */
#define SL_IR_NAME_MAX 255

static inline bool sl_ir_is_poison(sl_val v)
{
	return v.index == SL_VAL_POISON.index;
}

/* Appends a value like proto: its name is copied (NULL: ""), root and version are set for
 * a value of its own. */
SL_NODISCARD sl_status sl_ir_new_value(
	struct sl_graph *g, const struct sl_ir_value *proto, sl_val *out);
/* 1 to max bytes, neither blanks nor control characters (names are words of our texts).
 */
SL_NODISCARD sl_status sl_ir_check_name(const char *what, const char *name, size_t max);
/* SL_E_INVALID unless v is a value of g. */
SL_NODISCARD sl_status sl_ir_check_value(
	const struct sl_graph *g, const char *what, sl_val v);
/* sl_input and sl_output for a given part. */
sl_val sl_ir_feed(
	struct sl_graph *g, const struct sl_io_attr *attr, const uint8_t *symbol);
void sl_ir_fetch(struct sl_graph *g, const struct sl_io_attr *attr, sl_val v);
/* "conv2d (node 12 in 'block0')" into text; returns text. */
#define SL_IR_NODE_TEXT 160
char *sl_ir_node_print(
	const struct sl_graph *g, uint32_t node, char text[SL_IR_NODE_TEXT]);

/* Mixed precision while a template is bound (low.c); indices are the template's. */
struct sl_ir_low {
	struct sl_graph *g;
	sl_val *copy; /* of a value in the other type; NONE: not made yet */
	bool *wanted; /* by an operator that takes it as bf16 */
};
SL_NODISCARD sl_status sl_ir_low_init(
	struct sl_ir_low *low, struct sl_graph *g, const struct sl_graph *tmpl);
void sl_ir_low_finish(struct sl_ir_low *low);
/* Casts the inputs of a node of the template, in: values of g, to what it takes. */
void sl_ir_low_inputs(struct sl_ir_low *low, const struct sl_ir_node *n, sl_val *in);
void sl_ir_low_attr(const struct sl_ir_low *low, const struct sl_ir_node *n, void *attr);
/* What stands for the first output from here on. */
sl_val sl_ir_low_output(struct sl_ir_low *low, const struct sl_ir_node *n, sl_val out);

#endif

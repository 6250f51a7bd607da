/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_TEXT_H
#define SL_GRAPH_TEXT_H

#include "base/buf.h"
#include "graph/op.h"

/*
 * The graph as text, for people and golden tests, one line a value from outside or a
 *node:
 *
 *	graph 1
 *	param v0 f32[3,4] name=w
 *	node 0 feed out=v1:f32[2,3] name=x
 *	node 1 matmul in=v1,v0,- out=v2:f32[2,4] trans_b=1 scope=block0
 *	node 2 reshape in=v2 out=v3:f32[8] view=v2+0 dim=-1
 *
 * Attributes that are zero are left out, and so are zeros at an array's end.
 */
SL_NODISCARD sl_status sl_graph_print(const struct sl_graph *g, struct sl_buf *out);

/* The attributes alone, " key=value" each; the same attributes always give the same text.
 */
SL_NODISCARD sl_status sl_attr_print(
	const struct sl_op *op, const void *attr, struct sl_buf *out);
/* "f32[2,3]". */
SL_NODISCARD sl_status sl_type_print(const struct sl_type *t, struct sl_buf *out);

#endif

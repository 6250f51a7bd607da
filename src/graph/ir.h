/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_IR_H
#define SL_GRAPH_IR_H

#include "base/arena.h"
#include "base/map.h"
#include "graph/op.h"

/*
 * The graph's own tables, for graph/ and for the passes and the executor that read them.
 * Flat arrays in id order; annotations live in tables of their owners, never here.
 */
struct sl_ir_value {
	struct sl_type type;
	enum sl_role role;
	const char *name; /* "" if none */
	uint32_t producer; /* node, or UINT32_MAX for persistent values */
	uint32_t root; /* value whose bytes these are; itself if no view */
	int64_t root_offset; /* bytes */
	uint32_t version; /* of the root: in-place changes so far, kept on roots */
	struct sl_init init; /* persistent ones */
	uint8_t symbol[SL_MAX_RANK];
};

struct sl_ir_node {
	const struct sl_op *op;
	const void *attr;
	const char *scope;
	int n_in, n_out;
	const sl_val *in; /* NONE where optional and absent */
	const sl_val *out;
	const uint32_t
		*in_version; /* version of each input's root when the node was built */
	bool nhwc; /* as in sl_node_info; set at seal (exec/layout.h) */
};

struct sl_graph {
	struct sl_arena arena;
	struct sl_ir_value *values;
	struct sl_ir_node *nodes;
	uint32_t n_values, n_nodes;
	size_t cap_values, cap_nodes;
	sl_val *params, *states;
	size_t n_params, n_states, cap_params, cap_states;
	struct sl_map persistent; /* name to value */
	const char *scope;
	sl_status failed; /* first failure */
	char failure[512];
};

/* The node as rules see it; types are written into the caller's arrays. */
struct sl_node_types {
	struct sl_type in[SL_OP_MAX_IN];
	struct sl_type out[SL_OP_MAX_OUT];
};
struct sl_node_info sl_ir_info(
	const struct sl_graph *g, uint32_t node, struct sl_node_types *types);

/* Attributes of feed and fetch nodes. */
struct sl_io_attr {
	char name[48];
	uint32_t part;
	struct sl_type type; /* feed: what arrives */
};
extern const struct sl_op sl_op_feed;
extern const struct sl_op sl_op_fetch;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_GRAPH_H
#define SLUICE_GRAPH_H

#include "sluice/tensor.h"

/*
 * A graph is a program: nodes in the order they were built, values between them. Model
 * code chains builders (ops.h) without looking at each result: a builder that fails
 * returns a poisoned value, the graph keeps the first failure, and sl_graph_status()
 * reports it.
 *
 * 1. Node order is program order. A node that changes a value in place ends its version:
 * nodes built later see the new contents.
 * 2. Values are dense and row-major; a view shares the bytes of its root.
 * 3. One thread builds; a finished graph is read-only.
 */
struct sl_graph;

/* A value, or none, or the poisoned result of a failed builder. */
typedef struct {
	uint32_t index;
} sl_val;
#define SL_VAL_NONE ((sl_val){UINT32_MAX})
#define SL_VAL_POISON ((sl_val){UINT32_MAX - 1})
static inline bool sl_val_is_none(sl_val v)
{
	return v.index == UINT32_MAX;
}

/* What a value is for; memory policies see it as the trace's class. */
enum sl_role {
	SL_ROLE_ACT,
	SL_ROLE_PARAM, /* persistent, has a gradient */
	SL_ROLE_STATE, /* persistent: optimizer state, running statistics, counters */
	SL_ROLE_GRAD,
	SL_ROLE_INPUT,
	SL_ROLE_COUNT
};

/* How a persistent value begins; random ones are keyed by (seed, hash of the name, 0,
 * element). */
enum sl_init_kind { SL_INIT_ZERO, SL_INIT_CONST, SL_INIT_NORMAL, SL_INIT_UNIFORM };
struct sl_init {
	enum sl_init_kind kind;
	double value; /* CONST: the value; NORMAL: standard deviation; UNIFORM: bound,
			 [-b, b) */
};

/* Sizes that differ between instances of a template. */
enum sl_dim { SL_DIM_BATCH, SL_DIM_SEQ, SL_DIM_COUNT };

SL_NODISCARD sl_status sl_graph_create(struct sl_graph **out);
void sl_graph_destroy(struct sl_graph *g);

/* The first failure of any builder, with its message recorded again for sl_last_error().
 */
SL_NODISCARD sl_status sl_graph_status(const struct sl_graph *g);

/* Nodes built from here on carry this scope in messages and traces ("block0/attn").
 * Copied. */
void sl_graph_scope(struct sl_graph *g, const char *scope);

/*
 * A value fed from outside at the start of each step by name. symbol[i] = 1 + enum sl_dim
 * where axis i is such a dimension, 0 where it is fixed; symbol NULL: all fixed.
 */
sl_val sl_input(struct sl_graph *g, const char *name, const struct sl_type *type,
	const uint8_t *symbol);
/* A persistent value; the same name gives the same value (weight tying), types must
 * agree. */
sl_val sl_param(struct sl_graph *g, const char *name, const struct sl_type *type,
	struct sl_init init);
sl_val sl_state(struct sl_graph *g, const char *name, const struct sl_type *type,
	struct sl_init init);
/* Hands v to the outside under a name each step. */
void sl_output(struct sl_graph *g, const char *name, sl_val v);
/* The value given to sl_output under that name; NONE if there is none. */
sl_val sl_graph_output(const struct sl_graph *g, const char *name);

/* Of a good value of this graph. */
const struct sl_type *sl_val_type(const struct sl_graph *g, sl_val v);
const char *sl_val_name(const struct sl_graph *g, sl_val v); /* "" if unnamed */
enum sl_role sl_val_role(const struct sl_graph *g, sl_val v);

/* Persistent values (parameters, states) in order of declaration; NONE past the end. */
sl_val sl_graph_param_at(const struct sl_graph *g, size_t i);
sl_val sl_graph_state_at(const struct sl_graph *g, size_t i);
/* Elements over all parameters. */
uint64_t sl_graph_param_count(const struct sl_graph *g);

/*
 * Appends an instance of `tmpl` to g: its nodes are built again with the given sizes;
 * persistent values are shared by name. batch_offset: samples of this step before this
 * part (gradient accumulation), so that random numbers do not depend on the split. part:
 * index of the part, given to the feeding and fetching side.
 */
struct sl_bind {
	int64_t size[SL_DIM_COUNT]; /* 0: as in the template */
	int64_t batch_offset;
	uint32_t part;
	bool low; /* mixed precision: values between operators are bf16 where these can,
		     parameters, states, sums and losses stay f32 */
};
SL_NODISCARD sl_status sl_graph_bind(
	struct sl_graph *g, const struct sl_graph *tmpl, const struct sl_bind *bind);

/*
 * Reverse mode: appends nodes that compute d(loss)/d(wrt[i]) into out[i] (NONE where loss
 * does not depend on it). seed: d(loss), a scalar; NONE means 1. Only nodes from
 * first_node on are visited. A value that backward needs but that was changed in place
 * since is SL_E_INVALID with both nodes.
 */
struct sl_grad_request {
	sl_val loss, seed;
	const sl_val *wrt;
	size_t n_wrt;
	uint32_t first_node;
};
SL_NODISCARD sl_status sl_graph_grad(
	struct sl_graph *g, const struct sl_grad_request *request, sl_val *out);
/* Nodes so far: the next node's index. */
uint32_t sl_graph_node_count(const struct sl_graph *g);

#endif

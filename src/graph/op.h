/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_OP_H
#define SL_GRAPH_OP_H

#include "sluice/graph.h"

struct sl_pool;
struct sl_stream;

/*
 * What an operator is. One constant descriptor an operator, in src/op; the graph and the
 * executor reach operators only through it.
 */

/* A node as rules and kernels see it. in[i].dtype is SL_DTYPE_COUNT where an optional
 * input is absent. */
struct sl_node_info {
	const struct sl_op *op;
	const void *attr;
	int n_in, n_out;
	const struct sl_type *in;
	const struct sl_type *out;
	/* The operands that the operator names in nhwc_in and nhwc_out lie channels last:
	 * bytes as [N, H, W, C], shapes still [N, C, H, W]. */
	bool nhwc;
};
static inline bool sl_node_has(const struct sl_node_info *n, int i)
{
	return i < n->n_in && n->in[i].dtype != SL_DTYPE_COUNT;
}

struct sl_cost {
	double flops;
	double bytes; /* read and written */
};

/* Called by feed and fetch nodes; data is device memory of `type`, only for the call, or
 * in the order of run->stream if there is one. */
typedef sl_status (*sl_feed_fn)(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type);
typedef sl_status (*sl_fetch_fn)(void *ctx, const char *name, uint32_t part,
	const void *data, const struct sl_type *type);

/* What a step gives to every kernel. */
struct sl_run {
	uint64_t seed;
	uint64_t step; /* optimizer steps done before this one */
	struct sl_pool *pool; /* NULL: one thread */
	/* Where kernels enqueue what they do (device/device.h); NULL: they do it. */
	struct sl_stream *stream;
	sl_feed_fn feed;
	sl_fetch_fn fetch;
	bool (*wants)(void *ctx, const char *name); /* fetched; NULL: all are */
	void *io_ctx;
};

/* One execution. Absent optional inputs are NULL. Inputs that the op mutates are written
 * through in[]. */
struct sl_call {
	const struct sl_node_info *node;
	void *const *in;
	void *const *out;
	void *workspace; /* 64-byte aligned, as many bytes as were asked for */
	const struct sl_run *run;
	const void *prepared; /* what the kernel's prepare made */
};

/* Building a gradient: din[i] is to be set for each i with need[i]; NONE means zero. */
struct sl_grad {
	struct sl_graph *g;
	const struct sl_node_info *node;
	const sl_val *in; /* [n_in] */
	const sl_val *out; /* [n_out] */
	const sl_val *dout; /* [n_out]; NONE where nothing flows back */
	const bool *need; /* [n_in] */
	sl_val *din; /* [n_in], all NONE before */
};

enum sl_attr_kind {
	SL_ATTR_I64,
	SL_ATTR_U64,
	SL_ATTR_U32,
	SL_ATTR_F64,
	SL_ATTR_BOOL,
	SL_ATTR_NAME
};
/* Text form of an attribute struct; count > 1 is an array; NAME is char[count]. */
struct sl_attr_field {
	const char *name;
	enum sl_attr_kind kind;
	uint32_t offset;
	uint32_t count;
};
#define SL_ATTR(type, member, kind_, count_) \
	{ \
		.name = #member, .kind = SL_ATTR_##kind_, \
		.offset = offsetof(type, member), .count = (count_) \
	}

enum sl_op_flags {
	SL_OP_VIEW =
		1, /* out[0] shares the bytes of in[0]; costs nothing, runs nothing */
	SL_OP_IMPURE =
		2, /* touches the outside or state: never run twice, never removed */
	SL_OP_WANTS_NHWC = 4, /* faster channels last, so that changing layouts may pay */
};

/*
 * What becomes of an operator where values between operators are bf16 (sl_bind.low). An
 * input that is bf16 but not of low_in is cast to f32 first.
 */
enum sl_op_low {
	SL_LOW_NOT, /* it works in f32 */
	SL_LOW_FOLLOWS, /* if one input of low_in is bf16, all of them are */
	SL_LOW_ALWAYS, /* inputs of low_in are bf16; parameters stay f32 */
	SL_LOW_RESULT, /* it works in f32, and its first output is cast to bf16 */
};

#define SL_OP_MAX_IN 512
#define SL_OP_MAX_OUT 8

struct sl_op {
	const char *name;
	size_t attr_bytes;
	const struct sl_attr_field *fields; /* [n_fields] */
	int n_fields;
	int min_in, max_in; /* max_in > min_in: variadic or optional at the end */
	int n_out;
	uint32_t optional_in; /* bit i: in[i] may be absent */
	uint32_t mutates; /* bit i: in[i] is changed in place (the node then is IMPURE
			     too) */
	uint32_t flags;
	/* bit i: in[i] may share its bytes with out[0] when its life ends here and the
	 * sizes agree; every kernel of the op must allow in[i] == out[0] exactly. */
	uint32_t inplace_in;
	enum sl_op_low low;
	uint32_t low_in; /* bit i: in[i] may be bf16; UINT32_MAX: all */
	/* Asks in the attributes for an f32 result of bf16 inputs. NULL: cannot. */
	void (*widen)(void *attr);
	/* Whether a node with these attributes and shapes may do so. NULL: all may. */
	bool (*inplace_ok)(const struct sl_node_info *n);

	/* bit i: in[i], out[i], of rank 4, may lie channels last, all of a node together,
	 * where a kernel can (inputs from 32 on: as bit 31). */
	uint32_t nhwc_in, nhwc_out;
	/* bit i: only the shape of in[i] is read. */
	uint32_t shape_in;

	/* Shape rule: fills out[0..n_out). n->out is not valid yet. SL_E_SHAPE,
	 * SL_E_DTYPE, SL_E_INVALID with the values in the message. */
	sl_status (*infer)(const struct sl_node_info *n, struct sl_type *out);
	/* NULL: not differentiable (a gradient that reaches it is SL_E_UNSUPPORTED). */
	sl_status (*grad)(struct sl_grad *c);
	/* A node that gives out[0] of n plus `sum`, which may take the bytes of sum;
	 * NONE where n cannot. NULL: none can, and gradients that meet are made and
	 * added. */
	sl_val (*plus)(struct sl_graph *g, const struct sl_node_info *n, const sl_val *in,
		sl_val sum);
	/* A node that gives out[0] once more from in and the small other outputs, for
	 * less than a tenth of a product's time; only where the gradient reads in[0] and
	 * not out[0]. NULL: out[0] is kept for the gradients that read it. */
	sl_val (*again)(struct sl_graph *g, const struct sl_node_info *n,
		const sl_val *in, const sl_val *out);
	/* NULL: flops = elements of out[0], bytes = all inputs and outputs once. */
	void (*cost)(const struct sl_node_info *n, struct sl_cost *out);
	/* Reference on host memory for f32 and f64 (computes in double, rounds once at
	 * the end where it can); plain loops. NULL only for views. */
	sl_status (*ref)(const struct sl_call *c);
	size_t (*ref_workspace)(const struct sl_node_info *n); /* NULL: none */
	/* VIEW: byte offset of out[0] in in[0]. NULL: 0. */
	int64_t (*view_offset)(const struct sl_node_info *n);
	/* Adjusts a copy of the attributes for sl_graph_bind (random element base); NULL:
	 * nothing. in: types of all inputs of the instance, as in sl_node_info. */
	void (*rebind)(void *attr, const struct sl_type *in, const struct sl_bind *bind);
};

/* Whether out[0] may take the bytes of in[i], as far as the operator goes. */
static inline bool sl_node_inplace(const struct sl_node_info *n, int i)
{
	return i < 32 && (n->op->inplace_in >> i & 1) &&
	       (!n->op->inplace_ok || n->op->inplace_ok(n));
}

/* Whether a shape has a layout: elsewhere channels last and plain are the same bytes. */
static inline bool sl_shape_has_layout(const struct sl_shape *s)
{
	return s->rank == 4 && s->dim[1] > 1 && s->dim[2] * s->dim[3] > 1;
}

/* Implemented by src/op/ops.c over ops.def. */
const struct sl_op *sl_op_find(const char *name);
const struct sl_op *sl_op_at(size_t i);

/*
 * Appends a node and returns its first output; out (may be NULL) gets all. attr is copied
 * (op->attr_bytes); NULL means all zero. If an input is poisoned the result is poisoned
 * and nothing is added.
 */
sl_val sl_graph_add(struct sl_graph *g, const struct sl_op *op, const void *attr,
	const sl_val *in, int n_in, sl_val *out);
/* Records the first failure and returns POISON, for builders that check by themselves. */
sl_val sl_graph_poison(struct sl_graph *g, sl_status st);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images become [N, H, W, C] between convolutions: the result of one is then what the
 * next one reads, and nothing is moved in between. What does not care about the order of
 * axes follows; what does is given [N, C, H, W] again.
 *
 * r->other has the channels-last twin of an old value, in the new graph; r->map has the
 * usual one, made when it is first asked for. A dry sweep first counts the moves: where
 * there are more of them than convolutions, the graph stays as it is.
 */
#include "graph/pass/pass_ops.h"
#include "graph/pass/rewrite.h"

static const int to_last[SL_MAX_RANK] = {0, 2, 3, 1};
static const int to_first[SL_MAX_RANK] = {0, 3, 1, 2};

static bool is_last(const struct sl_rewrite *r, sl_val v)
{
	return !sl_val_is_none(v) && !sl_val_is_none(r->other[v.index]);
}

static bool all_last(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (!is_last(r, n->in[i]))
			return false;
	return true;
}

/* The channels-last twin, made if there is none. */
static sl_val last_of(struct sl_rewrite *r, sl_val v)
{
	if (!is_last(r, v))
		r->other[v.index] = sl_transpose(r->to, r->map[v.index], to_last);
	return r->other[v.index];
}

/* Inputs in the usual order for whoever needs it. */
static void first_of(struct sl_rewrite *r, sl_val v)
{
	if (is_last(r, v) && sl_val_is_none(r->map[v.index]))
		r->map[v.index] = sl_transpose(r->to, r->other[v.index], to_first);
}

static struct sl_type turned(const struct sl_type *t)
{
	const int64_t *d = t->shape.dim;

	return (struct sl_type){t->dtype, SL_SHAPE(d[0], d[2], d[3], d[1])};
}

static bool fits_conv(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	const struct sl_type *w = sl_rewrite_type(r, n->in[1]);
	const struct sl_conv_last_attr attr = {
		.conv = *(const struct sl_conv_attr *)n->attr};
	const struct sl_type none = {.dtype = SL_DTYPE_COUNT};
	const struct sl_type in[4] = {
		turned(sl_rewrite_type(r, n->in[0])), *w, none, none};
	const struct sl_type out = turned(sl_rewrite_type(r, n->out[0]));
	const struct sl_node_info last = {.op = &sl_op_conv2d_last,
		.attr = &attr,
		.n_in = 4,
		.n_out = 1,
		.in = in,
		.out = &out};

	return w->dtype == SL_F32 && sl_conv_packs(n->attr, &w->shape) &&
	       (r->env->runs == NULL || r->env->runs(&last));
}

static bool fits_mean(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	const struct sl_reduce_attr *a = n->attr;

	return all_last(r, n) && a->axes == 0xc && a->keep_dims;
}

static bool fits_concat(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	const struct sl_axis_attr *a = n->attr;

	return all_last(r, n) && a->axis == 1;
}

static bool fits_add(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	return all_last(r, n) && sl_shape_equal(&sl_rewrite_type(r, n->in[0])->shape,
					 &sl_rewrite_type(r, n->in[1])->shape);
}

static sl_val build_conv(struct sl_rewrite *r, const struct sl_ir_node *n)
{
	struct sl_conv_last_attr attr = {.conv = *(const struct sl_conv_attr *)n->attr};
	const sl_val in[4] = {last_of(r, n->in[0]), sl_rewrite_in(r, n->in[1]),
		sl_rewrite_in(r, n->in[2]), SL_VAL_NONE};

	return sl_conv2d_last(r->to, in, &attr);
}

static sl_val build_pool(struct sl_rewrite *r, const struct sl_ir_node *n)
{
	return sl_max_pool2d_last(r->to, r->other[n->in[0].index], n->attr);
}

static sl_val build_mean(struct sl_rewrite *r, const struct sl_ir_node *n)
{
	return sl_mean(r->to, r->other[n->in[0].index],
		&(struct sl_reduce_attr){.axes = 0x6, .keep_dims = true});
}

static sl_val build_same(struct sl_rewrite *r, const struct sl_ir_node *n)
{
	sl_val in[SL_OP_MAX_IN];
	struct sl_axis_attr last = {.axis = 3};

	for (int i = 0; i < n->n_in; i++)
		in[i] = r->other[n->in[i].index];
	return sl_graph_add(r->to, n->op, n->op == &sl_op_concat ? &last : n->attr, in,
		n->n_in, NULL);
}

static const struct rule {
	const struct sl_op *op;
	bool (*fits)(const struct sl_rewrite *r, const struct sl_ir_node *n);
	sl_val (*build)(struct sl_rewrite *r, const struct sl_ir_node *n);
} rules[] = {
	{&sl_op_conv2d, fits_conv, build_conv},
	{&sl_op_max_pool2d, all_last, build_pool},
	{&sl_op_mean, fits_mean, build_mean},
	{&sl_op_concat, fits_concat, build_same},
	{&sl_op_add, fits_add, build_same},
	{&sl_op_relu, all_last, build_same},
	{&sl_op_silu, all_last, build_same},
	{NULL, NULL, NULL},
};

static const struct rule *rule_for(const struct sl_rewrite *r, const struct sl_ir_node *n)
{
	for (const struct rule *rule = rules; rule->op != NULL; rule++)
		if (rule->op == n->op)
			return rule->fits(r, n) ? rule : NULL;
	return NULL;
}

/* What a node would move: [0] convolutions, [1] moves. */
static void count_node(
	struct sl_rewrite *r, const struct sl_ir_node *n, uint32_t counts[2])
{
	const struct rule *rule = rule_for(r, n);

	if (rule != NULL) {
		counts[0] += n->op == &sl_op_conv2d;
		if (!is_last(r, n->in[0]))
			counts[1]++;
		r->other[n->in[0].index] = n->in[0];
		if (n->op != &sl_op_mean)
			r->other[n->out[0].index] = n->out[0];
		return;
	}
	for (int i = 0; i < n->n_in; i++)
		counts[1] += is_last(r, n->in[i]);
}

static bool begin(struct sl_rewrite *r)
{
	uint32_t counts[2] = {0, 0};

	for (uint32_t k = 0; k < r->from->n_nodes; k++)
		if (r->keep[k])
			count_node(r, &r->from->nodes[k], counts);
	for (uint32_t i = 0; i < r->from->n_values; i++)
		r->other[i] = SL_VAL_NONE;
	return counts[0] > 0 && counts[0] >= counts[1];
}

/* The mean over an image is the same bytes in either order. */
static void set_result(struct sl_rewrite *r, const struct sl_ir_node *n, sl_val v)
{
	const struct sl_shape *shape = &sl_rewrite_type(r, n->out[0])->shape;

	if (n->op == &sl_op_mean)
		r->map[n->out[0].index] = sl_reshape(r->to, v, shape);
	else
		r->other[n->out[0].index] = v;
}

static bool node(struct sl_rewrite *r, uint32_t at)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, at);
	const struct rule *rule = rule_for(r, n);

	if (rule != NULL) {
		set_result(r, n, rule->build(r, n));
		return true;
	}
	for (int i = 0; i < n->n_in; i++)
		if (!sl_val_is_none(n->in[i]))
			first_of(r, n->in[i]);
	return false;
}

const struct sl_pass sl_pass_channels_last = {
	.name = "channels_last",
	.help = "images lie as [N, H, W, C] from convolution to convolution",
	.begin = begin,
	.node = node,
};

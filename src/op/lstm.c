/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer of LSTM cells over all steps of a sequence, time first:
 *
 *	i, f, g, o = the four parts of x[t] w_ih' + bias + y[t - 1] w_hh'   (order of
 *PyTorch) c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g) y[t] = sigmoid(o) tanh(c[t])
 *
 * x [T, N, I], w_ih [4 H, I], w_hh [4 H, H], bias [4 H], h0 and c0 [N, H] or none for
 *zeros. Source: Hochreiter, Schmidhuber, Long short-term memory, 1997; forget gates of
 *Gers, Schmidhuber, Cummins, Learning to forget, 2000.
 *
 * 1. sl_lstm multiplies the inputs of all steps at once and leaves the recurrence to
 * lstm_steps: z [T, N, 4 H] to out[0] gates [T, N, 4 H] after their functions, out[1]
 * y [T, N, H], out[2] c [T, N, H]. The gates may lie where z lies.
 * 2. Backward is the same the other way: lstm_steps_dx walks the steps and gives dz, of
 * which products over all steps make the gradients of weights and inputs.
 * 3. A gradient into the gates or into c is SL_E_UNSUPPORTED.
 */
#include "op/op_util.h"

#include <math.h>

enum { Z, W, H0, C0 };

struct sizes {
	int64_t t, n, h;
};

/* Of y or c [T, N, H]. */
static struct sizes sizes_of(const struct sl_shape *y)
{
	return (struct sizes){y->dim[0], y->dim[1], y->dim[2]};
}

/* First states, where they are given, at inputs i and i + 1. */
static sl_status check_states(const struct sl_node_info *n, int i, const struct sizes *s)
{
	for (int k = i; k < i + 2; k++) {
		if (!sl_node_has(n, k))
			continue;
		SL_TRY(sl_check_dtype_as(n, k, 0));
		SL_TRY(sl_check_shape(n, k, &SL_SHAPE(s->n, s->h)));
	}
	return SL_OK;
}

/* w_hh [4 H, H] with H > 0. */
static sl_status check_weights(const struct sl_node_info *n, int i, int64_t *h)
{
	char text[SL_SHAPE_TEXT];

	SL_TRY(sl_check_rank(n, i, 2));
	*h = n->in[i].shape.dim[1];
	if (*h < 1 || *h > INT64_MAX / 4)
		return SL_FAIL(SL_E_SHAPE, "w_hh %s has no cells",
			sl_shape_print(&n->in[i].shape, text));
	return sl_check_shape(n, i, &SL_SHAPE(4 * *h, *h));
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sizes s;

	SL_TRY(sl_check_float(n, Z));
	SL_TRY(sl_check_rank(n, Z, 3));
	SL_TRY(sl_check_dtype_as(n, W, Z));
	SL_TRY(check_weights(n, W, &s.h));
	s.t = n->in[Z].shape.dim[0];
	s.n = n->in[Z].shape.dim[1];
	SL_TRY(sl_check_shape(n, Z, &SL_SHAPE(s.t, s.n, 4 * s.h)));
	SL_TRY(check_states(n, H0, &s));
	out[0] = n->in[Z];
	out[1] = (struct sl_type){n->in[Z].dtype, SL_SHAPE(s.t, s.n, s.h)};
	out[2] = out[1];
	return SL_OK;
}

/* Inputs gates, c, w_hh, c0 or none, dy; out[0] dz, out[1] dh0, out[2] dc0. */
static sl_status dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_rank(n, 1, 3));
	struct sizes s = sizes_of(&n->in[1].shape);
	int64_t h = 0;
	for (int i = 1; i < 5; i++)
		if (sl_node_has(n, i))
			SL_TRY(sl_check_dtype_as(n, i, 0));
	SL_TRY(check_weights(n, 2, &h));
	SL_TRY(sl_check_shape(n, 1, &SL_SHAPE(s.t, s.n, h)));
	SL_TRY(sl_check_shape(n, 0, &SL_SHAPE(s.t, s.n, 4 * h)));
	if (sl_node_has(n, 3))
		SL_TRY(sl_check_shape(n, 3, &SL_SHAPE(s.n, h)));
	SL_TRY(sl_check_shape_as(n, 4, 1));
	out[0] = n->in[0];
	out[1] = (struct sl_type){n->in[0].dtype, SL_SHAPE(s.n, h)};
	out[2] = out[1];
	return SL_OK;
}

/* y of the step before each: [T, N, H] from y and h0. */
static sl_val before(struct sl_graph *g, sl_val y, sl_val h0)
{
	const struct sl_slice_attr but_last = {.end = {-1, INT64_MAX, INT64_MAX}};
	sl_val parts[2] = {h0, sl_slice(g, y, &but_last)};

	if (sl_val_is_none(h0))
		return sl_pad(g, parts[1], &(struct sl_pad_attr){.before = {1}});
	const struct sl_shape *s = sl_op_shape(g, y); /* until the next node */
	if (s)
		parts[0] = sl_reshape(g, h0, &SL_SHAPE(1, s->dim[1], s->dim[2]));
	return sl_concat(g, parts, 2, 0);
}

/* One product over all steps and samples: dz' y. */
static sl_val weights_grad(const struct sl_grad *c, sl_val dz)
{
	int64_t h = c->node->in[W].shape.dim[1];
	sl_val y = before(c->g, c->out[1], c->in[H0]);

	return sl_matmul(c->g, sl_reshape(c->g, dz, &SL_SHAPE(-1, 4 * h)),
		sl_reshape(c->g, y, &SL_SHAPE(-1, h)), SL_VAL_NONE,
		&(struct sl_matmul_attr){.trans_a = true});
}

static sl_status grad(struct sl_grad *c)
{
	sl_val d[3];

	if (!sl_val_is_none(c->dout[0]) || !sl_val_is_none(c->dout[2]))
		return SL_FAIL(SL_E_UNSUPPORTED,
			"a gradient flows into the gates or cells that lstm_steps hands "
			"out; use only its y in the loss");
	const sl_val in[5] = {c->out[0], c->out[2], c->in[W], c->in[C0], c->dout[1]};
	sl_lstm_steps_dx(c->g, in, d);
	c->din[Z] = d[0];
	if (c->need[W])
		c->din[W] = weights_grad(c, d[0]);
	for (int i = 0; i < 2; i++)
		if (c->need[H0 + i])
			c->din[H0 + i] = d[1 + i];
	return SL_OK;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* Element (t, n, j) of the state before step t: from an output's or input's data, or from
 * input `first`; zero where that is absent. */
static double earlier(const struct sl_call *c, const struct sizes *s, int first,
	const void *data, int64_t at)
{
	int64_t step = s->n * s->h;

	if (at >= step)
		return sl_get(data, c->node->in[0].dtype, at - step);
	return sl_node_has(c->node, first) ? sl_in(c, first, at) : 0;
}

/* Without a state before there is no product. */
static double recurrent(
	const struct sl_call *c, const struct sizes *s, int64_t row, int64_t k)
{
	double sum = 0;

	if (row < s->n && !sl_node_has(c->node, H0))
		return 0;
	for (int64_t i = 0; i < s->h; i++)
		sum += earlier(c, s, H0, c->out[1], row * s->h + i) *
		       sl_in(c, W, k * s->h + i);
	return sum;
}

static void ref_cell(
	const struct sl_call *c, const struct sizes *s, int64_t row, int64_t j)
{
	int64_t h = s->h;
	double z[4];

	for (int k = 0; k < 4; k++) {
		z[k] = sl_in(c, Z, (4 * row + k) * h + j) +
		       recurrent(c, s, row, k * h + j);
		z[k] = k == 2 ? tanh(z[k]) : sigmoid(z[k]);
	}
	double cell = z[1] * earlier(c, s, C0, c->out[2], row * h + j) + z[0] * z[2];
	for (int k = 0; k < 4; k++)
		sl_put(c, 0, (4 * row + k) * h + j, z[k]);
	sl_put(c, 1, row * h + j, z[3] * tanh(cell));
	sl_put(c, 2, row * h + j, cell);
}

static sl_status ref(const struct sl_call *c)
{
	struct sizes s = sizes_of(&c->node->out[1].shape);

	for (int64_t row = 0; row < s.t * s.n; row++)
		for (int64_t j = 0; j < s.h; j++)
			ref_cell(c, &s, row, j);
	return SL_OK;
}

/* What flows into y of cell (row, j) from the step behind it; its dz is done. */
static double from_behind(
	const struct sl_call *c, const struct sizes *s, int64_t row, int64_t j)
{
	double sum = 0;

	if (row >= s->t * s->n)
		return 0;
	for (int64_t k = 0; k < 4 * s->h; k++)
		sum += sl_get(c->out[0], c->node->out[0].dtype, 4 * row * s->h + k) *
		       sl_in(c, 2, k * s->h + j);
	return sum;
}

/* dc0 carries the cells' gradient from step to step. */
static void ref_cell_dx(
	const struct sl_call *c, const struct sizes *s, int64_t row, int64_t j)
{
	int64_t h = s->h;
	int64_t sample = row % s->n * h + j;
	double z[4];
	double tc = tanh(sl_in(c, 1, row * h + j));
	double dh = sl_in(c, 4, row * h + j) + from_behind(c, s, row + s->n, j);

	for (int k = 0; k < 4; k++)
		z[k] = sl_in(c, 0, (4 * row + k) * h + j);
	double dc = sl_get(c->out[2], c->node->out[2].dtype, sample) +
		    dh * z[3] * (1 - tc * tc);
	double prev = earlier(c, s, 3, c->in[1], row * h + j);
	const double dz[4] = {dc * z[2] * z[0] * (1 - z[0]),
		dc * prev * z[1] * (1 - z[1]), dc * z[0] * (1 - z[2] * z[2]),
		dh * tc * z[3] * (1 - z[3])};
	for (int k = 0; k < 4; k++)
		sl_put(c, 0, (4 * row + k) * h + j, dz[k]);
	sl_put(c, 2, sample, dc * z[1]);
}

static sl_status dx_ref(const struct sl_call *c)
{
	struct sizes s = sizes_of(&c->node->in[1].shape);

	for (int64_t i = 0; i < s.n * s.h; i++)
		sl_put(c, 2, i, 0);
	for (int64_t t = s.t; t-- > 0;)
		for (int64_t i = 0; i < s.n * s.h; i++)
			ref_cell_dx(c, &s, t * s.n + i / s.h, i % s.h);
	for (int64_t i = 0; i < s.n * s.h; i++)
		sl_put(c, 1, i, s.t ? from_behind(c, &s, i / s.h, i % s.h) : 0);
	return SL_OK;
}

/* The recurrent product, 8 H H a row, and some 60 operations a cell. */
static void cost_of(
	const struct sl_node_info *n, const struct sl_shape *y, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = (double)sl_shape_count(y) * (8 * (double)y->dim[2] + 60);
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	cost_of(n, &n->out[1].shape, out);
}

static void dx_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	cost_of(n, &n->in[1].shape, out);
}

const struct sl_op sl_op_lstm_steps = {
	.name = "lstm_steps",
	.min_in = 4,
	.max_in = 4,
	.n_out = 3,
	.optional_in = 1u << H0 | 1u << C0,
	.inplace_in = 1u << Z,
	.infer = infer,
	.grad = grad,
	.cost = cost,
	.ref = ref,
};

const struct sl_op sl_op_lstm_steps_dx = {
	.name = "lstm_steps_dx",
	.min_in = 5,
	.max_in = 5,
	.n_out = 3,
	.optional_in = 1u << 3,
	.inplace_in = 1u << 0,
	.infer = dx_infer,
	.cost = dx_cost,
	.ref = dx_ref,
};

sl_val sl_lstm_steps(struct sl_graph *g, const sl_val zwhc[4], sl_val out[3])
{
	return sl_graph_add(g, &sl_op_lstm_steps, NULL, zwhc, 4, out);
}

sl_val sl_lstm_steps_dx(struct sl_graph *g, const sl_val in[5], sl_val out[3])
{
	return sl_graph_add(g, &sl_op_lstm_steps_dx, NULL, in, 5, out);
}

sl_val sl_lstm(struct sl_graph *g, sl_val x, const sl_val wwb[3], const sl_val hc[2])
{
	sl_val z = sl_matmul(
		g, x, wwb[0], wwb[2], &(struct sl_matmul_attr){.trans_b = true});
	const sl_val in[4] = {
		z, wwb[1], hc ? hc[0] : SL_VAL_NONE, hc ? hc[1] : SL_VAL_NONE};
	sl_val out[3];

	sl_lstm_steps(g, in, out);
	return out[1];
}

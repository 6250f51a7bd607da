/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moves of random graphs: one row an operator or a group that belongs together.
 * Arguments are kept where results stay finite (a logarithm of something positive), so
 * that a wrong byte is not lost in NaN.
 */
#include "harness/random_graph.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "sluice/ops.h"

#define VALUE_MAX 4096 /* elements a sample, times scale */

int64_t sl_random_die(struct sl_random_maker *m, int64_t n)
{
	return (int64_t)sl_rng_below(&m->rng, (uint64_t)n);
}

static const struct sl_shape *shape_of(const struct sl_random_maker *m, sl_val v)
{
	static const struct sl_shape any = {.rank = 4, .dim = {1, 8, 8, 8}};

	/* After a failure nothing counts but the graph's status. */
	return sl_graph_status(m->g) == SL_OK ? &sl_val_type(m->g, v)->shape : &any;
}

static bool is_good(const struct sl_random_maker *m, sl_val v)
{
	return sl_graph_status(m->g) == SL_OK && !sl_val_is_none(v);
}

static void push(struct sl_random_maker *m, sl_val v)
{
	if (!is_good(m, v))
		return;
	if (m->n_values < SL_RANDOM_VALUES)
		m->values[m->n_values++] = v;
	else
		m->values[sl_random_die(m, SL_RANDOM_VALUES)] = v;
}

/* Late values are taken more often. */
static sl_val take(struct sl_random_maker *m)
{
	int64_t a = sl_random_die(m, m->n_values), b = sl_random_die(m, m->n_values);

	return m->values[a > b ? a : b];
}

static const char *name_of(struct sl_random_maker *m, const char *kind, char name[32])
{
	snprintf(name, 32, "%s%d", kind, m->names++);
	return name;
}

sl_val sl_random_weight(
	struct sl_random_maker *m, const struct sl_shape *shape, double deviation)
{
	const struct sl_type type = {.dtype = SL_F32, .shape = *shape};
	char name[32];
	sl_val w;

	for (int i = 0; i < m->n_weights; i++)
		if (sl_shape_equal(shape_of(m, m->weights[i]), shape) &&
			sl_random_die(m, 3) == 0)
			return m->weights[i];
	w = sl_param(m->g, name_of(m, "w", name), &type,
		(struct sl_init){SL_INIT_NORMAL, deviation});
	if (is_good(m, w) && m->n_weights < 64)
		m->weights[m->n_weights++] = w;
	return w;
}

sl_val sl_random_flat(struct sl_random_maker *m, int64_t width)
{
	sl_val x = sl_reshape(m->g, take(m), &SL_SHAPE(0, -1));
	struct sl_matmul_attr attr = {.trans_b = sl_random_die(m, 2) == 0};
	int64_t own = shape_of(m, x)->dim[1];
	double deviation = 1 / sqrt((double)own);
	sl_val w, bias = SL_VAL_NONE;

	if (width <= 0)
		return x;
	w = sl_random_weight(m,
		attr.trans_b ? &SL_SHAPE(width, own) : &SL_SHAPE(own, width), deviation);
	if (sl_random_die(m, 2) == 0)
		bias = sl_random_weight(m, &SL_SHAPE(width), 0.1);
	return sl_matmul(m->g, x, w, bias, &attr);
}

/* A value of that rank if the dice find one, else a product in that shape. */
static sl_val find_rank(struct sl_random_maker *m, int rank)
{
	for (int i = 0; i < 4; i++) {
		sl_val v = take(m);
		const struct sl_shape *s = shape_of(m, v);

		if (s->rank == rank && s->dim[rank - 1] > 2 && s->dim[rank - 2] > 2)
			return v;
	}
	return SL_VAL_NONE;
}

static sl_val sequence(struct sl_random_maker *m)
{
	sl_val v = find_rank(m, 3);
	int64_t t = 4 + sl_random_die(m, 3), d = 8 * (1 + sl_random_die(m, 2)) * m->scale;

	if (!sl_val_is_none(v))
		return v;
	return sl_reshape(m->g, sl_random_flat(m, t * d), &SL_SHAPE(0, t, -1));
}

static sl_val image(struct sl_random_maker *m)
{
	sl_val v = find_rank(m, 4);
	int64_t c = 2 * (1 + sl_random_die(m, 3)), h = 4 + sl_random_die(m, 3);

	if (!sl_val_is_none(v))
		return v;
	h *= m->scale > 1 ? 3 : 1;
	return sl_reshape(m->g, sl_random_flat(m, c * h * h), &SL_SHAPE(0, c, h, -1));
}

/* In (0.5, 1.5). */
static sl_val positive(struct sl_random_maker *m, sl_val v)
{
	return sl_affine(m->g, sl_sigmoid(m->g, v), 1, 0.5);
}

static void unary(struct sl_random_maker *m)
{
	sl_val (*const plain[])(struct sl_graph *, sl_val) = {
		sl_relu, sl_tanh, sl_sigmoid, sl_silu, sl_relu, sl_tanh};
	sl_val x = take(m);

	for (int64_t n = 1 + sl_random_die(m, 3); n > 0; n--)
		x = plain[sl_random_die(m, 6)](m->g, x);
	push(m, x);
}

static void gelu(struct sl_random_maker *m)
{
	sl_val x = sl_affine(m->g, take(m), -0.5, 0.25);

	push(m, sl_random_die(m, 2) == 0 ? x
					 : sl_gelu(m->g, x, sl_random_die(m, 2) == 0));
}

static void roots(struct sl_random_maker *m)
{
	sl_val (*const of_positive[])(struct sl_graph *, sl_val) = {
		sl_sqrt, sl_log, sl_exp};

	push(m, of_positive[sl_random_die(m, 3)](m->g, positive(m, take(m))));
}

static void cast(struct sl_random_maker *m)
{
	sl_val wide = sl_tanh(m->g, sl_cast(m->g, take(m), SL_F64));

	push(m, sl_cast(m->g, wide, SL_F32));
}

/* The other side: itself, a weight of a broadcast shape, or a mean of itself. */
static sl_val partner(struct sl_random_maker *m, sl_val x)
{
	const struct sl_shape s = *shape_of(m, x);
	struct sl_shape w = s;
	struct sl_reduce_attr attr = {.keep_dims = true};

	w.dim[0] = 1;
	switch (sl_random_die(m, 5)) {
	case 0:
		return x;
	case 1:
		return sl_random_weight(m, &SL_SHAPE(s.dim[s.rank - 1]), 0.5);
	case 2:
		return sl_random_weight(m, &w, 0.5);
	case 3:
		return sl_random_weight(m, &SL_SCALAR, 0.5);
	default:
		attr.axes = 1u << (1 + sl_random_die(m, s.rank - 1));
		return sl_mean(m->g, x, &attr);
	}
}

static void binary(struct sl_random_maker *m)
{
	sl_val a = take(m), b = partner(m, a), swap;

	if (sl_random_die(m, 2) == 0) {
		swap = a;
		a = b;
		b = swap;
	}
	switch (sl_random_die(m, 5)) {
	case 0:
		push(m, sl_add(m->g, a, b));
		return;
	case 1:
		push(m, sl_sub(m->g, a, b));
		return;
	case 2:
		push(m, sl_mul(m->g, sl_tanh(m->g, a), b));
		return;
	case 3:
		push(m, sl_div(m->g, a, positive(m, b)));
		return;
	default:
		push(m, sl_pow(m->g, positive(m, a), sl_tanh(m->g, b)));
	}
}

/* Two values of one shape, so that both have gradients of their own. */
static void join(struct sl_random_maker *m)
{
	sl_val a = take(m), b = a;

	for (int i = 0; i < m->n_values; i++)
		if (sl_shape_equal(shape_of(m, m->values[i]), shape_of(m, a)))
			b = m->values[i];
	push(m, sl_add(m->g, b, a));
}

static void linear(struct sl_random_maker *m)
{
	push(m, sl_random_flat(m, 8 * m->scale * (1 + sl_random_die(m, 12))));
}

/* x x^T of each sample, by way of both transpositions. */
static void batched(struct sl_random_maker *m)
{
	sl_val x = sequence(m);
	struct sl_matmul_attr attr = {.trans_b = true};
	sl_val square = sl_matmul(m->g, x, x, SL_VAL_NONE, &attr);

	push(m, sl_affine(m->g, square, 0.2, 0));
	if (sl_random_die(m, 2) == 0)
		push(m, sl_matmul(m->g, sl_tanh(m->g, square), x, SL_VAL_NONE, NULL));
}

static void conv(struct sl_random_maker *m)
{
	sl_val x = image(m), bias = SL_VAL_NONE;
	int64_t c = shape_of(m, x)->dim[1], k = 1 + 2 * sl_random_die(m, 2);
	int64_t groups = c % 2 == 0 ? 1 + sl_random_die(m, 2) : 1;
	int64_t out = groups * (1 + sl_random_die(m, 4)),
		stride = 1 + sl_random_die(m, 2);
	const struct sl_conv_attr attr = {.stride = {stride, stride},
		.pad = {k / 2, k / 2, k / 2, k / 2},
		.groups = groups};
	sl_val w = sl_random_weight(m, &SL_SHAPE(out, c / groups, k, k), 0.3);

	if (sl_random_die(m, 2) == 0)
		bias = sl_random_weight(m, &SL_SHAPE(out), 0.1);
	push(m, sl_conv2d(m->g, x, w, bias, &attr));
}

static void pool(struct sl_random_maker *m)
{
	sl_val x = image(m);
	const struct sl_pool_attr attr = {.kernel = {2, 3},
		.stride = {1 + sl_random_die(m, 2), 2 + sl_random_die(m, 2)},
		.pad = {1, 1, 0, 0},
		.ceil_mode = sl_random_die(m, 2) == 0,
		.count_include_pad = sl_random_die(m, 2) == 0};

	if (sl_random_die(m, 2) == 0)
		push(m, sl_max_pool2d(m->g, x, &attr));
	else
		push(m, sl_avg_pool2d(m->g, x, &attr));
	if (sl_random_die(m, 4) == 0)
		push(m, sl_reshape(
				m->g, sl_global_avg_pool2d(m->g, x), &SL_SHAPE(0, -1)));
}

static void batch_norm(struct sl_random_maker *m)
{
	sl_val x = image(m), out[3];
	int64_t c = shape_of(m, x)->dim[1];
	const struct sl_type type = {.dtype = SL_F32, .shape = SL_SHAPE(c)};
	const struct sl_init one = {SL_INIT_CONST, 1};
	sl_val gamma = sl_random_weight(m, &SL_SHAPE(c), 0.3);
	char a[32], b[32];
	sl_val mean = sl_state(m->g, name_of(m, "mean", a), &type, (struct sl_init){0});
	sl_val var = sl_state(m->g, name_of(m, "var", b), &type, one);

	sl_batch_norm(m->g, x, gamma, sl_random_weight(m, &SL_SHAPE(c), 0.1), 1e-5, out);
	(void)sl_stats_update(m->g, mean, var, out[1], out[2], 0.1, 0);
	push(m, out[0]);
}

static void layer_norm(struct sl_random_maker *m)
{
	sl_val x = take(m), out[3];
	const struct sl_shape *s = shape_of(m, x);
	const struct sl_shape w = SL_SHAPE(s->dim[s->rank - 1]);
	sl_val gamma = sl_random_weight(m, &w, 0.3);

	sl_layer_norm(m->g, x, gamma, sl_random_weight(m, &w, 0.1), 1e-5, out);
	push(m, out[0]);
}

static void softmax(struct sl_random_maker *m)
{
	sl_val x = take(m);
	int axis = 1 + (int)sl_random_die(m, shape_of(m, x)->rank - 1);

	push(m, sl_random_die(m, 2) == 0 ? sl_softmax(m->g, x, axis)
					 : sl_log_softmax(m->g, x, axis));
}

static void attention(struct sl_random_maker *m)
{
	sl_val x = sequence(m), q[3], out[2];
	int64_t t = shape_of(m, x)->dim[1], d = shape_of(m, x)->dim[2];
	int64_t heads = d % 2 == 0 ? 2 : 1;
	const int perm[SL_MAX_RANK] = {0, 2, 1, 3};
	const struct sl_attention_attr attr = {.causal = sl_random_die(m, 2) == 0,
		.dropout = sl_random_die(m, 2) == 0 ? 0.2 : 0,
		.stream = ++m->stream};

	for (int i = 0; i < 3; i++) {
		sl_val w = sl_random_weight(m, &SL_SHAPE(d, d), 1 / sqrt((double)d));

		q[i] = sl_matmul(m->g, x, w, SL_VAL_NONE, NULL);
		q[i] = sl_reshape(m->g, q[i], &SL_SHAPE(0, t, heads, -1));
		q[i] = sl_transpose(m->g, q[i], perm);
	}
	sl_attention(m->g, q[0], q[1], q[2], SL_VAL_NONE, &attr, out);
	x = sl_transpose(m->g, out[0], perm);
	push(m, sl_reshape(m->g, x, &SL_SHAPE(0, t, -1)));
}

static void dropout(struct sl_random_maker *m)
{
	const struct sl_dropout_attr attr = {.ratio = 0.3, .stream = ++m->stream};

	push(m, sl_dropout(m->g, take(m), &attr));
}

static void reduce(struct sl_random_maker *m)
{
	sl_val x = sl_random_die(m, 2) == 0 ? sequence(m) : image(m);
	struct sl_reduce_attr attr = {.keep_dims = sl_random_die(m, 2) == 0};

	attr.axes = 1u << (1 + sl_random_die(m, shape_of(m, x)->rank - 1));
	switch (sl_random_die(m, 3)) {
	case 0:
		push(m, sl_affine(m->g, sl_sum(m->g, x, &attr), 0.2, 0));
		return;
	case 1:
		push(m, sl_mean(m->g, x, &attr));
		return;
	default:
		push(m, sl_max(m->g, x, &attr));
	}
}

static void transpose(struct sl_random_maker *m)
{
	sl_val x = sl_random_die(m, 2) == 0 ? sequence(m) : image(m);
	int perm[SL_MAX_RANK] = {0, 2, 1, 3};

	if (shape_of(m, x)->rank == 4 && sl_random_die(m, 2) == 0) {
		perm[1] = 3;
		perm[3] = 2;
		perm[2] = 1;
	}
	push(m, sl_transpose(m->g, x, perm));
}

static void cut(struct sl_random_maker *m)
{
	sl_val x = take(m), half[2];
	const struct sl_shape s = *shape_of(m, x);
	struct sl_slice_attr attr = {.begin = {0}};

	for (int i = 0; i < s.rank; i++)
		attr.end[i] = INT64_MAX;
	attr.begin[s.rank - 1] = s.dim[s.rank - 1] > 4 ? 1 : 0;
	attr.step[s.rank - 1] = 1 + sl_random_die(m, 2);
	push(m, sl_slice(m->g, x, &attr));
	if (s.dim[1] % 2 == 0) {
		sl_split(m->g, x, 1, 2, half);
		push(m, half[sl_random_die(m, 2)]);
	}
}

static void concat(struct sl_random_maker *m)
{
	sl_val parts[3] = {
		sl_random_flat(m, 0), sl_random_flat(m, 8), sl_random_flat(m, 0)};

	push(m, sl_concat(m->g, parts, 2 + (int)sl_random_die(m, 2), 1));
}

static void pad(struct sl_random_maker *m)
{
	sl_val x = take(m);
	int axis = 1 + (int)sl_random_die(m, shape_of(m, x)->rank - 1);
	struct sl_pad_attr attr = {.value = 0.5};

	attr.before[axis] = sl_random_die(m, 2);
	attr.after[axis] = 1;
	push(m, sl_pad(m->g, x, &attr));
}

static void gather(struct sl_random_maker *m)
{
	sl_val x = sequence(m);
	char name[32];
	const struct sl_type type = {.dtype = SL_I64, .shape = SL_SHAPE(3)};

	snprintf(name, sizeof(name), "i.3.g%d", m->names++);
	push(m, sl_gather(m->g, x, sl_input(m->g, name, &type, NULL), 1));
}

/* One row for each sample, made by broadcasting a weight. */
static void expand(struct sl_random_maker *m)
{
	sl_val x = sequence(m);
	int64_t t = shape_of(m, x)->dim[1], d = shape_of(m, x)->dim[2];
	sl_val w = sl_random_weight(m, &SL_SHAPE(1, d), 0.5);

	push(m, sl_add(m->g, x, sl_expand(m->g, w, &SL_SHAPE(t, -1))));
}

/* States read before and after they change. */
static void remember(struct sl_random_maker *m)
{
	sl_val x = sl_random_flat(m, 0), mean, state;
	const struct sl_reduce_attr over_batch = {.axes = 1};
	const struct sl_type type = {
		.dtype = SL_F32, .shape = SL_SHAPE(shape_of(m, x)->dim[1])};
	char name[32];

	x = sl_tanh(m->g, x);
	mean = sl_mean(m->g, x, &over_batch);
	state = sl_state(m->g, name_of(m, "state", name), &type, (struct sl_init){0});
	if (sl_random_die(m, 2) == 0)
		x = sl_add(m->g, x, state);
	if (sl_random_die(m, 2) == 0)
		(void)sl_accumulate(m->g, state, mean);
	else
		(void)sl_assign(m->g, state, mean);
	if (sl_random_die(m, 2) == 0)
		x = sl_mul(m->g, x, state);
	push(m, x);
}

static void (*const moves[])(struct sl_random_maker *m) = {
	unary,
	unary,
	gelu,
	roots,
	gelu,
	cast,
	binary,
	binary,
	binary,
	join,
	linear,
	batched,
	conv,
	conv,
	pool,
	batch_norm,
	layer_norm,
	softmax,
	attention,
	dropout,
	reduce,
	transpose,
	cut,
	concat,
	pad,
	gather,
	expand,
	remember,
};

/* A value that has become too large is made small again. */
void sl_random_move(struct sl_random_maker *m)
{
	sl_val last;
	int64_t n;

	moves[sl_random_die(m, (int64_t)SL_COUNT(moves))](m);
	if (sl_graph_status(m->g) != SL_OK || m->n_values == 0)
		return;
	last = m->values[m->n_values - 1];
	n = sl_shape_span(shape_of(m, last), 1, shape_of(m, last)->rank);
	if (n > (int64_t)VALUE_MAX * m->scale)
		m->values[--m->n_values] = SL_VAL_NONE;
}

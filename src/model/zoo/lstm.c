/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language model of LSTM layers, unrolled: embedding, layers, a linear decoder; each
 * sequence begins with zero state. 19,780,400 parameters unless told. Names, gates
 * (i f g o) and first values are those of PyTorch's nn.LSTM in its word language model.
 *
 * Source: Hochreiter, Schmidhuber, Long short-term memory, 1997, with forget gates; sizes
 * of Zaremba et al., Recurrent neural network regularization, 2014, section 4.1 (medium),
 * without the dropout.
 *
 * Values lie time first: [T, B, ...]. An instance of fewer steps than the template is
 * right too, since cuts behind its end are empty.
 */
#include <math.h>
#include <stdio.h>

#include "model/zoo/zoo.h"

/* Steps are inputs of one concat, and each adds some fifty nodes a layer. */
#define CONTEXT_MAX 512

static sl_status finish(struct sl_model_config *c)
{
	if (sl_model_sequence(c) > CONTEXT_MAX)
		return SL_FAIL(SL_E_USAGE,
			"context=%lld: the network is unrolled over at most %d steps",
			(long long)c->context, CONTEXT_MAX);
	return SL_OK;
}

static sl_val param(
	struct sl_layers *l, const char *name, struct sl_shape shape, double bound)
{
	struct sl_init init = {
		.kind = bound > 0 ? SL_INIT_UNIFORM : SL_INIT_ZERO, .value = bound};
	struct sl_type type = {.dtype = SL_F32, .shape = shape};

	return sl_param(l->g, name, &type, init);
}

static const char *name_of(char text[SL_LAYER_NAME], const char *part, int64_t layer)
{
	snprintf(text, SL_LAYER_NAME, "rnn.%s_l%lld", part, (long long)layer);
	return text;
}

/* Steps [begin, begin + n) of x [T, ...]. */
static sl_val steps(struct sl_layers *l, sl_val x, int64_t begin, int64_t n)
{
	struct sl_slice_attr a = {
		.begin = {begin}, .end = {begin + n, INT64_MAX, INT64_MAX}};

	return sl_slice(l->g, x, &a);
}

/* One step from z [1, B, 4 W], the gates before their functions; *cell is the state, NONE
 * before the first step. Returns the output. */
static sl_val step(struct sl_layers *l, sl_val z, sl_val *cell)
{
	sl_val gate[4];

	sl_split(l->g, z, 2, 4, gate);
	sl_val new = sl_mul(l->g, sl_sigmoid(l->g, gate[0]), sl_tanh(l->g, gate[2]));
	if (!sl_val_is_none(*cell))
		new = sl_add(l->g, sl_mul(l->g, sl_sigmoid(l->g, gate[1]), *cell), new);
	*cell = new;
	return sl_mul(l->g, sl_sigmoid(l->g, gate[3]), sl_tanh(l->g, new));
}

/*
 * x [T, B, W] to the outputs of one layer. A slice's gradient is as large as what it was
 * cut from, so steps are cut from groups of sqrt(T) steps: T sqrt(T) is moved, not T T.
 */
static sl_val layer(
	struct sl_layers *l, const struct sl_model_config *c, int64_t i, sl_val x)
{
	const struct sl_matmul_attr trans_b = {.trans_b = true};
	double bound = 1 / sqrt((double)c->width);
	int64_t count = sl_model_sequence(c);
	int64_t group = (int64_t)ceil(sqrt((double)count));
	struct sl_shape square = SL_SHAPE(4 * c->width, c->width);
	struct sl_shape flat = SL_SHAPE(4 * c->width);
	char name[SL_LAYER_NAME];
	sl_val w_x = param(l, name_of(name, "weight_ih", i), square, bound);
	sl_val w_h = param(l, name_of(name, "weight_hh", i), square, bound);
	sl_val b_x = param(l, name_of(name, "bias_ih", i), flat, bound);
	sl_val b_h = param(l, name_of(name, "bias_hh", i), flat, bound);
	sl_val part = SL_VAL_NONE;
	sl_val cell = SL_VAL_NONE;
	sl_val out[CONTEXT_MAX];

	x = sl_matmul(l->g, x, w_x, sl_add(l->g, b_x, b_h), &trans_b);
	for (int64_t t = 0; t < count; t++) {
		if (t % group == 0)
			part = steps(l, x, t, group);
		sl_val z = steps(l, part, t % group, 1);
		if (t > 0)
			z = sl_add(l->g, z,
				sl_matmul(l->g, out[t - 1], w_h, SL_VAL_NONE, &trans_b));
		out[t] = step(l, z, &cell);
	}
	return sl_concat(l->g, out, (int)count, 0);
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	static const int swap[SL_MAX_RANK] = {1, 0, 2};
	struct sl_shape table = SL_SHAPE(c->vocab, c->width);
	char scope[SL_LAYER_NAME];

	sl_graph_scope(l->g, "encoder");
	sl_val encoder = param(l, "encoder.weight", table, 0.1);
	x = sl_embedding(l->g, encoder, sl_transpose(l->g, x, swap));
	for (int64_t i = 0; i < c->layers; i++) {
		snprintf(scope, sizeof(scope), "rnn%lld", (long long)i);
		sl_graph_scope(l->g, scope);
		x = layer(l, c, i, x);
	}
	sl_graph_scope(l->g, "decoder");
	sl_val decoder = param(l, "decoder.weight", table, 0.1);
	sl_val bias = param(l, "decoder.bias", SL_SHAPE(c->vocab), 0);
	return sl_matmul(l->g, sl_transpose(l->g, x, swap), decoder, bias,
		&(struct sl_matmul_attr){.trans_b = true});
}

const struct sl_model sl_model_lstm = {
	.name = "lstm",
	.help = "LSTM language model: layers=2, width=650, context=35, vocab=10000 (256 "
		"for "
		"text:)",
	.options = SL_MODEL_SET_LAYERS | SL_MODEL_SET_WIDTH | SL_MODEL_SET_CONTEXT |
		   SL_MODEL_SET_VOCAB,
	.tokens = true,
	.default_batch = 20,
	.defaults = {.layers = 2, .width = 650, .context = 35, .vocab = 10000},
	.finish = finish,
	.build = build,
};

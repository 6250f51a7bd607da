/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language model of LSTM layers: embedding, layers, a linear decoder; each
 * sequence begins with zero state. 19,780,400 parameters unless told. Names, gates
 * (i f g o) and first values are those of PyTorch's nn.LSTM in its word language model.
 *
 * Source: Hochreiter, Schmidhuber, Long short-term memory, 1997, with forget gates; sizes
 * of Zaremba et al., Recurrent neural network regularization, 2014, section 4.1 (medium),
 * without the dropout.
 *
 * Values lie time first: [T, B, ...].
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

static sl_val param(
	struct sl_layers *l, const char *name, struct sl_shape shape, double bound)
{
	struct sl_init init = {
		.kind = bound > 0 ? SL_INIT_UNIFORM : SL_INIT_ZERO, .value = bound};
	struct sl_type type = {.dtype = SL_F32, .shape = shape};

	return sl_param(l->g, name, &type, init);
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
		x = sl_layer_lstm(l, "rnn", x,
			&(struct sl_layer_lstm){
				.in = c->width, .width = c->width, .layer = i});
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
	.build = build,
};

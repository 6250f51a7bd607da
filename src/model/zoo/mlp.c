/* SPDX-License-Identifier: Apache-2.0 */
/* A multilayer perceptron: linear layers with ReLU between them; 784-256-10 unless told.
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

static sl_status finish(struct sl_model_config *c)
{
	c->classes = c->sizes[c->n_sizes - 1];
	return SL_OK;
}

static sl_val build(struct sl_layers *l, const struct sl_model_config *c, sl_val x)
{
	char name[SL_LAYER_NAME];

	for (int64_t i = 1; i < c->n_sizes; i++) {
		snprintf(name, sizeof(name), "fc%lld", (long long)i);
		sl_graph_scope(l->g, name);
		x = sl_layer_linear(l, name, x, c->sizes[i - 1], c->sizes[i]);
		if (i + 1 < c->n_sizes)
			x = sl_layer_dropout(l, sl_relu(l->g, x));
	}
	return x;
}

const struct sl_model sl_model_mlp = {
	.name = "mlp",
	.help = "multilayer perceptron with ReLU: sizes=784-256-10, dropout=0",
	.options = SL_MODEL_SET_SIZES | SL_MODEL_SET_DROPOUT,
	.default_batch = 64,
	.defaults = {.sizes = {784, 256, 10}, .n_sizes = 3},
	.finish = finish,
	.build = build,
};

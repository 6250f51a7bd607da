/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_MODEL_H
#define SLUICE_MODEL_H

#include "sluice/graph.h"

/*
 * The built-in models. A spec is a name, or "name:key=value,...", such as
 * "gpt2:layers=2,width=128,context=64" or "mlp:sizes=784-500-10".
 */
struct sl_model;

#define SL_MODEL_SIZES_MAX 16
#define SL_MODEL_CONTEXT 128 /* tokens of a sample where the spec sets no context */

/* Options a spec has set: bits of sl_model_config.set. */
enum sl_model_set {
	SL_MODEL_SET_SIZES = 1 << 0,
	SL_MODEL_SET_INPUT = 1 << 1,
	SL_MODEL_SET_CLASSES = 1 << 2,
	SL_MODEL_SET_LAYERS = 1 << 3,
	SL_MODEL_SET_WIDTH = 1 << 4,
	SL_MODEL_SET_HEADS = 1 << 5,
	SL_MODEL_SET_CONTEXT = 1 << 6,
	SL_MODEL_SET_VOCAB = 1 << 7,
	SL_MODEL_SET_DROPOUT = 1 << 8,
};

/* A model with its options; what a model has no use for is 0. Plain data, copied freely.
 */
struct sl_model_config {
	const struct sl_model *model;
	uint32_t set; /* enum sl_model_set */
	int64_t sizes[SL_MODEL_SIZES_MAX]; /* mlp: inputs, hidden layers, classes */
	int64_t n_sizes;
	int64_t input[3]; /* C, H, W */
	int64_t classes;
	int64_t layers, width, heads, context, vocab;
	double dropout; /* used in training only; 0: none */
};

/* SL_E_USAGE for an unknown name or option, or a value out of bounds; the message lists
 * what exists. */
SL_NODISCARD sl_status sl_model_parse(const char *spec, struct sl_model_config *out);
/* All options, in a fixed order, so that two specs of the same model print alike; for
 * checkpoints. Returns text. */
#define SL_MODEL_SPEC_TEXT 512
char *sl_model_print(const struct sl_model_config *c, char text[SL_MODEL_SPEC_TEXT]);
bool sl_model_is_tokens(const struct sl_model_config *c); /* reads i32 tokens, not f32 */
/* The token that hides others from a masked language model, the last of its vocabulary
 * (of BERT's own vocabulary [MASK]); -1: it is none. For sl_data_mask, once fitted. */
int64_t sl_model_mask_token(const struct sl_model_config *c);
int64_t sl_model_default_batch(const struct sl_model_config *c);
/* T of its samples: the context if the spec set it, else SL_MODEL_CONTEXT (never over the
 * context). */
int64_t sl_model_sequence(const struct sl_model_config *c);
/* The data spec that fits: "synthetic:3x224x224". Returns text. */
char *sl_model_synthetic(const struct sl_model_config *c, char text[SL_MODEL_SPEC_TEXT]);

/*
 * Fits options the spec left open to a data set, then checks that they fit together
 * (SL_E_USAGE with both sides): input and the mlp's first size become the sample's shape;
 * a token model's vocab becomes that of the data if `bytes`, and one for the mask if it
 * has one. Classes stay as published.
 */
struct sl_model_data {
	bool tokens;
	bool bytes; /* tokens are bytes of a text */
	struct sl_shape sample; /* of one x */
	int64_t classes; /* labels are below it */
};
SL_NODISCARD sl_status sl_model_fit(
	struct sl_model_config *c, const struct sl_model_data *data);

/*
 * Builds the template into an empty graph. Batch and sequence length are symbols
 * (SL_DIM_BATCH, SL_DIM_SEQ) that sl_graph_bind sets; unbound they are 2 and
 * sl_model_sequence().
 *
 * inputs   "x"   f32 [N, C, H, W] or [N, F]; token models i32 [N, T]
 *          "y"   i64 [N] or [N, T]
 *          "pos" i32 [T], token models only: to be fed 0, 1, ..., T - 1
 * outputs  "loss" f32 scalar, mean over the labels (masked
 * language models: those that are not -1); "logits" f32 [N, classes] or [N, T,
 * vocab]; "correct" f32 scalar, labels that are the first largest logit
 *
 * training: dropout and batch statistics (running ones are states ...running_mean and
 * ...running_var, momentum 0.1); otherwise neither. Parameters have the names of
 * torchvision or of GPT-2's published files. A failure is the graph's (sl_graph_status)
 * and is returned.
 */
SL_NODISCARD sl_status sl_model_build(
	const struct sl_model_config *c, bool training, struct sl_graph *g);

/* The table, for listings: the name, NULL past the end; help gets a sentence with the
 * options. */
const char *sl_model_at(size_t i, const char **help);

#endif

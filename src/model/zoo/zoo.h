/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_ZOO_ZOO_H
#define SL_MODEL_ZOO_ZOO_H

#include "model/layers.h"
#include "sluice/model.h"

/* A built-in model: a row of models.def and a file of its own. */
struct sl_model {
	const char *name;
	const char *help; /* a sentence, with options and defaults */
	uint32_t options; /* enum sl_model_set: the ones it has */
	bool tokens;
	bool masked; /* tokens are hidden on the way in; y has only what they were */
	bool pixels; /* logits are [N, classes, H, W] */
	int64_t default_batch;
	struct sl_model_config defaults; /* model and set are filled in */
	/* Derives what is still 0 and checks options against each other; NULL: nothing to
	 * do. */
	sl_status (*finish)(struct sl_model_config *c);
	/* x and y are the inputs, already declared; returns the logits. */
	sl_val (*build)(struct sl_layers *l, const struct sl_model_config *c, sl_val x);
	const void
		*plan; /* a table of the model's own file, where one file has several */
};

#define SL_MODEL(name) extern const struct sl_model sl_model_##name;
#include "model/zoo/models.def"
#undef SL_MODEL

/* Least height and width of an image model; SL_E_USAGE names the model. */
SL_NODISCARD sl_status sl_model_check_image(
	const struct sl_model_config *c, int64_t least);

#endif

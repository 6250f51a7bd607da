/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in models as a whole: fitting to a data set, inputs and outputs of a template. */
#include "model/zoo/zoo.h"

#include <stdio.h>
#include <string.h>

/* Batch norm of a single value is refused, so the unbound template has two samples. */
#define TEMPLATE_BATCH 2

/* [MASK] in the published vocabulary. */
#define BERT_VOCAB 30522
#define BERT_MASK 103

bool sl_model_is_tokens(const struct sl_model_config *c)
{
	return c->model->tokens;
}

int64_t sl_model_mask_token(const struct sl_model_config *c)
{
	if (!c->model->masked)
		return -1;
	return c->vocab == BERT_VOCAB ? BERT_MASK : c->vocab - 1;
}

int64_t sl_model_default_batch(const struct sl_model_config *c)
{
	return c->model->default_batch;
}

int64_t sl_model_sequence(const struct sl_model_config *c)
{
	if (c->set & SL_MODEL_SET_CONTEXT || c->context < SL_MODEL_CONTEXT)
		return c->context;
	return SL_MODEL_CONTEXT;
}

/* Shape of one sample of x. */
static struct sl_shape sample_of(const struct sl_model_config *c)
{
	if (c->model->tokens)
		return SL_SHAPE(sl_model_sequence(c));
	if (c->n_sizes)
		return SL_SHAPE(c->sizes[0]);
	return SL_SHAPE(c->input[0], c->input[1], c->input[2]);
}

char *sl_model_synthetic(const struct sl_model_config *c, char text[SL_MODEL_SPEC_TEXT])
{
	struct sl_shape s = sample_of(c);
	int n = snprintf(text, SL_MODEL_SPEC_TEXT, "synthetic:%lld", (long long)s.dim[0]);

	for (int i = 1; i < s.rank; i++)
		n += snprintf(text + n, SL_MODEL_SPEC_TEXT - (size_t)n, "x%lld",
			(long long)s.dim[i]);
	return text;
}

sl_status sl_model_check_image(const struct sl_model_config *c, int64_t least)
{
	if (c->input[1] < least || c->input[2] < least)
		return SL_FAIL(SL_E_USAGE,
			"input=%lldx%lldx%lld: height and width must be at least %lld",
			(long long)c->input[0], (long long)c->input[1],
			(long long)c->input[2], (long long)least);
	return SL_OK;
}

static sl_status fit_tokens(struct sl_model_config *c, const struct sl_model_data *data)
{
	int64_t length = sl_shape_count(&data->sample);

	if (data->bytes && !(c->set & SL_MODEL_SET_VOCAB))
		c->vocab = data->classes + (c->model->masked ? 1 : 0);
	if (data->classes > c->vocab)
		return SL_FAIL(SL_E_USAGE,
			"the data has tokens up to %lld; set vocab=%lld",
			(long long)data->classes - 1, (long long)data->classes);
	if (length > c->context)
		return SL_FAIL(SL_E_USAGE,
			"the data's samples of %lld tokens are longer than the context "
			"of %lld",
			(long long)length, (long long)c->context);
	return SL_OK;
}

static void fit_shape(struct sl_model_config *c, const struct sl_model_data *data)
{
	const struct sl_shape *s = &data->sample;

	if (c->n_sizes) {
		if (!(c->set & SL_MODEL_SET_SIZES))
			c->sizes[0] = sl_shape_count(s);
		return;
	}
	if (c->set & SL_MODEL_SET_INPUT || s->rank < 2 || s->rank > 3)
		return;
	c->input[0] = s->rank == 3 ? s->dim[0] : 1;
	c->input[1] = s->dim[s->rank - 2];
	c->input[2] = s->dim[s->rank - 1];
}

static sl_status fit_features(struct sl_model_config *c, const struct sl_model_data *data)
{
	char have[SL_SHAPE_TEXT];
	char want[SL_SHAPE_TEXT];

	fit_shape(c, data);
	struct sl_shape own = sample_of(c);
	/* Flat samples of the right length will do: csv files hold nothing else. */
	bool fits = data->sample.rank == 3 && own.rank == 3
			    ? sl_shape_equal(&own, &data->sample)
			    : sl_shape_count(&own) == sl_shape_count(&data->sample);
	if (!fits)
		return SL_FAIL(SL_E_USAGE,
			"it reads samples of %s, the data has %s; set %s or choose other "
			"data",
			sl_shape_print(&own, want), sl_shape_print(&data->sample, have),
			c->n_sizes ? "sizes=" : "input=");
	if (data->classes > c->classes)
		return SL_FAIL(SL_E_USAGE,
			"the data has labels up to %lld, the model %lld classes; %s",
			(long long)data->classes - 1, (long long)c->classes,
			c->n_sizes ? "set the last of sizes=" : "set classes=");
	return SL_OK;
}

static sl_status fit(struct sl_model_config *c, const struct sl_model_data *data)
{
	if (data->tokens != c->model->tokens)
		return SL_FAIL(SL_E_USAGE, "it reads %s, the data has %s",
			c->model->tokens ? "tokens (text:FILE)"
					 : "numbers (idx, csv, npy)",
			data->tokens ? "tokens" : "numbers");
	SL_TRY(c->model->tokens ? fit_tokens(c, data) : fit_features(c, data));
	return c->model->finish ? c->model->finish(c) : SL_OK;
}

sl_status sl_model_fit(struct sl_model_config *c, const struct sl_model_data *data)
{
	struct sl_model_config fitted = *c;
	sl_status st = fit(&fitted, data);

	if (st != SL_OK)
		return sl_fail_prefix(st, "model %s", c->model->name);
	*c = fitted;
	return SL_OK;
}

static sl_val declare(struct sl_graph *g, const char *name, enum sl_dtype dtype,
	const struct sl_shape *shape, bool sequence)
{
	struct sl_type type = {.dtype = dtype, .shape = *shape};
	uint8_t symbol[SL_MAX_RANK] = {1 + SL_DIM_BATCH};

	if (sequence)
		symbol[1] = 1 + SL_DIM_SEQ;
	return sl_input(g, name, &type, symbol);
}

sl_status sl_model_build(
	const struct sl_model_config *c, bool training, struct sl_graph *g)
{
	struct sl_layers l = {.g = g, .training = training, .dropout = c->dropout};
	struct sl_shape sample = sample_of(c);
	struct sl_shape x = {.rank = sample.rank + 1, .dim = {TEMPLATE_BATCH}};
	struct sl_shape y = {.rank = 1, .dim = {TEMPLATE_BATCH}};
	bool tokens = c->model->tokens;

	memcpy(x.dim + 1, sample.dim, (size_t)sample.rank * sizeof(x.dim[0]));
	sl_val in = declare(g, "x", tokens ? SL_I32 : SL_F32, &x, tokens);
	sl_val labels = declare(g, "y", SL_I64, tokens ? &x : &y, tokens);
	sl_val logits = c->model->build(&l, c, in);
	if (c->model->pixels)
		sl_layer_pixel_outputs(&l, logits, labels, c->input[1] * c->input[2]);
	else if (c->model->masked)
		sl_layer_masked_outputs(&l, logits, labels);
	else
		sl_layer_outputs(&l, logits, labels);
	return sl_graph_status(g);
}

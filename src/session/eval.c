/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation and prediction: the forward program over the held-out samples, in order. */
#include <math.h>

#include "base/alloc.h"
#include "session/session_int.h"

/* The samples to go through: held-out ones, else all. */
static enum sl_split eval_split(const struct sl_session *s)
{
	enum sl_split split = sl_data_eval_split(s->data);

	return split < SL_SPLIT_COUNT ? split : SL_SPLIT_TRAIN;
}

static int64_t labels_per_sample(const struct sl_session *s)
{
	return s->seq > 0 ? s->seq : 1;
}

typedef sl_status (*batch_fn)(struct sl_session *s, void *ctx);

/* Runs every batch of the split (at most eval_steps of them). */
static sl_status each_batch(struct sl_session *s, batch_fn fn, void *ctx)
{
	enum sl_split split = eval_split(s);
	int64_t count = sl_data_info(s->data)->count[split];
	int64_t batch = s->instances[SL_EVAL].batch;
	int64_t most = s->config.eval_steps > 0 ? s->config.eval_steps * batch : count;

	for (int64_t first = 0; first < count && first < most; first += batch) {
		int64_t left = count - first;

		s->io.request = (struct sl_data_request){
			.split = split,
			.seed = s->config.seed,
			.first = first,
			.count = left < batch ? left : batch,
			.as_stored = true,
		};
		s->io.has_next = false;
		SL_TRY(sl_session_run(s, left < batch ? SL_EVAL_TAIL : SL_EVAL));
		SL_TRY(fn(s, ctx));
		if (sl_session_stopped(s))
			return SL_OK;
	}
	return SL_OK;
}

static sl_status add_batch(struct sl_session *s, void *ctx)
{
	struct sl_eval_report *r = ctx;

	r->loss += s->io.loss * (double)s->io.request.count;
	r->accuracy += s->io.correct;
	r->samples += s->io.request.count;
	return SL_OK;
}

sl_status sl_session_eval(struct sl_session *s, struct sl_eval_report *out)
{
	*out = (struct sl_eval_report){
		.text = s->text, .epoch = (s->step - 1) / sl_session_epoch_steps(s) + 1};
	SL_TRY(each_batch(s, add_batch, out));
	if (out->samples == 0)
		return SL_FAIL(SL_E_INVALID,
			"there is no sample to evaluate on; give --valid 0.1");
	out->loss /= (double)out->samples;
	out->accuracy /= (double)(out->samples * sl_data_info(s->data)->labels);
	out->bits_per_byte = out->loss / log(2);
	return SL_OK;
}

struct prediction_sink {
	void *ctx;
	sl_status (*each)(void *ctx, const struct sl_prediction *p);
};

/* The likeliest class of a row and its probability. */
static void best_of(const float *row, size_t n, struct sl_prediction *p)
{
	double sum = 0;
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = row[i] > row[best] ? i : best;
	for (size_t i = 0; i < n; i++)
		sum += exp((double)row[i] - (double)row[best]);
	p->label = (int64_t)best;
	p->probability = 1 / sum;
}

/* Mean bits of the true bytes of a window, those that have a label. */
static double window_bits(
	const float *rows, size_t classes, const int64_t *labels, int64_t n)
{
	double bits = 0;
	int64_t counted = 0;

	for (int64_t t = 0; t < n; t++) {
		const float *row = rows + (size_t)t * classes;
		struct sl_prediction best;

		if (labels[t] == SL_DATA_NO_LABEL)
			continue;
		counted++;
		best_of(row, classes, &best);
		bits -= ((double)row[labels[t]] - (double)row[best.label] +
				log(best.probability)) /
			log(2);
	}
	return counted > 0 ? bits / (double)counted : 0;
}

static sl_status predict_batch(struct sl_session *s, void *ctx)
{
	const struct prediction_sink *sink = ctx;
	int64_t rows = labels_per_sample(s);
	size_t classes = s->io.logits_count / (size_t)(s->io.request.count * rows);

	for (int64_t i = 0; i < s->io.request.count; i++) {
		const float *sample = s->io.logits + (size_t)(i * rows) * classes;
		struct sl_prediction p = {
			.index = s->io.request.first + i, .text = s->text};

		best_of(sample + (size_t)(rows - 1) * classes, classes, &p);
		if (s->text)
			p.bits_per_byte = window_bits(
				sample, classes, s->io.labels + i * rows, rows);
		SL_TRY(sink->each(sink->ctx, &p));
	}
	return SL_OK;
}

sl_status sl_session_want_logits(struct sl_session *s)
{
	const struct sl_graph *g = s->eval_template;
	const struct sl_shape *shape =
		&sl_val_type(g, sl_graph_output(g, "logits"))->shape;
	size_t classes = (size_t)shape->dim[shape->rank - 1];
	size_t rows = (size_t)(s->instances[SL_EVAL].batch * labels_per_sample(s));

	if (s->io.logits != NULL)
		return SL_OK;
	s->io.logits = sl_calloc(rows * classes, sizeof(*s->io.logits));
	if (s->io.logits == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the logits of a batch");
	s->io.want_logits = true;
	return SL_OK;
}

sl_status sl_session_infer(struct sl_session *s, void *ctx,
	sl_status (*each)(void *ctx, const struct sl_prediction *p))
{
	struct prediction_sink sink = {.ctx = ctx, .each = each};

	SL_TRY(sl_session_ready(s, SL_EVAL));
	SL_TRY(sl_session_want_logits(s));
	SL_TRY(each_batch(s, predict_batch, &sink));
	s->done = true;
	return SL_OK;
}

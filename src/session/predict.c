/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the caller hands in, a batch of the evaluation program at a time. */
#include <string.h>

#include "session/service.h"
#include "session/shared.h"

static int64_t rows_of(const struct sl_session *s)
{
	return s->seq > 0 ? s->seq : 1;
}

sl_status sl_session_predict_info(const struct sl_session *s, struct sl_predict_info *out)
{
	const struct sl_data_info *info = sl_data_info(s->data);
	const struct sl_graph *g = s->eval_template;
	const struct sl_shape *logits =
		&sl_val_type(g, sl_graph_output(g, "logits"))->shape;

	SL_TRY(sl_session_ready(s, SL_EVAL));
	*out = (struct sl_predict_info){
		.sample_bytes = 4 * (size_t)sl_shape_count(&info->sample),
		.outputs = (size_t)logits->dim[logits->rank - 1],
		.batch = s->instances[SL_EVAL].batch,
		.tokens = info->tokens,
	};
	return SL_OK;
}

/* Ids index a table of the model. */
static sl_status check_tokens(const struct sl_session *s, const void *x, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int32_t token;

		memcpy(&token, (const char *)x + 4 * i, 4);
		if (token < 0 || token >= s->model.vocab)
			return SL_FAIL(SL_E_INVALID,
				"token %d at place %zu: the vocabulary has %lld", token,
				i, (long long)s->model.vocab);
	}
	return SL_OK;
}

sl_status sl_session_predict(struct sl_session *s, const void *x, int64_t n, float *out)
{
	struct sl_predict_info info;
	size_t rows = (size_t)rows_of(s);
	sl_status st;

	SL_TRY(sl_session_predict_info(s, &info));
	if (n < 1 || n > info.batch)
		return SL_FAIL(SL_E_INVALID, "%lld samples; a batch has 1 to %lld",
			(long long)n, (long long)info.batch);
	if (info.tokens)
		SL_TRY(check_tokens(s, x, (size_t)n * info.sample_bytes / 4));
	SL_TRY(sl_session_want_logits(s));
	memset(s->io.labels, 0, (size_t)info.batch * rows * sizeof(*s->io.labels));
	s->io.given = x;
	s->io.given_bytes = (size_t)n * info.sample_bytes;
	s->io.request = (struct sl_data_request){.count = n};
	s->io.has_next = false;
	st = sl_session_run(s, SL_EVAL);
	s->io.given = NULL;
	for (int64_t i = 0; st == SL_OK && i < n; i++)
		memcpy(out + (size_t)i * info.outputs,
			s->io.logits + ((size_t)(i + 1) * rows - 1) * info.outputs,
			info.outputs * sizeof(*out));
	return st;
}

sl_status sl_session_serve(struct sl_session *s, struct sl_serve_report *out)
{
	struct sl_service *v = sl_shared_service(s);
	struct sl_service_stats stats;
	sl_status st;

	if (v == NULL)
		return SL_FAIL(SL_E_USAGE,
			"a service needs the daemon: open the session with shared and "
			"serve");
	SL_TRY(sl_service_begin(v, s));
	st = sl_service_run(v);
	if (st == SL_E_INTERRUPTED) /* cancelled, or stopped while it waited for a turn */
		st = SL_OK;
	sl_service_stats(v, &stats);
	*out = (struct sl_serve_report){
		.requests = stats.requests,
		.refused = stats.refused,
		.batches = stats.batches,
		.late = stats.late,
		.longest_ms = (double)stats.longest_ns / 1e6,
	};
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, preparing and closing a session. */
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "kernel/kernel.h"
#include "session/host.h"
#include "session/optimizer.h"
#include "session/shared.h"
#include "session/session_int.h"

bool sl_instance_is_built(const struct sl_instance *x)
{
	return x->program != NULL;
}

static sl_status open_data(struct sl_session *s)
{
	const struct sl_session_config *c = &s->config;
	char synthetic[SL_MODEL_SPEC_TEXT];
	const char *spec =
		c->data != NULL ? c->data : sl_model_synthetic(&s->model, synthetic);
	const char *folder = sl_machine_disk_folder(c);
	struct sl_data_opts opts = {
		.scratch = strcmp(folder, "none") != 0 ? folder : NULL,
		.refuse_ram = c->budget_bytes > 0 || c->budget_ratio > 0,
		.context =
			sl_model_is_tokens(&s->model) ? sl_model_sequence(&s->model) : 0,
		.classes = s->model.classes,
		.image = {s->model.input[0], s->model.input[1], s->model.input[2]},
		.vocab = sl_model_is_tokens(&s->model) ? s->model.vocab : 0,
		.valid = c->valid_ratio,
		.seed = c->seed,
	};

	s->text = strncmp(spec, "text:", 5) == 0;
	SL_TRY(sl_data_open(spec, &opts, &s->data));
	return sl_prefetch_create(s->data, &s->prefetch);
}

static int64_t largest_split(const struct sl_data_info *info)
{
	int64_t most = 1;

	for (int split = 0; split < SL_SPLIT_COUNT; split++)
		most = info->count[split] > most ? info->count[split] : most;
	return most;
}

static sl_status fit_model(struct sl_session *s)
{
	const struct sl_data_info *info = sl_data_info(s->data);
	struct sl_model_data data = {
		.tokens = info->tokens,
		.bytes = s->text,
		.sample = info->sample,
		.classes = info->classes,
	};

	SL_TRY(sl_model_fit(&s->model, &data));
	if (sl_model_mask_token(&s->model) >= 0)
		sl_data_mask(s->data, sl_model_mask_token(&s->model));
	s->seq = info->tokens ? info->sample.dim[0] : 0;
	s->batch =
		s->config.batch > 0 ? s->config.batch : sl_model_default_batch(&s->model);
	if (s->batch > largest_split(info))
		s->batch = largest_split(info);
	if (!s->config.infer_only && info->count[SL_SPLIT_TRAIN] < 1)
		return SL_FAIL(
			SL_E_FORMAT, "%s holds no sample to train on", s->config.data);
	return SL_OK;
}

static sl_status build_templates(struct sl_session *s)
{
	SL_TRY(sl_graph_create(&s->eval_template));
	SL_TRY(sl_model_build(&s->model, false, s->eval_template));
	if (s->config.infer_only)
		return SL_OK;
	if (s->config.no_dropout)
		s->model.dropout = 0;
	SL_TRY(sl_graph_create(&s->train_template));
	return sl_model_build(&s->model, true, s->train_template);
}

static sl_status alloc_io(struct sl_session *s)
{
	size_t labels = (size_t)s->batch * (size_t)(s->seq > 0 ? s->seq : 1);

	s->io.labels = sl_calloc(labels, sizeof(*s->io.labels));
	if (s->io.labels == NULL)
		return SL_FAIL(SL_E_NOMEM,
			"no host memory for the labels of %lld samples",
			(long long)s->batch);
	return SL_OK;
}

/* Samples that an instance goes through. */
static int64_t count_of(const struct sl_session *s, enum sl_instance_id id)
{
	const struct sl_data_info *info = sl_data_info(s->data);
	bool training = id == SL_TRAIN || id == SL_TRAIN_TAIL;
	enum sl_split split = training ? SL_SPLIT_TRAIN : sl_data_eval_split(s->data);

	return info->count[split < SL_SPLIT_COUNT ? split : SL_SPLIT_TRAIN];
}

/* A batch is never larger than its split. */
static int64_t batch_of(const struct sl_session *s, enum sl_instance_id id)
{
	int64_t count = count_of(s, id);
	int64_t batch = s->batch < count ? s->batch : count;

	return id == SL_TRAIN || id == SL_EVAL ? batch : count % batch;
}

sl_status sl_session_build(struct sl_session *s, enum sl_instance_id id)
{
	bool training = id == SL_TRAIN || id == SL_TRAIN_TAIL;
	struct sl_instance *x = &s->instances[id];
	const struct sl_instance *first = &s->instances[SL_TRAIN];
	struct sl_instance_request request = {
		.tmpl = training ? s->train_template : s->eval_template,
		.config = &s->config,
		.persistent = sl_instance_is_built(first) ? first->graph : NULL,
		.batch = batch_of(s, id),
		.seq = s->seq,
		.kernels = s->machine.kernels,
		.seal_threads = s->seal_threads,
		.output = s->config.logits_only ? "logits" : NULL,
		.fixed_weights = s->config.infer_only && !s->config.as_built,
	};

	if (sl_instance_is_built(x) || request.batch == 0)
		return SL_OK;
	return training ? sl_instance_train(&request, x) : sl_instance_eval(&request, x);
}

/* A budget that is a share of the peak becomes one of bytes. */
static sl_status settle_budget(struct sl_session *s, const struct sl_instance *x)
{
	uint64_t peak;

	if (!(s->config.budget_ratio > 0))
		return SL_OK;
	SL_TRY(sl_machine_unbudgeted_peak(x, &peak));
	s->config.budget_bytes = sl_machine_share(peak, s->config.budget_ratio);
	return SL_OK;
}

static sl_status open_session(struct sl_session *s)
{
	enum sl_instance_id first = s->config.infer_only ? SL_EVAL : SL_TRAIN;

	if (s->config.model == NULL)
		return SL_FAIL(SL_E_USAGE, "no model is named; give one, such as lenet5");
	if (s->config.threads > SL_POOL_WIDTH_MAX)
		return SL_FAIL(SL_E_USAGE, "--threads %d: there may be 1 to %d",
			s->config.threads, SL_POOL_WIDTH_MAX);
	SL_TRY(sl_optimizer_check(&s->config));
	SL_TRY(sl_model_parse(s->config.model, &s->model));
	SL_TRY(open_data(s));
	SL_TRY(fit_model(s));
	if (s->config.schedule.total == 0 && !s->config.infer_only)
		s->config.schedule.total = sl_session_total_steps(s);
	SL_TRY(build_templates(s));
	SL_TRY(alloc_io(s));
	s->seal_threads = sl_machine_cores();
	SL_TRY(sl_machine_open(&s->machine, &s->config));
	if (s->config.infer_only)
		sl_kernel_keep_awake();
	if (s->config.shared)
		SL_TRY(sl_shared_open(s));
	SL_TRY(sl_session_build(s, first));
	return settle_budget(s, &s->instances[first]);
}

sl_status sl_session_open(const struct sl_session_config *config, struct sl_session **out)
{
	struct sl_session *s = sl_calloc(1, sizeof(*s));
	sl_status st;

	if (s == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a session");
	s->config = *config;
	st = open_session(s);
	if (st != SL_OK) {
		sl_session_close(s);
		return st;
	}
	*out = s;
	return SL_OK;
}

sl_status sl_session_ready(const struct sl_session *s, enum sl_instance_id id)
{
	if (s->machine.engine != NULL && sl_instance_is_built(&s->instances[id]))
		return SL_OK;
	return SL_FAIL(SL_E_INVALID,
		"the session is not prepared for this: sl_session_prepare comes first, "
		"training needs infer_only unset, evaluation needs eval or infer_only");
}

static sl_status build_tail(struct sl_session *s)
{
	sl_status st = sl_session_build(s, SL_TRAIN_TAIL);

	return st == SL_OK ? st
			   : sl_fail_prefix(st,
				     "the last step of an epoch has %lld samples (choose "
				     "another --batch)",
				     (long long)batch_of(s, SL_TRAIN_TAIL));
}

/* Evaluation comes to its last, smaller batch. */
static bool reaches_eval_tail(const struct sl_session *s)
{
	int64_t batch = batch_of(s, SL_EVAL);

	return s->config.eval_steps <= 0 ||
	       (batch > 0 && s->config.eval_steps > count_of(s, SL_EVAL) / batch);
}

/* Instances that the run will come to. */
static sl_status build_others(struct sl_session *s)
{
	int64_t epoch = sl_session_epoch_steps(s);

	if (!s->config.infer_only && sl_session_total_steps(s) >= epoch)
		SL_TRY(build_tail(s));
	if (!s->config.infer_only && !s->config.eval)
		return SL_OK;
	SL_TRY(sl_session_build(s, SL_EVAL));
	if (reaches_eval_tail(s))
		SL_TRY(sl_session_build(s, SL_EVAL_TAIL));
	if (s->instances[SL_EVAL].prologue == NULL)
		return SL_OK;
	return sl_instance_prologue(&s->instances[SL_EVAL], s->machine.kernels,
		s->seal_threads, &s->instances[SL_PROLOGUE]);
}

static sl_status plan_instances(struct sl_session *s)
{
	uint64_t peak = 0, one;

	s->machine.shares = s->host != NULL;
	for (int id = 0; id < SL_INSTANCE_COUNT; id++) {
		if (!sl_instance_is_built(&s->instances[id]))
			continue;
		SL_TRY(sl_machine_unbudgeted_peak(&s->instances[id], &one));
		peak = one > peak ? one : peak;
	}
	SL_TRY(sl_machine_describe(&s->machine, &s->config, peak));
	for (int id = 0; id < SL_INSTANCE_COUNT; id++)
		if (sl_instance_is_built(&s->instances[id]))
			SL_TRY(sl_machine_plan(
				&s->machine, &s->config, &s->instances[id]));
	return SL_OK;
}

static sl_status record_trace(const struct sl_session *s)
{
	const struct sl_instance *x =
		&s->instances[s->config.infer_only ? SL_EVAL : SL_TRAIN];
	struct sl_buf text = SL_BUF_INIT;
	sl_status st;

	if (s->config.record_path == NULL)
		return SL_OK;
	SL_TRY_OUT(sl_trace_print(&x->trace, &text));
	SL_TRY_OUT(sl_fs_write(s->config.record_path, sl_buf_text(&text), text.len));
out:
	sl_buf_finish(&text);
	return st;
}

/* What will be written at the end must not fail only then. */
static sl_status check_save(const struct sl_session *s)
{
	struct sl_fs_new probe = {.fd = -1};

	if (s->config.save_path == NULL)
		return SL_OK;
	SL_TRY(sl_fs_new_begin(s->config.save_path, &probe));
	sl_fs_new_cancel(&probe);
	return SL_OK;
}

/* Choices that a person may not have meant. */
static void note_choices(const struct sl_session *s)
{
	const struct sl_data_info *info = sl_data_info(s->data);
	int64_t batch =
		s->config.batch > 0 ? s->config.batch : sl_model_default_batch(&s->model);

	if (s->config.infer_only)
		return;
	if (batch > info->count[SL_SPLIT_TRAIN])
		sl_session_note(s,
			"a batch of %lld is more than the %lld samples to train on; a "
			"step takes them all",
			(long long)batch, (long long)info->count[SL_SPLIT_TRAIN]);
	if (s->config.eval && sl_data_eval_split(s->data) == SL_SPLIT_COUNT)
		sl_session_note(s,
			"no sample is held out: --eval looks at those of the training; "
			"--valid 0.1 holds some out");
}

bool sl_session_stopped(const struct sl_session *s)
{
	return (s->config.stop != NULL && *s->config.stop != 0) ||
	       (s->host != NULL && s->host->stopped(s->host->gate.ctx));
}

static sl_status go_on(const struct sl_session *s)
{
	return sl_session_stopped(s)
		       ? SL_FAIL(SL_E_INTERRUPTED, "interrupted before the first step")
		       : SL_OK;
}

sl_status sl_session_prepare(struct sl_session *s, const struct sl_session_events *events)
{
	enum sl_instance_id first = s->config.infer_only ? SL_EVAL : SL_TRAIN;

	s->events = events != NULL ? *events : (struct sl_session_events){0};
	note_choices(s);
	SL_TRY(check_save(s));
	SL_TRY(go_on(s));
	SL_TRY(build_others(s));
	if (s->config.plan_path != NULL && s->config.budget_bytes == 0)
		SL_TRY(sl_machine_stored_budget(
			s->config.plan_path, &s->config.budget_bytes));
	SL_TRY(plan_instances(s));
	SL_TRY(go_on(s));
	SL_TRY(record_trace(s));
	SL_TRY(sl_session_join(s));
	SL_TRY(sl_machine_start(&s->machine, &s->config));
	if (!s->config.infer_only)
		SL_TRY(sl_machine_watch(
			&s->machine, &s->config, &s->instances[SL_TRAIN]));
	for (uint32_t i = 0; i < s->machine.n_tiers; i++)
		if (s->machine.tiers[i]->warning != NULL)
			sl_session_note(s, "%s", s->machine.tiers[i]->warning);
	SL_TRY(sl_machine_adopt(&s->machine, &s->instances[first]));
	if (s->config.resume_path != NULL)
		SL_TRY(sl_session_resume(s, s->config.resume_path));
	else
		SL_TRY(sl_session_init_state(s));
	return s->host != NULL ? s->host->ready(s->host->gate.ctx) : SL_OK;
}

void sl_session_close(struct sl_session *s)
{
	if (s == NULL)
		return;
	sl_machine_stop(&s->machine);
	sl_shared_close(s->shared);
	for (int id = 0; id < SL_INSTANCE_COUNT; id++)
		sl_instance_finish(&s->instances[id]);
	sl_machine_finish(&s->machine);
	sl_graph_destroy(s->train_template);
	sl_graph_destroy(s->eval_template);
	sl_prefetch_destroy(s->prefetch);
	sl_data_close(s->data);
	sl_free(s->io.labels);
	sl_free(s->io.logits);
	sl_free(s->iter_ms);
	sl_free(s->predicted_ms);
	sl_free(s);
}

uint64_t sl_session_param_count(const struct sl_session *s)
{
	return sl_graph_param_count(
		s->train_template != NULL ? s->train_template : s->eval_template);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: every persistent value and the run's place, whole or not at all. */
#include "model/checkpoint.h"

#include "base/alloc.h"
#include "session/optimizer.h"
#include "session/state.h"

/* What this run's checkpoints hold; lists live until finish. */
struct description {
	struct sl_checkpoint_new what;
	struct sl_checkpoint_info info;
	struct sl_st_decl *tensors;
	struct sl_checkpoint_slice *slices;
	char spec[SL_MODEL_SPEC_TEXT];
};

static const struct sl_program *program_of(const struct sl_session *s)
{
	return s->machine.adopted->program;
}

static void describe_run(const struct sl_session *s, struct description *d)
{
	int64_t per_epoch = s->config.infer_only ? 1 : sl_session_epoch_steps(s);

	d->info = (struct sl_checkpoint_info){
		.model = sl_model_print(&s->model, d->spec),
		.optimizer = s->config.optim != NULL ? s->config.optim : "adamw",
		.data = s->config.data != NULL ? s->config.data : "synthetic",
		.step = (uint64_t)s->step,
		.epoch = (uint64_t)(s->step / per_epoch),
		.position = (uint64_t)(s->step % per_epoch * s->batch),
		.seed = s->config.seed,
	};
}

static void describe_slices(
	const struct sl_session *s, const struct sl_program *p, struct description *d)
{
	const struct sl_graph *g = s->machine.adopted->graph;
	struct sl_optimizer_slice slice;
	size_t n = 0;

	for (uint32_t v = p->n_params; v < p->n_persistent; v++) {
		if (!sl_optimizer_slice_of(g, p->storages[v].name, &slice))
			continue;
		d->slices[n++] = (struct sl_checkpoint_slice){
			.name = p->storages[v].name,
			.global = slice.global,
			.begin = slice.begin,
			.count = slice.count,
		};
	}
	d->what.n_slices = n;
}

static sl_status describe(const struct sl_session *s, struct description *d)
{
	const struct sl_program *p = program_of(s);

	*d = (struct description){0};
	d->tensors = sl_calloc(p->n_persistent, sizeof(*d->tensors));
	d->slices = sl_calloc(p->n_persistent, sizeof(*d->slices));
	if (d->tensors == NULL || d->slices == NULL) {
		sl_free(d->tensors);
		sl_free(d->slices);
		return SL_FAIL(
			SL_E_NOMEM, "no host memory to list %u tensors", p->n_persistent);
	}
	for (uint32_t v = 0; v < p->n_persistent; v++)
		d->tensors[v] = (struct sl_st_decl){
			.name = p->storages[v].name, .type = p->storages[v].type};
	describe_run(s, d);
	describe_slices(s, p, d);
	d->what.info = &d->info;
	d->what.tensors = d->tensors;
	d->what.n_tensors = p->n_persistent;
	d->what.slices = d->slices;
	return SL_OK;
}

static void description_finish(struct description *d)
{
	sl_free(d->tensors);
	sl_free(d->slices);
}

static sl_status write_piece(void *ctx, const void *data, size_t len)
{
	return sl_st_write(ctx, data, len);
}

sl_status sl_session_save(struct sl_session *s, const char *path)
{
	struct sl_st_writer *w = NULL;
	struct description d;
	sl_status st;

	SL_TRY(describe(s, &d));
	SL_TRY_OUT(sl_checkpoint_create(path, &d.what, &w));
	for (uint32_t v = 0; v < program_of(s)->n_persistent; v++)
		SL_TRY_OUT(sl_session_each_piece(s, v, write_piece, w));
	st = sl_st_commit(w);
	w = NULL;
out:
	sl_st_cancel(w);
	description_finish(&d);
	return st;
}

static sl_status load_value(
	struct sl_session *s, const struct sl_st_file *f, uint32_t v, void *piece)
{
	const struct sl_storage_info *info = &program_of(s)->storages[v];
	const struct sl_st_tensor *t = sl_st_find(f, info->name);

	if (t == NULL)
		return SL_FAIL(SL_E_FORMAT, "%s has no tensor %s", f->path, info->name);
	for (uint64_t at = 0; at < info->used_bytes; at += SL_PIECE_BYTES) {
		uint64_t left = info->used_bytes - at;
		size_t len = left < SL_PIECE_BYTES ? (size_t)left : SL_PIECE_BYTES;

		SL_TRY(sl_st_read(f, t, at, piece, len));
		SL_TRY(sl_engine_write(s->machine.engine, v, at, piece, len));
	}
	return SL_OK;
}

static sl_status load_values(struct sl_session *s, const struct sl_st_file *f)
{
	void *piece = sl_alloc(SL_PIECE_BYTES);
	sl_status st = SL_OK;

	if (piece == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a piece of state");
	for (uint32_t v = 0; v < program_of(s)->n_persistent && st == SL_OK; v++)
		st = load_value(s, f, v, piece);
	sl_free(piece);
	return st;
}

/* The place in the data follows from the step; with another batch it is another place. */
static void note_place(const struct sl_session *s, const char *path,
	const struct sl_checkpoint_info *info)
{
	uint64_t per_epoch = (uint64_t)sl_session_epoch_steps(s);
	uint64_t position = info->step % per_epoch * (uint64_t)s->batch;

	if (info->epoch != info->step / per_epoch || info->position != position)
		sl_session_note(s,
			"%s was made with another --batch or with other data; the run "
			"goes on with other samples than it would have",
			path);
}

sl_status sl_session_resume(struct sl_session *s, const char *path)
{
	struct sl_st_file f = {0};
	struct sl_checkpoint_info info;
	struct description d;
	sl_status st;

	SL_TRY(describe(s, &d));
	SL_TRY_OUT(sl_checkpoint_open(path, &f, &info));
	SL_TRY_OUT(sl_checkpoint_match(&f, &d.what, s->config.infer_only));
	if (info.seed != s->config.seed && !s->config.infer_only)
		sl_session_note(s,
			"%s was made with --seed %llu; going on with that seed", path,
			(unsigned long long)info.seed);
	if (!s->config.infer_only)
		note_place(s, path, &info);
	SL_TRY_OUT(load_values(s, &f));
	s->config.seed = info.seed;
	s->step = (int64_t)info.step;
out:
	sl_st_close(&f);
	description_finish(&d);
	return st;
}

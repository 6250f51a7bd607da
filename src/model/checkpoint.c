/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: safetensors files with the metadata that a run needs to continue bit by
 * bit. */
#include "model/checkpoint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define KEY_VERSION "sluice.version"
#define KEY_MODEL "sluice.model"
#define KEY_OPTIMIZER "sluice.optimizer"
#define KEY_DATA "sluice.data"
#define KEY_STEP "sluice.step"
#define KEY_EPOCH "sluice.epoch"
#define KEY_POSITION "sluice.position"
#define KEY_SEED "sluice.seed"
#define KEY_SLICE "slice."
#define INFO_KEYS 8
#define TEXT_MAX 1024
#define COUNT_MAX ((uint64_t)1 << 62)

static sl_status print_slice(const struct sl_checkpoint_slice *s, struct sl_buf *out)
{
	char shape[SL_SHAPE_TEXT];

	sl_buf_clear(out);
	return sl_buf_printf(out, "%s %lld:%lld", sl_shape_print(&s->global, shape),
		(long long)s->begin, (long long)(s->begin + s->count));
}

/* Metadata under construction; texts live in the arena. */
struct table {
	struct sl_st_meta *meta;
	size_t n;
	struct sl_arena arena;
	struct sl_buf text;
};

static sl_status add(
	struct table *t, const char *prefix, const char *key, const char *value)
{
	struct sl_buf name = SL_BUF_MAX(TEXT_MAX);
	sl_status st = sl_buf_printf(&name, "%s%s", prefix, key);

	if (st == SL_OK) {
		t->meta[t->n].key = sl_arena_strdup(&t->arena, name.data);
		t->meta[t->n].value = sl_arena_strdup(&t->arena, value ? value : "");
		if (!t->meta[t->n].key || !t->meta[t->n].value)
			st = SL_FAIL(
				SL_E_NOMEM, "no host memory for a checkpoint's metadata");
		t->n++;
	}
	sl_buf_finish(&name);
	return st;
}

static sl_status add_number(struct table *t, const char *key, uint64_t value)
{
	sl_buf_clear(&t->text);
	SL_TRY(sl_buf_printf(&t->text, "%llu", (unsigned long long)value));
	return add(t, "", key, t->text.data);
}

static sl_status fill(struct table *t, const struct sl_checkpoint_new *what)
{
	const struct sl_checkpoint_info *info = what->info;

	SL_TRY(add_number(t, KEY_VERSION, SL_CHECKPOINT_VERSION));
	SL_TRY(add(t, "", KEY_MODEL, info->model));
	SL_TRY(add(t, "", KEY_OPTIMIZER, info->optimizer));
	SL_TRY(add(t, "", KEY_DATA, info->data));
	SL_TRY(add_number(t, KEY_STEP, info->step));
	SL_TRY(add_number(t, KEY_EPOCH, info->epoch));
	SL_TRY(add_number(t, KEY_POSITION, info->position));
	SL_TRY(add_number(t, KEY_SEED, info->seed));
	for (size_t i = 0; i < what->n_slices; i++) {
		SL_TRY(print_slice(&what->slices[i], &t->text));
		SL_TRY(add(t, KEY_SLICE, what->slices[i].name, t->text.data));
	}
	return SL_OK;
}

sl_status sl_checkpoint_create(
	const char *path, const struct sl_checkpoint_new *what, struct sl_st_writer **out)
{
	sl_status st = SL_OK;
	struct table t = {.text = SL_BUF_MAX(TEXT_MAX)};

	t.meta = sl_calloc(INFO_KEYS + what->n_slices, sizeof(*t.meta));
	if (!t.meta)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to write it", path);
	SL_TRY_OUT(fill(&t, what));
	SL_TRY_OUT(sl_st_create(path, what->tensors, what->n_tensors, t.meta, t.n, out));
out:
	sl_free(t.meta);
	sl_buf_finish(&t.text);
	sl_arena_finish(&t.arena);
	return st;
}

static sl_status need_text(const struct sl_st_file *f, const char *key, const char **out)
{
	*out = sl_st_meta(f, key);
	if (!*out)
		return SL_FAIL(SL_E_FORMAT,
			"%s: the metadata lacks %s; is it a checkpoint?", f->path, key);
	return SL_OK;
}

static sl_status need_number(const struct sl_st_file *f, const char *key, uint64_t *out)
{
	const char *text = NULL;

	SL_TRY(need_text(f, key, &text));
	if (sl_u64_parse(text, out) != SL_OK)
		return SL_FAIL(SL_E_FORMAT, "%s: %s is '%.32s', expected a number",
			f->path, key, text);
	return SL_OK;
}

/* A number that is counted on from. */
static sl_status need_count(const struct sl_st_file *f, const char *key, uint64_t *out)
{
	SL_TRY(need_number(f, key, out));
	if (*out > COUNT_MAX)
		return SL_FAIL(SL_E_FORMAT,
			"%s: %s is %llu, at most %llu is possible; the file is damaged",
			f->path, key, (unsigned long long)*out,
			(unsigned long long)COUNT_MAX);
	return SL_OK;
}

static sl_status check_version(const struct sl_st_file *f)
{
	uint64_t version = 0;

	if (!sl_st_meta(f, KEY_VERSION) || !sl_st_meta(f, SL_ST_META_HEADER_CRC) ||
		!f->has_crc)
		return SL_FAIL(SL_E_FORMAT,
			"%s: no checkpoint (the metadata has no %s or no checksums); "
			"--save writes "
			"them",
			f->path, KEY_VERSION);
	SL_TRY(need_number(f, KEY_VERSION, &version));
	if (version < 1 || version > SL_CHECKPOINT_VERSION)
		return SL_FAIL(SL_E_FORMAT,
			"%s: checkpoint version %llu, this program reads 1 to %d; use a "
			"newer one",
			f->path, (unsigned long long)version, SL_CHECKPOINT_VERSION);
	return SL_OK;
}

sl_status sl_checkpoint_open(
	const char *path, struct sl_st_file *file, struct sl_checkpoint_info *info)
{
	sl_status st = SL_OK;
	struct sl_checkpoint_info i = {0};

	SL_TRY(sl_st_open(path, file));
	SL_TRY_OUT(check_version(file));
	SL_TRY_OUT(need_text(file, KEY_MODEL, &i.model));
	SL_TRY_OUT(need_text(file, KEY_OPTIMIZER, &i.optimizer));
	SL_TRY_OUT(need_text(file, KEY_DATA, &i.data));
	SL_TRY_OUT(need_count(file, KEY_STEP, &i.step));
	SL_TRY_OUT(need_count(file, KEY_EPOCH, &i.epoch));
	SL_TRY_OUT(need_count(file, KEY_POSITION, &i.position));
	SL_TRY_OUT(need_number(file, KEY_SEED, &i.seed));
	SL_TRY_OUT(sl_st_verify(file));
	*info = i;
	return SL_OK;
out:
	sl_st_close(file);
	return st;
}

static sl_status match_tensor(const struct sl_st_file *f, const struct sl_st_decl *want)
{
	const struct sl_st_tensor *have = sl_st_find(f, want->name);
	char a[SL_SHAPE_TEXT];
	char b[SL_SHAPE_TEXT];

	if (!have)
		return SL_FAIL(SL_E_FORMAT,
			"%s: tensor '%s' is missing; is it of another model?", f->path,
			want->name);
	if (have->dtype != want->type.dtype ||
		!sl_shape_equal(&have->shape, &want->type.shape))
		return SL_FAIL(SL_E_FORMAT,
			"%s: tensor '%s' is %s %s, this model has %s %s; give the "
			"model's options as "
			"they were",
			f->path, want->name, have->dtype_name,
			sl_shape_print(&have->shape, a), sl_dtype_name(want->type.dtype),
			sl_shape_print(&want->type.shape, b));
	return SL_OK;
}

static sl_status match_slice(
	const struct sl_st_file *f, const struct sl_checkpoint_slice *want)
{
	struct sl_buf key = SL_BUF_MAX(TEXT_MAX);
	struct sl_buf text = SL_BUF_MAX(TEXT_MAX);
	sl_status st = sl_buf_printf(&key, KEY_SLICE "%s", want->name);

	if (st != SL_OK)
		goto out;
	SL_TRY_OUT(print_slice(want, &text));
	const char *have = sl_st_meta(f, key.data);
	if (!have || strcmp(have, text.data) != 0)
		st = SL_FAIL(SL_E_FORMAT,
			"%s: state '%s' is the slice %.64s, expected %s", f->path,
			want->name, have ? have : "of nothing", text.data);
out:
	sl_buf_finish(&key);
	sl_buf_finish(&text);
	return st;
}

/* All wanted tensors are there; if the file has more, names the first. */
static sl_status match_count(
	const struct sl_st_file *f, const struct sl_checkpoint_new *what)
{
	sl_status st = SL_OK;
	struct sl_map wanted = {0};

	for (size_t i = 0; i < what->n_tensors; i++)
		SL_TRY_OUT(sl_map_add(&wanted, what->tensors[i].name, 0));
	for (size_t i = 0; i < f->n_tensors; i++)
		if (!sl_map_find(&wanted, f->tensors[i].name, NULL)) {
			st = SL_FAIL(SL_E_FORMAT,
				"%s: tensor '%s' has no place in this model; is it of "
				"another one?",
				f->path, f->tensors[i].name);
			goto out;
		}
out:
	sl_map_finish(&wanted);
	return st;
}

sl_status sl_checkpoint_match(const struct sl_st_file *file,
	const struct sl_checkpoint_new *what, bool weights_only)
{
	const char *optimizer = sl_st_meta(file, KEY_OPTIMIZER);

	if (!weights_only && optimizer && strcmp(optimizer, what->info->optimizer) != 0)
		return SL_FAIL(SL_E_FORMAT,
			"%s: written with the optimizer %.32s, this run has %s; use "
			"--optim %.32s",
			file->path, optimizer, what->info->optimizer, optimizer);
	for (size_t i = 0; i < what->n_tensors; i++)
		SL_TRY(match_tensor(file, &what->tensors[i]));
	for (size_t i = 0; i < what->n_slices; i++)
		SL_TRY(match_slice(file, &what->slices[i]));
	return weights_only ? SL_OK : match_count(file, what);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets as a whole: the table of sources, the order of an epoch, batches.
 */
#include "sluice/data.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "base/units.h"
#include "data/augment.h"
#include "data/mask.h"
#include "data/shuffle.h"
#include "data/source.h"

#define SCRATCH_DEFAULT "/var/tmp"

static const struct sl_data_source *const sources[] = {
#define SL_DATA_SOURCE(name) &sl_data_source_##name,
#include "data/sources.def"
#undef SL_DATA_SOURCE
};

const char *sl_split_name(enum sl_split split)
{
	static const char *const names[SL_SPLIT_COUNT] = {"train", "valid", "test"};

	return (unsigned)split < SL_SPLIT_COUNT ? names[split] : "no";
}

const char *sl_data_kind_at(size_t i, const char **help)
{
	if (i >= SL_COUNT(sources))
		return NULL;
	if (help)
		*help = sources[i]->help;
	return sources[i]->name;
}

static const struct sl_data_source *find_source(const char *spec, const char **arg)
{
	for (size_t i = 0; i < SL_COUNT(sources); i++) {
		size_t len = strlen(sources[i]->name);
		if (strncmp(spec, sources[i]->name, len) != 0 || spec[len] != ':')
			continue;
		*arg = spec + len + 1;
		return sources[i];
	}
	return NULL;
}

sl_status sl_data_open(
	const char *spec, const struct sl_data_opts *opts, struct sl_data **out)
{
	static const struct sl_data_opts defaults = {0};
	const char *arg = NULL;
	const struct sl_data_source *source = find_source(spec, &arg);

	if (!source || !*arg)
		return SL_FAIL(SL_E_USAGE,
			"data '%s': expected idx:DIR, images:DIR, text:FILE, csv:FILE, "
			"npy:FILE or "
			"synthetic:SHAPE, for instance "
			"idx:/usr/share/datasets/fashion-mnist or "
			"synthetic:3x64x64",
			spec);
	struct sl_data *d = sl_calloc(1, sizeof(*d));
	if (!d)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open %s", spec);
	d->source = source;
	sl_status st = source->open(d, arg, opts ? opts : &defaults);
	if (st != SL_OK) {
		sl_data_close(d);
		return st;
	}
	d->info.labels = d->info.tokens ? sl_shape_count(&d->info.sample) : 1;
	*out = d;
	return SL_OK;
}

void sl_data_mask(struct sl_data *d, int64_t token)
{
	SL_ASSERT(d->info.tokens);
	d->masked = true;
	d->mask = (int32_t)token;
	d->info.labels = sl_mask_count(sl_shape_count(&d->info.sample));
}

void sl_data_close(struct sl_data *d)
{
	if (!d)
		return;
	d->source->close(d);
	sl_free(d->row);
	sl_free(d);
}

const struct sl_data_info *sl_data_info(const struct sl_data *d)
{
	return &d->info;
}

enum sl_split sl_data_eval_split(const struct sl_data *d)
{
	if (d->info.count[SL_SPLIT_VALID] > 0)
		return SL_SPLIT_VALID;
	return d->info.count[SL_SPLIT_TEST] > 0 ? SL_SPLIT_TEST : SL_SPLIT_COUNT;
}

sl_status sl_data_set_sample(
	struct sl_data *d, const char *what, const struct sl_shape *shape)
{
	char text[SL_SHAPE_TEXT];
	int64_t count = 0;

	sl_shape_print(shape, text);
	if (sl_shape_check(shape, &count) != SL_OK ||
		(uint64_t)count > SL_SAMPLE_MAX_BYTES / sizeof(float))
		return SL_FAIL(SL_E_LIMIT,
			"%s: samples of shape %s; one sample may take %llu bytes as f32",
			what, text, (unsigned long long)SL_SAMPLE_MAX_BYTES);
	if (count == 0)
		return SL_FAIL(
			SL_E_FORMAT, "%s: samples of shape %s hold nothing", what, text);
	d->info.sample = *shape;
	return SL_OK;
}

sl_status sl_data_split(
	struct sl_data *d, int64_t total, const struct sl_data_opts *o, double dflt)
{
	double share = o->valid == 0.0 ? dflt : o->valid;

	if (share < 0)
		share = 0;
	if (!(share < 1))
		return SL_FAIL(SL_E_USAGE,
			"a validation share of %g; expected a number in [0, 1), such as "
			"0.1",
			share);
	int64_t valid = (int64_t)((double)total * share);
	d->info.count[SL_SPLIT_VALID] = valid;
	d->info.count[SL_SPLIT_TRAIN] = total - valid;
	return SL_OK;
}

void sl_data_set_classes(struct sl_data *d, const struct sl_data_opts *o, int64_t largest)
{
	d->info.classes = o->classes > 0 ? o->classes : largest + 1;
}

sl_status sl_data_scratch(const struct sl_data_opts *o, int *out_fd)
{
	const char *folder = o->scratch ? o->scratch : SCRATCH_DEFAULT;
	bool ram = false;
	sl_status st;

	if (o->refuse_ram)
		SL_TRY(sl_fs_is_ram(folder, &ram));
	if (ram)
		return SL_FAIL(SL_E_USAGE,
			"%s: scratch files of data sets would lie in RAM, outside the "
			"budget; name a folder on a disk with --disk DIR or SLUICE_DISK",
			folder);
	st = sl_fs_scratch(folder, out_fd);
	return st == SL_OK
		       ? st
		       : sl_fail_prefix(st, "scratch file of the data set (--disk DIR or "
					    "SLUICE_DISK names another folder)");
}

static bool augments(const struct sl_data_request *r)
{
	return r->augment != 0 && r->split == SL_SPLIT_TRAIN && !r->as_stored;
}

static sl_status check_request(struct sl_data *d, const struct sl_data_request *r)
{
	char text[SL_SHAPE_TEXT];

	if ((unsigned)r->split >= SL_SPLIT_COUNT || r->first < 0 || r->count < 0 ||
		r->count > d->info.count[r->split] ||
		r->first > d->info.count[r->split] - r->count)
		return SL_FAIL(SL_E_INVALID,
			"%lld samples from number %lld of the %s split, which has %lld",
			(long long)r->count, (long long)r->first, sl_split_name(r->split),
			(unsigned)r->split < SL_SPLIT_COUNT
				? (long long)d->info.count[r->split]
				: 0);
	if (!augments(r))
		return SL_OK;
	if (d->info.tokens || d->info.sample.rank != 3)
		return SL_FAIL(SL_E_USAGE,
			"flip and crop need images [C, H, W], samples here are %s; leave "
			"--augment "
			"out",
			sl_shape_print(&d->info.sample, text));
	size_t bytes = (size_t)sl_shape_count(&d->info.sample) * sizeof(float);
	if (!d->row)
		d->row = sl_alloc(bytes);
	if (!d->row)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for a sample of %zu bytes", bytes);
	return SL_OK;
}

static sl_status read_one(struct sl_data *d, const struct sl_data_request *r,
	int64_t position, void *x, int64_t *y)
{
	struct sl_data_pick pick = {.split = r->split,
		.index = position,
		.seed = r->seed,
		.epoch = r->epoch,
		.as_stored = r->as_stored};
	struct sl_augment_draw draw;

	if (r->split == SL_SPLIT_TRAIN && !r->as_stored)
		pick.index = sl_shuffle_at(
			r->seed, r->epoch, d->info.count[SL_SPLIT_TRAIN], position);
	if (!augments(r)) {
		SL_TRY(d->source->read(d, &pick, x, y));
		if (d->masked)
			sl_mask_apply(r, position, d->mask,
				sl_shape_count(&d->info.sample), x, y);
		return SL_OK;
	}
	SL_TRY(d->source->read(d, &pick, d->row, y));
	sl_augment_draw(r, position, &d->info.sample, &draw);
	sl_augment_apply(&draw, &d->info.sample, d->pad_value, d->row, x);
	return SL_OK;
}

sl_status sl_data_batch(
	struct sl_data *d, const struct sl_data_request *r, void *x, int64_t *y)
{
	/* f32 and i32 alike. */
	size_t stride = (size_t)sl_shape_count(&d->info.sample) * sizeof(float);
	int64_t labels = d->info.tokens ? sl_shape_count(&d->info.sample) : 1;

	SL_TRY(check_request(d, r));
	for (int64_t i = 0; i < r->count; i++)
		SL_TRY(read_one(d, r, r->first + i, (char *)x + (size_t)i * stride,
			y + i * labels));
	return SL_OK;
}

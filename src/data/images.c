/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images:DIR: PNG and JPEG files, one sub-folder of DIR a label. Each file is read and
 * decoded when its sample is asked for, by the thread that reads ahead.
 *
 * DIR,norm=NAME behind it sets what bytes become. The files are dealt out by a fixed
 * permutation, so that what is held out for validation is of all labels.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "data/image.h"
#include "data/image_list.h"
#include "data/shuffle.h"
#include "data/source.h"

#define OPTION ",norm="
#define DEFAULT_SIDE 224

static const struct norm {
	const char *name;
	struct sl_image_norm colour, grey;
} norms[] = {
	/* Mean and deviation over ImageNet; of grey: of its mixture. */
	{"imagenet", {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
		{{0.459f}, {0.226f}}},
	{"half", {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}}, {{0.5f}, {0.5f}}},
	{"none", {{0, 0, 0}, {1, 1, 1}}, {{0}, {1}}},
};

struct images {
	struct sl_image_list list;
	struct sl_image_norm norm;
	struct sl_buf file;
	struct sl_image image;
	float *row;
	size_t row_cap; /* floats */
};

static sl_status set_norm(struct images *s, const char *name, bool grey)
{
	for (size_t i = 0; i < SL_COUNT(norms); i++)
		if (strcmp(norms[i].name, name) == 0) {
			s->norm = grey ? norms[i].grey : norms[i].colour;
			return SL_OK;
		}
	return SL_FAIL(SL_E_USAGE,
		"images:DIR" OPTION "%.40s: expected imagenet, half or none", name);
}

/* DIR without the option, which sets the norm. */
static sl_status parse(struct images *s, const char *arg, bool grey, struct sl_buf *dir)
{
	const char *option = NULL;

	for (const char *p = arg; (p = strstr(p, OPTION)) != NULL; p++)
		option = p;
	size_t len = option ? (size_t)(option - arg) : strlen(arg);
	SL_TRY(set_norm(s, option ? option + strlen(OPTION) : norms[0].name, grey));
	return sl_buf_append(dir, arg, len);
}

static sl_status check_labels(
	const struct images *s, const char *dir, const struct sl_data_opts *o)
{
	if (o->classes <= 0 || s->list.labels <= o->classes)
		return SL_OK;
	return SL_FAIL(SL_E_FORMAT,
		"%s: %lld sub-folders are %lld labels, the model has %lld; give the "
		"model "
		"more classes (classes=, an mlp the last of sizes=)",
		dir, (long long)s->list.labels, (long long)s->list.labels,
		(long long)o->classes);
}

static struct sl_shape sample_of(const struct sl_data_opts *o)
{
	if (o->image[0] < 1)
		return SL_SHAPE(3, DEFAULT_SIDE, DEFAULT_SIDE);
	return SL_SHAPE(o->image[0], o->image[1], o->image[2]);
}

static sl_status open_list(
	struct sl_data *d, const char *dir, const struct sl_data_opts *o)
{
	struct images *s = d->own;

	SL_TRY(sl_image_list_open(dir, o, &s->list));
	SL_TRY(check_labels(s, dir, o));
	sl_data_set_classes(d, o, s->list.labels - 1);
	return sl_data_split(d, s->list.count, o, 0);
}

static sl_status images_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct images *s = sl_calloc(1, sizeof(*s));
	struct sl_shape sample = sample_of(o);
	struct sl_buf dir = SL_BUF_INIT;

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open images:%s", arg);
	d->own = s;
	s->list.fd = -1;
	s->file = SL_BUF_MAX(SL_IMAGE_FILE_MAX);
	if (sample.dim[0] != 1 && sample.dim[0] != 3)
		return SL_FAIL(SL_E_USAGE,
			"images:%s: the model reads %lld channels; images have 3, or 1 "
			"when made grey (input=3xHxW or input=1xHxW)",
			arg, (long long)sample.dim[0]);
	SL_TRY(sl_data_set_sample(d, arg, &sample));
	sl_status st = parse(s, arg, sample.dim[0] == 1, &dir);
	if (st == SL_OK)
		st = open_list(d, sl_buf_text(&dir), o);
	sl_buf_finish(&dir);
	for (int64_t k = 0; k < sample.dim[0]; k++)
		d->pad_value -=
			s->norm.mean[k] / s->norm.deviation[k] / (float)sample.dim[0];
	return st;
}

static sl_status make_row(struct images *s)
{
	size_t floats = sl_image_row_floats(&s->image);

	if (floats <= s->row_cap)
		return SL_OK;
	sl_free(s->row);
	s->row = sl_alloc(floats * sizeof(*s->row));
	s->row_cap = s->row ? floats : 0;
	return s->row ? SL_OK : SL_FAIL(SL_E_NOMEM, "no host memory for a row of pixels");
}

static sl_status decode(struct images *s)
{
	SL_TRY(sl_image_decode(s->file.data, s->file.len, &s->image));
	return make_row(s);
}

static sl_status images_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	struct images *s = d->own;
	int64_t index = p->index;

	if (p->split == SL_SPLIT_VALID)
		index += d->info.count[SL_SPLIT_TRAIN];
	SL_TRY(sl_image_list_at(&s->list, sl_shuffle_at(0, 0, s->list.count, index), y));
	sl_buf_finish(&s->file);
	s->file = SL_BUF_MAX(SL_IMAGE_FILE_MAX);
	SL_TRY(sl_fs_read(s->list.path.data, SL_IMAGE_FILE_MAX, &s->file));
	sl_status st = decode(s);
	if (st != SL_OK)
		return sl_fail_prefix(st, "%s", s->list.path.data);
	sl_image_fit(&s->image, &d->info.sample, &s->norm, s->row, x);
	return SL_OK;
}

static void images_close(struct sl_data *d)
{
	struct images *s = d->own;

	if (!s)
		return;
	sl_image_list_finish(&s->list);
	sl_image_finish(&s->image);
	sl_buf_finish(&s->file);
	sl_free(s->row);
	sl_free(s);
}

const struct sl_data_source sl_data_source_images = {
	.name = "images",
	.help = "DIR: PNG and JPEG files in a sub-folder for each label, cropped and "
		"scaled to the model's input; DIR,norm=imagenet|half|none",
	.open = images_open,
	.read = images_read,
	.close = images_close,
};

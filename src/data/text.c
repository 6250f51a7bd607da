/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text:FILE: the bytes of a file as tokens of a vocabulary of 256, in windows of T + 1
 * bytes: x is the first T, y the last T. The last share of the file (a tenth unless told)
 * is for validation.
 *
 * Windows of an epoch do not overlap; where the text has two windows and more, their grid
 * is moved by a keyed phase in [0, T) each epoch, so that epochs cut the text at other
 * places; as stored they begin with the text.
 */
#include "base/alloc.h"
#include "base/fs.h"
#include "base/rng.h"
#include "data/source.h"

#define VOCAB 256
#define CONTEXT_DEFAULT 128
#define CONTEXT_MAX ((int64_t)1 << 20)
#define VALID_DEFAULT 0.1
#define STREAM_PHASE 0x70686173u /* "phas" */

struct text {
	char *path;
	int fd;
	int64_t length;
	int64_t train_length; /* validation begins here */
	int64_t context;
	bool phased;
	unsigned char *window; /* [context + 1] */
};

static sl_status set_counts(
	struct sl_data *d, struct text *t, const struct sl_data_opts *o)
{
	int64_t context = t->context;

	/* Splits the bytes first, then counts windows in each part. */
	SL_TRY(sl_data_split(d, t->length, o, VALID_DEFAULT));
	t->train_length = d->info.count[SL_SPLIT_TRAIN];
	int64_t valid = d->info.count[SL_SPLIT_VALID];
	t->phased = t->train_length >= 2 * context;
	d->info.count[SL_SPLIT_TRAIN] = t->phased ? (t->train_length - context) / context
						  : (t->train_length - 1) / context;
	d->info.count[SL_SPLIT_VALID] = valid > 0 ? (valid - 1) / context : 0;
	if (d->info.count[SL_SPLIT_TRAIN] < 1)
		return SL_FAIL(SL_E_FORMAT,
			"%s: %lld bytes to train on are no window of context + 1 = %lld "
			"bytes; use a "
			"longer text or a smaller context",
			t->path, (long long)t->train_length, (long long)context + 1);
	return SL_OK;
}

static sl_status text_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct text *t = sl_calloc(1, sizeof(*t));
	uint64_t size = 0;

	if (!t)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open text:%s", arg);
	d->own = t;
	t->fd = -1;
	t->context = o->context > 0 ? o->context : CONTEXT_DEFAULT;
	if (t->context > CONTEXT_MAX)
		return SL_FAIL(SL_E_USAGE, "a context of %lld tokens; at most %lld",
			(long long)t->context, (long long)CONTEXT_MAX);
	if (o->vocab > 0 && o->vocab < VOCAB)
		return SL_FAIL(SL_E_USAGE,
			"text:%s: bytes need a vocabulary of %d, the model has %lld; set "
			"vocab=%d",
			arg, VOCAB, (long long)o->vocab, VOCAB);
	t->path = sl_strdup(arg);
	t->window = sl_alloc((size_t)t->context + 1);
	if (!t->path || !t->window)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open text:%s", arg);
	SL_TRY(sl_fs_open(arg, &t->fd, &size));
	t->length = (int64_t)size;
	d->info.tokens = true;
	d->info.classes = VOCAB;
	SL_TRY(sl_data_set_sample(d, arg, &SL_SHAPE(t->context)));
	return set_counts(d, t, o);
}

static int64_t phase(const struct text *t, const struct sl_data_pick *p)
{
	struct sl_rng_key key = {
		.seed = p->seed, .stream = STREAM_PHASE, .step = (uint32_t)p->epoch};

	return (int64_t)(sl_rng_u32(&key, p->epoch >> 32) % (uint64_t)t->context);
}

static sl_status text_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	const struct text *t = d->own;
	int64_t at = p->index * t->context;
	int32_t *token = x;

	if (p->split == SL_SPLIT_VALID)
		at += t->train_length;
	else if (t->phased && !p->as_stored)
		at += phase(t, p);
	SL_TRY(sl_fs_pread(
		t->fd, t->path, t->window, (size_t)t->context + 1, (uint64_t)at));
	for (int64_t i = 0; i < t->context; i++) {
		token[i] = t->window[i];
		y[i] = t->window[i + 1];
	}
	return SL_OK;
}

static void text_close(struct sl_data *d)
{
	struct text *t = d->own;

	if (!t)
		return;
	sl_fs_close(t->fd);
	sl_free(t->window);
	sl_free(t->path);
	sl_free(t);
}

const struct sl_data_source sl_data_source_text = {
	.name = "text",
	.help = "FILE: bytes as tokens, vocabulary 256",
	.open = text_open,
	.read = text_read,
	.close = text_close,
};

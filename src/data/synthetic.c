/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic:SHAPE: sample i's features are standard normal and its label uniform, keyed
 * by (opts.seed, i, element), so the set is the same in each epoch and takes no space; of
 * a small one samples are kept once made, as those of a small file are in memory.
 * For token models (opts.vocab > 0) SHAPE is T and tokens and labels are uniform over the
 * vocabulary.
 * SHAPE@500us or SHAPE@3ms: a sample takes so long to come, as from a slow source.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "data/source.h"

#define SAMPLES_DEFAULT 1024
#define CLASSES_DEFAULT 10
#define STREAM_X 0x73796e78u /* "synx" */
#define STREAM_Y 0x73796e79u /* "syny" */
#define KEPT_MOST ((uint64_t)4 << 20) /* bytes of features */
#define WAIT_MOST ((sl_ns)60 * 1000000000)
#define TWO_PI 6.28318531f

struct synthetic {
	uint64_t seed;
	uint64_t blocks; /* random blocks of four a sample */
	sl_ns wait_ns; /* before a sample comes */
	/* NULL: not kept. Features of all samples; those of sample i count if made[i]. */
	float *kept;
	bool *made;
};

/* "@500us" or "@3ms", at most a minute. */
static bool parse_wait(const char *p, sl_ns *out)
{
	sl_ns n = 0;
	int digits = 0;

	for (p++; *p >= '0' && *p <= '9' && digits < 8; p++, digits++)
		n = n * 10 + (*p - '0');
	if (strcmp(p, "us") == 0)
		*out = n * 1000;
	else if (strcmp(p, "ms") == 0)
		*out = n * 1000000;
	else
		return false;
	return digits > 0 && *out <= WAIT_MOST;
}

/* "3x64x64", and perhaps a time behind it. */
static sl_status parse_shape(const char *arg, struct sl_shape *out, sl_ns *wait_ns)
{
	const char *p = arg;
	struct sl_shape shape = {0};

	for (;;) {
		int64_t dim = 0;
		int digits = 0;
		for (; *p >= '0' && *p <= '9' && digits < 10; p++, digits++)
			dim = dim * 10 + (*p - '0');
		if (!digits || dim == 0 || shape.rank == SL_MAX_RANK - 1)
			goto bad;
		shape.dim[shape.rank++] = dim;
		if (!*p || (*p == '@' && parse_wait(p, wait_ns)))
			break;
		if (*p++ != 'x')
			goto bad;
	}
	*out = shape;
	return SL_OK;
bad:
	return SL_FAIL(SL_E_USAGE,
		"synthetic:%.80s: expected the shape of a sample, such as "
		"synthetic:3x64x64 or "
		"synthetic:784 (at most %d sizes), or synthetic:128 tokens for a token "
		"model; @500us or @3ms behind it delays each sample",
		arg, SL_MAX_RANK - 1);
}

/* What cannot be had is not kept. */
static void keep(struct synthetic *s, uint64_t samples, uint64_t count)
{
	if (samples > KEPT_MOST / sizeof(float) / (count > 0 ? count : 1))
		return;
	s->kept = sl_alloc((size_t)(samples * count) * sizeof(float) + 1);
	s->made = s->kept ? sl_calloc((size_t)samples, sizeof(bool)) : NULL;
	if (s->made == NULL) {
		sl_free(s->kept);
		s->kept = NULL;
	}
}

static sl_status synthetic_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct synthetic *s = sl_calloc(1, sizeof(*s));
	struct sl_shape shape;

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open synthetic:%s", arg);
	d->own = s;
	s->seed = o->seed;
	SL_TRY(parse_shape(arg, &shape, &s->wait_ns));
	d->info.tokens = o->vocab > 0;
	if (d->info.tokens && shape.rank != 1)
		return SL_FAIL(SL_E_USAGE,
			"synthetic:%s: a token model reads synthetic:T, one length, such "
			"as "
			"synthetic:128",
			arg);
	SL_TRY(sl_data_set_sample(d, arg, &shape));
	s->blocks = ((uint64_t)sl_shape_count(&shape) + 3) / 4;
	d->info.classes = o->classes > 0 ? o->classes : CLASSES_DEFAULT;
	if (d->info.tokens)
		d->info.classes = o->vocab;
	if (o->samples < 0 || o->samples >= (int64_t)1 << 40)
		return SL_FAIL(SL_E_USAGE, "%lld synthetic samples; expected 1 to 2^40",
			(long long)o->samples);
	int64_t samples = o->samples ? o->samples : SAMPLES_DEFAULT;
	if (!d->info.tokens)
		keep(s, (uint64_t)samples, (uint64_t)sl_shape_count(&shape));
	return sl_data_split(d, samples, o, 0);
}

/* Box-Muller on two pairs; the logarithm of zero must not come up. */
static void normal4(const uint32_t word[4], float out[4])
{
	for (int i = 0; i < 4; i += 2) {
		float u = ((float)(word[i] >> 8) + 1) * 0x1p-24f;
		float radius = sqrtf(-2 * logf(u));
		float angle = TWO_PI * sl_rng_unit(word[i + 1]);
		out[i] = radius * cosf(angle);
		out[i + 1] = radius * sinf(angle);
	}
}

static void fill_normal(const struct sl_rng_key *key, uint64_t block, float *x, int64_t n)
{
	for (int64_t at = 0; at < n; at += 4, block++) {
		uint32_t word[4];
		float value[4];
		sl_rng_block(key, block, word);
		normal4(word, value);
		for (int64_t i = 0; i < 4 && at + i < n; i++)
			x[at + i] = value[i];
	}
}

static void features(const struct synthetic *s, uint64_t index, float *x, int64_t n)
{
	struct sl_rng_key key = {.seed = s->seed, .stream = STREAM_X};
	float *kept = s->kept ? s->kept + index * (uint64_t)n : NULL;

	if (kept == NULL) {
		fill_normal(&key, index * s->blocks, x, n);
		return;
	}
	if (!s->made[index])
		fill_normal(&key, index * s->blocks, kept, n);
	s->made[index] = true;
	memcpy(x, kept, (size_t)n * sizeof(float));
}

static int64_t below(const struct sl_rng_key *key, uint64_t element, int64_t n)
{
	uint32_t word[4];

	/* 64 bits, so that the bias of the remainder is far below one in a million. */
	sl_rng_block(key, element, word);
	return (int64_t)(((uint64_t)word[0] << 32 | word[1]) % (uint64_t)n);
}

static sl_status synthetic_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	const struct synthetic *s = d->own;
	struct sl_rng_key ky = {.seed = s->seed, .stream = STREAM_Y};
	uint64_t index = (uint64_t)p->index;
	int64_t n = sl_shape_count(&d->info.sample);
	int32_t *token = x;

	if (s->wait_ns > 0)
		sl_clock_sleep(s->wait_ns);
	if (p->split == SL_SPLIT_VALID)
		index += (uint64_t)d->info.count[SL_SPLIT_TRAIN];
	if (!d->info.tokens) {
		features(s, index, x, n);
		*y = below(&ky, index, d->info.classes);
		return SL_OK;
	}
	/* One stream of T + 1 tokens, as in a text. */
	for (int64_t i = 0; i <= n; i++) {
		int64_t v = below(
			&ky, index * ((uint64_t)n + 1) + (uint64_t)i, d->info.classes);
		if (i < n)
			token[i] = (int32_t)v;
		if (i > 0)
			y[i - 1] = v;
	}
	return SL_OK;
}

static void synthetic_close(struct sl_data *d)
{
	struct synthetic *s = d->own;

	if (s != NULL) {
		sl_free(s->kept);
		sl_free(s->made);
	}
	sl_free(s);
}

const struct sl_data_source sl_data_source_synthetic = {
	.name = "synthetic",
	.help = "SHAPE: normal features (3x64x64), uniform labels; T for token models; "
		"SHAPE@500us: a sample takes so long to come",
	.open = synthetic_open,
	.read = synthetic_read,
	.close = synthetic_close,
};

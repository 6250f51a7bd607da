/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idx:DIR, the format of MNIST and Fashion-MNIST: a magic number 0 0 type rank,
 * big-endian u32 dimensions, then bytes. Plain files are read in place; .gz files are
 * gunzipped once into scratch files. Header sizes are believed only as far as the file
 * can hold them.
 *
 * Pixels become (v / 255 - mean) / deviation. For 28 x 28 images mean and deviation are
 * those of Fashion-MNIST's training set, 0.2860 and 0.3530; for other sizes 0 and 1.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/units.h"
#include "data/source.h"
#include "data/stream.h"

#define FASHION_SIDE 28
#define FASHION_MEAN 0.2860f
#define FASHION_DEVIATION 0.3530f
#define PATH_MAX_BYTES 4096
#define TYPE_U8 8
#define HEADER_BYTES(rank) (4 + 4 * (size_t)(rank))
/* Deflate never gains more than 1032 : 1. */
#define GZIP_BEST_RATIO 1040
#define HINT \
	"install one with `apt install dataset-fashion-mnist`, then use " \
	"idx:/usr/share/datasets/fashion-mnist"

struct idx_file {
	char path[PATH_MAX_BYTES];
	int fd;
	bool gz;
	uint64_t base; /* offset of the first element */
	uint64_t bytes;
	int64_t dim[3];
};

struct idx {
	/* [split is test] */
	struct idx_file images[2], labels[2];
	float scale, shift; /* value = v scale + shift */
};

static sl_status find_file(const char *dir, const char *name, struct idx_file *f)
{
	static const char *const suffix[] = {"", ".gz"};
	sl_status st = SL_OK;

	for (int i = 0; i < 2; i++) {
		int len = snprintf(
			f->path, sizeof(f->path), "%s/%s%s", dir, name, suffix[i]);
		if (len < 0 || (size_t)len >= sizeof(f->path))
			return SL_FAIL(
				SL_E_USAGE, "idx:%.64s...: the path is too long", dir);
		f->gz = i == 1;
		st = sl_fs_open(f->path, &f->fd, NULL);
		if (st != SL_E_NOT_FOUND)
			return st;
	}
	return SL_FAIL(SL_E_NOT_FOUND, "%s/%s: neither it nor %s.gz is there; " HINT, dir,
		name, name);
}

static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static sl_status read_header(struct idx_file *f, struct sl_stream *s, int rank)
{
	unsigned char head[HEADER_BYTES(3)];
	uint32_t magic = (uint32_t)TYPE_U8 << 8 | (uint32_t)rank;
	size_t got = 0;

	SL_TRY(sl_stream_read(s, head, HEADER_BYTES(rank), &got));
	if (got < HEADER_BYTES(rank))
		return SL_FAIL(SL_E_FORMAT,
			"%s: ends in its header: %zu bytes, expected at least %zu; fetch "
			"it again",
			f->path, got, HEADER_BYTES(rank));
	if (big_endian(head) != magic)
		return SL_FAIL(SL_E_FORMAT,
			"%s: magic number 0x%08x at byte 0, expected 0x%08x (bytes in %d "
			"dimensions); is it another kind of file?",
			f->path, big_endian(head), magic, rank);
	f->bytes = 1;
	for (int i = 0; i < rank; i++) {
		f->dim[i] = big_endian(head + HEADER_BYTES(i));
		if (!f->dim[i] || !sl_mul_u64(f->bytes, (uint64_t)f->dim[i], &f->bytes))
			return SL_FAIL(SL_E_FORMAT,
				"%s: dimension %d at byte %zu is %lld; the sizes make no "
				"set",
				f->path, i, HEADER_BYTES(i), (long long)f->dim[i]);
	}
	return SL_OK;
}

static sl_status fail_size(const struct idx_file *f, const char *found, uint64_t bytes)
{
	return SL_FAIL(SL_E_FORMAT,
		"%s: the header says %llu bytes of data, the file holds %s%llu; fetch it "
		"again",
		f->path, (unsigned long long)f->bytes, found, (unsigned long long)bytes);
}

static sl_status copy_to_spool(
	struct idx_file *f, struct sl_stream *s, struct sl_spool *spool)
{
	char piece[8192];
	uint64_t done = 0;
	size_t got = sizeof(piece);

	while (done < f->bytes && got == sizeof(piece)) {
		SL_TRY(sl_stream_read(s, piece, sizeof(piece), &got));
		done += got;
		if (done > f->bytes)
			return fail_size(f, "more: at least ", done);
		SL_TRY(sl_spool_put(spool, piece, got));
	}
	if (done < f->bytes)
		return fail_size(f, "", done);
	SL_TRY(sl_stream_read(s, piece, 1, &got));
	if (got)
		return fail_size(f, "more: at least ", done + 1);
	return sl_spool_flush(spool);
}

/* Replaces the descriptor of the .gz file by one of a scratch file with its data. */
static sl_status gunzip(
	struct idx_file *f, struct sl_stream *s, const struct sl_data_opts *o)
{
	sl_status st = SL_OK;
	struct sl_spool spool = {0};

	if (f->bytes / GZIP_BEST_RATIO > sl_stream_file_bytes(s))
		return fail_size(f, "gzip data of only ", sl_stream_file_bytes(s));
	sl_fs_close(f->fd);
	f->fd = -1;
	SL_TRY(sl_data_scratch(o, &f->fd));
	SL_TRY_OUT(sl_spool_init(&spool, f->fd));
	SL_TRY_OUT(copy_to_spool(f, s, &spool));
	f->base = 0;
out:
	sl_spool_finish(&spool);
	return st;
}

static sl_status open_file(const char *dir, const char *name, int rank,
	const struct sl_data_opts *o, struct idx_file *f)
{
	sl_status st = SL_OK;
	struct sl_stream *s = NULL;

	SL_TRY(find_file(dir, name, f));
	SL_TRY_OUT(sl_stream_open(f->path, f->gz, &s));
	SL_TRY_OUT(read_header(f, s, rank));
	f->base = HEADER_BYTES(rank);
	if (f->gz)
		SL_TRY_OUT(gunzip(f, s, o));
	else if (sl_stream_file_bytes(s) - f->base != f->bytes)
		st = fail_size(f, "", sl_stream_file_bytes(s) - f->base);
out:
	sl_stream_close(s);
	return st;
}

static sl_status check_labels(
	const struct idx_file *f, const struct sl_data_opts *o, int64_t *largest)
{
	unsigned char piece[8192];

	for (uint64_t at = 0; at < f->bytes; at += sizeof(piece)) {
		size_t len = f->bytes - at < sizeof(piece) ? (size_t)(f->bytes - at)
							   : sizeof(piece);
		SL_TRY(sl_fs_pread(f->fd, f->path, piece, len, f->base + at));
		for (size_t i = 0; i < len; i++) {
			if (o->classes > 0 && piece[i] >= o->classes)
				return SL_FAIL(SL_E_FORMAT,
					"%s: label %d of sample %llu, but the model has "
					"%lld classes; give it more (classes=, an mlp "
					"the last of sizes=)",
					f->path, piece[i], (unsigned long long)(at + i),
					(long long)o->classes);
			*largest = piece[i] > *largest ? piece[i] : *largest;
		}
	}
	return SL_OK;
}

static sl_status open_pair(struct idx *x, const char *dir, int test,
	const struct sl_data_opts *o, int64_t *largest)
{
	static const char *const image_name[] = {
		"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"};
	static const char *const label_name[] = {
		"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"};
	struct idx_file *images = &x->images[test];
	struct idx_file *labels = &x->labels[test];

	SL_TRY(open_file(dir, image_name[test], 3, o, images));
	SL_TRY(open_file(dir, label_name[test], 1, o, labels));
	if (images->dim[0] != labels->dim[0])
		return SL_FAIL(SL_E_FORMAT,
			"%s: %lld labels for the %lld images of %s; the files do not "
			"belong "
			"together",
			labels->path, (long long)labels->dim[0],
			(long long)images->dim[0], images->path);
	return check_labels(labels, o, largest);
}

static sl_status open_test(
	struct idx *x, const char *dir, const struct sl_data_opts *o, int64_t *largest)
{
	struct idx_file probe = {.fd = -1};
	sl_status st = find_file(dir, "t10k-images-idx3-ubyte", &probe);

	sl_fs_close(probe.fd);
	if (st == SL_E_NOT_FOUND)
		return SL_OK; /* a set without a test split */
	SL_TRY(st);
	SL_TRY(open_pair(x, dir, 1, o, largest));
	if (x->images[1].dim[1] != x->images[0].dim[1] ||
		x->images[1].dim[2] != x->images[0].dim[2])
		return SL_FAIL(SL_E_FORMAT,
			"%s: images of %lld x %lld, those of %s are %lld x %lld",
			x->images[1].path, (long long)x->images[1].dim[1],
			(long long)x->images[1].dim[2], x->images[0].path,
			(long long)x->images[0].dim[1], (long long)x->images[0].dim[2]);
	return SL_OK;
}

static sl_status idx_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct idx *x = sl_calloc(1, sizeof(*x));
	int64_t largest = -1;

	if (!x)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open idx:%s", arg);
	d->own = x;
	for (int i = 0; i < 2; i++)
		x->images[i].fd = x->labels[i].fd = -1;
	SL_TRY(open_pair(x, arg, 0, o, &largest));
	SL_TRY(open_test(x, arg, o, &largest));
	const int64_t *dim = x->images[0].dim;
	SL_TRY(sl_data_set_sample(d, x->images[0].path, &SL_SHAPE(1, dim[1], dim[2])));
	SL_TRY(sl_data_split(d, dim[0], o, 0));
	d->info.count[SL_SPLIT_TEST] = x->images[1].dim[0];
	sl_data_set_classes(d, o, largest);
	bool fashion = dim[1] == FASHION_SIDE && dim[2] == FASHION_SIDE;
	float deviation = fashion ? FASHION_DEVIATION : 1;
	x->scale = 1 / (255 * deviation);
	x->shift = fashion ? -FASHION_MEAN / deviation : 0;
	d->pad_value = x->shift;
	return SL_OK;
}

static sl_status idx_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	const struct idx *own = d->own;
	int test = p->split == SL_SPLIT_TEST;
	const struct idx_file *images = &own->images[test];
	const struct idx_file *labels = &own->labels[test];
	uint64_t index = (uint64_t)p->index;
	size_t n = (size_t)sl_shape_count(&d->info.sample);
	unsigned char *bytes = (unsigned char *)x + 3 * n;
	unsigned char label = 0;
	float *value = x;

	if (p->split == SL_SPLIT_VALID)
		index += (uint64_t)d->info.count[SL_SPLIT_TRAIN];
	SL_TRY(sl_fs_pread(labels->fd, labels->path, &label, 1, labels->base + index));
	/* The bytes lie in the last quarter of the floats: each is read before it is
	 * covered. */
	SL_TRY(sl_fs_pread(images->fd, images->path, bytes, n, images->base + index * n));
	for (size_t i = 0; i < n; i++) {
		float v = (float)bytes[i] * own->scale + own->shift;
		memcpy(value + i, &v, sizeof(v));
	}
	*y = label;
	return SL_OK;
}

static void idx_close(struct sl_data *d)
{
	struct idx *x = d->own;

	if (!x)
		return;
	for (int i = 0; i < 2; i++) {
		sl_fs_close(x->images[i].fd);
		sl_fs_close(x->labels[i].fd);
	}
	sl_free(x);
}

const struct sl_data_source sl_data_source_idx = {
	.name = "idx",
	.help = "DIR: MNIST layout, plain or .gz",
	.open = idx_open,
	.read = idx_read,
	.close = idx_close,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy:FILE: samples [N, ...] of f32, f64, u8 (divided by 255) or i64 in FILE, labels [N]
 * of u8, i32 or i64 beside it in FILE with -labels before .npy, or in a second file after
 * a comma.
 */
#include "data/npy.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "data/source.h"

#define PATH_LIMIT 4096
#define SUFFIX ".npy"
#define LABELS_AT_ONCE 4096

struct npy_file {
	struct sl_buf path;
	int fd;
	struct sl_npy npy;
};

struct npy {
	struct npy_file x, y;
	size_t sample_bytes;
	void *raw; /* one sample as stored */
};

static double load_f32(const void *p)
{
	float v;

	memcpy(&v, p, sizeof(v));
	return (double)v;
}

static double load_f64(const void *p)
{
	double v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static double load_u8(const void *p)
{
	return *(const unsigned char *)p / 255.0;
}

static double load_i32(const void *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static double load_i64(const void *p)
{
	int64_t v;

	memcpy(&v, p, sizeof(v));
	return (double)v;
}

static double (*const loads[SL_DTYPE_COUNT])(const void *p) = {
	[SL_F32] = load_f32,
	[SL_F64] = load_f64,
	[SL_U8] = load_u8,
	[SL_I32] = load_i32,
	[SL_I64] = load_i64,
};

static sl_status open_one(struct npy_file *f)
{
	uint64_t size = 0;

	SL_TRY(sl_fs_open(f->path.data, &f->fd, &size));
	return sl_npy_header(f->fd, f->path.data, size, &f->npy);
}

/* Writes both paths from "X.npy" or "X.npy,Y.npy". */
static sl_status set_paths(struct npy *n, const char *arg)
{
	const char *comma = strchr(arg, ',');
	size_t len = comma ? (size_t)(comma - arg) : strlen(arg);
	size_t tail = strlen(SUFFIX);

	n->x.path.max = n->y.path.max = PATH_LIMIT;
	SL_TRY(sl_buf_append(&n->x.path, arg, len));
	if (comma && len > 0 && comma[1])
		return sl_buf_puts(&n->y.path, comma + 1);
	if (comma || len < tail || strcmp(arg + len - tail, SUFFIX) != 0)
		return SL_FAIL(SL_E_USAGE,
			"npy:%.80s: expected X.npy with labels in X-labels.npy, or "
			"X.npy,Y.npy",
			arg);
	SL_TRY(sl_buf_append(&n->y.path, arg, len - tail));
	return sl_buf_puts(&n->y.path, "-labels" SUFFIX);
}

static sl_status open_labels(struct npy *n)
{
	sl_status st = open_one(&n->y);
	char text[SL_SHAPE_TEXT];

	if (st == SL_E_NOT_FOUND)
		return sl_fail_prefix(st, "labels of %s (or name them: npy:X.npy,Y.npy)",
			n->x.path.data);
	SL_TRY(st);
	if (sl_dtype_is_float(n->y.npy.dtype))
		return SL_FAIL(SL_E_FORMAT, "%s: labels of %s; expected u8, i32 or i64",
			n->y.path.data, sl_dtype_name(n->y.npy.dtype));
	if (n->y.npy.shape.rank != 1 || n->y.npy.shape.dim[0] != n->x.npy.shape.dim[0])
		return SL_FAIL(SL_E_FORMAT,
			"%s: labels of shape %s for %lld samples in %s", n->y.path.data,
			sl_shape_print(&n->y.npy.shape, text),
			(long long)n->x.npy.shape.dim[0], n->x.path.data);
	return SL_OK;
}

static int64_t load_label(const struct npy *n, const unsigned char *p)
{
	int64_t v = 0;

	/* Little-endian: a narrower label lies in the low bytes. */
	memcpy(&v, p, sl_dtype_bytes(n->y.npy.dtype));
	return n->y.npy.dtype == SL_I32 ? (int32_t)v : v;
}

static sl_status read_labels(
	const struct npy *n, int64_t index, int64_t count, unsigned char *out)
{
	size_t bytes = sl_dtype_bytes(n->y.npy.dtype);

	return sl_fs_pread(n->y.fd, n->y.path.data, out, (size_t)count * bytes,
		n->y.npy.base + (uint64_t)index * bytes);
}

static sl_status check_label(
	const struct npy *n, const struct sl_data_opts *o, int64_t index, int64_t v)
{
	if (v >= 0 && v <= INT32_MAX && (o->classes <= 0 || v < o->classes))
		return SL_OK;
	return SL_FAIL(SL_E_FORMAT,
		"%s: label %lld of sample %lld; expected 0 to %lld; give the model more "
		"classes (classes=, an mlp the last of sizes=)",
		n->y.path.data, (long long)v, (long long)index,
		o->classes > 0 ? (long long)o->classes - 1 : (long long)INT32_MAX);
}

static sl_status check_labels(
	struct npy *n, const struct sl_data_opts *o, int64_t *largest)
{
	unsigned char piece[8 * LABELS_AT_ONCE];
	size_t bytes = sl_dtype_bytes(n->y.npy.dtype);
	int64_t total = n->y.npy.shape.dim[0];

	for (int64_t first = 0; first < total; first += LABELS_AT_ONCE) {
		int64_t left = total - first;
		int64_t count = left < LABELS_AT_ONCE ? left : LABELS_AT_ONCE;

		SL_TRY(read_labels(n, first, count, piece));
		for (int64_t i = 0; i < count; i++) {
			int64_t v = load_label(n, piece + (size_t)i * bytes);

			SL_TRY(check_label(n, o, first + i, v));
			*largest = v > *largest ? v : *largest;
		}
	}
	return SL_OK;
}

static sl_status npy_open(
	struct sl_data *d, const char *arg, const struct sl_data_opts *o)
{
	struct npy *n = sl_calloc(1, sizeof(*n));
	struct sl_shape sample = {0};
	int64_t largest = -1;

	if (!n)
		return SL_FAIL(SL_E_NOMEM, "no host memory to open npy:%s", arg);
	d->own = n;
	n->x.fd = n->y.fd = -1;
	SL_TRY(set_paths(n, arg));
	SL_TRY(open_one(&n->x));
	const struct sl_shape *shape = &n->x.npy.shape;
	if (shape->rank < 2 || shape->dim[0] < 1)
		return SL_FAIL(SL_E_FORMAT,
			"%s: expected samples [N, ...] with N > 0, rank %d found",
			n->x.path.data, shape->rank);
	sample.rank = shape->rank - 1;
	memcpy(sample.dim, shape->dim + 1, (size_t)sample.rank * sizeof(sample.dim[0]));
	SL_TRY(sl_data_set_sample(d, n->x.path.data, &sample));
	SL_TRY(open_labels(n));
	SL_TRY(check_labels(n, o, &largest));
	sl_data_set_classes(d, o, largest);
	n->sample_bytes =
		(size_t)sl_shape_count(&sample) * sl_dtype_bytes(n->x.npy.dtype);
	n->raw = sl_alloc(n->sample_bytes);
	if (!n->raw)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a sample of %zu bytes",
			n->sample_bytes);
	return sl_data_split(d, shape->dim[0], o, 0);
}

static sl_status npy_read(
	struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y)
{
	struct npy *n = d->own;
	int64_t index = p->index;
	size_t width = sl_dtype_bytes(n->x.npy.dtype);
	unsigned char label[8];
	float *value = x;

	if (p->split == SL_SPLIT_VALID)
		index += d->info.count[SL_SPLIT_TRAIN];
	SL_TRY(sl_fs_pread(n->x.fd, n->x.path.data, n->raw, n->sample_bytes,
		n->x.npy.base + (uint64_t)index * n->sample_bytes));
	for (size_t i = 0; i < n->sample_bytes / width; i++) {
		value[i] = (float)loads[n->x.npy.dtype]((char *)n->raw + i * width);
		if (!isfinite(value[i]))
			return SL_FAIL(SL_E_FORMAT,
				"%s: element %zu of sample %lld is not a finite f32",
				n->x.path.data, i, (long long)index);
	}
	SL_TRY(read_labels(n, index, 1, label));
	*y = load_label(n, label);
	return SL_OK;
}

static void npy_close(struct sl_data *d)
{
	struct npy *n = d->own;

	if (!n)
		return;
	sl_fs_close(n->x.fd);
	sl_fs_close(n->y.fd);
	sl_buf_finish(&n->x.path);
	sl_buf_finish(&n->y.path);
	sl_free(n->raw);
	sl_free(n);
}

const struct sl_data_source sl_data_source_npy = {
	.name = "npy",
	.help = "FILE: samples in X.npy, labels in X-labels.npy (or npy:X.npy,Y.npy)",
	.open = npy_open,
	.read = npy_read,
	.close = npy_close,
};

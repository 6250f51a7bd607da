/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading safetensors files: header, then data by ranges.
 *
 * 1. Tensors sorted by offset cover the data from its first byte to the file's last,
 * without hole, overlap or rest.
 * 2. Where the file has our checksums, the header's is compared before anything else is
 * believed; its own eight digits count as zeros.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "model/st_int.h"

#define PREFIX_BYTES 8
#define CRC_DIGITS 8
#define PIECE ((size_t)256 << 10)

static int by_offset(const void *a, const void *b)
{
	const struct sl_st_tensor *x = a;
	const struct sl_st_tensor *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* Empty tensors come before the one that begins there; names make the order
	 * total. */
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Sorts the table, checks that it tiles the data, and makes offsets those of the file. */
static sl_status place_tensors(struct sl_st_file *f, uint64_t base)
{
	uint64_t at = 0;

	if (f->n_tensors)
		qsort(f->tensors, f->n_tensors, sizeof(*f->tensors), by_offset);
	sl_map_finish(&f->names);
	for (size_t i = 0; i < f->n_tensors; i++) {
		struct sl_st_tensor *t = &f->tensors[i];
		if (t->offset != at)
			return SL_FAIL(SL_E_FORMAT,
				"%s: tensor '%s' begins at byte %llu of the data, the "
				"one before ends "
				"at %llu; the file is damaged",
				f->path, t->name, (unsigned long long)t->offset,
				(unsigned long long)at);
		at += t->bytes;
		t->offset += base;
		SL_TRY(sl_map_add(&f->names, t->name, (uint32_t)i));
		if (at > f->size - base)
			break;
	}
	if (at != f->size - base)
		return SL_FAIL(SL_E_FORMAT,
			"%s: the header speaks of %s%llu bytes of data, the file holds "
			"%llu; it is cut "
			"short or has something behind it",
			f->path, at > f->size - base ? "at least " : "",
			(unsigned long long)at, (unsigned long long)(f->size - base));
	return SL_OK;
}

/* Eight lower-case hexadecimal digits. */
static bool parse_crc(const char *text, uint32_t *out)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t v = 0;

	for (int i = 0; i < CRC_DIGITS; i++) {
		const char *d = text[i] ? strchr(digits, text[i]) : NULL;
		if (!d)
			return false;
		v = v << 4 | (uint32_t)(d - digits);
	}
	*out = v;
	return true;
}

static sl_status check_header_crc(const struct sl_st_file *f, const unsigned char *prefix,
	char *text, size_t len, size_t at)
{
	uint32_t want = 0;
	bool good = parse_crc(text + at, &want);

	memset(text + at, '0', CRC_DIGITS);
	uint32_t have = sl_crc32c(sl_crc32c(0, prefix, PREFIX_BYTES), text, len);
	if (!good || have != want)
		return SL_FAIL(SL_E_FORMAT,
			"%s: the header's checksum is %08x, expected %08x; the file is "
			"damaged, use an "
			"older one",
			f->path, have, want);
	return SL_OK;
}

static sl_status take_data_crc(struct sl_st_file *f)
{
	const char *sums = sl_st_meta(f, SL_ST_META_DATA_CRC);

	if (!sums)
		return SL_OK;
	f->has_crc = strlen(sums) == f->n_tensors * CRC_DIGITS;
	for (size_t i = 0; i < f->n_tensors && f->has_crc; i++)
		f->has_crc = parse_crc(sums + i * CRC_DIGITS, &f->tensors[i].crc);
	if (!f->has_crc)
		return SL_FAIL(SL_E_FORMAT,
			"%s: %s is not eight hexadecimal digits a tensor; the file is "
			"damaged",
			f->path, SL_ST_META_DATA_CRC);
	return SL_OK;
}

static sl_status read_header(struct sl_st_file *f)
{
	sl_status st = SL_OK;
	unsigned char prefix[PREFIX_BYTES];
	uint64_t len = 0;
	size_t crc_at = SIZE_MAX;
	char *text = NULL;

	if (f->size < PREFIX_BYTES + 2)
		return SL_FAIL(SL_E_FORMAT, "%s: %llu bytes are no safetensors file",
			f->path, (unsigned long long)f->size);
	SL_TRY(sl_fs_pread(f->fd, f->path, prefix, sizeof(prefix), 0));
	for (int i = PREFIX_BYTES; i-- > 0;)
		len = len << 8 | prefix[i];
	if (len > SL_ST_HEADER_MAX || len > f->size - PREFIX_BYTES)
		return SL_FAIL(SL_E_FORMAT,
			"%s: a header of %llu bytes in a file of %llu (limit %llu); it "
			"is damaged or no "
			"safetensors file",
			f->path, (unsigned long long)len, (unsigned long long)f->size,
			(unsigned long long)SL_ST_HEADER_MAX);
	text = sl_alloc((size_t)len + 1);
	if (!text)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its header", f->path);
	SL_TRY_OUT(sl_fs_pread(f->fd, f->path, text, (size_t)len, PREFIX_BYTES));
	text[len] = '\0';
	SL_TRY_OUT(sl_st_header_parse(f, text, (size_t)len, &crc_at));
	if (crc_at != SIZE_MAX)
		SL_TRY_OUT(check_header_crc(f, prefix, text, (size_t)len, crc_at));
	SL_TRY_OUT(place_tensors(f, PREFIX_BYTES + len));
	SL_TRY_OUT(take_data_crc(f));
out:
	sl_free(text);
	return st;
}

sl_status sl_st_open(const char *path, struct sl_st_file *out)
{
	sl_status st = SL_OK;
	struct sl_st_file f = {.fd = -1, .path = sl_strdup(path)};

	if (!f.path)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to open it", path);
	SL_TRY_OUT(sl_fs_open(path, &f.fd, &f.size));
	SL_TRY_OUT(read_header(&f));
	*out = f;
	return SL_OK;
out:
	sl_st_close(&f);
	*out = (struct sl_st_file){.fd = -1};
	return st;
}

void sl_st_close(struct sl_st_file *f)
{
	if (f->path)
		sl_fs_close(f->fd);
	sl_free(f->path);
	sl_free(f->tensors);
	sl_free(f->meta);
	sl_map_finish(&f->names);
	sl_arena_finish(&f->arena);
	*f = (struct sl_st_file){.fd = -1};
}

const struct sl_st_tensor *sl_st_find(const struct sl_st_file *f, const char *name)
{
	uint32_t i;

	return sl_map_find(&f->names, name, &i) ? &f->tensors[i] : NULL;
}

const char *sl_st_meta(const struct sl_st_file *f, const char *key)
{
	for (size_t i = 0; i < f->n_meta; i++)
		if (strcmp(f->meta[i].key, key) == 0)
			return f->meta[i].value;
	return NULL;
}

sl_status sl_st_read(const struct sl_st_file *f, const struct sl_st_tensor *t,
	uint64_t begin, void *data, size_t len)
{
	if (begin > t->bytes || len > t->bytes - begin)
		return SL_FAIL(SL_E_INVALID,
			"%s: bytes %llu and %zu more of tensor '%s', which has "
			"%llu",
			f->path, (unsigned long long)begin, len, t->name,
			(unsigned long long)t->bytes);
	return sl_fs_pread(f->fd, f->path, data, len, t->offset + begin);
}

static sl_status verify_tensor(
	const struct sl_st_file *f, const struct sl_st_tensor *t, char *piece)
{
	uint32_t crc = 0;

	for (uint64_t at = 0; at < t->bytes; at += PIECE) {
		size_t len = t->bytes - at < PIECE ? (size_t)(t->bytes - at) : PIECE;
		SL_TRY(sl_st_read(f, t, at, piece, len));
		crc = sl_crc32c(crc, piece, len);
	}
	if (crc != t->crc)
		return SL_FAIL(SL_E_FORMAT,
			"%s: tensor '%s' has checksum %08x, expected %08x; the file is "
			"damaged, use an "
			"older one",
			f->path, t->name, crc, t->crc);
	return SL_OK;
}

sl_status sl_st_verify(const struct sl_st_file *f)
{
	sl_status st = SL_OK;

	if (!f->has_crc)
		return SL_OK;
	char *piece = sl_alloc(PIECE);
	if (!piece)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to check it", f->path);
	for (size_t i = 0; i < f->n_tensors && st == SL_OK; i++)
		st = verify_tensor(f, &f->tensors[i], piece);
	sl_free(piece);
	return st;
}

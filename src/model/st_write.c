/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing safetensors files. The checksums stand in the header but are known last, so the
 * header is first written with zeros in their place and once more before the file gets
 * its name. Nothing in it depends on time or place: the same input gives the same bytes.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/units.h"
#include "model/st_int.h"

#define PREFIX_BYTES 8
#define CRC_DIGITS 8
#define ALIGN 8 /* of the data's first byte */
#define META_NAME "__metadata__"

struct part {
	uint64_t bytes;
	uint32_t crc;
};

struct sl_st_writer {
	struct sl_fs_new file;
	struct sl_buf header; /* prefix and JSON */
	size_t header_crc_at, data_crc_at;
	struct part *parts; /* [n] */
	size_t n;
	size_t at; /* the part that is being written */
	uint64_t done; /* bytes of it */
	uint64_t pos; /* in the file */
	bool failed;
};

static sl_status check_meta(
	const char *path, const struct sl_st_meta *meta, size_t n_meta)
{
	for (size_t i = 0; i < n_meta; i++)
		if (strcmp(meta[i].key, SL_ST_META_HEADER_CRC) == 0 ||
			strcmp(meta[i].key, SL_ST_META_DATA_CRC) == 0)
			return SL_FAIL(SL_E_INVALID,
				"%s: metadata %s is written by itself", path,
				meta[i].key);
	return SL_OK;
}

static sl_status size_parts(struct sl_st_writer *w, const struct sl_st_decl *tensors)
{
	for (size_t i = 0; i < w->n; i++) {
		int64_t count = 0;
		SL_TRY(sl_shape_check(&tensors[i].type.shape, &count));
		w->parts[i].bytes =
			(uint64_t)count * sl_dtype_bytes(tensors[i].type.dtype);
	}
	return SL_OK;
}

static void put_tensor(
	struct sl_json *j, const struct sl_st_decl *t, uint64_t begin, uint64_t end)
{
	sl_json_open(j, t->name, '{');
	sl_json_str(j, "dtype", sl_st_type_name(t->type.dtype));
	sl_json_open(j, "shape", '[');
	for (int i = 0; i < t->type.shape.rank; i++)
		sl_json_i64(j, NULL, t->type.shape.dim[i]);
	sl_json_close(j, ']');
	sl_json_open(j, "data_offsets", '[');
	sl_json_u64(j, NULL, begin);
	sl_json_u64(j, NULL, end);
	sl_json_close(j, ']');
	sl_json_close(j, '}');
}

/* Zeros, eight a tensor, to be filled in by the commit. */
static char *zero_sums(size_t n)
{
	char *text = sl_alloc(n * CRC_DIGITS + 1);

	if (!text)
		return NULL;
	memset(text, '0', n * CRC_DIGITS);
	text[n * CRC_DIGITS] = '\0';
	return text;
}

static void put_meta(struct sl_json *j, struct sl_st_writer *w, const char *sums,
	const struct sl_st_meta *meta, size_t n_meta)
{
	sl_json_open(j, META_NAME, '{');
	sl_json_str(j, SL_ST_META_HEADER_CRC, "00000000");
	w->header_crc_at = w->header.len - CRC_DIGITS - 1;
	sl_json_str(j, SL_ST_META_DATA_CRC, sums);
	w->data_crc_at = w->header.len - w->n * CRC_DIGITS - 1;
	for (size_t i = 0; i < n_meta; i++)
		sl_json_str(j, meta[i].key, meta[i].value);
	sl_json_close(j, '}');
}

static sl_status make_header(struct sl_st_writer *w, const struct sl_st_decl *tensors,
	const struct sl_st_meta *meta, size_t n_meta)
{
	struct sl_json j;
	uint64_t at = 0;
	char *sums = zero_sums(w->n);

	if (!sums)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu checksums", w->n);
	w->header.max = PREFIX_BYTES + SL_ST_HEADER_MAX;
	sl_status st = sl_buf_append(&w->header, "\0\0\0\0\0\0\0", PREFIX_BYTES);
	if (st != SL_OK)
		goto out;
	sl_json_begin(&j, &w->header);
	sl_json_open(&j, NULL, '{');
	put_meta(&j, w, sums, meta, n_meta);
	for (size_t i = 0; i < w->n; i++) {
		put_tensor(&j, &tensors[i], at, at + w->parts[i].bytes);
		at += w->parts[i].bytes;
	}
	sl_json_close(&j, '}');
	SL_TRY_OUT(sl_json_end(&j));
	while (w->header.len % ALIGN)
		SL_TRY_OUT(sl_buf_puts(&w->header, " "));
	uint64_t len = w->header.len - PREFIX_BYTES;
	for (int i = 0; i < PREFIX_BYTES; i++)
		w->header.data[i] = (char)(unsigned char)(len >> (8 * i));
out:
	sl_free(sums);
	return st;
}

/* What would be refused when reading is refused when writing. */
static sl_status check_header(
	struct sl_st_writer *w, const char *path, const struct sl_st_decl *tensors)
{
	struct sl_st_file f = {.fd = -1};
	size_t crc_at = 0;
	sl_status st = SL_OK;

	f.path = sl_strdup(path);
	if (!f.path)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to write it", path);
	SL_TRY_OUT(sl_st_header_parse(&f, w->header.data + PREFIX_BYTES,
		w->header.len - PREFIX_BYTES, &crc_at));
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(f.tensors[i].name, tensors[i].name) != 0) {
			st = SL_FAIL(
				SL_E_INVALID, "%s: a tensor's name is not UTF-8", path);
			goto out;
		}
out:
	sl_st_close(&f);
	return st;
}

sl_status sl_st_create(const char *path, const struct sl_st_decl *tensors, size_t n,
	const struct sl_st_meta *meta, size_t n_meta, struct sl_st_writer **out)
{
	sl_status st = SL_OK;
	struct sl_st_writer *w = sl_calloc(1, sizeof(*w));

	if (!w)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory to write it", path);
	w->file.fd = -1;
	w->n = n;
	w->parts = sl_calloc(n, sizeof(*w->parts));
	if (!w->parts) {
		st = SL_FAIL(SL_E_NOMEM, "%s: no host memory to write it", path);
		goto out;
	}
	SL_TRY_OUT(check_meta(path, meta, n_meta));
	SL_TRY_OUT(size_parts(w, tensors));
	SL_TRY_OUT(make_header(w, tensors, meta, n_meta));
	SL_TRY_OUT(check_header(w, path, tensors));
	SL_TRY_OUT(sl_fs_new_begin(path, &w->file));
	w->pos = w->header.len;
	*out = w;
	return SL_OK;
out:
	sl_st_cancel(w);
	return st;
}

void sl_st_cancel(struct sl_st_writer *w)
{
	if (!w)
		return;
	if (w->file.fd >= 0)
		sl_fs_new_cancel(&w->file);
	sl_buf_finish(&w->header);
	sl_free(w->parts);
	sl_free(w);
}

/* Adds a piece to the checksums of the parts it belongs to; false: more than was
 * declared. */
static bool account(struct sl_st_writer *w, const char *data, size_t len)
{
	while (len) {
		while (w->at < w->n && w->done == w->parts[w->at].bytes) {
			w->at++;
			w->done = 0;
		}
		if (w->at == w->n)
			return false;
		struct part *p = &w->parts[w->at];
		size_t take =
			p->bytes - w->done < len ? (size_t)(p->bytes - w->done) : len;
		p->crc = sl_crc32c(p->crc, data, take);
		w->done += take;
		data += take;
		len -= take;
	}
	return true;
}

sl_status sl_st_write(struct sl_st_writer *w, const void *data, size_t len)
{
	if (w->failed)
		return SL_FAIL(SL_E_INVALID, "%s: a write failed before", w->file.path);
	w->failed = true;
	if (!account(w, data, len))
		return SL_FAIL(SL_E_INVALID, "%s: more data than the %zu tensors hold",
			w->file.path, w->n);
	SL_TRY(sl_fs_pwrite(w->file.fd, w->file.path, data, len, w->pos));
	w->pos += len;
	w->failed = false;
	return SL_OK;
}

static bool is_complete(const struct sl_st_writer *w)
{
	uint64_t bytes = w->header.len;

	for (size_t i = 0; i < w->n; i++)
		bytes += w->parts[i].bytes;
	return !w->failed && bytes == w->pos;
}

static void put_crc(char *at, uint32_t crc)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < CRC_DIGITS; i++)
		at[i] = digits[crc >> (28 - 4 * i) & 15];
}

sl_status sl_st_commit(struct sl_st_writer *w)
{
	sl_status st = SL_OK;
	char *text = w->header.data;

	if (!is_complete(w)) {
		st = SL_FAIL(SL_E_INVALID,
			"%s: %llu bytes written, the tensors hold more", w->file.path,
			(unsigned long long)w->pos);
		goto out;
	}
	for (size_t i = 0; i < w->n; i++)
		put_crc(text + w->data_crc_at + i * CRC_DIGITS, w->parts[i].crc);
	put_crc(text + w->header_crc_at, sl_crc32c(0, text, w->header.len));
	SL_TRY_OUT(sl_fs_pwrite(w->file.fd, w->file.path, text, w->header.len, 0));
	st = sl_fs_new_commit(&w->file);
	w->file.fd = -1; /* ended in both cases */
out:
	sl_st_cancel(w);
	return st;
}

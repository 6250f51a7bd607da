/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a .npy file: magic, version, length, then the text of a Python dict with
 * the keys descr, fortran_order and shape, each once, in any order, padded by blanks and
 * a newline.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "base/units.h"
#include "data/npy.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define PREFIX_V1 10
#define PREFIX_V2 12
#define HEADER_MAX ((size_t)64 << 10)

static const struct {
	const char *text;
	enum sl_dtype dtype;
} types[] = {
	{"<f4", SL_F32},
	{"<f8", SL_F64},
	{"|u1", SL_U8},
	{"<i4", SL_I32},
	{"<i8", SL_I64},
};

struct parse {
	const char *path;
	const char *text;
	const char *p;
	uint64_t prefix; /* offset of text in the file */
	struct sl_npy *out;
};

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static sl_status fail(const struct parse *h, const char *expected)
{
	return SL_FAIL(SL_E_FORMAT,
		"%s: header at byte %llu: expected %s; save it with numpy.save", h->path,
		(unsigned long long)(h->prefix + (uint64_t)(h->p - h->text)), expected);
}

static void skip_blanks(struct parse *h)
{
	h->p += strspn(h->p, " \t\n");
}

static bool take(struct parse *h, const char *word)
{
	size_t len = strlen(word);

	skip_blanks(h);
	if (strncmp(h->p, word, len) != 0)
		return false;
	h->p += len;
	return true;
}

static sl_status take_type(struct parse *h)
{
	for (size_t i = 0; i < SL_COUNT(types); i++) {
		size_t len = strlen(types[i].text);
		skip_blanks(h);
		if ((h->p[0] != '\'' && h->p[0] != '"') ||
			strncmp(h->p + 1, types[i].text, len) != 0 ||
			h->p[len + 1] != h->p[0])
			continue;
		h->p += len + 2;
		h->out->dtype = types[i].dtype;
		return SL_OK;
	}
	return fail(
		h, "a type of '<f4', '<f8', '|u1', '<i4', '<i8'; convert with astype");
}

static sl_status take_dim(struct parse *h, int64_t *out)
{
	uint64_t v = 0;
	int digits = 0;

	skip_blanks(h);
	for (; *h->p >= '0' && *h->p <= '9'; h->p++, digits++)
		if (digits > 14)
			return fail(h, "a size below 10^15");
		else
			v = v * 10 + (uint64_t)(*h->p - '0');
	if (!digits)
		return fail(h, "a size");
	*out = (int64_t)v;
	return SL_OK;
}

static sl_status take_shape(struct parse *h)
{
	struct sl_shape *s = &h->out->shape;

	if (!take(h, "("))
		return fail(h, "'(' and the shape");
	while (!take(h, ")")) {
		if (s->rank == SL_MAX_RANK)
			return fail(h, "at most 8 dimensions");
		SL_TRY(take_dim(h, &s->dim[s->rank++]));
		skip_blanks(h);
		if (!take(h, ",") && *h->p != ')')
			return fail(h, "',' or ')' in the shape");
	}
	return SL_OK;
}

static sl_status take_order(struct parse *h)
{
	if (take(h, "False"))
		return SL_OK;
	if (take(h, "True"))
		return fail(h, "C order; convert with numpy.ascontiguousarray");
	return fail(h, "True or False");
}

static sl_status take_entry(struct parse *h, unsigned *seen)
{
	static const struct {
		const char *key[2];
		sl_status (*take)(struct parse *h);
	} keys[] = {
		{{"'descr'", "\"descr\""}, take_type},
		{{"'fortran_order'", "\"fortran_order\""}, take_order},
		{{"'shape'", "\"shape\""}, take_shape},
	};

	for (size_t i = 0; i < SL_COUNT(keys); i++) {
		if (!take(h, keys[i].key[0]) && !take(h, keys[i].key[1]))
			continue;
		if (*seen & 1u << i)
			return fail(h, "each key once");
		*seen |= 1u << i;
		return take(h, ":") ? keys[i].take(h) : fail(h, "':'");
	}
	return fail(h, "'descr', 'fortran_order' or 'shape'");
}

static sl_status take_dict(struct parse *h)
{
	unsigned seen = 0;

	if (!take(h, "{"))
		return fail(h, "'{'");
	while (!take(h, "}")) {
		SL_TRY(take_entry(h, &seen));
		skip_blanks(h);
		if (!take(h, ",") && *h->p != '}')
			return fail(h, "',' or '}'");
	}
	skip_blanks(h);
	if (*h->p)
		return fail(h, "nothing after '}'");
	return seen == HAS_ALL ? SL_OK
			       : fail(h, "the keys descr, fortran_order and shape");
}

static sl_status check_size(const char *path, uint64_t size, const struct sl_npy *n)
{
	char text[SL_SHAPE_TEXT];
	int64_t count = 0;

	sl_shape_print(&n->shape, text);
	if (sl_shape_check(&n->shape, &count) != SL_OK)
		return SL_FAIL(
			SL_E_FORMAT, "%s: shape %s is beyond 2^48 elements", path, text);
	uint64_t bytes = (uint64_t)count * sl_dtype_bytes(n->dtype);
	if (bytes != size - n->base)
		return SL_FAIL(SL_E_FORMAT,
			"%s: shape %s of %s takes %llu bytes, the file holds %llu; save "
			"it again",
			path, text, sl_dtype_name(n->dtype), (unsigned long long)bytes,
			(unsigned long long)(size - n->base));
	return SL_OK;
}

static sl_status fail_start(const char *path)
{
	return SL_FAIL(SL_E_FORMAT,
		"%s: not a .npy file of version 1, 2 or 3; save it with numpy.save",
		path);
}

sl_status sl_npy_header(int fd, const char *path, uint64_t size, struct sl_npy *out)
{
	unsigned char prefix[PREFIX_V2];
	sl_status st;

	if (size < PREFIX_V2)
		return fail_start(path);
	SL_TRY(sl_fs_pread(fd, path, prefix, sizeof(prefix), 0));
	if (memcmp(prefix, MAGIC, MAGIC_BYTES) != 0 || prefix[6] < 1 || prefix[6] > 3)
		return fail_start(path);
	size_t at = prefix[6] == 1 ? PREFIX_V1 : PREFIX_V2;
	size_t len = (size_t)prefix[8] | (size_t)prefix[9] << 8;
	if (prefix[6] > 1)
		len |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
	if (len > HEADER_MAX || len > size - at)
		return SL_FAIL(SL_E_FORMAT,
			"%s: a header of %zu bytes in a file of %llu (limit %zu)", path,
			len, (unsigned long long)size, HEADER_MAX);
	char *text = sl_calloc(len + 1, 1);
	if (!text)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its header", path);
	struct sl_npy n = {.base = at + len};
	struct parse h = {.path = path, .text = text, .p = text, .prefix = at, .out = &n};
	SL_TRY_OUT(sl_fs_pread(fd, path, text, len, at));
	if (strlen(text) != len) {
		h.p = text + strlen(text);
		st = fail(&h, "text without zero bytes");
		goto out;
	}
	SL_TRY_OUT(take_dict(&h));
	SL_TRY_OUT(check_size(path, size, &n));
	*out = n;
out:
	sl_free(text);
	return st;
}

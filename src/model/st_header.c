/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a safetensors file. One pass over the text, into flat tables.
 *
 * 1. A name comes once, is 1 to 256 bytes and printable; tensors are at most 65,536.
 * 2. The bytes of a shape and type equal its range of offsets, computed without overflow.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/units.h"
#include "model/st_int.h"

#define META_NAME "__metadata__"
#define META_MAX 65536
#define META_VALUE_MAX ((size_t)1 << 20)
#define CRC_DIGITS 8

static const struct sl_st_type types[] = {
	{"BOOL", 1, SL_DTYPE_COUNT},
	{"U8", 1, SL_U8},
	{"I8", 1, SL_DTYPE_COUNT},
	{"F8_E5M2", 1, SL_DTYPE_COUNT},
	{"F8_E4M3", 1, SL_DTYPE_COUNT},
	{"I16", 2, SL_DTYPE_COUNT},
	{"U16", 2, SL_DTYPE_COUNT},
	{"F16", 2, SL_DTYPE_COUNT},
	{"BF16", 2, SL_BF16},
	{"I32", 4, SL_I32},
	{"U32", 4, SL_DTYPE_COUNT},
	{"F32", 4, SL_F32},
	{"F64", 8, SL_F64},
	{"I64", 8, SL_I64},
	{"U64", 8, SL_DTYPE_COUNT},
};

const struct sl_st_type *sl_st_type_find(const char *name)
{
	for (size_t i = 0; i < SL_COUNT(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

const char *sl_st_type_name(enum sl_dtype t)
{
	for (size_t i = 0; i < SL_COUNT(types); i++)
		if (types[i].dtype == t)
			return types[i].name;
	return "";
}

/* An entry while it is read. */
struct entry {
	const struct sl_st_type *type;
	struct sl_shape shape;
	uint64_t begin, end;
	unsigned seen; /* bit an index of keys[] */
};

static sl_status take_type(struct sl_st_scan *s, struct entry *e)
{
	const char *name = NULL;

	SL_TRY(sl_st_scan_string(s, SL_ST_NAME_MAX, &name, NULL));
	e->type = sl_st_type_find(name);
	return e->type ? SL_OK
		       : sl_st_scan_fail(s, "a known dtype before here, such as F32");
}

static sl_status take_shape(struct sl_st_scan *s, struct entry *e)
{
	if (!sl_st_scan_char(s, '['))
		return sl_st_scan_fail(s, "'['");
	for (bool first = true; !sl_st_scan_char(s, ']'); first = false) {
		uint64_t dim = 0;
		if (!first && !sl_st_scan_char(s, ','))
			return sl_st_scan_fail(s, "',' or ']'");
		if (e->shape.rank == SL_MAX_RANK)
			return SL_FAIL(SL_E_LIMIT,
				"%s: header byte %zu: a shape of over %d dimensions",
				s->path, (size_t)(s->p - s->text), SL_MAX_RANK);
		SL_TRY(sl_st_scan_number(s, &dim));
		e->shape.dim[e->shape.rank++] = (int64_t)dim;
	}
	return SL_OK;
}

static sl_status take_offsets(struct sl_st_scan *s, struct entry *e)
{
	if (!sl_st_scan_char(s, '['))
		return sl_st_scan_fail(s, "'['");
	SL_TRY(sl_st_scan_number(s, &e->begin));
	if (!sl_st_scan_char(s, ','))
		return sl_st_scan_fail(s, "','");
	SL_TRY(sl_st_scan_number(s, &e->end));
	if (!sl_st_scan_char(s, ']'))
		return sl_st_scan_fail(s, "']'");
	return e->begin <= e->end ? SL_OK
				  : sl_st_scan_fail(s, "offsets in order before here");
}

static const struct {
	const char *key;
	sl_status (*take)(struct sl_st_scan *s, struct entry *e);
} keys[] = {
	{"dtype", take_type},
	{"shape", take_shape},
	{"data_offsets", take_offsets},
};

static sl_status take_field(struct sl_st_scan *s, struct entry *e)
{
	const char *key = NULL;

	SL_TRY(sl_st_scan_string(s, SL_ST_NAME_MAX, &key, NULL));
	if (!sl_st_scan_char(s, ':'))
		return sl_st_scan_fail(s, "':'");
	for (size_t i = 0; i < SL_COUNT(keys); i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (e->seen & 1u << i)
			return sl_st_scan_fail(s, "each key once");
		e->seen |= 1u << i;
		return keys[i].take(s, e);
	}
	return sl_st_scan_fail(s, "dtype, shape or data_offsets before here");
}

static sl_status take_entry(struct sl_st_scan *s, struct entry *e)
{
	if (!sl_st_scan_char(s, '{'))
		return sl_st_scan_fail(s, "'{'");
	for (bool first = true; !sl_st_scan_char(s, '}'); first = false) {
		if (!first && !sl_st_scan_char(s, ','))
			return sl_st_scan_fail(s, "',' or '}'");
		SL_TRY(take_field(s, e));
	}
	if (e->seen != (1u << SL_COUNT(keys)) - 1)
		return sl_st_scan_fail(s, "dtype, shape and data_offsets before here");
	return SL_OK;
}

static bool is_printable(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7F)
			return false;
	return true;
}

static sl_status check_bytes(
	const struct sl_st_scan *s, const char *name, const struct entry *e)
{
	char text[SL_SHAPE_TEXT];
	int64_t count = 0;
	sl_status st = sl_shape_check(&e->shape, &count);

	if (st == SL_OK && (uint64_t)count * e->type->bytes == e->end - e->begin)
		return SL_OK;
	return SL_FAIL(SL_E_FORMAT,
		"%s: tensor '%s': %s %s does not take the %llu bytes from %llu to %llu; "
		"the file "
		"is damaged",
		s->path, name, e->type->name, sl_shape_print(&e->shape, text),
		(unsigned long long)(e->end - e->begin), (unsigned long long)e->begin,
		(unsigned long long)e->end);
}

static sl_status fail_memory(const struct sl_st_scan *s)
{
	return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its header", s->path);
}

static sl_status take_tensor(struct sl_st_file *f, struct sl_st_scan *s, const char *name)
{
	struct entry e = {0};

	if (!*name || !is_printable(name))
		return sl_st_scan_fail(s, "a printable name before here");
	SL_TRY(take_entry(s, &e));
	SL_TRY(check_bytes(s, name, &e));
	if (f->n_tensors == SL_ST_TENSORS_MAX)
		return SL_FAIL(
			SL_E_LIMIT, "%s: over %d tensors", s->path, SL_ST_TENSORS_MAX);
	if (sl_map_find(&f->names, name, NULL))
		return SL_FAIL(SL_E_FORMAT,
			"%s: header byte %zu: tensor '%s' for the second time; the file "
			"is damaged",
			s->path, (size_t)(s->p - s->text), name);
	SL_TRY(sl_map_add(&f->names, name, (uint32_t)f->n_tensors));
	if (sl_grow((void **)&f->tensors, &f->cap_tensors, f->n_tensors + 1,
		    sizeof(*f->tensors), SL_ST_TENSORS_MAX) != 0)
		return fail_memory(s);
	f->tensors[f->n_tensors++] = (struct sl_st_tensor){
		.name = name,
		.dtype_name = e.type->name,
		.dtype = e.type->dtype,
		.shape = e.shape,
		.offset = e.begin,
		.bytes = e.end - e.begin,
	};
	return SL_OK;
}

static sl_status take_pair(struct sl_st_file *f, struct sl_st_scan *s, size_t *crc_at)
{
	struct sl_st_meta m = {0};
	size_t at = 0;

	SL_TRY(sl_st_scan_string(s, META_VALUE_MAX, &m.key, NULL));
	if (!sl_st_scan_char(s, ':'))
		return sl_st_scan_fail(s, "':'");
	SL_TRY(sl_st_scan_string(s, META_VALUE_MAX, &m.value, &at));
	if (strcmp(m.key, SL_ST_META_HEADER_CRC) == 0) {
		if (strlen(m.value) != CRC_DIGITS ||
			(size_t)(s->p - s->text) != at + CRC_DIGITS + 1)
			return sl_st_scan_fail(s, "eight hexadecimal digits before here");
		*crc_at = at;
	}
	if (f->n_meta == META_MAX)
		return SL_FAIL(SL_E_LIMIT, "%s: over %d metadata", s->path, META_MAX);
	if (sl_grow((void **)&f->meta, &f->cap_meta, f->n_meta + 1, sizeof(*f->meta),
		    META_MAX) != 0)
		return fail_memory(s);
	f->meta[f->n_meta++] = m;
	return SL_OK;
}

/* Metadata keys are checked to differ once all are there: a map, not a search for each.
 */
static sl_status check_meta(const struct sl_st_file *f, const struct sl_st_scan *s)
{
	struct sl_map keys_seen = {0};
	sl_status st = SL_OK;

	for (size_t i = 0; i < f->n_meta; i++) {
		if (sl_map_find(&keys_seen, f->meta[i].key, NULL)) {
			st = SL_FAIL(SL_E_FORMAT,
				"%s: metadata '%.64s' for the second time; the file is "
				"damaged",
				s->path, f->meta[i].key);
			goto out;
		}
		SL_TRY_OUT(sl_map_add(&keys_seen, f->meta[i].key, (uint32_t)i));
	}
out:
	sl_map_finish(&keys_seen);
	return st;
}

static sl_status take_meta(struct sl_st_file *f, struct sl_st_scan *s, size_t *crc_at)
{
	if (f->n_meta)
		return sl_st_scan_fail(s, META_NAME " once");
	if (!sl_st_scan_char(s, '{'))
		return sl_st_scan_fail(s, "'{'");
	for (bool first = true; !sl_st_scan_char(s, '}'); first = false) {
		if (!first && !sl_st_scan_char(s, ','))
			return sl_st_scan_fail(s, "',' or '}'");
		SL_TRY(take_pair(f, s, crc_at));
	}
	return check_meta(f, s);
}

sl_status sl_st_header_parse(
	struct sl_st_file *f, const char *text, size_t len, size_t *crc_at)
{
	struct sl_st_scan s = {.path = f->path,
		.text = text,
		.p = text,
		.end = text + len,
		.arena = &f->arena};
	bool has_meta = false;

	*crc_at = SIZE_MAX;
	if (!len || *text != '{')
		return sl_st_scan_fail(&s, "'{'");
	s.p++;
	for (bool first = true; !sl_st_scan_char(&s, '}'); first = false) {
		const char *name = NULL;
		if (!first && !sl_st_scan_char(&s, ','))
			return sl_st_scan_fail(&s, "',' or '}'");
		SL_TRY(sl_st_scan_string(&s, SL_ST_NAME_MAX, &name, NULL));
		if (!sl_st_scan_char(&s, ':'))
			return sl_st_scan_fail(&s, "':'");
		bool meta = strcmp(name, META_NAME) == 0;
		if (meta && has_meta)
			return sl_st_scan_fail(&s, META_NAME " once");
		has_meta |= meta;
		SL_TRY(meta ? take_meta(f, &s, crc_at) : take_tensor(f, &s, name));
	}
	sl_st_scan_blanks(&s);
	return s.p == s.end ? SL_OK : sl_st_scan_fail(&s, "nothing after '}'");
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_TEXT_FIELDS_INT_H
#define SL_MEMORY_TEXT_FIELDS_INT_H

#include "base/arena.h"
#include "base/text.h"

/*
 * key=value words of one line into a struct, by a table of keys: unknown keys, keys given
 * twice and malformed values are SL_E_FORMAT with source and line. Shared by the trace
 * and the plan text.
 */
enum sl_field_kind {
	SL_FIELD_U64,
	SL_FIELD_U32,
	SL_FIELD_OFFSET, /* uint64_t, or '-' for none (UINT64_MAX) */
	SL_FIELD_BOOL, /* 0 or 1 */
	SL_FIELD_WORD, /* const char *, copied into the arena; '-' is "" */
	SL_FIELD_NAME, /* the same, but '-' is itself */
	SL_FIELD_LIST, /* the same, of any length a line allows */
	SL_FIELD_ID, /* uint32_t, "v7", or '-' for none (UINT32_MAX) */
	SL_FIELD_ITER, /* uint32_t, "+3" */
	SL_FIELD_LOOKUP, /* uint32_t by the caller's name table */
	SL_FIELD_KIND_COUNT
};

struct sl_field_ctx {
	struct sl_text *text;
	struct sl_arena *arena;
	/* Names of SL_FIELD_LOOKUP; false if unknown. */
	bool (*lookup)(const void *ctx, const char *key, const char *name, uint32_t *out);
	const void *lookup_ctx;
};

struct sl_field {
	const char *key;
	enum sl_field_kind kind;
	size_t offset; /* in the struct */
	bool required;
};

SL_NODISCARD sl_status sl_fields_parse(const struct sl_field_ctx *ctx,
	const struct sl_field *fields, size_t n, void *object);
/* Parses one value of the kind. */
SL_NODISCARD sl_status sl_field_value(const struct sl_field_ctx *ctx,
	enum sl_field_kind kind, const struct sl_word *w, void *to);
/* The next word must be bare; "missing WHAT" otherwise. */
SL_NODISCARD sl_status sl_fields_bare(
	struct sl_text *t, const char *what, struct sl_word *out);
/* Length of a word for a message: "%.*s" of long or hostile words stays short. */
static inline int sl_fields_clip(size_t len)
{
	return len > 64 ? 64 : (int)len;
}
/* No word may follow on this line. */
SL_NODISCARD sl_status sl_fields_end(struct sl_text *t);
/* The word as a copy in the arena; SL_E_NOMEM. */
SL_NODISCARD sl_status sl_fields_copy(
	struct sl_arena *a, const struct sl_word *w, const char **out);

#endif

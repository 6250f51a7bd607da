/* SPDX-License-Identifier: Apache-2.0 */
/* Table-driven key=value lines of the trace and plan texts. */
#include "memory/text_fields_int.h"

#include <string.h>

#define MAX_WORD 4096

sl_status sl_fields_bare(struct sl_text *t, const char *what, struct sl_word *out)
{
	if (!sl_text_word(t, out) || out->key)
		return sl_text_fail(t, "%s is missing", what);
	return SL_OK;
}

sl_status sl_fields_end(struct sl_text *t)
{
	struct sl_word w;

	if (sl_text_word(t, &w))
		return sl_text_fail(t, "the line goes on after its last word");
	return SL_OK;
}

sl_status sl_fields_copy(struct sl_arena *a, const struct sl_word *w, const char **out)
{
	char *copy = sl_arena_alloc(a, w->value_len + 1);

	if (!copy)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a word");
	if (w->value_len)
		memcpy(copy, w->value, w->value_len);
	copy[w->value_len] = '\0';
	*out = copy;
	return SL_OK;
}

static bool is_dash(const struct sl_word *w)
{
	return w->value_len == 1 && w->value[0] == '-';
}

static sl_status value_u64(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	return sl_word_u64(ctx->text, w, to);
}

static sl_status value_u32(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	uint64_t v = 0;
	uint32_t narrow;

	SL_TRY(sl_word_u64(ctx->text, w, &v));
	if (v > UINT32_MAX)
		return sl_text_fail(
			ctx->text, "%llu does not fit 32 bits", (unsigned long long)v);
	narrow = (uint32_t)v;
	memcpy(to, &narrow, sizeof(narrow));
	return SL_OK;
}

static sl_status value_offset(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	uint64_t none = UINT64_MAX;

	if (!is_dash(w))
		return value_u64(ctx, w, to);
	memcpy(to, &none, sizeof(none));
	return SL_OK;
}

static sl_status value_bool(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	bool yes = w->value_len == 1 && w->value[0] == '1';

	if (!yes && !(w->value_len == 1 && w->value[0] == '0'))
		return sl_text_fail(ctx->text, "a flag is 0 or 1");
	memcpy(to, &yes, sizeof(yes));
	return SL_OK;
}

static sl_status value_list(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	const char *copy = NULL;

	SL_TRY(sl_fields_copy(ctx->arena, w, &copy));
	memcpy(to, &copy, sizeof(copy));
	return SL_OK;
}

static sl_status value_name(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	if (w->value_len > MAX_WORD)
		return sl_text_fail(ctx->text, "a name holds at most %d bytes", MAX_WORD);
	return value_list(ctx, w, to);
}

static sl_status value_word(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	struct sl_word empty = *w;

	if (is_dash(w))
		empty.value_len = 0;
	return value_name(ctx, &empty, to);
}

static sl_status value_id(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	uint32_t id = UINT32_MAX;

	if (!is_dash(w))
		SL_TRY(sl_word_id(ctx->text, w, 'v', &id));
	memcpy(to, &id, sizeof(id));
	return SL_OK;
}

static sl_status value_iter(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	struct sl_word digits = *w;

	if (w->value_len < 2 || w->value[0] != '+')
		return sl_text_fail(ctx->text, "iter is written +k");
	digits.value++;
	digits.value_len--;
	return value_u32(ctx, &digits, to);
}

static sl_status value_lookup(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to)
{
	char name[256];
	char key[32] = "";
	uint32_t id = 0;

	SL_TRY(sl_word_copy(ctx->text, w, name, sizeof(name)));
	if (w->key && w->key_len < sizeof(key))
		memcpy(key, w->key, w->key_len);
	if (!ctx->lookup || !ctx->lookup(ctx->lookup_ctx, key, name, &id))
		return sl_text_fail(ctx->text, "%s=%s is not known here", key, name);
	memcpy(to, &id, sizeof(id));
	return SL_OK;
}

typedef sl_status (*value_fn)(
	const struct sl_field_ctx *ctx, const struct sl_word *w, void *to);

static const value_fn value_rows[SL_FIELD_KIND_COUNT] = {
	[SL_FIELD_U64] = value_u64,
	[SL_FIELD_U32] = value_u32,
	[SL_FIELD_OFFSET] = value_offset,
	[SL_FIELD_BOOL] = value_bool,
	[SL_FIELD_WORD] = value_word,
	[SL_FIELD_NAME] = value_name,
	[SL_FIELD_LIST] = value_list,
	[SL_FIELD_ID] = value_id,
	[SL_FIELD_ITER] = value_iter,
	[SL_FIELD_LOOKUP] = value_lookup,
};

sl_status sl_field_value(const struct sl_field_ctx *ctx, enum sl_field_kind kind,
	const struct sl_word *w, void *to)
{
	return value_rows[kind](ctx, w, to);
}

static sl_status find_field(const struct sl_field_ctx *ctx, const struct sl_field *fields,
	size_t n, const struct sl_word *w, size_t *out)
{
	for (size_t i = 0; w->key && i < n; i++) {
		if (sl_word_key_is(w, fields[i].key)) {
			*out = i;
			return SL_OK;
		}
	}
	return sl_text_fail(ctx->text, "`%.*s` is no key of this line",
		sl_fields_clip(w->key ? w->key_len : w->value_len),
		w->key ? w->key : w->value);
}

sl_status sl_fields_parse(const struct sl_field_ctx *ctx, const struct sl_field *fields,
	size_t n, void *object)
{
	uint64_t seen = 0;
	struct sl_word w;

	while (sl_text_word(ctx->text, &w)) {
		size_t i = 0;

		SL_TRY(find_field(ctx, fields, n, &w, &i));
		if (seen & (1ull << i))
			return sl_text_fail(
				ctx->text, "%s is given twice", fields[i].key);
		seen |= 1ull << i;
		SL_TRY(sl_field_value(
			ctx, fields[i].kind, &w, (char *)object + fields[i].offset));
	}
	for (size_t i = 0; i < n; i++) {
		if (fields[i].required && !(seen & (1ull << i)))
			return sl_text_fail(ctx->text, "%s= is missing", fields[i].key);
	}
	return SL_OK;
}

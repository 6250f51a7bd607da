/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of operators, one JSON object a line, as DTR's simulator reads them: names stand
 * for tensors, which share their storage if one is a view of the other.
 */
#include "memory/foreign/dtr_int.h"

#include <string.h>

#include "base/alloc.h"

sl_status sl_dtr_no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left for a log");
}

sl_status sl_dtr_name(
	const struct sl_dtr *r, const struct sl_json_word *w, char name[SL_DTR_NAME + 1])
{
	if (w->len == 0 || w->len > SL_DTR_NAME)
		return sl_json_line_fail(&r->l, SL_E_FORMAT,
			"a name has %zu bytes; it may have 1 to %d", w->len, SL_DTR_NAME);
	memcpy(name, w->text, w->len);
	name[w->len] = '\0';
	for (char *c = name; *c; c++)
		*c = *c == ' ' || *c == 0x7f ? '_' : *c;
	return SL_OK;
}

sl_status sl_dtr_find(
	const struct sl_dtr *r, const struct sl_json_word *w, uint32_t *slot)
{
	char name[SL_DTR_NAME + 1];

	SL_TRY(sl_dtr_name(r, w, name));
	if (!sl_map_find(&r->names, name, slot))
		return sl_json_line_fail(
			&r->l, SL_E_FORMAT, "no tensor is called %.48s", name);
	return SL_OK;
}

static void let_go(struct sl_dtr *r, uint32_t value)
{
	if (value != SL_NO_ID && r->notes[value].refs > 0)
		r->notes[value].refs--;
}

static void hold(struct sl_dtr *r, uint32_t value)
{
	if (value != SL_NO_ID)
		r->notes[value].refs++;
}

sl_status sl_dtr_define(struct sl_dtr *r, const struct sl_json_word *w, uint32_t value)
{
	char name[SL_DTR_NAME + 1];

	SL_TRY(sl_dtr_name(r, w, name));
	if (sl_map_find(&r->names, name, NULL))
		return sl_json_line_fail(
			&r->l, SL_E_FORMAT, "a tensor is called %.48s already", name);
	if (sl_grow((void **)&r->slots, &r->cap_slots, r->n_slots + 1, sizeof(*r->slots),
		    SL_TRACE_MAX_VALUES))
		return sl_dtr_no_memory();
	SL_TRY(sl_map_add(&r->names, name, (uint32_t)r->n_slots));
	r->slots[r->n_slots++] = value;
	hold(r, value);
	return SL_OK;
}

/* Of no bytes is no value at all. */
sl_status sl_dtr_value(struct sl_dtr *r, const struct sl_json_word *w, int64_t bytes,
	enum sl_class cls, uint32_t *out)
{
	char name[SL_DTR_NAME + 1];
	struct sl_trace_value v = {.bytes = (uint64_t)bytes,
		.align = 1,
		.alias = SL_NO_ID,
		.cls = cls,
		.name = name};

	*out = SL_NO_ID;
	if (bytes == 0)
		return SL_OK;
	SL_TRY(sl_dtr_name(r, w, name));
	*out = r->t.n_values;
	SL_TRY(sl_trace_add_value(&r->t, &v));
	if (sl_grow((void **)&r->notes, &r->cap_notes, r->t.n_values, sizeof(*r->notes),
		    SL_TRACE_MAX_VALUES))
		return sl_dtr_no_memory();
	r->notes[*out] = (struct sl_dtr_note){0};
	return SL_OK;
}

/* The line that must follow, about the tensor `of`. */
sl_status sl_dtr_follow(struct sl_dtr *r, const char *what, const char *key,
	const struct sl_json_word *of, int64_t *out)
{
	struct sl_json_word w, name;
	bool more;

	SL_TRY(sl_json_line_next(&r->l, &more));
	if (!more)
		return sl_json_line_fail(
			&r->l, SL_E_FORMAT, "the log ends where %s is to follow", what);
	SL_TRY(sl_json_line_word(&r->l, "INSTRUCTION", &w));
	if (!sl_json_word_is(&w, what))
		return sl_json_line_fail(&r->l, SL_E_FORMAT, "%s is to follow", what);
	SL_TRY(sl_json_line_word(&r->l, "NAME", &name));
	if (name.len != of->len || memcmp(name.text, of->text, of->len) != 0)
		return sl_json_line_fail(&r->l, SL_E_FORMAT,
			"%s is of another tensor than the line before", what);
	SL_TRY(sl_json_line_word(&r->l, key, &w));
	SL_TRY(sl_json_line_number(&r->l, key, &w, out));
	if (*out < 0 && strcmp(what, "MEMORY") == 0)
		return sl_json_line_fail(&r->l, SL_E_FORMAT, "less than no bytes");
	return SL_OK;
}

static sl_status read_constant(struct sl_dtr *r)
{
	struct sl_json_word name;
	int64_t bytes;
	uint32_t value;

	SL_TRY(sl_json_line_word(&r->l, "NAME", &name));
	SL_TRY(sl_dtr_follow(r, "MEMORY", "MEMORY", &name, &bytes));
	SL_TRY(sl_dtr_value(r, &name, bytes, SL_CLASS_CONST, &value));
	return sl_dtr_define(r, &name, value);
}

static sl_status read_copy(struct sl_dtr *r)
{
	struct sl_json_word from, to;
	uint32_t slot;

	SL_TRY(sl_json_line_word(&r->l, "SRC", &from));
	SL_TRY(sl_json_line_word(&r->l, "DST", &to));
	SL_TRY(sl_dtr_find(r, &from, &slot));
	return sl_dtr_define(r, &to, r->slots[slot]);
}

static sl_status read_copy_from(struct sl_dtr *r)
{
	struct sl_json_word from, to;
	uint32_t source, target;

	SL_TRY(sl_json_line_word(&r->l, "SRC", &from));
	SL_TRY(sl_json_line_word(&r->l, "DST", &to));
	SL_TRY(sl_dtr_find(r, &from, &source));
	SL_TRY(sl_dtr_find(r, &to, &target));
	let_go(r, r->slots[target]);
	r->slots[target] = r->slots[source];
	hold(r, r->slots[target]);
	return SL_OK;
}

/* What is not known, as from before the log began, is nobody's loss. */
static sl_status read_release(struct sl_dtr *r)
{
	struct sl_json_word w;
	char name[SL_DTR_NAME + 1];
	uint32_t slot;

	SL_TRY(sl_json_line_word(&r->l, "NAME", &w));
	SL_TRY(sl_dtr_name(r, &w, name));
	if (sl_map_find(&r->names, name, &slot))
		let_go(r, r->slots[slot]);
	return SL_OK;
}

static void forget(struct sl_dtr *r)
{
	sl_trace_finish(&r->t);
	sl_map_finish(&r->names);
	r->names = (struct sl_map){0};
	r->n_slots = 0;
	r->backward = false;
	r->t.job_name = "dtr";
}

static sl_status read_annotate(struct sl_dtr *r)
{
	struct sl_json_word w;

	SL_TRY(sl_json_line_word(&r->l, "ANNOTATION", &w));
	if (sl_json_word_is(&w, "START"))
		forget(r);
	r->backward = r->backward || sl_json_word_is(&w, "BACKWARD");
	return SL_OK;
}

static const struct {
	const char *name;
	sl_status (*read)(struct sl_dtr *r);
} line_rows[] = {
	{"ANNOTATE", read_annotate},
	{"CALL", sl_dtr_call},
	{"CONSTANT", read_constant},
	{"COPY", read_copy},
	{"COPY_FROM", read_copy_from},
	{"MUTATE", sl_dtr_mutate},
	{"RELEASE", read_release},
};

static sl_status read_line(struct sl_dtr *r)
{
	struct sl_json_word w;

	SL_TRY(sl_json_line_word(&r->l, "INSTRUCTION", &w));
	for (size_t i = 0; i < sizeof(line_rows) / sizeof(line_rows[0]); i++)
		if (sl_json_word_is(&w, line_rows[i].name))
			return line_rows[i].read(r);
	return sl_json_line_fail(&r->l, SL_E_FORMAT,
		"'%.*s' is no instruction that stands by itself",
		w.len < 40 ? (int)w.len : 40, w.text);
}

sl_status sl_dtr_parse(const struct sl_foreign_text *text, struct sl_trace *out)
{
	struct sl_dtr r = {.t = SL_TRACE_INIT};
	sl_status st = SL_OK;
	bool more;

	sl_json_line_init(&r.l, text);
	forget(&r);
	for (;;) {
		SL_TRY_OUT(sl_json_line_next(&r.l, &more));
		if (!more)
			break;
		SL_TRY_OUT(read_line(&r));
	}
	SL_TRY_OUT(sl_dtr_output(&r));
	SL_TRY_OUT(sl_foreign_take(&r.t, text->source, out));
out:
	sl_json_line_finish(&r.l);
	sl_map_finish(&r.names);
	sl_free(r.slots);
	sl_free(r.notes);
	sl_free(r.ids);
	sl_trace_finish(&r.t);
	return st;
}

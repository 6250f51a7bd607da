/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a log of operators, one JSON object a line. */
#include <stdio.h>

#include "base/json.h"
#include "memory/foreign/roles_int.h"

#define NAME_TEXT 16

struct writer {
	const struct sl_trace *t;
	struct sl_roles roles;
	struct sl_trace_index index;
	struct sl_buf *out;
};

static const char *name_of(char letter, uint32_t id, char text[NAME_TEXT])
{
	snprintf(text, NAME_TEXT, "%c%u", letter, id);
	return text;
}

static void begin(struct sl_json *j, struct writer *w, const char *instruction)
{
	sl_json_begin(j, w->out);
	sl_json_open(j, NULL, '{');
	sl_json_str(j, "INSTRUCTION", instruction);
}

static sl_status end(struct sl_json *j)
{
	sl_json_close(j, '}');
	return sl_json_end(j);
}

static sl_status about(struct writer *w, const char *instruction, const char *name,
	const char *key, int64_t x)
{
	struct sl_json j;

	begin(&j, w, instruction);
	sl_json_str(&j, "NAME", name);
	if (key != NULL)
		sl_json_i64(&j, key, x);
	return end(&j);
}

static sl_status print_constants(struct writer *w)
{
	char name[NAME_TEXT];

	for (uint32_t v = 0; v < w->t->n_values; v++) {
		const struct sl_trace_value *x = &w->t->values[v];

		if (x->alias != SL_NO_ID || !sl_class_persistent(x->cls))
			continue;
		SL_TRY(about(w, "CONSTANT", name_of('v', v, name), NULL, 0));
		SL_TRY(about(w, "MEMORY", name, "MEMORY", (int64_t)x->bytes));
	}
	return SL_OK;
}

/* Name, time and all that is there before. */
static void op_members(struct sl_json *j, struct writer *w, uint32_t o, uint64_t ns)
{
	const struct sl_trace_op *op = &w->t->ops[o];
	char name[NAME_TEXT];

	sl_json_str(j, "NAME", op->kind[0] != '\0' ? op->kind : "op");
	sl_json_u64(j, "TIME", ns);
	sl_json_open(j, "ARGS", '[');
	for (uint32_t i = 0; i < w->roles.n[SL_ROLE_BORN]; i++)
		sl_json_str(j, NULL, name_of('v', w->roles.ids[i], name));
	sl_json_close(j, ']');
}

static sl_status print_result(struct writer *w, const char *name, uint64_t bytes)
{
	SL_TRY(about(w, "MEMORY", name, "MEMORY", (int64_t)bytes));
	return about(w, "ALIAS", name, "ALIAS", -1);
}

/* The workspace is a result that is let go at once. */
static sl_status print_call(struct writer *w, uint32_t o)
{
	const struct sl_trace_op *op = &w->t->ops[o];
	const uint32_t *n = w->roles.n;
	char name[NAME_TEXT];
	struct sl_json j;

	begin(&j, w, "CALL");
	op_members(&j, w, o, op->dur_ns);
	sl_json_open(&j, "RESULT", '[');
	for (uint32_t i = n[SL_ROLE_BORN]; i < n[SL_ROLE_COUNT]; i++)
		sl_json_str(&j, NULL, name_of('v', w->roles.ids[i], name));
	if (op->workspace_bytes > 0)
		sl_json_str(&j, NULL, name_of('w', o, name));
	sl_json_close(&j, ']');
	SL_TRY(end(&j));
	for (uint32_t i = n[SL_ROLE_BORN]; i < n[SL_ROLE_COUNT]; i++)
		SL_TRY(print_result(w, name_of('v', w->roles.ids[i], name),
			w->t->values[w->roles.ids[i]].bytes));
	if (op->workspace_bytes == 0)
		return SL_OK;
	SL_TRY(print_result(w, name_of('w', o, name), op->workspace_bytes));
	return about(w, "RELEASE", name, NULL, 0);
}

static sl_status print_mutate(struct writer *w, uint32_t o, uint64_t ns)
{
	const uint32_t *n = w->roles.n;
	struct sl_json j;

	begin(&j, w, "MUTATE");
	op_members(&j, w, o, ns);
	sl_json_open(&j, "MUTATE", '[');
	for (uint32_t i = n[SL_ROLE_CHANGED]; i < n[SL_ROLE_BORN]; i++)
		sl_json_u64(&j, NULL, i);
	sl_json_close(&j, ']');
	return end(&j);
}

/* An op that both bears and changes is a call, and a change of no time. */
static sl_status print_op(struct writer *w, uint32_t o)
{
	const struct sl_trace_op *op = &w->t->ops[o];
	const uint32_t *n = w->roles.n;
	bool changes = n[SL_ROLE_BORN] > n[SL_ROLE_CHANGED];
	bool calls =
		!changes || n[SL_ROLE_COUNT] > n[SL_ROLE_BORN] || op->workspace_bytes > 0;
	char name[NAME_TEXT];

	if (calls)
		SL_TRY(print_call(w, o));
	if (changes)
		SL_TRY(print_mutate(w, o, calls ? 0 : op->dur_ns));
	for (uint32_t i = 0; i < n[SL_ROLE_COUNT]; i++) {
		uint32_t v = w->roles.ids[i], after = w->index.first[v + 1];

		if (!sl_class_persistent(w->t->values[v].cls) &&
			w->index.uses[after - 1].op == o)
			SL_TRY(about(w, "RELEASE", name_of('v', v, name), NULL, 0));
	}
	return SL_OK;
}

sl_status sl_dtr_print(const struct sl_trace *t, struct sl_buf *out, struct sl_buf *none)
{
	struct writer w = {.t = t, .out = out};
	struct sl_json j;
	sl_status st;

	(void)none;
	SL_TRY(sl_trace_index_init(t, &w.index));
	SL_TRY_OUT(sl_roles_init(t, &w.roles));
	begin(&j, &w, "ANNOTATE");
	sl_json_str(&j, "ANNOTATION", "START");
	SL_TRY_OUT(end(&j));
	SL_TRY_OUT(print_constants(&w));
	for (uint32_t o = 0; o < t->n_ops; o++) {
		SL_TRY_OUT(sl_roles_op(&w.roles, t, o));
		SL_TRY_OUT(print_op(&w, o));
	}
out:
	sl_roles_finish(&w.roles);
	sl_trace_index_finish(&w.index);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a log that are ops. */
#include "memory/foreign/dtr_int.h"

#include <string.h>

#include "base/alloc.h"

struct call {
	struct sl_trace_op op;
	char kind[SL_DTR_NAME + 1];
	const struct sl_json_word *args;
	size_t n_args;
	uint32_t *slots; /* of the args, as they stood */
	size_t n;
};

static bool is_backward(const char *kind)
{
	return strstr(kind, "backward") != NULL || strstr(kind, "Backward") != NULL;
}

/* Name, time and args of an op; c->slots is to be freed. */
static sl_status begin_op(struct sl_dtr *r, struct call *c)
{
	struct sl_json_word w;
	int64_t ns;

	SL_TRY(sl_json_line_word(&r->l, "NAME", &w));
	SL_TRY(sl_dtr_name(r, &w, c->kind));
	SL_TRY(sl_json_line_word(&r->l, "TIME", &w));
	SL_TRY(sl_json_line_number(&r->l, "TIME", &w, &ns));
	if (ns < 0)
		return sl_json_line_fail(&r->l, SL_E_FORMAT, "TIME is below 0");
	SL_TRY(sl_json_line_list(&r->l, "ARGS", &c->args, &c->n_args));
	c->op = (struct sl_trace_op){
		.kind = c->kind, .dur_ns = (uint64_t)ns, .pure = true};
	c->slots = sl_alloc((c->n_args + 1) * sizeof(*c->slots));
	if (c->slots == NULL)
		return sl_dtr_no_memory();
	for (size_t i = 0; i < c->n_args; i++) {
		SL_TRY(sl_dtr_find(r, &c->args[i], &c->slots[i]));
		c->slots[i] = r->slots[c->slots[i]];
	}
	r->backward = r->backward || is_backward(c->kind);
	return SL_OK;
}

/* Appends a value to the op's lists, if the list being gathered does not have it. */
static sl_status append(struct sl_dtr *r, struct call *c, uint32_t value)
{
	if (value == SL_NO_ID || r->notes[value].stamp == r->stamp)
		return SL_OK;
	if (sl_grow((void **)&r->ids, &r->cap_ids, c->n + 1, sizeof(*r->ids),
		    SL_TRACE_MAX_VALUES))
		return sl_dtr_no_memory();
	r->notes[value].stamp = r->stamp;
	r->ids[c->n++] = value;
	return SL_OK;
}

static sl_status end_op(struct sl_dtr *r, struct call *c, size_t reads, size_t births)
{
	c->op.in = r->ids;
	c->op.n_in = (uint32_t)reads;
	c->op.out = births > 0 ? r->ids + reads : NULL;
	c->op.n_out = (uint32_t)births;
	c->op.n_mutates = (uint32_t)(c->n - reads - births);
	c->op.mutates = c->op.n_mutates > 0 ? r->ids + reads + births : NULL;
	return sl_trace_add_op(&r->t, &c->op);
}

/* A result that is a view is its argument under another name. */
static sl_status add_result(
	struct sl_dtr *r, struct call *c, const struct sl_json_word *name)
{
	int64_t bytes, view;
	uint32_t value;

	SL_TRY(sl_dtr_follow(r, "MEMORY", "MEMORY", name, &bytes));
	SL_TRY(sl_dtr_follow(r, "ALIAS", "ALIAS", name, &view));
	if (view >= (int64_t)c->n_args)
		return sl_json_line_fail(&r->l, SL_E_FORMAT,
			"a view of argument %lld; there are %zu", (long long)view,
			c->n_args);
	if (view >= 0)
		return sl_dtr_define(r, name, c->slots[view]);
	SL_TRY(sl_dtr_value(
		r, name, bytes, r->backward ? SL_CLASS_GRAD : SL_CLASS_ACT, &value));
	SL_TRY(append(r, c, value));
	return sl_dtr_define(r, name, value);
}

static sl_status call_lists(struct sl_dtr *r, struct call *c)
{
	const struct sl_json_word *results;
	struct sl_json_word *copy;
	size_t n, reads;
	sl_status st = SL_OK;

	SL_TRY(begin_op(r, c));
	r->stamp++;
	SL_TRY(sl_json_line_list(&r->l, "RESULT", &results, &n));
	for (size_t i = 0; i < c->n_args; i++)
		SL_TRY(append(r, c, c->slots[i]));
	reads = c->n;
	r->stamp++;
	/* The lines that follow take the place of this one's words. */
	copy = sl_alloc((n + 1) * sizeof(*copy));
	if (copy == NULL)
		return sl_dtr_no_memory();
	if (n > 0)
		memcpy(copy, results, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		SL_TRY_OUT(add_result(r, c, &copy[i]));
	SL_TRY_OUT(end_op(r, c, reads, c->n - reads));
out:
	sl_free(copy);
	return st;
}

static sl_status mutate_lists(struct sl_dtr *r, struct call *c)
{
	const struct sl_json_word *changed;
	size_t n, reads;
	uint8_t *is_changed;
	sl_status st = SL_OK;

	SL_TRY(begin_op(r, c));
	r->stamp++;
	SL_TRY(sl_json_line_list(&r->l, "MUTATE", &changed, &n));
	is_changed = sl_calloc((size_t)r->t.n_values + 1, 1);
	if (is_changed == NULL)
		return sl_dtr_no_memory();
	for (size_t i = 0; i < n; i++) {
		int64_t at;

		SL_TRY_OUT(sl_json_line_number(&r->l, "MUTATE", &changed[i], &at));
		if (at < 0 || at >= (int64_t)c->n_args) {
			st = sl_json_line_fail(&r->l, SL_E_FORMAT,
				"argument %lld is changed; there are %zu", (long long)at,
				c->n_args);
			goto out;
		}
		if (c->slots[at] != SL_NO_ID)
			is_changed[c->slots[at]] = 1;
	}
	for (size_t i = 0; i < c->n_args; i++)
		if (c->slots[i] != SL_NO_ID && !is_changed[c->slots[i]])
			SL_TRY_OUT(append(r, c, c->slots[i]));
	reads = c->n;
	r->stamp++;
	for (size_t i = 0; i < c->n_args; i++) {
		uint32_t v = c->slots[i];

		if (v == SL_NO_ID || !is_changed[v])
			continue;
		SL_TRY_OUT(append(r, c, v));
		if (r->t.values[v].cls == SL_CLASS_CONST)
			r->t.values[v].cls = SL_CLASS_PARAM;
	}
	SL_TRY_OUT(end_op(r, c, reads, 0));
out:
	sl_free(is_changed);
	return st;
}

sl_status sl_dtr_call(struct sl_dtr *r)
{
	struct call c = {.n = 0};
	sl_status st = call_lists(r, &c);

	sl_free(c.slots);
	return st;
}

sl_status sl_dtr_mutate(struct sl_dtr *r)
{
	struct call c = {.n = 0};
	sl_status st = mutate_lists(r, &c);

	sl_free(c.slots);
	return st;
}

/* What names still stand for at the end is the result, and there all at once. */
sl_status sl_dtr_output(struct sl_dtr *r)
{
	struct call c = {.op = {.kind = SL_DTR_OUTPUT}};

	r->stamp++;
	for (uint32_t v = 0; v < r->t.n_values; v++)
		if (r->notes[v].refs > 0 && !sl_class_persistent(r->t.values[v].cls))
			SL_TRY(append(r, &c, v));
	return c.n > 0 ? end_op(r, &c, c.n, 0) : SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a table of tensors and one of kernels. */
#include <string.h>

#include "base/csv.h"
#include "base/map.h"
#include "memory/foreign/roles_int.h"

static const char *const class_names[SL_CLASS_COUNT] = {
	[SL_CLASS_PARAM] = "weight",
	[SL_CLASS_ACT] = "activation",
	[SL_CLASS_GRAD] = "gradient",
};

struct writer {
	const struct sl_trace *t;
	struct sl_roles roles;
	bool named; /* tensors go by their names, not their numbers */
	struct sl_buf *out;
	uint32_t kernels;
};

static bool fits_field(const char *text)
{
	return text[0] != '\0' && strpbrk(text, ",\" \t") == NULL &&
	       strlen(text) < SL_CSV_LINE_BYTES / 4;
}

/* Names serve as ids if each value has one of its own. */
static sl_status look_at_names(const struct sl_trace *t, bool *out)
{
	struct sl_map names = {0};
	sl_status st = SL_OK;

	*out = true;
	for (uint32_t v = 0; v < t->n_values && *out; v++) {
		const char *name = t->values[v].name;

		if (t->values[v].alias != SL_NO_ID)
			continue;
		*out = fits_field(name) && !sl_map_find(&names, name, NULL);
		if (*out)
			SL_TRY_OUT(sl_map_add(&names, name, v));
	}
out:
	sl_map_finish(&names);
	return st;
}

static sl_status print_id(const struct writer *w, uint32_t v)
{
	return w->named ? sl_buf_puts(w->out, w->t->values[v].name)
			: sl_buf_printf(w->out, "%u", v);
}

static sl_status print_tensors(struct writer *w)
{
	SL_TRY(sl_buf_puts(w->out, "id,size_bytes,class\n"));
	for (uint32_t v = 0; v < w->t->n_values; v++) {
		const struct sl_trace_value *x = &w->t->values[v];
		const char *cls = class_names[x->cls];

		if (x->alias != SL_NO_ID)
			continue;
		SL_TRY(print_id(w, v));
		SL_TRY(sl_buf_printf(w->out, ",%llu,%s\n", (unsigned long long)x->bytes,
			cls != NULL ? cls : sl_class_name(x->cls)));
	}
	return SL_OK;
}

/* Reading makes them again. */
static bool is_feed(const struct sl_trace_op *op)
{
	return strcmp(op->kind, SL_G10_FEED) == 0 && op->dur_ns == 0 && op->n_in == 0 &&
	       op->n_mutates == 0 && op->workspace_bytes == 0;
}

static sl_status print_ids(const struct writer *w, enum sl_role from, enum sl_role to)
{
	for (uint32_t i = w->roles.n[from]; i < w->roles.n[to]; i++) {
		if (i > w->roles.n[from])
			SL_TRY(sl_buf_puts(w->out, " "));
		SL_TRY(print_id(w, w->roles.ids[i]));
	}
	return SL_OK;
}

static sl_status print_kernel(struct writer *w, const struct sl_trace_op *op)
{
	size_t begin = w->out->len;

	SL_TRY(sl_buf_printf(w->out, "%u,%s,%llu,%llu,", w->kernels++,
		fits_field(op->kind) ? op->kind : "op", (unsigned long long)op->dur_ns,
		(unsigned long long)op->workspace_bytes));
	SL_TRY(print_ids(w, SL_ROLE_READ, SL_ROLE_OVERWRITTEN));
	SL_TRY(sl_buf_puts(w->out, ","));
	SL_TRY(print_ids(w, SL_ROLE_CHANGED, SL_ROLE_COUNT));
	if (w->out->len - begin > SL_CSV_LINE_BYTES)
		return SL_FAIL(SL_E_LIMIT,
			"kernel %u (%.48s) names so many tensors that its line has over "
			"%d bytes",
			w->kernels - 1, op->kind, SL_CSV_LINE_BYTES);
	return sl_buf_puts(w->out, "\n");
}

sl_status sl_g10_print(
	const struct sl_trace *t, struct sl_buf *kernels, struct sl_buf *tensors)
{
	struct writer w = {.t = t, .out = tensors};
	sl_status st;

	SL_TRY(look_at_names(t, &w.named));
	SL_TRY(sl_roles_init(t, &w.roles));
	SL_TRY_OUT(print_tensors(&w));
	w.out = kernels;
	SL_TRY_OUT(sl_buf_puts(
		kernels, "index,name,time_ns,workspace_bytes,inputs,outputs\n"));
	for (uint32_t o = 0; o < t->n_ops; o++) {
		if (is_feed(&t->ops[o]))
			continue;
		SL_TRY_OUT(sl_roles_op(&w.roles, t, o));
		SL_TRY_OUT(print_kernel(&w, &t->ops[o]));
	}
out:
	sl_roles_finish(&w.roles);
	return st;
}

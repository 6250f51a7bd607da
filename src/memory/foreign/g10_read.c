/* SPDX-License-Identifier: Apache-2.0 */
/* Published kernel traces: a table of tensors and one of kernels become a trace. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/units.h"
#include "memory/foreign/columns_int.h"
#include "memory/foreign/foreign.h"
#include "memory/place.h"

#define GIB ((uint64_t)1 << 30)

/* The device of the published runs; its disk has no size there, this one is never full.
 */
static const struct {
	const char *name;
	uint64_t bytes, bytes_per_s, out_ns, in_ns;
} tier_rows[] = {
	{"host", 128 * GIB, 15754000000u, 5000, 5000},
	{"disk", 4096 * GIB, 3200000000u, 16000, 12000},
};

static const struct {
	const char *name;
	enum sl_class cls;
} class_rows[] = {
	{"weight", SL_CLASS_PARAM},
	{"activation", SL_CLASS_ACT},
	{"gradient", SL_CLASS_GRAD},
};

enum { T_ID, T_BYTES, T_CLASS, T_COLUMNS };
static const char *const tensor_columns[T_COLUMNS] = {"id", "size_bytes", "class"};
enum { K_INDEX, K_NAME, K_TIME, K_WORKSPACE, K_INPUTS, K_OUTPUTS, K_COLUMNS };
static const char *const kernel_columns[K_COLUMNS] = {
	"index", "name", "time_ns", "workspace_bytes", "inputs", "outputs"};

/* Marks of a tensor at the kernel being read, and whether it was born. */
enum { BORN = 1, AS_INPUT = 2, AS_OUTPUT = 4 };

struct reader {
	struct sl_trace t;
	struct sl_columns c;
	struct sl_map ids;
	uint8_t *marks; /* [n_values] */
	uint32_t *ids_in, *ids_out; /* of the kernel */
	size_t cap_in, cap_out;
	uint32_t n_in, n_out, n_kernels;
};

static sl_status find_class(struct reader *r, enum sl_class *out)
{
	const struct sl_csv_field *f = sl_columns_field(&r->c, T_CLASS);
	char text[SL_CSV_SHOWN];

	for (size_t i = 0; i < sizeof(class_rows) / sizeof(class_rows[0]); i++) {
		*out = class_rows[i].cls;
		if (sl_columns_is(f, class_rows[i].name))
			return SL_OK;
	}
	for (int c = 0; c < SL_CLASS_COUNT; c++) {
		*out = (enum sl_class)c;
		if (sl_columns_is(f, sl_class_name(*out)))
			return SL_OK;
	}
	return sl_csv_fail(&r->c.csv, SL_E_FORMAT,
		"class '%s' is not known; weight, input, activation and gradient are",
		sl_csv_shown(f, text));
}

/* As large a power of two as divides the size: then no rounding adds bytes. */
static uint64_t alignment(uint64_t bytes)
{
	uint64_t low = bytes & (~bytes + 1);

	return low < SL_PAGE_BYTES ? low : SL_PAGE_BYTES;
}

static sl_status add_tensor(struct reader *r)
{
	struct sl_trace_value v = {.alias = SL_NO_ID};
	char name[SL_COLUMNS_WORD];

	SL_TRY(sl_columns_word(&r->c, T_ID, name));
	SL_TRY(sl_columns_u64(&r->c, T_BYTES, &v.bytes));
	SL_TRY(find_class(r, &v.cls));
	if (v.bytes == 0)
		return sl_csv_fail(
			&r->c.csv, SL_E_FORMAT, "tensor %.32s has no bytes", name);
	if (sl_map_find(&r->ids, name, NULL))
		return sl_csv_fail(&r->c.csv, SL_E_FORMAT,
			"the id %.32s is given to two tensors", name);
	SL_TRY(sl_map_add(&r->ids, name, r->t.n_values));
	v.align = alignment(v.bytes);
	v.name = name;
	return sl_trace_add_value(&r->t, &v);
}

static sl_status read_tensors(struct reader *r, const struct sl_foreign_text *text)
{
	bool more = true;

	SL_TRY(sl_columns_begin(&r->c, text, tensor_columns, T_COLUMNS));
	for (;;) {
		SL_TRY(sl_csv_row(&r->c.csv, &more));
		if (!more)
			break;
		SL_TRY(add_tensor(r));
	}
	r->marks = sl_calloc((size_t)r->t.n_values + 1, 1);
	if (r->marks == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory left for %u tensors", r->t.n_values);
	return SL_OK;
}

/* The ids of a field, between blanks. */
static sl_status read_ids(struct reader *r, int column, uint8_t mark)
{
	bool in = mark == AS_INPUT;
	uint32_t **ids = in ? &r->ids_in : &r->ids_out, *n = in ? &r->n_in : &r->n_out;
	size_t *cap = in ? &r->cap_in : &r->cap_out;
	const struct sl_csv_field *f = sl_columns_field(&r->c, column);
	struct sl_csv_field w = {f->text, 0};

	for (*n = 0; sl_columns_next(f, &w); (*n)++) {
		char name[SL_COLUMNS_WORD], text[SL_CSV_SHOWN];
		uint32_t id = 0;

		if (!sl_columns_copy(&w, name) || !sl_map_find(&r->ids, name, &id))
			return sl_csv_fail(&r->c.csv, SL_E_FORMAT,
				"%s names tensor '%s', which the other file does not "
				"have",
				kernel_columns[column], sl_csv_shown(&w, text));
		if (r->marks[id] & mark)
			return sl_csv_fail(&r->c.csv, SL_E_FORMAT,
				"%s names tensor %.32s twice", kernel_columns[column],
				name);
		if (sl_grow((void **)ids, cap, (size_t)*n + 1, sizeof(**ids),
			    SL_TRACE_MAX_VALUES))
			return SL_FAIL(SL_E_NOMEM, "no host memory left for a kernel");
		r->marks[id] |= mark;
		(*ids)[*n] = id;
	}
	return SL_OK;
}

/* One op for each, so that each is born where it is first needed. */
static sl_status feed(struct reader *r, const char *scope)
{
	for (uint32_t i = 0; i < r->n_in; i++) {
		uint32_t v = r->ids_in[i];

		if (sl_class_persistent(r->t.values[v].cls) || r->marks[v] & BORN)
			continue;
		r->marks[v] |= BORN;
		SL_TRY(sl_trace_add_op(&r->t, &(struct sl_trace_op){.kind = SL_G10_FEED,
						      .scope = scope,
						      .out = &v,
						      .n_out = 1}));
	}
	return SL_OK;
}

/* Of the two lists: only read, changed in place, written. */
static sl_status add_op(struct reader *r, struct sl_trace_op *op)
{
	uint32_t *lists = sl_alloc(((size_t)r->n_in + r->n_out + 1) * sizeof(*lists));
	uint32_t n = 0;
	sl_status st = SL_OK;

	if (lists == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a kernel");
	op->in = lists;
	for (uint32_t i = 0; i < r->n_in; i++)
		if (!(r->marks[r->ids_in[i]] & AS_OUTPUT))
			lists[n++] = r->ids_in[i];
	op->n_in = n;
	op->out = lists + n;
	for (uint32_t i = 0; i < r->n_out; i++)
		if (!(r->marks[r->ids_out[i]] & (AS_INPUT | BORN)))
			lists[n++] = r->ids_out[i];
	op->n_out = n - op->n_in;
	op->mutates = lists + n;
	for (uint32_t i = 0; i < r->n_out; i++)
		if (r->marks[r->ids_out[i]] & (AS_INPUT | BORN))
			lists[n++] = r->ids_out[i];
	op->n_mutates = n - op->n_in - op->n_out;
	st = sl_trace_add_op(&r->t, op);
	sl_free(lists);
	return st;
}

static void forget_kernel(struct reader *r)
{
	for (uint32_t i = 0; i < r->n_in; i++)
		r->marks[r->ids_in[i]] &= BORN;
	for (uint32_t i = 0; i < r->n_out; i++) {
		uint32_t v = r->ids_out[i];

		r->marks[v] &= BORN;
		if (!sl_class_persistent(r->t.values[v].cls))
			r->marks[v] |= BORN;
	}
}

static sl_status add_kernel(struct reader *r)
{
	struct sl_trace_op op = {.pure = true};
	char kind[SL_COLUMNS_WORD], scope[16];
	uint64_t index = 0;

	SL_TRY(sl_columns_u64(&r->c, K_INDEX, &index));
	if (index != r->n_kernels)
		return sl_csv_fail(&r->c.csv, SL_E_FORMAT,
			"kernel %llu is out of order; this one is %u",
			(unsigned long long)index, r->n_kernels);
	snprintf(scope, sizeof(scope), "k%u", r->n_kernels++);
	SL_TRY(sl_columns_word(&r->c, K_NAME, kind));
	SL_TRY(sl_columns_u64(&r->c, K_TIME, &op.dur_ns));
	SL_TRY(sl_columns_u64(&r->c, K_WORKSPACE, &op.workspace_bytes));
	SL_TRY(read_ids(r, K_INPUTS, AS_INPUT));
	SL_TRY(read_ids(r, K_OUTPUTS, AS_OUTPUT));
	op.kind = kind;
	op.scope = scope;
	SL_TRY(feed(r, scope));
	SL_TRY(add_op(r, &op));
	forget_kernel(r);
	return SL_OK;
}

static sl_status read_kernels(struct reader *r, const struct sl_foreign_text *text)
{
	bool more = true;

	SL_TRY(sl_columns_begin(&r->c, text, kernel_columns, K_COLUMNS));
	for (;;) {
		SL_TRY(sl_csv_row(&r->c.csv, &more));
		if (!more)
			break;
		SL_TRY(add_kernel(r));
	}
	return SL_OK;
}

static sl_status add_tiers(struct sl_trace *t)
{
	for (uint32_t i = 0; i < sizeof(tier_rows) / sizeof(tier_rows[0]); i++) {
		struct sl_trace_link out = {.to = i + 1,
			.bytes_per_s = tier_rows[i].bytes_per_s,
			.latency_ns = tier_rows[i].out_ns};
		struct sl_trace_link in = {.from = i + 1,
			.bytes_per_s = tier_rows[i].bytes_per_s,
			.latency_ns = tier_rows[i].in_ns};

		SL_TRY(sl_trace_add_tier(t, tier_rows[i].name, tier_rows[i].bytes));
		SL_TRY(sl_trace_add_link(t, &out));
		SL_TRY(sl_trace_add_link(t, &in));
	}
	return SL_OK;
}

sl_status sl_g10_parse(const struct sl_foreign_text *tensors,
	const struct sl_foreign_text *kernels, struct sl_trace *out)
{
	struct reader r = {.t = SL_TRACE_INIT};
	sl_status st = SL_OK;

	r.t.job_name = "g10";
	SL_TRY_OUT(add_tiers(&r.t));
	SL_TRY_OUT(read_tensors(&r, tensors));
	SL_TRY_OUT(read_kernels(&r, kernels));
	SL_TRY_OUT(sl_foreign_take(&r.t, kernels->source, out));
out:
	sl_map_finish(&r.ids);
	sl_free(r.marks);
	sl_free(r.ids_in);
	sl_free(r.ids_out);
	sl_trace_finish(&r.t);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The trace as text: docs/formats/trace.md. Unknown keys are errors; a parsed trace is
 * checked. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/text_fields_int.h"
#include "memory/trace.h"

struct parser {
	struct sl_text text;
	struct sl_trace t;
	struct sl_field_ctx ctx;
	uint32_t *ids; /* scratch for one list */
	size_t cap_ids;
};

static bool lookup_class(
	const void *ctx, const char *key, const char *name, uint32_t *out)
{
	(void)ctx;
	(void)key;
	for (uint32_t c = 0; c < SL_CLASS_COUNT; c++) {
		if (strcmp(sl_class_name((enum sl_class)c), name) == 0) {
			*out = c;
			return true;
		}
	}
	return false;
}

/* Every numbered line carries its own place in the order, so that ids are dense. */
static sl_status parse_own_id(struct parser *p, char prefix, uint32_t want)
{
	struct sl_word w;
	uint64_t id = 0;
	uint32_t narrow = 0;

	SL_TRY(sl_fields_bare(&p->text, "the id", &w));
	if (prefix) {
		SL_TRY(sl_word_id(&p->text, &w, prefix, &narrow));
		id = narrow;
	} else {
		SL_TRY(sl_word_u64(&p->text, &w, &id));
	}
	if (id != want)
		return sl_text_fail(&p->text, "id %llu is out of order, %u comes next",
			(unsigned long long)id, want);
	return SL_OK;
}

static sl_status parse_job(struct parser *p)
{
	static const struct sl_field fields[] = {
		{"name", SL_FIELD_NAME, offsetof(struct sl_trace, job_name), false},
		{"iterations", SL_FIELD_U64, offsetof(struct sl_trace, iterations),
			false},
		{"move_bytes_per_s", SL_FIELD_U64,
			offsetof(struct sl_trace, move_bytes_per_s), false},
	};
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the job's id", &w));
	SL_TRY(sl_field_value(&p->ctx, SL_FIELD_U32, &w, &p->t.job));
	return sl_fields_parse(&p->ctx, fields, 3, &p->t);
}

static sl_status parse_tier(struct parser *p)
{
	static const struct sl_field fields[] = {
		{"bytes", SL_FIELD_U64, offsetof(struct sl_trace_tier, bytes), true},
	};
	struct sl_trace_tier tier = {0};
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the tier's name", &w));
	SL_TRY(sl_fields_copy(&p->t.arena, &w, &tier.name));
	SL_TRY(sl_fields_parse(&p->ctx, fields, 1, &tier));
	return sl_trace_add_tier(&p->t, tier.name, tier.bytes);
}

static sl_status parse_end(struct parser *p, uint32_t *out)
{
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "an end of the link", &w));
	if (sl_word_is(&w, "device")) {
		*out = 0;
		return SL_OK;
	}
	for (uint32_t i = 0; i < p->t.n_tiers; i++) {
		if (sl_word_is(&w, p->t.tiers[i].name)) {
			*out = i + 1;
			return SL_OK;
		}
	}
	return sl_text_fail(&p->text, "a link ends at no tier named so far");
}

static bool lookup_duplex(
	const void *ctx, const char *key, const char *name, uint32_t *out)
{
	(void)ctx;
	(void)key;
	*out = strcmp(name, "half") == 0;
	return *out || strcmp(name, "full") == 0;
}

static sl_status parse_link(struct parser *p)
{
	struct link_line {
		struct sl_trace_link link;
		uint32_t half;
	} line = {0};
	static const struct sl_field fields[] = {
		{"bytes_per_s", SL_FIELD_U64,
			offsetof(struct link_line, link.bytes_per_s), true},
		{"latency_ns", SL_FIELD_U64, offsetof(struct link_line, link.latency_ns),
			false},
		{"duplex", SL_FIELD_LOOKUP, offsetof(struct link_line, half), false},
	};
	struct sl_field_ctx ctx = p->ctx;

	ctx.lookup = lookup_duplex;
	SL_TRY(parse_end(p, &line.link.from));
	SL_TRY(parse_end(p, &line.link.to));
	SL_TRY(sl_fields_parse(&ctx, fields, 3, &line));
	line.link.half_duplex = line.half != 0;
	return sl_trace_add_link(&p->t, &line.link);
}

static sl_status parse_value(struct parser *p)
{
	struct value_line {
		struct sl_trace_value v;
		uint32_t cls;
	} line = {.v = {.align = 1, .alias = SL_NO_ID, .name = ""}};
	static const struct sl_field fields[] = {
		{"bytes", SL_FIELD_U64, offsetof(struct value_line, v.bytes), true},
		{"align", SL_FIELD_U64, offsetof(struct value_line, v.align), false},
		{"class", SL_FIELD_LOOKUP, offsetof(struct value_line, cls), true},
		{"alias", SL_FIELD_ID, offsetof(struct value_line, v.alias), false},
		{"version", SL_FIELD_U32, offsetof(struct value_line, v.version), false},
		{"immovable", SL_FIELD_BOOL, offsetof(struct value_line, v.immovable),
			false},
		{"external", SL_FIELD_BOOL, offsetof(struct value_line, v.external),
			false},
		{"name", SL_FIELD_NAME, offsetof(struct value_line, v.name), false},
	};
	struct sl_field_ctx ctx = p->ctx;

	ctx.lookup = lookup_class;
	SL_TRY(parse_own_id(p, 'v', p->t.n_values));
	SL_TRY(sl_fields_parse(&ctx, fields, sizeof(fields) / sizeof(fields[0]), &line));
	line.v.cls = (enum sl_class)line.cls;
	return sl_trace_add_value(&p->t, &line.v);
}

/* "v0,v12" into p->ids from *used on; '-' or nothing is the empty list. */
static sl_status parse_list(struct parser *p, const char *text, size_t *used, uint32_t *n)
{
	const char *at = text;

	*n = 0;
	if (!text || !text[0] || strcmp(text, "-") == 0)
		return SL_OK;
	for (;;) {
		size_t len = strcspn(at, ",");
		struct sl_word w = {.value = at, .value_len = len};

		if (sl_grow((void **)&p->ids, &p->cap_ids, *used + 1, sizeof(*p->ids),
			    SL_TRACE_MAX_VALUES))
			return SL_FAIL(
				SL_E_NOMEM, "no host memory left for an op's list");
		SL_TRY(sl_word_id(&p->text, &w, 'v', &p->ids[*used]));
		(*used)++;
		(*n)++;
		if (!at[len])
			return SL_OK;
		at += len + 1;
	}
}

struct op_line {
	struct sl_trace_op op;
	const char *in, *out, *mutates;
};

/* Lists may be longer than a name: they are copied whole, without the limit of names. */
static sl_status parse_op_words(struct parser *p, struct op_line *line)
{
	static const struct sl_field fields[] = {
		{"kind", SL_FIELD_WORD, offsetof(struct op_line, op.kind), true},
		{"scope", SL_FIELD_WORD, offsetof(struct op_line, op.scope), false},
		{"device", SL_FIELD_U32, offsetof(struct op_line, op.device), false},
		{"stream", SL_FIELD_U32, offsetof(struct op_line, op.stream), false},
		{"dur_ns", SL_FIELD_U64, offsetof(struct op_line, op.dur_ns), false},
		{"workspace", SL_FIELD_U64, offsetof(struct op_line, op.workspace_bytes),
			false},
		{"in", SL_FIELD_LIST, offsetof(struct op_line, in), false},
		{"out", SL_FIELD_LIST, offsetof(struct op_line, out), false},
		{"mutates", SL_FIELD_LIST, offsetof(struct op_line, mutates), false},
		{"pure", SL_FIELD_BOOL, offsetof(struct op_line, op.pure), false},
	};

	return sl_fields_parse(&p->ctx, fields, sizeof(fields) / sizeof(fields[0]), line);
}

static sl_status parse_op(struct parser *p)
{
	struct op_line line = {.op = {.kind = "", .scope = "", .pure = true}};
	size_t used = 0;

	SL_TRY(parse_own_id(p, 0, p->t.n_ops));
	SL_TRY(parse_op_words(p, &line));
	SL_TRY(parse_list(p, line.in, &used, &line.op.n_in));
	SL_TRY(parse_list(p, line.out, &used, &line.op.n_out));
	SL_TRY(parse_list(p, line.mutates, &used, &line.op.n_mutates));
	line.op.in = p->ids;
	line.op.out = line.op.n_out ? p->ids + line.op.n_in : NULL;
	line.op.mutates =
		line.op.n_mutates ? p->ids + line.op.n_in + line.op.n_out : NULL;
	return sl_trace_add_op(&p->t, &line.op);
}

static const struct {
	const char *word;
	sl_status (*parse)(struct parser *p);
} line_rows[] = {
	{"job", parse_job},
	{"link", parse_link},
	{"op", parse_op},
	{"tier", parse_tier},
	{"value", parse_value},
};

static sl_status parse_line(struct parser *p)
{
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the kind of line", &w));
	for (size_t i = 0; i < sizeof(line_rows) / sizeof(line_rows[0]); i++) {
		if (sl_word_is(&w, line_rows[i].word))
			return line_rows[i].parse(p);
	}
	return sl_text_fail(&p->text,
		"`%.*s` begins no line of a trace; job, tier, link, value and "
		"op do",
		sl_fields_clip(w.value_len), w.value);
}

static sl_status parse_version(struct parser *p)
{
	struct sl_word w = {0};
	uint64_t version = 0;
	bool more = false;

	SL_TRY(sl_text_line(&p->text, &more));
	if (!more || !sl_text_word(&p->text, &w) || !sl_word_is(&w, "trace"))
		return sl_text_fail(
			&p->text, "this is no trace: the first line is `trace 1`");
	SL_TRY(sl_fields_bare(&p->text, "the version", &w));
	SL_TRY(sl_word_u64(&p->text, &w, &version));
	if (version != SL_TRACE_VERSION)
		return sl_text_fail(&p->text, "trace version %llu, this build reads %d",
			(unsigned long long)version, SL_TRACE_VERSION);
	return sl_fields_end(&p->text);
}

sl_status sl_trace_parse(
	const char *source, const char *data, size_t len, struct sl_trace *out)
{
	sl_status st = SL_OK;
	struct parser p = {.t = SL_TRACE_INIT};
	bool more = true;

	sl_text_init(&p.text, source, data, len);
	p.ctx = (struct sl_field_ctx){.text = &p.text, .arena = &p.t.arena};
	SL_TRY_OUT(parse_version(&p));
	for (;;) {
		SL_TRY_OUT(sl_text_line(&p.text, &more));
		if (!more)
			break;
		SL_TRY_OUT(parse_line(&p));
	}
	st = sl_trace_check(&p.t);
	if (st != SL_OK) {
		st = sl_fail_prefix(st, "%s", source);
		goto out;
	}
	*out = p.t;
	p.t = SL_TRACE_INIT;
out:
	sl_free(p.ids);
	sl_trace_finish(&p.t);
	return st;
}

/* Printing. */

static const char *or_dash(const char *text)
{
	return text && text[0] ? text : "-";
}

static sl_status print_list(
	struct sl_buf *out, const char *key, const uint32_t *list, uint32_t n)
{
	SL_TRY(sl_buf_printf(out, " %s=", key));
	if (n == 0)
		return sl_buf_puts(out, "-");
	for (uint32_t i = 0; i < n; i++)
		SL_TRY(sl_buf_printf(out, "%sv%u", i ? "," : "", list[i]));
	return SL_OK;
}

static sl_status print_value(const struct sl_trace *t, uint32_t id, struct sl_buf *out)
{
	const struct sl_trace_value *v = &t->values[id];
	char alias[16] = "-";

	if (v->alias != SL_NO_ID)
		(void)snprintf(alias, sizeof(alias), "v%u", v->alias);
	SL_TRY(sl_buf_printf(out,
		"value v%u bytes=%llu align=%llu class=%s alias=%s version=%u "
		"immovable=%d "
		"external=%d",
		id, (unsigned long long)v->bytes, (unsigned long long)v->align,
		sl_class_name(v->cls), alias, v->version, v->immovable, v->external));
	if (v->name[0])
		SL_TRY(sl_buf_printf(out, " name=%s", v->name));
	return sl_buf_puts(out, "\n");
}

static sl_status print_op(const struct sl_trace *t, uint32_t id, struct sl_buf *out)
{
	const struct sl_trace_op *o = &t->ops[id];

	SL_TRY(sl_buf_printf(out,
		"op %u kind=%s scope=%s device=%u stream=%u dur_ns=%llu workspace=%llu",
		id, or_dash(o->kind), or_dash(o->scope), o->device, o->stream,
		(unsigned long long)o->dur_ns, (unsigned long long)o->workspace_bytes));
	SL_TRY(print_list(out, "in", o->in, o->n_in));
	SL_TRY(print_list(out, "out", o->out, o->n_out));
	SL_TRY(print_list(out, "mutates", o->mutates, o->n_mutates));
	return sl_buf_printf(out, " pure=%d\n", o->pure);
}

static const char *place_name(const struct sl_trace *t, uint32_t place)
{
	return place == 0 ? "device" : t->tiers[place - 1].name;
}

sl_status sl_trace_print(const struct sl_trace *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, "trace %d\njob %u name=%s iterations=%llu",
		SL_TRACE_VERSION, t->job, t->job_name,
		(unsigned long long)t->iterations));
	if (t->move_bytes_per_s > 0)
		SL_TRY(sl_buf_printf(out, " move_bytes_per_s=%llu",
			(unsigned long long)t->move_bytes_per_s));
	SL_TRY(sl_buf_printf(out, "\n"));
	for (uint32_t i = 0; i < t->n_tiers; i++)
		SL_TRY(sl_buf_printf(out, "tier %s bytes=%llu\n", t->tiers[i].name,
			(unsigned long long)t->tiers[i].bytes));
	for (uint32_t i = 0; i < t->n_links; i++) {
		const struct sl_trace_link *l = &t->links[i];

		SL_TRY(sl_buf_printf(out,
			"link %s %s bytes_per_s=%llu latency_ns=%llu duplex=%s\n",
			place_name(t, l->from), place_name(t, l->to),
			(unsigned long long)l->bytes_per_s,
			(unsigned long long)l->latency_ns,
			l->half_duplex ? "half" : "full"));
	}
	for (uint32_t i = 0; i < t->n_values; i++)
		SL_TRY(print_value(t, i, out));
	for (uint32_t i = 0; i < t->n_ops; i++)
		SL_TRY(print_op(t, i, out));
	return SL_OK;
}

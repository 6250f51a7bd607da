/* SPDX-License-Identifier: Apache-2.0 */
/* The cost book as text: docs/formats/cost.md. Unknown keys are errors. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sim/cost.h"

#define MOST_RATE 1e18
#define MOST_START_NS 1e12
#define MOST_LOAD 1e3

/* key=value words of a line into the fields of a struct; each key is required. */
enum value_kind { NUMBER, RATE, WHOLE };

struct field {
	const char *key;
	enum value_kind kind;
	double most;
	size_t offset;
};

static sl_status take_number(
	struct sl_text *t, const struct field *f, const struct sl_word *w, double *out)
{
	double x;

	SL_TRY(sl_word_f64(t, w, &x));
	if (!(x >= 0) || x > f->most || (f->kind == RATE && !(x > 0)))
		return sl_text_fail(t, "%s is a number %s, at most %g", f->key,
			f->kind == RATE ? "above 0" : "of 0 or more", f->most);
	*out = x;
	return SL_OK;
}

static sl_status take_whole(
	struct sl_text *t, const struct field *f, const struct sl_word *w, uint64_t *out)
{
	uint64_t x;

	SL_TRY(sl_word_u64(t, w, &x));
	if ((double)x > f->most)
		return sl_text_fail(t, "%s is at most %g", f->key, f->most);
	*out = x;
	return SL_OK;
}

static sl_status take_field(
	struct sl_text *t, const struct field *f, const struct sl_word *w, char *object)
{
	double number = 0;
	uint64_t whole = 0;

	if (f->kind == WHOLE) {
		SL_TRY(take_whole(t, f, w, &whole));
		memcpy(object + f->offset, &whole, sizeof(whole));
		return SL_OK;
	}
	SL_TRY(take_number(t, f, w, &number));
	memcpy(object + f->offset, &number, sizeof(number));
	return SL_OK;
}

static int clip(size_t len)
{
	return len > 64 ? 64 : (int)len;
}

static sl_status take_fields(
	struct sl_text *t, const struct field *fields, uint32_t n, void *object)
{
	uint32_t seen = 0;
	struct sl_word w;

	while (sl_text_word(t, &w)) {
		uint32_t i = 0;

		while (i < n && !sl_word_key_is(&w, fields[i].key))
			i++;
		if (i == n)
			return sl_text_fail(t, "`%.*s` is no key of this line",
				clip(w.key != NULL ? w.key_len : w.value_len),
				w.key != NULL ? w.key : w.value);
		if (seen >> i & 1)
			return sl_text_fail(t, "%s is given twice", fields[i].key);
		seen |= 1u << i;
		SL_TRY(take_field(t, &fields[i], &w, object));
	}
	for (uint32_t i = 0; i < n; i++)
		if (!(seen >> i & 1))
			return sl_text_fail(t, "%s= is missing", fields[i].key);
	return SL_OK;
}

static sl_status take_name(struct sl_text *t, const char *what, char *out, size_t cap)
{
	struct sl_word w;

	if (!sl_text_word(t, &w) || w.key != NULL)
		return sl_text_fail(t, "%s is missing", what);
	return sl_word_copy(t, &w, out, cap);
}

static sl_status take_op(struct sl_text *t, struct sl_cost_book *b)
{
	static const struct field fields[] = {
		{"start_ns", NUMBER, MOST_START_NS,
			offsetof(struct sl_cost_op, start_ns)},
		{"flops_per_s", RATE, MOST_RATE,
			offsetof(struct sl_cost_op, flops_per_s)},
		{"bytes_per_s", RATE, MOST_RATE,
			offsetof(struct sl_cost_op, bytes_per_s)},
		{"load", NUMBER, MOST_LOAD, offsetof(struct sl_cost_op, load)},
	};
	struct sl_cost_op row = {0};
	uint32_t before = b->n_ops;

	SL_TRY(take_name(t, "the op's kind", row.kind, sizeof(row.kind)));
	SL_TRY(take_fields(t, fields, 4, &row));
	/* What sorts before '*' would take the default's place. */
	if (strcmp(row.kind, "*") < 0)
		return sl_text_fail(t, "the kind of an op begins with a letter");
	SL_TRY(sl_cost_set_op(b, &row));
	return b->n_ops > before ? SL_OK
				 : sl_text_fail(t, "op %s is given twice", row.kind);
}

static sl_status take_link(struct sl_text *t, struct sl_cost_book *b)
{
	static const struct field fields[] = {
		{"bytes_per_s", WHOLE, MOST_RATE,
			offsetof(struct sl_cost_link, bytes_per_s)},
		{"latency_ns", WHOLE, MOST_START_NS,
			offsetof(struct sl_cost_link, latency_ns)},
	};
	struct sl_cost_link row = {0};
	uint32_t before = b->n_links;

	SL_TRY(take_name(t, "an end of the link", row.from, sizeof(row.from)));
	SL_TRY(take_name(t, "an end of the link", row.to, sizeof(row.to)));
	SL_TRY(take_fields(t, fields, 2, &row));
	if (row.bytes_per_s == 0)
		return sl_text_fail(t, "bytes_per_s is above 0");
	SL_TRY(sl_cost_set_link(b, &row));
	return b->n_links > before
		       ? SL_OK
		       : sl_text_fail(t, "link %s %s is given twice", row.from, row.to);
}

static sl_status take_head(struct sl_text *t, struct sl_cost_book *b)
{
	struct sl_word w;
	uint64_t version = 0, cores = 0;
	bool more = false;

	SL_TRY(sl_text_line(t, &more));
	if (!more || !sl_text_word(t, &w) || !sl_word_is(&w, "cost"))
		return sl_text_fail(t, "this is no cost book: it begins with `cost 1`");
	if (!sl_text_word(t, &w) || w.key != NULL)
		return sl_text_fail(t, "the version is missing");
	SL_TRY(sl_word_u64(t, &w, &version));
	if (version != SL_COST_VERSION)
		return sl_text_fail(t, "cost book version %llu, this build reads %d",
			(unsigned long long)version, SL_COST_VERSION);
	if (!sl_text_word(t, &w) || !sl_word_key_is(&w, "device"))
		return sl_text_fail(t, "device= comes next");
	SL_TRY(sl_word_copy(t, &w, b->device, sizeof(b->device)));
	if (!sl_text_word(t, &w) || !sl_word_key_is(&w, "cores"))
		return sl_text_fail(t, "cores= comes next");
	SL_TRY(sl_word_u64(t, &w, &cores));
	if (cores == 0 || cores > UINT32_MAX || b->device[0] == '\0')
		return sl_text_fail(t, "a device has a name and 1 or more cores");
	b->cores = (uint32_t)cores;
	return sl_text_word(t, &w) ? sl_text_fail(t, "the line goes on after cores=")
				   : SL_OK;
}

static sl_status take_lines(struct sl_text *t, struct sl_cost_book *b)
{
	struct sl_word w;
	bool more;

	for (;;) {
		SL_TRY(sl_text_line(t, &more));
		if (!more)
			break;
		if (!sl_text_word(t, &w))
			return sl_text_fail(t, "an empty line");
		if (sl_word_is(&w, "op"))
			SL_TRY(take_op(t, b));
		else if (sl_word_is(&w, "link"))
			SL_TRY(take_link(t, b));
		else
			return sl_text_fail(t,
				"`%.*s` begins no line of a cost book; op and link do",
				clip(w.value_len), w.value);
	}
	if (b->n_ops == 0 || strcmp(b->ops[0].kind, "*") != 0)
		return sl_text_fail(t, "there is no row `op *` for all other kinds");
	return SL_OK;
}

sl_status sl_cost_parse(
	const char *source, const char *data, size_t len, struct sl_cost_book *out)
{
	struct sl_text t;
	sl_status st;

	*out = (struct sl_cost_book){0};
	sl_text_init(&t, source, data, len);
	st = take_head(&t, out);
	if (st == SL_OK)
		st = take_lines(&t, out);
	if (st == SL_E_LIMIT)
		st = sl_fail_prefix(SL_E_FORMAT, "%s", source);
	if (st != SL_OK)
		*out = (struct sl_cost_book){0};
	return st;
}

sl_status sl_cost_print(const struct sl_cost_book *b, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, "cost %d device=%s cores=%u\n", SL_COST_VERSION,
		b->device, b->cores));
	for (uint32_t i = 0; i < b->n_ops; i++) {
		const struct sl_cost_op *o = &b->ops[i];

		SL_TRY(sl_buf_printf(out,
			"op %s start_ns=%.6g flops_per_s=%.6g bytes_per_s=%.6g "
			"load=%.6g\n",
			o->kind, o->start_ns, o->flops_per_s, o->bytes_per_s, o->load));
	}
	for (uint32_t i = 0; i < b->n_links; i++)
		SL_TRY(sl_buf_printf(out, "link %s %s bytes_per_s=%llu latency_ns=%llu\n",
			b->links[i].from, b->links[i].to,
			(unsigned long long)b->links[i].bytes_per_s,
			(unsigned long long)b->links[i].latency_ns));
	return SL_OK;
}

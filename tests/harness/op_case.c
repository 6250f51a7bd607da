/* SPDX-License-Identifier: Apache-2.0 */
/* Reads cases of operators and builds graphs of one node from them. */
#include "harness/op_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/units.h"
#include "op/op_util.h"

#define VALUE_BYTES 512

struct line {
	struct sl_text *t;
	struct sl_op_case *c;
	const struct sl_word *w;
	char value[VALUE_BYTES];
};

/* The next piece of a list, up to a comma outside of brackets; false at the end. */
static bool next_piece(const char **at, char *piece, size_t cap)
{
	size_t n = 0;
	int depth = 0;

	if (!**at)
		return false;
	for (; **at && (depth || **at != ','); (*at)++) {
		depth += **at == '[' ? 1 : **at == ']' ? -1 : 0;
		if (n + 1 < cap)
			piece[n++] = **at;
	}
	if (**at == ',')
		(*at)++;
	piece[n] = '\0';
	return true;
}

static sl_status parse_type(struct line *l, char *text, struct sl_type *out)
{
	char *open = strchr(text, '[');
	char dim[32];

	*out = (struct sl_type){.dtype = SL_DTYPE_COUNT};
	if (strcmp(text, "-") == 0)
		return SL_OK;
	if (!open || text[strlen(text) - 1] != ']')
		return sl_text_fail(l->t, "'%s' is no type like f64[2,3]", text);
	*open = '\0';
	text[strlen(open + 1) + (size_t)(open - text)] = '\0';
	SL_TRY(sl_dtype_parse(text, &out->dtype));
	const char *at = open + 1;
	while (next_piece(&at, dim, sizeof(dim))) {
		if (out->shape.rank == SL_MAX_RANK)
			return sl_text_fail(
				l->t, "a type with over %d dimensions", SL_MAX_RANK);
		SL_TRY(sl_i64_parse(dim, &out->shape.dim[out->shape.rank++]));
	}
	return SL_OK;
}

static sl_status key_in(struct line *l)
{
	const char *at = l->value;
	char piece[128];

	while (next_piece(&at, piece, sizeof(piece))) {
		if (l->c->n_in == SL_CASE_MAX_IN)
			return sl_text_fail(l->t, "over %d inputs", SL_CASE_MAX_IN);
		SL_TRY(parse_type(l, piece, &l->c->in[l->c->n_in++]));
	}
	return SL_OK;
}

static sl_status key_data(struct line *l)
{
	const char *at = l->value;
	int n = 0;

	while (n < SL_CASE_MAX_IN &&
		next_piece(&at, l->c->data[n], sizeof(l->c->data[n])))
		n++;
	for (; n && n < SL_CASE_MAX_IN; n++)
		memcpy(l->c->data[n], l->c->data[n - 1], sizeof(l->c->data[n]));
	return SL_OK;
}

static sl_status key_bits(struct line *l, uint32_t *out)
{
	const char *at = l->value;
	char piece[16];
	uint64_t bit;

	*out = 0;
	while (next_piece(&at, piece, sizeof(piece))) {
		SL_TRY(sl_u64_parse(piece, &bit));
		*out |= 1u << (bit & 31);
	}
	return SL_OK;
}

static sl_status key_skip(struct line *l)
{
	return key_bits(l, &l->c->skip);
}

static sl_status key_outs(struct line *l)
{
	return key_bits(l, &l->c->outs);
}

static sl_status key_tol(struct line *l)
{
	return sl_f64_parse(l->value, &l->c->tol);
}

static sl_status key_tol32(struct line *l)
{
	return sl_f64_parse(l->value, &l->c->tol32);
}

static sl_status key_h(struct line *l)
{
	return sl_f64_parse(l->value, &l->c->h);
}

static sl_status key_seed(struct line *l)
{
	return sl_u64_parse(l->value, &l->c->seed);
}

static sl_status key_step(struct line *l)
{
	return sl_u64_parse(l->value, &l->c->step);
}

static sl_status key_error(struct line *l)
{
	for (int i = 1; i < SL_STATUS_COUNT; i++) {
		if (strcmp(sl_status_name((sl_status)i), l->value) == 0) {
			l->c->error = (sl_status)i;
			return SL_OK;
		}
	}
	return sl_text_fail(l->t, "'%s' is no status", l->value);
}

struct key {
	const char *name;
	sl_status (*parse)(struct line *l);
};

static const struct key keys[] = {
	{"in", key_in},
	{"data", key_data},
	{"skip", key_skip},
	{"outs", key_outs},
	{"tol", key_tol},
	{"tol32", key_tol32},
	{"h", key_h},
	{"run_seed", key_seed},
	{"run_step", key_step},
	{"error", key_error},
};

static sl_status put_attr(
	enum sl_attr_kind kind, const char *text, char *to, size_t *bytes)
{
	int64_t i = 0;
	double f = 0;

	SL_TRY(kind == SL_ATTR_F64 ? sl_f64_parse(text, &f) : sl_i64_parse(text, &i));
	uint32_t u = (uint32_t)i;
	bool b = i != 0;
	const void *from = kind == SL_ATTR_F64	  ? (const void *)&f
			   : kind == SL_ATTR_U32  ? (const void *)&u
			   : kind == SL_ATTR_BOOL ? (const void *)&b
						  : (const void *)&i;
	*bytes = kind == SL_ATTR_U32	? sizeof(u)
		 : kind == SL_ATTR_BOOL ? sizeof(b)
					: sizeof(i);
	memcpy(to, from, *bytes);
	return SL_OK;
}

static sl_status key_attr(struct line *l)
{
	const struct sl_op *op = l->c->op;
	const char *at = l->value;
	char piece[64];

	for (int k = 0; k < op->n_fields; k++) {
		const struct sl_attr_field *f = &op->fields[k];
		char *to = (char *)l->c->attr + f->offset;
		if (!sl_word_key_is(l->w, f->name))
			continue;
		for (uint32_t n = 0; next_piece(&at, piece, sizeof(piece)); n++) {
			size_t bytes = 0;
			if (n == f->count)
				return sl_text_fail(
					l->t, "%s has %u values", f->name, f->count);
			SL_TRY(put_attr(f->kind, piece, to, &bytes));
			to += bytes;
		}
		return SL_OK;
	}
	return sl_text_fail(l->t, "%s has no attribute '%.*s'", op->name,
		(int)l->w->key_len, l->w->key);
}

static sl_status parse_word(struct line *l)
{
	SL_TRY(sl_word_copy(l->t, l->w, l->value, sizeof(l->value)));
	for (size_t i = 0; i < SL_COUNT(keys); i++)
		if (sl_word_key_is(l->w, keys[i].name))
			return keys[i].parse(l);
	return key_attr(l);
}

static sl_status find_op(struct line *l)
{
	if (!sl_word_key_is(l->w, "op"))
		return sl_text_fail(l->t, "a case begins with op=NAME");
	SL_TRY(sl_word_copy(l->t, l->w, l->value, sizeof(l->value)));
	l->c->op = sl_op_find(l->value);
	if (!l->c->op)
		return sl_text_fail(l->t, "there is no operator '%s'", l->value);
	if (!l->c->op->attr_bytes)
		return SL_OK;
	l->c->attr = sl_calloc(1, l->c->op->attr_bytes);
	return l->c->attr ? SL_OK : SL_FAIL(SL_E_NOMEM, "no host memory for a case");
}

static sl_status parse_line(struct sl_text *t, struct sl_op_case *c)
{
	struct sl_word w;
	struct line l = {.t = t, .c = c, .w = &w};

	*c = (struct sl_op_case){
		.outs = 1, .tol = 1e-6, .tol32 = 1e-5, .h = 1e-5, .seed = 1};
	snprintf(c->where, sizeof(c->where), "%s:%d", t->source, t->line);
	for (int i = 0; i < SL_CASE_MAX_IN; i++)
		memcpy(c->data[i], "normal", sizeof("normal"));
	if (!sl_text_word(t, &w))
		return sl_text_fail(t, "an empty case");
	SL_TRY(find_op(&l));
	while (sl_text_word(t, &w))
		SL_TRY(parse_word(&l));
	return SL_OK;
}

sl_status sl_op_cases_parse(
	struct sl_op_cases *cases, const char *source, const char *text, size_t len)
{
	struct sl_text t;
	bool more;

	sl_text_init(&t, source, text, len);
	SL_TRY(sl_text_line(&t, &more));
	while (more) {
		void *items = cases->items;
		if (sl_grow(&items, &cases->cap, cases->n + 1, sizeof(*cases->items),
			    1 << 16))
			return SL_FAIL(
				SL_E_NOMEM, "no host memory for %zu cases", cases->n + 1);
		cases->items = items;
		/* Counted first: finish then frees what a bad line left. */
		SL_TRY(parse_line(&t, &cases->items[cases->n++]));
		SL_TRY(sl_text_line(&t, &more));
	}
	return SL_OK;
}

void sl_op_cases_finish(struct sl_op_cases *cases)
{
	for (size_t i = 0; i < cases->n; i++)
		sl_free(cases->items[i].attr);
	sl_free(cases->items);
	*cases = (struct sl_op_cases){0};
}

sl_status sl_op_case_build(const struct sl_op_case *c, bool f32, struct sl_op_built *out)
{
	char name[16];

	*out = (struct sl_op_built){0};
	SL_TRY(sl_graph_create(&out->g));
	for (int i = 0; i < c->n_in; i++) {
		struct sl_type t = c->in[i];
		out->in[i] = SL_VAL_NONE;
		if (t.dtype == SL_DTYPE_COUNT)
			continue;
		if (f32 && t.dtype == SL_F64)
			t.dtype = SL_F32;
		snprintf(name, sizeof(name), "in%d", i);
		out->in[i] = sl_input(out->g, name, &t, NULL);
	}
	sl_graph_add(out->g, c->op, c->attr, out->in, c->n_in, out->out);
	return sl_graph_status(out->g);
}

void sl_op_built_finish(struct sl_op_built *b)
{
	sl_graph_destroy(b->g);
	b->g = NULL;
}

/* How contents are made: from the key and the element's number among n. */
struct content {
	const char *name;
	double (*make)(const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg);
};

static double unit(const struct sl_rng_key *key, uint64_t e)
{
	return (double)sl_rng_unit(sl_rng_u32(key, e));
}

static double make_normal(
	const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	(void)arg;
	return sl_rng_normal(key, e);
}

static double make_positive(
	const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	(void)arg;
	return 0.5 + 1.5 * unit(key, e);
}

static double make_unit(const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	(void)arg;
	return 0.1 + 0.8 * unit(key, e);
}

static double make_away(const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	double v = sl_rng_normal(key, e);

	(void)n;
	(void)arg;
	return v + copysign(0.2, v);
}

/* e -> (a e + b) mod n with a prime that does not divide n is a permutation. */
static double make_distinct(
	const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	uint64_t a = n % 7919 ? 7919 : 104729;

	(void)key;
	(void)arg;
	return 0.1 * ((double)((a * e + 11) % n) - (double)n / 2);
}

static double make_small_int(
	const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	(void)arg;
	return floor(7 * unit(key, e)) - 3;
}

static double make_constant(
	const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)key;
	(void)e;
	(void)n;
	return arg;
}

static double make_index(const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	return floor(arg * unit(key, e));
}

static double make_wrap(const struct sl_rng_key *key, uint64_t e, uint64_t n, double arg)
{
	(void)n;
	return floor(2 * arg * unit(key, e)) - arg;
}

static const struct content contents[] = {
	{"normal", make_normal},
	{"positive", make_positive},
	{"unit", make_unit},
	{"away", make_away},
	{"distinct", make_distinct},
	{"small_int", make_small_int},
	{"zero", make_constant},
	{"one", make_constant},
	{"index", make_index},
	{"wrap", make_wrap},
};

/* "=1;2;3": number e of the list, from the start again at its end. */
static double listed(const char *list, uint64_t e)
{
	const char *at = list;

	for (uint64_t i = 0; i < e; i++) {
		at = strchr(at, ';');
		at = at ? at + 1 : list;
	}
	return strtod(at, NULL);
}

static sl_status fill_one(struct sl_eval *e, sl_val v, const char *data, uint32_t stream)
{
	const struct sl_rng_key key = {.seed = 20240229, .stream = stream};
	const char *colon = strchr(data, ':');
	size_t len = colon ? (size_t)(colon - data) : strlen(data);
	double arg = colon ? strtod(colon + 1, NULL) : strcmp(data, "one") == 0;
	uint64_t n = (uint64_t)sl_eval_count(e, v);
	enum sl_dtype t = sl_val_type(e->g, v)->dtype;
	const struct content *c = NULL;

	for (size_t i = 0; i < SL_COUNT(contents); i++)
		if (strlen(contents[i].name) == len &&
			strncmp(contents[i].name, data, len) == 0)
			c = &contents[i];
	if (!c && data[0] != '=')
		return SL_FAIL(SL_E_FORMAT, "'%s' is no kind of contents", data);
	for (uint64_t i = 0; i < n; i++) {
		double x = c ? c->make(&key, i, n, arg) : listed(data + 1, i);
		/* f64 begins with what f32 can hold, so that both see the same numbers.
		 */
		if (t == SL_F64)
			x = (double)(float)x;
		sl_set(e->data[v.index], t, (int64_t)i, x);
	}
	return SL_OK;
}

sl_status sl_op_case_fill(
	const struct sl_op_case *c, const struct sl_op_built *b, struct sl_eval *e)
{
	e->run.seed = c->seed;
	e->run.step = c->step;
	for (int i = 0; i < c->n_in; i++)
		if (!sl_val_is_none(b->in[i]))
			SL_TRY(fill_one(e, b->in[i], c->data[i], (uint32_t)i + 1));
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Model specs: "name:key=value,..." to a configuration and back. One table says which
 * options there are, where they go and which values they take. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/units.h"
#include "model/zoo/zoo.h"

#define VALUE_MAX 192
#define SIZE_LARGEST ((int64_t)1 << 24)

enum kind { NUMBER, RATIO, SIZES, INPUT };

static const struct option {
	const char *key;
	uint32_t bit;
	enum kind kind;
	size_t offset;
	int64_t least, most;
	const char *expected;
} options[] = {
#define NUMBER_OPTION(member, bit_, least_, most_) \
	{ \
#member, bit_, NUMBER, offsetof(struct sl_model_config, member), least_, \
			most_, "a whole number" \
	}
	{"sizes", SL_MODEL_SET_SIZES, SIZES, 0, 1, SIZE_LARGEST,
		"2 to 16 widths from inputs to classes, such as 784-256-10"},
	{"input", SL_MODEL_SET_INPUT, INPUT, 0, 1, 1 << 14,
		"channels x height x width, such as 3x64x64"},
	NUMBER_OPTION(classes, SL_MODEL_SET_CLASSES, 2, 1 << 20),
	NUMBER_OPTION(layers, SL_MODEL_SET_LAYERS, 1, 1024),
	NUMBER_OPTION(width, SL_MODEL_SET_WIDTH, 1, 1 << 16),
	NUMBER_OPTION(heads, SL_MODEL_SET_HEADS, 1, 1 << 12),
	NUMBER_OPTION(context, SL_MODEL_SET_CONTEXT, 1, 1 << 20),
	NUMBER_OPTION(vocab, SL_MODEL_SET_VOCAB, 2, SIZE_LARGEST),
	{"dropout", SL_MODEL_SET_DROPOUT, RATIO,
		offsetof(struct sl_model_config, dropout), 0, 1,
		"a number from 0 to below 1"},
#undef NUMBER_OPTION
};

static const struct sl_model *const models[] = {
#define SL_MODEL(name) &sl_model_##name,
#include "model/zoo/models.def"
#undef SL_MODEL
};

const char *sl_model_at(size_t i, const char **help)
{
	if (i >= SL_COUNT(models))
		return NULL;
	if (help)
		*help = models[i]->help;
	return models[i]->name;
}

static int64_t *number_of(struct sl_model_config *c, const struct option *o)
{
	return (int64_t *)(void *)((char *)c + o->offset);
}

static sl_status fail_value(const struct option *o, const char *value)
{
	if (o->kind == NUMBER)
		return SL_FAIL(SL_E_USAGE, "%s=%s: expected %s from %lld to %lld", o->key,
			value, o->expected, (long long)o->least, (long long)o->most);
	return SL_FAIL(SL_E_USAGE, "%s=%s: expected %s", o->key, value, o->expected);
}

/* "3x64x64" with a separator, at most `cap` numbers within the option's bounds; 0:
 * malformed. */
static int64_t parse_list(const struct option *o, const char *value, char separator,
	int64_t *out, int64_t cap)
{
	int64_t n = 0;

	for (const char *p = value; n < cap;) {
		int64_t v = 0;
		const char *begin = p;
		for (; *p >= '0' && *p <= '9' && v <= o->most; p++)
			v = v * 10 + (*p - '0');
		if (p == begin || v < o->least || v > o->most)
			return 0;
		out[n++] = v;
		if (!*p)
			return n;
		if (*p++ != separator)
			return 0;
	}
	return 0;
}

static sl_status set_number(
	struct sl_model_config *c, const struct option *o, const char *value)
{
	int64_t v = 0;

	if (sl_i64_parse(value, &v) != SL_OK || v < o->least || v > o->most)
		return fail_value(o, value);
	*number_of(c, o) = v;
	return SL_OK;
}

static sl_status set_ratio(
	struct sl_model_config *c, const struct option *o, const char *value)
{
	double v = 0;

	if (sl_f64_parse(value, &v) != SL_OK || !(v >= 0 && v < 1))
		return fail_value(o, value);
	c->dropout = v;
	return SL_OK;
}

static sl_status set_sizes(
	struct sl_model_config *c, const struct option *o, const char *value)
{
	int64_t sizes[SL_MODEL_SIZES_MAX] = {0};
	int64_t n = parse_list(o, value, '-', sizes, SL_MODEL_SIZES_MAX);

	if (n < 2)
		return fail_value(o, value);
	memcpy(c->sizes, sizes, sizeof(sizes));
	c->n_sizes = n;
	return SL_OK;
}

static sl_status set_input(
	struct sl_model_config *c, const struct option *o, const char *value)
{
	int64_t input[3] = {0};

	if (parse_list(o, value, 'x', input, 3) != 3)
		return fail_value(o, value);
	memcpy(c->input, input, sizeof(input));
	return SL_OK;
}

static sl_status (*const setters[])(
	struct sl_model_config *c, const struct option *o, const char *value) = {
	[NUMBER] = set_number,
	[RATIO] = set_ratio,
	[SIZES] = set_sizes,
	[INPUT] = set_input,
};

static sl_status fail_option(const struct sl_model *m, const char *key, size_t len)
{
	struct sl_buf list = SL_BUF_MAX(256);

	for (size_t i = 0; i < SL_COUNT(options); i++)
		if (m->options & options[i].bit &&
			sl_buf_printf(&list, " %s", options[i].key) != SL_OK)
			break;
	sl_status st = SL_FAIL(SL_E_USAGE, "%s has no option '%.*s'; it has%s", m->name,
		(int)(len < 32 ? len : 32), key, sl_buf_text(&list));
	sl_buf_finish(&list);
	return st;
}

/* One "key=value" of len bytes. */
static sl_status set_option(struct sl_model_config *c, const char *text, size_t len)
{
	const char *equal = memchr(text, '=', len);
	size_t key_len = equal ? (size_t)(equal - text) : len;
	size_t value_len = equal ? len - key_len - 1 : 0;
	char value[VALUE_MAX];

	for (size_t i = 0; i < SL_COUNT(options); i++) {
		const struct option *o = &options[i];
		if (!(c->model->options & o->bit) || strlen(o->key) != key_len ||
			memcmp(o->key, text, key_len) != 0)
			continue;
		if (c->set & o->bit)
			return SL_FAIL(SL_E_USAGE, "%s is given twice", o->key);
		if (value_len >= sizeof(value))
			return SL_FAIL(SL_E_USAGE, "%s: a value of %zu bytes; at most %d",
				o->key, value_len, VALUE_MAX - 1);
		if (value_len)
			memcpy(value, equal + 1, value_len);
		value[value_len] = '\0';
		c->set |= o->bit;
		return setters[o->kind](c, o, value);
	}
	return fail_option(c->model, text, key_len);
}

static sl_status fail_model(const char *spec, size_t len)
{
	struct sl_buf list = SL_BUF_MAX(256);

	for (size_t i = 0; i < SL_COUNT(models); i++)
		if (sl_buf_printf(&list, " %s", models[i]->name) != SL_OK)
			break;
	sl_status st = SL_FAIL(SL_E_USAGE, "unknown model '%.*s'; there are%s",
		(int)(len < 64 ? len : 64), spec, sl_buf_text(&list));
	sl_buf_finish(&list);
	return st;
}

static const struct sl_model *find_model(const char *spec, size_t len)
{
	for (size_t i = 0; i < SL_COUNT(models); i++)
		if (strlen(models[i]->name) == len &&
			memcmp(models[i]->name, spec, len) == 0)
			return models[i];
	return NULL;
}

sl_status sl_model_parse(const char *spec, struct sl_model_config *out)
{
	size_t len = strcspn(spec, ":");
	const struct sl_model *m = find_model(spec, len);

	if (!m)
		return fail_model(spec, len);
	struct sl_model_config c = m->defaults;
	c.model = m;
	for (const char *p = spec[len] ? spec + len + 1 : ""; *p;) {
		size_t n = strcspn(p, ",");
		sl_status st = set_option(&c, p, n);
		if (st != SL_OK)
			return sl_fail_prefix(st, "model %s", m->name);
		p += n + (p[n] == ',');
	}
	if (m->finish) {
		sl_status st = m->finish(&c);
		if (st != SL_OK)
			return sl_fail_prefix(st, "model %s", m->name);
	}
	*out = c;
	return SL_OK;
}

static int print_value(
	const struct sl_model_config *c, const struct option *o, char *text, size_t cap)
{
	if (o->kind == RATIO)
		return snprintf(text, cap, "%.17g", c->dropout);
	if (o->kind == INPUT)
		return snprintf(text, cap, "%lldx%lldx%lld", (long long)c->input[0],
			(long long)c->input[1], (long long)c->input[2]);
	if (o->kind == NUMBER)
		return snprintf(text, cap, "%lld",
			(long long)*(const int64_t *)(const void *)((const char *)c +
								    o->offset));
	int n = 0;
	for (int64_t i = 0; i < c->n_sizes; i++)
		n += snprintf(text + n, cap - (size_t)n, i ? "-%lld" : "%lld",
			(long long)c->sizes[i]);
	return n;
}

/* The text holds every option at its largest: sixteen sizes of nine characters and less.
 */
char *sl_model_print(const struct sl_model_config *c, char text[SL_MODEL_SPEC_TEXT])
{
	size_t n = (size_t)snprintf(text, SL_MODEL_SPEC_TEXT, "%s", c->model->name);
	char separator = ':';

	for (size_t i = 0; i < SL_COUNT(options); i++) {
		if (!(c->model->options & options[i].bit))
			continue;
		n += (size_t)snprintf(text + n, SL_MODEL_SPEC_TEXT - n,
			"%c%s=", separator, options[i].key);
		n += (size_t)print_value(
			c, &options[i], text + n, SL_MODEL_SPEC_TEXT - n);
		separator = ',';
	}
	return text;
}

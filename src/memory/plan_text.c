/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan as text: docs/formats/plan.md. Parsing proves the form alone; sl_plan_check
 * proves that the plan is sound.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "memory/plan.h"
#include "memory/text_fields_int.h"

static const char *const action_text[SL_ACTION_COUNT] = {
#define X(name, text) [SL_ACTION_##name] = (text),
	SL_ACTION_TABLE(X)
#undef X
};

struct parser {
	struct sl_text text;
	const struct sl_trace *t;
	struct sl_plan p;
	struct sl_field_ctx ctx;
	bool has_peak, has_price, has_stall;
	uint64_t peak;
};

static bool lookup(const void *ctx, const char *key, const char *name, uint32_t *out)
{
	const struct sl_trace *t = ctx;

	if (strcmp(key, "region") == 0) {
		*out = strcmp(name, "P") == 0;
		return *out || strcmp(name, "lane") == 0;
	}
	if (strcmp(name, "device") == 0) {
		*out = SL_TIER_DEVICE;
		return true;
	}
	for (uint32_t i = 0; i < t->n_tiers; i++) {
		if (strcmp(name, t->tiers[i].name) == 0) {
			*out = i + 1;
			return true;
		}
	}
	return false;
}

static sl_status parse_op_id(struct parser *p, uint32_t *out)
{
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the op", &w));
	SL_TRY(sl_field_value(&p->ctx, SL_FIELD_U32, &w, out));
	if (*out >= p->t->n_ops)
		return sl_text_fail(
			&p->text, "op %u: the trace has %u", *out, p->t->n_ops);
	return SL_OK;
}

static sl_status parse_value_id(struct parser *p, uint32_t *out)
{
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the value", &w));
	SL_TRY(sl_word_id(&p->text, &w, 'v', out));
	if (*out >= p->t->n_values)
		return sl_text_fail(
			&p->text, "v%u: the trace has %u values", *out, p->t->n_values);
	return SL_OK;
}

static sl_status parse_select(struct parser *p)
{
	static const struct sl_field fields[] = {
		{"kernel", SL_FIELD_WORD, offsetof(struct sl_plan_select, kernel), true},
		{"layout", SL_FIELD_WORD, offsetof(struct sl_plan_select, layout), false},
		{"split", SL_FIELD_U32, offsetof(struct sl_plan_select, split), false},
		{"threads", SL_FIELD_U32, offsetof(struct sl_plan_select, threads),
			false},
		{"workspace", SL_FIELD_U64,
			offsetof(struct sl_plan_select, workspace_bytes), false},
	};
	struct sl_plan_select s = {0};

	SL_TRY(parse_op_id(p, &s.op));
	SL_TRY(sl_fields_parse(&p->ctx, fields, 5, &s));
	return sl_plan_add_select(&p->p, &s);
}

/* "v7" or "w3" into the table entry that it names. */
static sl_status parse_placed(struct parser *p, uint64_t **entry)
{
	struct sl_word w;
	uint32_t id = 0;

	SL_TRY(sl_fields_bare(&p->text, "the value or workspace", &w));
	if (w.value_len > 0 && w.value[0] == 'w') {
		SL_TRY(sl_word_id(&p->text, &w, 'w', &id));
		if (id >= p->t->n_ops)
			return sl_text_fail(
				&p->text, "w%u: the trace has %u ops", id, p->t->n_ops);
		*entry = &p->p.workspace_offset[id];
	} else {
		SL_TRY(sl_word_id(&p->text, &w, 'v', &id));
		if (id >= p->t->n_values)
			return sl_text_fail(&p->text, "v%u: the trace has %u values", id,
				p->t->n_values);
		*entry = &p->p.value_offset[id];
	}
	if (**entry != SL_NO_OFFSET)
		return sl_text_fail(&p->text, "%c%u is placed twice", w.value[0], id);
	return SL_OK;
}

static sl_status parse_place(struct parser *p)
{
	struct place_line {
		uint64_t offset;
		uint32_t region;
	} line = {0};
	static const struct sl_field fields[] = {
		{"region", SL_FIELD_LOOKUP, offsetof(struct place_line, region), true},
		{"offset", SL_FIELD_U64, offsetof(struct place_line, offset), true},
	};
	uint64_t *entry = NULL;

	SL_TRY(parse_placed(p, &entry));
	SL_TRY(sl_fields_parse(&p->ctx, fields, 2, &line));
	if (line.offset == SL_NO_OFFSET)
		return sl_text_fail(&p->text, "no such offset");
	*entry = line.offset;
	return SL_OK;
}

static sl_status parse_start(struct parser *p)
{
	static const struct sl_field fields[] = {
		{"tier", SL_FIELD_LOOKUP, offsetof(struct sl_plan_start, tier), true},
		{"offset", SL_FIELD_U64, offsetof(struct sl_plan_start, offset), false},
	};
	struct sl_plan_start s = {0};

	SL_TRY(parse_value_id(p, &s.value));
	SL_TRY(sl_fields_parse(&p->ctx, fields, 2, &s));
	return sl_plan_add_start(&p->p, &s);
}

static sl_status parse_kind(struct parser *p, enum sl_action_kind *out)
{
	struct sl_word w;

	SL_TRY(sl_fields_bare(&p->text, "the action", &w));
	for (int k = 0; k < SL_ACTION_COUNT; k++) {
		if (sl_word_is(&w, action_text[k])) {
			*out = (enum sl_action_kind)k;
			return SL_OK;
		}
	}
	return sl_text_fail(
		&p->text, "`%.*s` is no action", sl_fields_clip(w.value_len), w.value);
}

static sl_status parse_again(struct parser *p, struct sl_action *a)
{
	static const struct sl_field fields[] = {
		{"again", SL_FIELD_U32, offsetof(struct sl_action, again), true},
		{"offset", SL_FIELD_OFFSET, offsetof(struct sl_action, offset), true},
		{"workspace", SL_FIELD_OFFSET,
			offsetof(struct sl_action, workspace_offset), false},
		{"iter", SL_FIELD_ITER, offsetof(struct sl_action, iter), false},
	};

	a->workspace_offset = SL_NO_OFFSET;
	SL_TRY(sl_fields_parse(&p->ctx, fields, 4, a));
	if (a->again >= p->t->n_ops)
		return sl_text_fail(&p->text, "again=%u: the trace has %u ops", a->again,
			p->t->n_ops);
	return sl_plan_add_action(&p->p, a);
}

static sl_status parse_action(struct parser *p, enum sl_phase phase)
{
	static const struct sl_field fields[] = {
		{"tier", SL_FIELD_LOOKUP, offsetof(struct sl_action, tier), false},
		{"channel", SL_FIELD_U32, offsetof(struct sl_action, channel), false},
		{"offset", SL_FIELD_U64, offsetof(struct sl_action, offset), false},
		{"iter", SL_FIELD_ITER, offsetof(struct sl_action, iter), false},
	};
	struct sl_action a = {.phase = phase};
	struct sl_word w;

	SL_TRY(parse_op_id(p, &a.op));
	if (!sl_text_word(&p->text, &w) || !sl_word_key_is(&w, "delay_ns"))
		return sl_text_fail(&p->text, "delay_ns= is missing after the op");
	SL_TRY(sl_word_u64(&p->text, &w, &a.delay_ns));
	SL_TRY(parse_kind(p, &a.kind));
	SL_TRY(parse_value_id(p, &a.value));
	if (a.kind == SL_ACTION_RECOMPUTE)
		return parse_again(p, &a);
	SL_TRY(sl_fields_parse(&p->ctx, fields, 4, &a));
	return sl_plan_add_action(&p->p, &a);
}

static sl_status parse_before(struct parser *p)
{
	return parse_action(p, SL_BEFORE);
}

static sl_status parse_after(struct parser *p)
{
	return parse_action(p, SL_AFTER);
}

static sl_status parse_number(struct parser *p, bool *has, uint64_t *out)
{
	struct sl_word w;

	if (*has)
		return sl_text_fail(&p->text, "the line stands twice");
	*has = true;
	SL_TRY(sl_fields_bare(&p->text, "the number", &w));
	SL_TRY(sl_word_u64(&p->text, &w, out));
	return sl_fields_end(&p->text);
}

static sl_status parse_peak(struct parser *p)
{
	return parse_number(p, &p->has_peak, &p->peak);
}

static sl_status parse_price(struct parser *p)
{
	return parse_number(p, &p->has_price, &p->p.price_ns);
}

static sl_status parse_stall(struct parser *p)
{
	return parse_number(p, &p->has_stall, &p->p.stall_ns);
}

static const struct {
	const char *word;
	sl_status (*parse)(struct parser *p);
} line_rows[] = {
	{"after", parse_after},
	{"before", parse_before},
	{"peak", parse_peak},
	{"place", parse_place},
	{"price", parse_price},
	{"select", parse_select},
	{"stall", parse_stall},
	{"start", parse_start},
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
		"`%.*s` begins no line of a plan; select, place, start, before, after, "
		"peak, price "
		"and stall do",
		sl_fields_clip(w.value_len), w.value);
}

struct head_line {
	uint64_t budget;
	const char *policy;
	const char *order;
};

static sl_status parse_head(struct parser *p)
{
	static const struct sl_field fields[] = {
		{"budget", SL_FIELD_U64, offsetof(struct head_line, budget), true},
		{"policy", SL_FIELD_WORD, offsetof(struct head_line, policy), true},
		{"order", SL_FIELD_WORD, offsetof(struct head_line, order), true},
	};
	struct sl_arena arena = {0};
	struct sl_field_ctx ctx = {.text = &p->text, .arena = &arena};
	struct head_line line = {0};
	struct sl_word w = {0};
	uint64_t version = 0;
	bool more = false;
	sl_status st = SL_OK;

	SL_TRY(sl_text_line(&p->text, &more));
	if (!more || !sl_text_word(&p->text, &w) || !sl_word_is(&w, "plan"))
		return sl_text_fail(
			&p->text, "this is no plan: the first line is `plan 1 ...`");
	SL_TRY(sl_fields_bare(&p->text, "the version", &w));
	SL_TRY(sl_word_u64(&p->text, &w, &version));
	if (version != SL_PLAN_VERSION)
		return sl_text_fail(&p->text,
			"plan version %llu, this build reads %d; re-plan with `sluice "
			"plan`",
			(unsigned long long)version, SL_PLAN_VERSION);
	SL_TRY_OUT(sl_fields_parse(&ctx, fields, 3, &line));
	if (strlen(line.policy) >= sizeof(p->p.policy) ||
		strlen(line.order) >= sizeof(p->p.order)) {
		st = sl_text_fail(
			&p->text, "the policy's or the order's name is too long");
		goto out;
	}
	SL_TRY_OUT(sl_plan_begin(&p->p, p->t, line.budget, line.policy));
	(void)snprintf(p->p.order, sizeof(p->p.order), "%s", line.order);
out:
	sl_arena_finish(&arena);
	return st;
}

static sl_status finish_plan(struct parser *p)
{
	SL_TRY(sl_plan_seal(&p->p, p->t));
	if (p->has_peak && p->peak != p->p.peak)
		return SL_FAIL(SL_E_FORMAT,
			"%s: the plan states a peak of %llu bytes; its lines reach %llu",
			p->text.source, (unsigned long long)p->peak,
			(unsigned long long)p->p.peak);
	return SL_OK;
}

sl_status sl_plan_parse(const char *source, const char *data, size_t len,
	const struct sl_trace *t, struct sl_plan *out)
{
	sl_status st = SL_OK;
	struct parser p = {.t = t, .p = SL_PLAN_INIT};
	struct sl_arena arena = {0};
	bool more = true;

	sl_text_init(&p.text, source, data, len);
	p.ctx = (struct sl_field_ctx){
		.text = &p.text, .arena = &arena, .lookup = lookup, .lookup_ctx = t};
	SL_TRY_OUT(parse_head(&p));
	for (;;) {
		SL_TRY_OUT(sl_text_line(&p.text, &more));
		if (!more)
			break;
		SL_TRY_OUT(parse_line(&p));
	}
	SL_TRY_OUT(finish_plan(&p));
	sl_plan_move(out, &p.p);
out:
	sl_arena_finish(&arena);
	sl_plan_finish(&p.p);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least recomputation as an integer program, for CBC (EPL) as a program of its own.
 * Time is a row of slots: for each op in its turn those before it that may run again, in
 * order, then itself. r says whether a slot's op runs, a whether a value is there in a
 * slot: where it is read or borne, and only if it was there in the slot before or is
 * borne. With r whole the rest follows, so only r is. After Checkmate's program, with
 * presence instead of their hazards.
 */
#include "memory/policy/optimal_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/fs.h"
#include "memory/place.h"

#define MAX_TEXT ((size_t)1 << 28)
#define PATIENCE_S 30 /* beyond its own limit */

struct slot {
	uint32_t turn, op; /* the op whose turn is next; the one that may run */
};

struct program {
	const struct sl_optimal *o;
	const struct sl_trace *t;
	struct slot *slots;
	size_t n_slots, cap_slots;
	uint64_t unit; /* all sizes are multiples of it */
	uint64_t room;
	struct sl_buf text, answer;
};

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b > 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Whether values are borne once and never changed: all that the program can say. */
static bool is_plain(const struct sl_optimal *o)
{
	for (uint32_t op = 0; op < o->t->n_ops; op++) {
		const struct sl_trace_op *x = &o->t->ops[op];

		for (uint32_t i = x->n_in; i < sl_op_touches(x); i++) {
			uint32_t v = sl_op_touch(o->t, op, i);

			if (!sl_optimal_persists(o->t, v) && o->birth[v] != op)
				return false;
		}
	}
	return true;
}

static sl_status list_slots(struct program *p)
{
	for (uint32_t turn = 0; turn < p->t->n_ops; turn++) {
		for (uint32_t op = 0; op <= turn; op++) {
			if (op < turn &&
				(!p->o->rerun[op] || sl_optimal_until(p->t, op) < turn))
				continue;
			if (sl_grow((void **)&p->slots, &p->cap_slots, p->n_slots + 1,
				    sizeof(*p->slots), UINT32_MAX / 8))
				return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
			p->slots[p->n_slots++] = (struct slot){turn, op};
		}
	}
	return SL_OK;
}

/* Whether v can be there in a slot. */
static bool can_be(const struct program *p, size_t slot, uint32_t v)
{
	const struct slot *s = &p->slots[slot];
	uint32_t birth = p->o->birth[v];

	return birth != SL_NO_ID && (birth < s->turn || birth == s->op);
}

static sl_status say_size(struct program *p, size_t slot)
{
	const struct slot *s = &p->slots[slot];
	uint64_t workspace = sl_room_workspace(&p->t->ops[s->op]) / p->unit;

	SL_TRY(sl_buf_printf(&p->text, " m%zu: %llu r_%u_%u\n", slot,
		(unsigned long long)workspace, s->turn, s->op));
	for (uint32_t v = 0; v < p->t->n_values; v++) {
		if (can_be(p, slot, v))
			SL_TRY(sl_buf_printf(&p->text, " + %llu a_%zu_%u\n",
				(unsigned long long)(sl_room_value(&p->t->values[v]) /
						     p->unit),
				slot, v));
	}
	return sl_buf_printf(
		&p->text, " <= %llu\n", (unsigned long long)(p->room / p->unit));
}

static sl_status say_presence(struct program *p, size_t slot)
{
	const struct slot *s = &p->slots[slot];

	for (uint32_t v = 0; v < p->t->n_values; v++) {
		bool borne = p->o->birth[v] == s->op;

		if (!can_be(p, slot, v))
			continue;
		if (sl_op_has(p->t, s->op, v, 0))
			SL_TRY(sl_buf_printf(&p->text,
				" u%zu_%u: a_%zu_%u - r_%u_%u >= 0\n", slot, v, slot, v,
				s->turn, s->op));
		SL_TRY(sl_buf_printf(&p->text, " p%zu_%u: a_%zu_%u\n", slot, v, slot, v));
		if (slot > 0 && can_be(p, slot - 1, v))
			SL_TRY(sl_buf_printf(&p->text, " - a_%zu_%u\n", slot - 1, v));
		if (borne)
			SL_TRY(sl_buf_printf(&p->text, " - r_%u_%u\n", s->turn, s->op));
		SL_TRY(sl_buf_puts(&p->text, " <= 0\n"));
	}
	return SL_OK;
}

/* The time of runs again, in the objective and below a limit. */
static sl_status say_time(struct program *p)
{
	SL_TRY(sl_buf_puts(&p->text, " 0 r_0_0\n"));
	for (size_t i = 0; i < p->n_slots; i++) {
		const struct slot *s = &p->slots[i];

		if (s->op < s->turn)
			SL_TRY(sl_buf_printf(&p->text, " + %llu r_%u_%u\n",
				(unsigned long long)p->t->ops[s->op].dur_ns, s->turn,
				s->op));
	}
	return SL_OK;
}

static sl_status say_program(struct program *p, uint64_t below_ns)
{
	SL_TRY(sl_buf_puts(&p->text, "Minimize\n ns:\n"));
	SL_TRY(say_time(p));
	SL_TRY(sl_buf_puts(&p->text, "Subject To\n"));
	if (below_ns != UINT64_MAX) {
		SL_TRY(sl_buf_puts(&p->text, " below:\n"));
		SL_TRY(say_time(p));
		SL_TRY(sl_buf_printf(&p->text, " <= %llu\n",
			(unsigned long long)(below_ns > 0 ? below_ns - 1 : 0)));
	}
	for (size_t i = 0; i < p->n_slots; i++) {
		SL_TRY(say_size(p, i));
		SL_TRY(say_presence(p, i));
	}
	SL_TRY(sl_buf_puts(&p->text, "Bounds\n"));
	for (uint32_t op = 0; op < p->t->n_ops; op++)
		SL_TRY(sl_buf_printf(&p->text, " 1 <= r_%u_%u <= 1\n", op, op));
	SL_TRY(sl_buf_puts(&p->text, "Binary\n"));
	for (size_t i = 0; i < p->n_slots; i++) {
		if (p->slots[i].op < p->slots[i].turn)
			SL_TRY(sl_buf_printf(&p->text, " r_%u_%u\n", p->slots[i].turn,
				p->slots[i].op));
	}
	return sl_buf_puts(&p->text, "End\n");
}

/* The program's answer through two files in a folder of its own. */
static sl_status ask(struct program *p, uint32_t seconds)
{
	const char *base = getenv("TMPDIR");
	char folder[256], in[300], out[300], limit[16];
	const char *argv[] = {"cbc", in, "sec", limit, "solve", "solution", out, NULL};
	int code = 0;
	sl_status st = SL_OK;

	if (snprintf(folder, sizeof(folder), "%s/sluice-ilp-XXXXXX",
		    base && *base ? base : "/tmp") >= (int)sizeof(folder) ||
		!mkdtemp(folder))
		return SL_FAIL(SL_E_WRITE,
			"no folder for the integer program can be made; set TMPDIR");
	(void)snprintf(in, sizeof(in), "%s/model.lp", folder);
	(void)snprintf(out, sizeof(out), "%s/answer", folder);
	(void)snprintf(limit, sizeof(limit), "%u", seconds);
	SL_TRY_OUT(sl_fs_write(in, p->text.data, p->text.len));
	SL_TRY_OUT(sl_child_run(argv, seconds + PATIENCE_S, &code));
	st = sl_fs_read(out, MAX_TEXT, &p->answer);
	st = st == SL_E_NOT_FOUND ? SL_OK : st; /* it says nothing of what it cannot do */
out:
	(void)unlink(in);
	(void)unlink(out);
	(void)rmdir(folder);
	if (st == SL_E_NOT_FOUND)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"option ilp needs the program cbc (Debian: coinor-cbc); install "
			"it or leave the option out");
	return st;
}

/* The slot's value in lines like "  17 r_4_2  1  5"; *at goes on from where it was. */
static void take_answer(const struct program *p, bool *runs)
{
	const char *text = sl_buf_text(&p->answer);

	for (const char *at = strstr(text, " r_"); at; at = strstr(at + 1, " r_")) {
		char *end;
		unsigned long turn = strtoul(at + 3, &end, 10), op = 0;

		if (*end == '_')
			op = strtoul(end + 1, &end, 10);
		if (strtod(end, NULL) > 0.5 && turn < p->t->n_ops && op < turn)
			runs[turn * p->t->n_ops + op] = true;
	}
}

static sl_status read_answer(const struct program *p, struct sl_order *out)
{
	const char *text = sl_buf_text(&p->answer);
	bool *runs;
	sl_status st = SL_OK;

	if (strncmp(text, "Optimal", 7) != 0 && strncmp(text, "Stopped", 7) != 0)
		return SL_OK;
	runs = sl_calloc((size_t)p->t->n_ops * p->t->n_ops, sizeof(*runs));
	if (!runs)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	take_answer(p, runs);
	for (size_t i = 0; i < p->n_slots; i++) {
		const struct slot *s = &p->slots[i];

		if (s->op < s->turn && !runs[s->turn * p->t->n_ops + s->op])
			continue;
		SL_TRY_OUT(sl_order_add(out, s->op));
	}
out:
	sl_free(runs);
	return st;
}

sl_status sl_optimal_ilp(const struct sl_optimal *o, uint64_t bytes,
	const struct sl_optimal_limits *limits, struct sl_order *out)
{
	struct program p = {
		.o = o, .t = o->t, .text = SL_BUF_INIT, .answer = SL_BUF_INIT};
	sl_status st = SL_OK;

	if (o->t->n_ops > limits->ops || bytes < o->base || !is_plain(o))
		return SL_OK;
	p.room = bytes - o->base;
	for (uint32_t v = 0; v < o->t->n_values; v++)
		p.unit = common(p.unit, sl_room_value(&o->t->values[v]));
	for (uint32_t op = 0; op < o->t->n_ops; op++)
		p.unit = common(p.unit, sl_room_workspace(&o->t->ops[op]));
	if (p.unit == 0)
		return SL_OK;
	SL_TRY_OUT(list_slots(&p));
	SL_TRY_OUT(say_program(&p, limits->below_ns));
	SL_TRY_OUT(ask(&p, limits->seconds));
	SL_TRY_OUT(read_answer(&p, out));
out:
	sl_free(p.slots);
	sl_buf_finish(&p.text);
	sl_buf_finish(&p.answer);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CONFORM_PLAN_MACHINE_H
#define SL_TESTS_CONFORM_PLAN_MACHINE_H

/*
 * A naive interpreter of plans: it knows addresses and contents only, one token a byte,
 * has no idea of holders or budgets but the end of the arena, and runs the iteration
 * twice. A plan does harm if a value is read while its bytes are not those of its current
 * version, or an op runs again and finds other bytes than it found in its turn, is not
 * pure, or writes what persists. What runs again writes the tokens of its turn.
 */
#include "conform/plan_machine_bytes.h"

static inline void copy(
	struct machine *m, uint32_t v, uint32_t from, uint32_t to, uint64_t offset)
{
	uint32_t *a = bytes_of(m, from, m->at[from][v], room(m, v));
	uint32_t *b = bytes_of(m, to, offset, room(m, v));

	if (a && b)
		memmove(b, a, room(m, v) * sizeof(*a));
	m->at[to][v] = offset;
}

static inline void act(struct machine *m, const struct sl_action *a)
{
	if (sl_action_copies_out(a->kind)) {
		copy(m, a->value, 0, a->tier, a->offset);
		if (a->kind == SL_ACTION_OUT)
			m->at[0][a->value] = SL_NO_OFFSET;
	} else if (a->kind == SL_ACTION_IN) {
		copy(m, a->value, a->tier, 0, a->offset);
	} else if (a->kind == SL_ACTION_MOVE) {
		copy(m, a->value, 0, 0, a->offset);
	} else {
		m->harm = m->harm || m->at[0][a->value] == SL_NO_OFFSET;
		m->at[0][a->value] = SL_NO_OFFSET;
	}
}

static inline void actions(struct machine *m, uint32_t op, enum sl_phase phase)
{
	for (uint32_t i = 0, n; i<m->p->n_actions; i += n> 0 ? n : 1) {
		const struct sl_action *a = &m->p->actions[i];

		n = sl_plan_group_lines(m->p, i);
		if (a->op != op || a->phase != phase || m->harm)
			continue;
		if (n == 0) {
			act(m, a);
			continue;
		}
		run_again(m, a, n);
		bury(m, when(op, phase == SL_BEFORE ? 0 : 2, i));
	}
}

static inline void read_values(struct machine *m, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		expect(m, 0, sl_trace_root(m->t, list[i]));
}

static inline void write_values(struct machine *m, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(m->t, list[i]);

		if (!m->token[v])
			m->at[0][v] = m->p->value_offset[v];
		m->token[v] = ++m->fresh;
		fill(m, m->at[0][v], room(m, v), m->token[v]);
	}
}

static inline void keep_tokens(
	struct machine *m, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sl_trace_root(m->t, list[i]);

		*entry(m, m->turn, op, v) = m->token[v];
	}
}

/* Order within an op does not matter to a sound plan: births and workspace, reads, then
 * writes. */
static inline void run_op(struct machine *m, uint32_t op)
{
	const struct sl_trace_op *o = &m->t->ops[op];

	if (o->workspace_bytes)
		fill(m, m->p->workspace_offset[op], o->workspace_bytes, ++m->fresh);
	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t v = sl_trace_root(m->t, o->out[i]);

		if (!m->token[v])
			fill(m, m->p->value_offset[v], room(m, v), ++m->fresh);
	}
	read_values(m, o->in, o->n_in);
	read_values(m, o->mutates, o->n_mutates);
	find_values(m, op, o->in, o->n_in, false);
	find_values(m, op, o->mutates, o->n_mutates, false);
	write_values(m, o->out, o->n_out);
	write_values(m, o->mutates, o->n_mutates);
	read_values(m, o->out, o->n_out);
	keep_tokens(m, op, o->out, o->n_out);
	keep_tokens(m, op, o->mutates, o->n_mutates);
	bury(m, when(op, 1, 0));
}

/* Places as the plan's start says; contents are what lies there. */
static inline void start(struct machine *m, bool first)
{
	for (uint32_t place = 0; place <= TIERS; place++)
		memset(m->at[place], 0xff, m->t->n_values * sizeof(*m->at[place]));
	for (uint32_t i = 0; i < m->p->n_starts; i++)
		m->at[m->p->starts[i].tier][m->p->starts[i].value] =
			m->p->starts[i].offset;
	for (uint32_t v = 0; v < m->t->n_values; v++) {
		if (m->t->values[v].alias != SL_NO_ID ||
			!sl_class_persistent(m->t->values[v].cls))
			continue;
		m->at[0][v] = sl_plan_starts_on_device(m->p, v) ? m->p->value_offset[v]
								: SL_NO_OFFSET;
		if (first)
			m->token[v] = ++m->fresh;
		for (uint32_t place = 0; place <= TIERS; place++) {
			uint64_t at = m->at[place][v];
			uint32_t *b = at == SL_NO_OFFSET
					      ? NULL
					      : bytes_of(m, place, at, room(m, v));

			for (uint64_t i = 0; first && b && i < room(m, v); i++)
				b[i] = m->token[v];
			if (!first && b)
				expect(m, place, v);
		}
	}
}

static inline void find_sizes(struct machine *m, uint64_t budget)
{
	m->size[0] = budget;
	for (uint32_t i = 0; i < m->p->n_actions; i++) {
		const struct sl_action *a = &m->p->actions[i];
		uint64_t end = a->offset + room(m, a->value);

		if (sl_action_copies_out(a->kind) && end > m->size[a->tier])
			m->size[a->tier] = end;
	}
	for (uint32_t i = 0; i < m->p->n_starts; i++) {
		const struct sl_plan_start *s = &m->p->starts[i];
		uint64_t end = s->offset + room(m, s->value);

		if (s->tier && end > m->size[s->tier])
			m->size[s->tier] = end;
	}
}

static inline void see_op(struct machine *m, uint32_t op, uint64_t now)
{
	const struct sl_trace_op *o = &m->t->ops[op];
	const uint32_t *lists[] = {o->in, o->out, o->mutates};
	const uint32_t counts[] = {o->n_in, o->n_out, o->n_mutates};

	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < counts[k]; i++) {
			uint64_t *last = &m->last_use[sl_trace_root(m->t, lists[k][i])];

			*last = now > *last ? now : *last;
		}
	}
}

static inline void find_last_uses(struct machine *m)
{
	for (uint32_t op = 0; op < m->t->n_ops; op++)
		see_op(m, op, when(op, 1, 0));
	for (uint32_t i = 0, n; i<m->p->n_actions; i += n> 0 ? n : 1) {
		const struct sl_action *a = &m->p->actions[i];

		n = sl_plan_group_lines(m->p, i);
		if (n > 0)
			see_op(m, a->again,
				when(a->op, a->phase == SL_BEFORE ? 0 : 2, i));
	}
}

static inline bool machine_is_harmful(
	const struct sl_trace *t, const struct sl_plan *p, uint64_t budget)
{
	struct machine m = {.t = t, .p = p};

	m.token = sl_calloc(t->n_values, sizeof(*m.token));
	m.last_use = sl_calloc(t->n_values, sizeof(*m.last_use));
	m.turn = sl_calloc((size_t)t->n_ops * t->n_values + 1, sizeof(*m.turn));
	m.found = sl_calloc((size_t)t->n_ops * t->n_values + 1, sizeof(*m.found));
	find_sizes(&m, budget);
	find_last_uses(&m);
	for (uint32_t k = 0; k <= TIERS; k++) {
		m.bytes[k] = sl_calloc(m.size[k] + 1, sizeof(*m.bytes[k]));
		m.at[k] = sl_calloc(t->n_values, sizeof(*m.at[k]));
	}
	for (int round = 0; round < 3 && !m.harm; round++) {
		start(&m, round == 0);
		for (uint32_t op = 0; op < t->n_ops && round < 2 && !m.harm; op++) {
			actions(&m, op, SL_BEFORE);
			run_op(&m, op);
			actions(&m, op, SL_AFTER);
		}
	}
	for (uint32_t k = 0; k <= TIERS; k++) {
		sl_free(m.bytes[k]);
		sl_free(m.at[k]);
	}
	sl_free(m.token);
	sl_free(m.last_use);
	sl_free(m.turn);
	sl_free(m.found);
	return m.harm;
}

#endif

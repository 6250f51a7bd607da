/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CONFORM_PLAN_MACHINE_BYTES_H
#define SL_TESTS_CONFORM_PLAN_MACHINE_BYTES_H

/* The bytes of plan_machine.h's interpreter, and its runs again. */
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/plan.h"

#define TIERS 2

struct machine {
	const struct sl_trace *t;
	const struct sl_plan *p;
	uint32_t *bytes[TIERS + 1]; /* tokens of the device and of each tier */
	uint64_t size[TIERS + 1];
	uint64_t *at[TIERS + 1]; /* [n_values] offset there, SL_NO_OFFSET if not */
	uint32_t *token; /* [n_values] of the current version; 0: dead */
	uint64_t *last_use; /* [n_values] position, see when() */
	uint32_t *turn; /* [n_ops][n_values] token that the op left in its turn */
	uint32_t *found; /* [n_ops][n_values] token that it found */
	uint32_t fresh;
	bool harm;
};

static inline uint64_t room(const struct machine *m, uint32_t v)
{
	return m->t->values[v].bytes;
}

/* The bytes of v in a place, or NULL (harm) if they are beyond its end or nowhere. */
static inline uint32_t *bytes_of(
	struct machine *m, uint32_t place, uint64_t offset, uint64_t n)
{
	if (offset == SL_NO_OFFSET || n > m->size[place] || offset > m->size[place] - n) {
		m->harm = true;
		return NULL;
	}
	return m->bytes[place] + offset;
}

static inline void fill(struct machine *m, uint64_t offset, uint64_t n, uint32_t token)
{
	uint32_t *b = bytes_of(m, 0, offset, n);

	for (uint64_t i = 0; b && i < n; i++)
		b[i] = token;
}

static inline void expect(struct machine *m, uint32_t place, uint32_t v)
{
	const uint32_t *b = bytes_of(m, place, m->at[place][v], room(m, v));

	for (uint64_t i = 0; b && i < room(m, v) && !m->harm; i++)
		m->harm = b[i] != m->token[v];
}

/* Position as a number: op, then 0 before it, 1 its run, 2 after it, then action. */
static inline uint64_t when(uint32_t op, unsigned moment, uint32_t action)
{
	return (3 * (uint64_t)op + moment + 1) << 32 | action;
}

static inline void bury(struct machine *m, uint64_t now)
{
	for (uint32_t v = 0; v < m->t->n_values; v++) {
		if (m->last_use[v] == now && !sl_class_persistent(m->t->values[v].cls)) {
			m->token[v] = 0;
			m->at[0][v] = SL_NO_OFFSET;
		}
	}
}

/* The token at v's first byte, all of v being the same; 0, with harm, if it is not. */
static inline uint32_t find(struct machine *m, uint32_t v)
{
	const uint32_t *b = bytes_of(m, 0, m->at[0][v], room(m, v));

	for (uint64_t i = 0; b && i < room(m, v); i++)
		m->harm = m->harm || b[i] != b[0];
	return b && !m->harm ? b[0] : 0;
}

static inline uint32_t *entry(
	const struct machine *m, uint32_t *table, uint32_t op, uint32_t v)
{
	return &table[(size_t)op * m->t->n_values + v];
}

static inline void find_values(
	struct machine *m, uint32_t op, const uint32_t *list, uint32_t n, bool again)
{
	for (uint32_t i = 0; i < n && !m->harm; i++) {
		uint32_t v = sl_trace_root(m->t, list[i]);
		uint32_t *was = entry(m, m->found, op, v), token = find(m, v);

		m->harm = m->harm || (again && token != *was);
		*was = token;
	}
}

static inline void leave_values(
	struct machine *m, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n && !m->harm; i++) {
		uint32_t v = sl_trace_root(m->t, list[i]);

		m->harm = m->harm || sl_class_persistent(m->t->values[v].cls);
		fill(m, m->at[0][v], room(m, v), *entry(m, m->turn, op, v));
	}
}

/* Births of a group. A line that names what the op does not write does harm. */
static inline void place_lines(struct machine *m, const struct sl_action *a, uint32_t n)
{
	for (uint32_t i = 0; i < n && !m->harm; i++) {
		uint32_t v = a[i].value;

		if (a[i].offset != SL_NO_OFFSET)
			m->at[0][v] = a[i].offset;
		m->harm = m->harm || m->token[v] == 0 ||
			  *entry(m, m->turn, a->again, v) == 0;
		fill(m, m->at[0][v], a[i].offset != SL_NO_OFFSET ? room(m, v) : 0,
			++m->fresh);
	}
}

static inline void run_again(struct machine *m, const struct sl_action *a, uint32_t n)
{
	const struct sl_trace_op *o = &m->t->ops[a->again];

	m->harm = m->harm || !o->pure;
	place_lines(m, a, n);
	if (o->workspace_bytes && !m->harm)
		fill(m, a->workspace_offset, o->workspace_bytes, ++m->fresh);
	find_values(m, a->again, o->in, o->n_in, true);
	find_values(m, a->again, o->mutates, o->n_mutates, true);
	leave_values(m, a->again, o->out, o->n_out);
	leave_values(m, a->again, o->mutates, o->n_mutates);
	if (o->workspace_bytes && !m->harm)
		fill(m, a->workspace_offset, o->workspace_bytes, ++m->fresh);
}

#endif

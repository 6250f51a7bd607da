/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage of a chain runs again, how long that takes, and in how many bytes. */
#include "memory/policy/optimal_chain_int.h"

#include "base/units.h"
#include "memory/place.h"

#define NEEDED 2u /* mark: by a run again */

static bool writes_needed(const struct sl_chain *c, uint32_t op)
{
	const struct sl_trace_op *o = &c->o->t->ops[op];

	for (uint32_t i = o->n_in; i < sl_op_touches(o); i++) {
		if (c->mark[sl_op_touch(c->o->t, op, i)] & NEEDED)
			return true;
	}
	return false;
}

static void mark_needed(struct sl_chain *c, uint32_t op)
{
	for (uint32_t i = 0; i < sl_op_touches(&c->o->t->ops[op]); i++) {
		uint32_t v = sl_op_touch(c->o->t, op, i), stage = c->stage[v];

		if (stage != SL_NO_ID && op >= c->stages[stage].from &&
			op < c->stages[stage].to)
			c->mark[v] |= NEEDED;
	}
}

sl_status sl_chain_rerun(
	struct sl_chain *c, uint32_t stage, bool saved, struct sl_order *out)
{
	const struct sl_stage *s = &c->stages[stage];
	size_t first = out->n;

	for (uint32_t v = 0; v < c->o->t->n_values; v++) {
		c->mark[v] &= (uint8_t)~NEEDED;
		if (v == s->output ||
			(saved && c->stage[v] == stage && (c->mark[v] & SL_CHAIN_SAVED)))
			c->mark[v] |= NEEDED;
	}
	for (uint32_t op = s->to; op-- > s->from;) {
		if (!writes_needed(c, op))
			continue;
		SL_TRY(sl_order_add(out, op));
		mark_needed(c, op);
	}
	for (size_t i = first, k = out->n; i < k--; i++) {
		uint32_t op = out->ops[i];

		out->ops[i] = out->ops[k];
		out->ops[k] = op;
	}
	return SL_OK;
}

/* The bytes of a stage's runs, see struct sl_stage. */
struct measure {
	struct sl_chain *c;
	const struct sl_order *order;
	uint32_t stage;
	bool again, saved, input_goes;
};

/* Notes where in the order the stage's values and its input are touched last. */
static void note_last(const struct measure *m, uint32_t input)
{
	const struct sl_chain *c = m->c;

	for (size_t i = 0; i < m->order->n; i++) {
		uint32_t op = m->order->ops[i];

		for (uint32_t k = 0; k < sl_op_touches(&c->o->t->ops[op]); k++)
			c->position[sl_op_touch(c->o->t, op, k)] = (uint32_t)i;
	}
	if (input != SL_NO_ID && !m->input_goes)
		c->position[input] = SL_NO_ID;
}

static bool is_kept(const struct measure *m, uint32_t v)
{
	return m->c->stages[m->stage].output == v ||
	       (m->saved && (m->c->mark[v] & SL_CHAIN_SAVED));
}

/* Bytes of what run i bears, or, after it, of what nobody touches any more. */
static uint64_t bytes_changed(
	const struct measure *m, uint32_t i, uint32_t input, bool after)
{
	const struct sl_chain *c = m->c;
	uint32_t op = m->order->ops[i];
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < sl_op_touches(&c->o->t->ops[op]); k++) {
		uint32_t v = sl_op_touch(c->o->t, op, k);
		bool ours = c->stage[v] == m->stage;

		for (uint32_t x = 0; x < k && ours; x++)
			ours = sl_op_touch(c->o->t, op, x) != v;
		if (!after && ours && c->o->birth[v] == op)
			bytes += sl_room_value(&c->o->t->values[v]);
		if (after && c->position[v] == i &&
			(v == input || (ours && !is_kept(m, v))))
			bytes += sl_room_value(&c->o->t->values[v]);
		if (after && v == input)
			input = SL_NO_ID;
	}
	return bytes;
}

static uint64_t peak_of(const struct measure *m)
{
	const struct sl_chain *c = m->c;
	const struct sl_trace *t = c->o->t;
	uint32_t input = m->stage > 0 ? c->stages[m->stage - 1].output : SL_NO_ID;
	uint64_t peak = 0, now = 0;

	if (input != SL_NO_ID)
		c->position[input] = SL_NO_ID;
	note_last(m, input);
	if (input != SL_NO_ID && c->position[input] != SL_NO_ID)
		now = sl_room_value(&t->values[input]);
	for (uint32_t i = 0; i < m->order->n; i++) {
		uint32_t op = m->order->ops[i];
		uint64_t bytes = m->again ? sl_room_workspace(&t->ops[op]) : c->load[op];

		now += bytes_changed(m, i, SL_NO_ID, false);
		peak = now + bytes > peak ? now + bytes : peak;
		now -= bytes_changed(m, i, input, true);
	}
	return peak;
}

static sl_status list_runs(
	struct sl_chain *c, uint32_t stage, bool again, bool saved, struct sl_order *out)
{
	out->n = 0;
	if (again)
		return sl_chain_rerun(c, stage, saved, out);
	for (uint32_t op = c->stages[stage].from; op < c->stages[stage].to; op++)
		SL_TRY(sl_order_add(out, op));
	return SL_OK;
}

static void measure_backward(struct sl_chain *c, struct sl_stage *s, uint32_t stage)
{
	const struct sl_trace *t = c->o->t;

	if (s->back_from < s->back_to)
		s->back_load = c->gap_load[s->back_from];
	for (uint32_t op = s->back_from; op < s->back_to; op++) {
		uint64_t bytes = c->load[op];

		for (uint32_t v = 0; v < t->n_values; v++) {
			if (c->stage[v] == stage && (c->mark[v] & SL_CHAIN_SAVED) &&
				c->last[v] >= op)
				bytes += sl_room_value(&t->values[v]);
		}
		if (bytes > s->back_peak)
			s->back_peak = bytes;
	}
}

sl_status sl_chain_measure(struct sl_chain *c, uint32_t stage, struct sl_order *order)
{
	struct sl_stage *s = &c->stages[stage];

	s->again = true;
	for (int i = 0; i < 8; i++) {
		struct measure m = {.c = c,
			.order = order,
			.stage = stage,
			.again = i & 4,
			.saved = i & 2,
			.input_goes = i & 1};

		SL_TRY(list_runs(c, stage, m.again, m.saved, order));
		s->peak[m.again][m.saved][m.input_goes] = peak_of(&m);
		s->ns[m.saved] = 0;
		for (size_t k = 0; m.again && k < order->n; k++) {
			s->ns[m.saved] = sl_add_ns(
				s->ns[m.saved], c->o->t->ops[order->ops[k]].dur_ns);
			s->again = s->again && c->o->rerun[order->ops[k]];
		}
	}
	measure_backward(c, s, stage);
	return SL_OK;
}

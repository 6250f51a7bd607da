/* SPDX-License-Identifier: Apache-2.0 */
/* An op's accesses by storage, for the writers of forms without views. */
#include "memory/foreign/roles_int.h"

#include "base/alloc.h"

sl_status sl_roles_init(const struct sl_trace *t, struct sl_roles *out)
{
	size_t n = (size_t)t->n_values + 1;

	*out = (struct sl_roles){.stamps = sl_calloc(n, sizeof(*out->stamps)),
		.roles = sl_calloc(n, 1),
		.born = sl_calloc(n, 1)};
	if (out->stamps != NULL && out->roles != NULL && out->born != NULL)
		return SL_OK;
	sl_roles_finish(out);
	return SL_FAIL(SL_E_NOMEM, "no host memory left to write a trace");
}

void sl_roles_finish(struct sl_roles *r)
{
	sl_free(r->ids);
	sl_free(r->stamps);
	sl_free(r->roles);
	sl_free(r->born);
	sl_free(r->touched);
	*r = (struct sl_roles){0};
}

enum access { AS_IN, AS_MUTATED, AS_OUT };

/* What an access makes of a root whose role so far is `now` (COUNT: none). */
static enum sl_role role_of(enum access a, enum sl_role now, bool persistent, bool born)
{
	if (a == AS_MUTATED)
		return SL_ROLE_CHANGED;
	if (a == AS_IN)
		return now == SL_ROLE_COUNT ? SL_ROLE_READ : now;
	if (now != SL_ROLE_COUNT)
		return now == SL_ROLE_READ ? SL_ROLE_CHANGED : now;
	return persistent ? SL_ROLE_OVERWRITTEN : born ? SL_ROLE_CHANGED : SL_ROLE_BORN;
}

struct list {
	const uint32_t *ids;
	uint32_t n;
	enum access as;
};

/* Returns how many roots the op has touched. */
static uint32_t touch(struct sl_roles *r, const struct sl_trace *t, uint32_t stamp,
	struct list list, uint32_t n)
{
	for (uint32_t i = 0; i < list.n; i++) {
		uint32_t v = sl_trace_root(t, list.ids[i]);
		bool first = r->stamps[v] != stamp;
		enum sl_role now = first ? SL_ROLE_COUNT : (enum sl_role)r->roles[v];

		if (first)
			r->touched[n++] = v;
		r->stamps[v] = stamp;
		r->roles[v] = (uint8_t)role_of(
			list.as, now, sl_class_persistent(t->values[v].cls), r->born[v]);
	}
	return n;
}

sl_status sl_roles_op(struct sl_roles *r, const struct sl_trace *t, uint32_t o)
{
	const struct sl_trace_op *op = &t->ops[o];
	size_t most = (size_t)op->n_in + op->n_out + op->n_mutates + 1;
	uint32_t n = 0, filled = 0;

	if (sl_grow((void **)&r->ids, &r->cap_ids, most, sizeof(*r->ids), SIZE_MAX / 8) ||
		sl_grow((void **)&r->touched, &r->cap_touched, most, sizeof(*r->touched),
			SIZE_MAX / 8))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to write a trace");
	n = touch(r, t, o + 1, (struct list){op->in, op->n_in, AS_IN}, n);
	n = touch(r, t, o + 1, (struct list){op->mutates, op->n_mutates, AS_MUTATED}, n);
	n = touch(r, t, o + 1, (struct list){op->out, op->n_out, AS_OUT}, n);
	for (int role = 0; role < SL_ROLE_COUNT; role++) {
		r->n[role] = filled;
		for (uint32_t i = 0; i < n; i++)
			if (r->roles[r->touched[i]] == role)
				r->ids[filled++] = r->touched[i];
	}
	r->n[SL_ROLE_COUNT] = filled;
	for (uint32_t i = r->n[SL_ROLE_BORN]; i < filled; i++)
		r->born[r->ids[i]] = 1;
	return SL_OK;
}

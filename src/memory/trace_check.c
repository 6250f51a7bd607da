/* SPDX-License-Identifier: Apache-2.0 */
/* Proves the invariants of a trace, so that policies and checkers may rely on them. */
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "memory/place.h"
#include "memory/trace.h"

/* All sums of bytes of a trace stay below this, so that no later addition can overflow.
 */
#define MAX_TOTAL_BYTES ((uint64_t)1 << 60)
/* And sums of times: 36 years, with room for many copies of this latency. */
#define MAX_TOTAL_NS ((uint64_t)1 << 60)
#define MAX_LATENCY_NS ((uint64_t)1 << 40)
#define MAX_NAME 4096

/* Names are words of the text form: no blanks, no control characters. */
static bool is_word(const char *text)
{
	size_t n = 0;

	if (!text)
		return false;
	for (; text[n]; n++) {
		unsigned char c = (unsigned char)text[n];

		if (c <= ' ' || c == 0x7f)
			return false;
	}
	return n <= MAX_NAME;
}

static sl_status check_tiers(const struct sl_trace *t)
{
	for (uint32_t i = 0; i < t->n_tiers; i++) {
		const char *name = t->tiers[i].name;

		if (!is_word(name) || !name[0] || strchr(name, '=') ||
			strcmp(name, "device") == 0)
			return SL_FAIL(SL_E_FORMAT,
				"tier %u has no usable name: it needs a word other than "
				"`device`",
				i);
		if (t->tiers[i].bytes > MAX_TOTAL_BYTES)
			return SL_FAIL(SL_E_FORMAT, "tier %s is over 2^60 bytes", name);
		for (uint32_t j = 0; j < i; j++) {
			if (strcmp(name, t->tiers[j].name) == 0)
				return SL_FAIL(
					SL_E_FORMAT, "two tiers are named %s", name);
		}
	}
	for (uint32_t i = 0; i < t->n_links; i++) {
		const struct sl_trace_link *l = &t->links[i];

		if (l->from > t->n_tiers || l->to > t->n_tiers || l->from == l->to)
			return SL_FAIL(SL_E_FORMAT,
				"link %u joins places %u and %u; there are 0 (device) to "
				"%u",
				i, l->from, l->to, t->n_tiers);
		if (l->bytes_per_s == 0)
			return SL_FAIL(
				SL_E_FORMAT, "link %u carries 0 bytes a second", i);
		if (l->latency_ns > MAX_LATENCY_NS)
			return SL_FAIL(SL_E_FORMAT,
				"link %u has a latency over 2^40 ns (18 minutes)", i);
	}
	return SL_OK;
}

static sl_status check_alias(const struct sl_trace *t, uint32_t id)
{
	const struct sl_trace_value *v = &t->values[id];

	if (v->alias == SL_NO_ID)
		return SL_OK;
	if (v->alias >= t->n_values || v->alias == id)
		return SL_FAIL(SL_E_FORMAT,
			"v%u is an alias of v%u, which is no other value", id, v->alias);
	if (t->values[v->alias].alias != SL_NO_ID)
		return SL_FAIL(SL_E_FORMAT,
			"v%u is an alias of v%u, itself an alias; name the root v%u", id,
			v->alias, t->values[v->alias].alias);
	if (v->bytes > t->values[v->alias].bytes)
		return SL_FAIL(SL_E_FORMAT,
			"v%u is larger than v%u, whose bytes it shares", id, v->alias);
	return SL_OK;
}

static sl_status check_values(const struct sl_trace *t)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < t->n_values; i++) {
		const struct sl_trace_value *v = &t->values[i];

		if ((unsigned)v->cls >= SL_CLASS_COUNT || !is_word(v->name))
			return SL_FAIL(SL_E_FORMAT,
				"v%u has no known class, or a name with blanks in it", i);
		if (v->bytes == 0)
			return SL_FAIL(SL_E_FORMAT, "v%u has no bytes", i);
		if (v->align == 0 || (v->align & (v->align - 1)) ||
			v->align > SL_PAGE_BYTES)
			return SL_FAIL(SL_E_FORMAT,
				"v%u has align=%llu; it must be a power of two up to "
				"4096",
				i, (unsigned long long)v->align);
		if (v->bytes > MAX_TOTAL_BYTES || total + v->bytes > MAX_TOTAL_BYTES)
			return SL_FAIL(
				SL_E_FORMAT, "v%u brings the values over 2^60 bytes", i);
		total += sl_room_value(v);
		SL_TRY(check_alias(t, i));
	}
	return SL_OK;
}

static sl_status check_ids(
	const struct sl_trace *t, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i] >= t->n_values)
			return SL_FAIL(SL_E_FORMAT,
				"op %u names v%u; there are %u values", op, list[i],
				t->n_values);
	}
	return SL_OK;
}

static sl_status check_alive(const struct sl_trace *t, uint32_t op, const uint32_t *list,
	uint32_t n, const uint8_t *born)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t root = sl_trace_root(t, list[i]);

		if (!sl_class_persistent(t->values[root].cls) && !born[root])
			return SL_FAIL(SL_E_FORMAT,
				"op %u (%s) reads v%u, which no earlier op has in its "
				"out list",
				op, t->ops[op].kind, list[i]);
	}
	return SL_OK;
}

static sl_status check_births(const struct sl_trace *t, uint32_t op, uint8_t *born)
{
	const struct sl_trace_op *o = &t->ops[op];

	for (uint32_t i = 0; i < o->n_out; i++) {
		uint32_t root = sl_trace_root(t, o->out[i]);

		if (sl_class_persistent(t->values[root].cls))
			continue;
		if (born[root] && root == o->out[i])
			return SL_FAIL(SL_E_FORMAT,
				"op %u (%s) has v%u in its out list, but it is born "
				"already; put it "
				"in mutates",
				op, o->kind, root);
		born[root] = 1;
	}
	return SL_OK;
}

static sl_status check_op(const struct sl_trace *t, uint32_t op, uint8_t *born)
{
	const struct sl_trace_op *o = &t->ops[op];

	if (!is_word(o->kind) || !is_word(o->scope))
		return SL_FAIL(SL_E_FORMAT, "op %u has blanks in its kind or scope", op);
	if (o->workspace_bytes > MAX_TOTAL_BYTES)
		return SL_FAIL(SL_E_FORMAT, "op %u has a workspace over 2^60 bytes", op);
	SL_TRY(check_ids(t, op, o->in, o->n_in));
	SL_TRY(check_ids(t, op, o->out, o->n_out));
	SL_TRY(check_ids(t, op, o->mutates, o->n_mutates));
	SL_TRY(check_alive(t, op, o->in, o->n_in, born));
	SL_TRY(check_alive(t, op, o->mutates, o->n_mutates, born));
	return check_births(t, op, born);
}

sl_status sl_trace_check(const struct sl_trace *t)
{
	sl_status st = SL_OK;
	uint8_t *born = NULL;
	uint64_t ns = 0;

	if (!is_word(t->job_name))
		return SL_FAIL(SL_E_FORMAT, "the job's name has blanks in it");
	SL_TRY(check_tiers(t));
	SL_TRY(check_values(t));
	born = sl_calloc((size_t)t->n_values + 1, 1);
	if (!born)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to check a trace");
	for (uint32_t i = 0; i < t->n_ops; i++) {
		ns = sl_add_ns(ns, t->ops[i].dur_ns);
		if (ns > MAX_TOTAL_NS) {
			st = SL_FAIL(SL_E_FORMAT,
				"op %u brings the times over 2^60 ns (36 years)", i);
			goto out;
		}
		SL_TRY_OUT(check_op(t, i, born));
	}
out:
	sl_free(born);
	return st;
}

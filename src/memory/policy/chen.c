/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chen: the forward pass is cut into segments; what lies within a segment is given up at
 * the segment's end and computed again, all of it at once, when the backward pass gets
 * there [chen]. sqrt(n) segments of equal numbers of values (option greedy=0), or as few
 * as there are when each one's values may take so many bytes (greedy=1, the paper's
 * search by a budget b).
 *
 * Departures:
 * 1. The forward pass ends where the first gradient is born; without one nothing is
 * given up.
 * 2. What several segments read stays, so any graph will do and not only a chain.
 * 3. What cannot be computed again (an op that is not pure, a content that was
 * overwritten) stays.
 * 4. The paper knows no budget: of all numbers of segments (or of 24 values of b) the
 * cheapest plan that fits counts, sqrt(n) (or the first b) first.
 * 5. Where none fits, belady's plan is used, if there is a tier (alone.h).
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/place.h"
#include "memory/policy/alone.h"
#include "memory/policy/lineage.h"
#include "memory/policy/policy.h"
#include "memory/policy/runs.h"

#define TRIES 24

enum inner {
	CROSSES, /* segments, or is not of the forward pass */
	INNER, /* dead within its segment */
	WANTED, /* given up with its segment, and needed later */
	STAYS /* would be given up, but cannot be rebuilt by then */
};

struct chen {
	const struct sl_trace *t;
	struct sl_lineage l;
	struct sl_runs runs;
	uint32_t *segment; /* [n_ops] of forward ops */
	uint32_t *first_op; /* [segments + 1] */
	uint32_t *again_at; /* [segments] where it is computed again */
	uint32_t *last_forward; /* [n_values] last use there */
	uint8_t *inner; /* [n_values] enum inner */
	uint8_t *there, *needed; /* [n_values] */
	uint8_t *chosen; /* [n_ops] to run again with its segment */
	uint32_t backward; /* first op of the backward pass */
	uint32_t segments;
};

static uint32_t root(const struct chen *c, uint32_t v)
{
	return sl_trace_root(c->t, v);
}

/* The first op that bears a gradient. */
static uint32_t backward_begins(const struct sl_trace *t)
{
	for (uint32_t i = 0; i < t->n_ops; i++) {
		for (uint32_t k = 0; k < t->ops[i].n_out; k++) {
			uint32_t v = sl_trace_root(t, t->ops[i].out[k]);

			if (t->values[v].cls == SL_CLASS_GRAD)
				return i;
		}
	}
	return t->n_ops;
}

static uint64_t born_bytes(const struct chen *c, uint32_t op)
{
	const struct sl_trace_op *o = &c->t->ops[op];
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < o->n_out; k++) {
		uint32_t v = root(c, o->out[k]);

		if (!sl_lineage_stays(&c->l, v) && c->l.birth[v] == op &&
			c->l.death[v] >= c->backward)
			bytes += sl_room_value(&c->t->values[v]);
	}
	return bytes;
}

/* Equal numbers of ops that bear something for the backward pass. */
static void cut_evenly(struct chen *c, uint32_t segments)
{
	uint64_t n = 0, k = 0;

	for (uint32_t i = 0; i < c->backward; i++)
		n += born_bytes(c, i) > 0;
	for (uint32_t i = 0; i < c->backward; i++) {
		c->segment[i] = (uint32_t)(k * segments / (n > 0 ? n : 1));
		k += born_bytes(c, i) > 0;
	}
}

static void cut_by_bytes(struct chen *c, uint64_t most)
{
	uint64_t sum = 0;
	uint32_t segment = 0;

	for (uint32_t i = 0; i < c->backward; i++) {
		uint64_t bytes = born_bytes(c, i);

		if (sum > 0 && sum + bytes > most) {
			segment++;
			sum = 0;
		}
		sum += bytes;
		c->segment[i] = segment;
	}
}

static uint32_t next_use(const struct chen *c, uint32_t v, uint32_t op)
{
	for (uint32_t u = c->l.x.first[v]; u < c->l.x.first[v + 1]; u++) {
		if (c->l.x.uses[u].op >= op)
			return c->l.x.uses[u].op;
	}
	return c->t->n_ops;
}

static void look_at(struct chen *c, uint32_t v)
{
	uint32_t birth = c->l.birth[v], last = birth, next;

	c->inner[v] = CROSSES;
	if (c->t->values[v].alias != SL_NO_ID || sl_lineage_stays(&c->l, v) ||
		birth == SL_NO_ID || birth >= c->backward)
		return;
	for (uint32_t u = c->l.x.first[v];
		u < c->l.x.first[v + 1] && c->l.x.uses[u].op < c->backward; u++)
		last = c->l.x.uses[u].op;
	c->last_forward[v] = last;
	if (c->segment[last] != c->segment[birth] || c->segment[birth] + 1 == c->segments)
		return;
	c->inner[v] = c->l.death[v] < c->backward ? INNER : WANTED;
	next = next_use(c, v, c->backward);
	if (next < c->again_at[c->segment[birth]])
		c->again_at[c->segment[birth]] = next;
}

/* What of each segment nobody else reads before the backward pass. */
static void mark(struct chen *c)
{
	c->segments = c->backward > 0 ? c->segment[c->backward - 1] + 1 : 0;
	for (uint32_t i = c->backward; i-- > 0;)
		c->first_op[c->segment[i]] = i;
	c->first_op[c->segments] = c->backward;
	for (uint32_t s = 0; s < c->segments; s++)
		c->again_at[s] = c->t->n_ops;
	for (uint32_t v = 0; v < c->t->n_values; v++)
		look_at(c, v);
	for (uint32_t v = 0; v < c->t->n_values; v++) {
		if (c->inner[v] == WANTED &&
			c->l.expires[v] < c->again_at[c->segment[c->l.birth[v]]])
			c->inner[v] = STAYS;
	}
	memset(c->there, 0, c->t->n_values);
	memset(c->needed, 0, c->t->n_values);
}

static bool any(
	const struct chen *c, const uint8_t *marks, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (marks[root(c, list[i])])
			return true;
	}
	return false;
}

static void need(struct chen *c, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = root(c, list[i]);

		if (!sl_lineage_stays(&c->l, v) && !c->there[v])
			c->needed[v] = 1;
	}
}

static void set_there(struct chen *c, uint32_t op)
{
	for (uint32_t i = 0; i < c->t->ops[op].n_out; i++)
		c->there[root(c, c->t->ops[op].out[i])] = 1;
}

/* The ops of a segment whose results are wanted, in their order, before op `before`. */
static sl_status again(struct chen *c, uint32_t segment, uint32_t before)
{
	uint32_t from = c->first_op[segment], to = c->first_op[segment + 1];

	c->again_at[segment] = SL_NO_ID; /* done */
	for (uint32_t v = 0; v < c->t->n_values; v++) {
		if (c->inner[v] == WANTED && c->segment[c->l.birth[v]] == segment)
			c->needed[v] = 1;
	}
	for (uint32_t op = to; op-- > from;) {
		const struct sl_trace_op *o = &c->t->ops[op];

		c->chosen[op] = any(c, c->needed, o->out, o->n_out) ||
				any(c, c->needed, o->mutates, o->n_mutates);
		if (!c->chosen[op])
			continue;
		need(c, o->in, o->n_in);
		need(c, o->mutates, o->n_mutates);
	}
	for (uint32_t op = from; op < to; op++) {
		if (!c->chosen[op])
			continue;
		SL_TRY(sl_runs_add(&c->runs, op, before));
		set_there(c, op);
	}
	return SL_OK;
}

static sl_status again_for(struct chen *c, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = root(c, list[i]), segment;

		if (c->inner[v] != WANTED && c->inner[v] != STAYS)
			continue;
		segment = c->segment[c->l.birth[v]];
		if (c->again_at[segment] == op)
			SL_TRY(again(c, segment, op));
	}
	return SL_OK;
}

static void give_up(struct chen *c, uint32_t op, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = root(c, list[i]);

		if ((c->inner[v] != INNER && c->inner[v] != WANTED) ||
			c->last_forward[v] != op)
			continue;
		c->there[v] = 0;
		sl_runs_drop(&c->runs, v);
	}
}

/* The iteration with the segments as they are. */
static sl_status walk(struct chen *c)
{
	mark(c);
	sl_runs_reset(&c->runs);
	for (uint32_t op = 0; op < c->t->n_ops; op++) {
		const struct sl_trace_op *o = &c->t->ops[op];

		if (op >= c->backward) {
			SL_TRY(again_for(c, op, o->in, o->n_in));
			SL_TRY(again_for(c, op, o->mutates, o->n_mutates));
		}
		SL_TRY(sl_runs_add(&c->runs, op, op));
		set_there(c, op);
		if (op >= c->backward)
			continue;
		give_up(c, op, o->in, o->n_in);
		give_up(c, op, o->mutates, o->n_mutates);
		give_up(c, op, o->out, o->n_out);
	}
	return SL_OK;
}

static uint64_t again_ns(const struct chen *c)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->runs.n_steps; i++) {
		if (c->runs.steps[i].op != c->runs.steps[i].before)
			ns = sl_add_ns(ns, c->t->ops[c->runs.steps[i].op].dur_ns);
	}
	return ns;
}

static sl_status begin(struct chen *c, const struct sl_trace *t)
{
	size_t ops = (size_t)t->n_ops + 2, n = (size_t)t->n_values + 1;

	*c = (struct chen){.t = t, .backward = backward_begins(t)};
	SL_TRY(sl_lineage_init(&c->l, t));
	SL_TRY(sl_runs_init(&c->runs, t));
	c->segment = sl_calloc(ops, sizeof(*c->segment));
	c->first_op = sl_calloc(ops, sizeof(*c->first_op));
	c->again_at = sl_calloc(ops, sizeof(*c->again_at));
	c->chosen = sl_calloc(ops, 1);
	c->last_forward = sl_calloc(n, sizeof(*c->last_forward));
	c->inner = sl_calloc(n, 1);
	c->there = sl_calloc(n, 1);
	c->needed = sl_calloc(n, 1);
	return c->segment && c->first_op && c->again_at && c->chosen && c->last_forward &&
			       c->inner && c->there && c->needed
		       ? SL_OK
		       : SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
}

static void finish(struct chen *c)
{
	sl_lineage_finish(&c->l);
	sl_runs_finish(&c->runs);
	sl_free(c->segment);
	sl_free(c->first_op);
	sl_free(c->again_at);
	sl_free(c->chosen);
	sl_free(c->last_forward);
	sl_free(c->inner);
	sl_free(c->there);
	sl_free(c->needed);
}

/* The best of the plans so far. */
struct best {
	struct sl_plan plan;
	uint64_t ns;
};

static sl_status try_cut(struct chen *c, uint64_t budget, struct best *best)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t height = UINT64_MAX, ns;
	sl_status st = SL_OK;

	SL_TRY(walk(c));
	ns = again_ns(c);
	if (best->plan.value_offset && ns >= best->ns)
		return SL_OK;
	SL_TRY_OUT(sl_runs_lower(&c->runs, budget, "chen", &p, &height));
	if (p.value_offset == NULL)
		goto out;
	best->ns = ns;
	sl_plan_finish(&best->plan);
	sl_plan_move(&best->plan, &p);
out:
	sl_plan_finish(&p);
	return st;
}

/* sqrt(n) segments first; where these do not fit, others. */
static sl_status search_evenly(struct chen *c, uint64_t budget, struct best *best)
{
	uint32_t n = 0, usual;

	for (uint32_t i = 0; i < c->backward; i++)
		n += born_bytes(c, i) > 0;
	usual = (uint32_t)ceil(sqrt((double)n));
	for (int k = 0; k < TRIES; k++) {
		int halves = (k + 1) / 2; /* of an octave, up and down in turn */
		double share = pow(2, (k % 2 ? 0.5 : -0.5) * halves);
		double segments = share * usual;

		if (segments < 2 || segments > n)
			continue;
		cut_evenly(c, (uint32_t)segments);
		SL_TRY(try_cut(c, budget, best));
		if (k == 0 && best->plan.value_offset)
			break;
	}
	return SL_OK;
}

static sl_status search_by_bytes(struct chen *c, uint64_t budget, struct best *best)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->backward; i++)
		sum += born_bytes(c, i);
	for (int k = 0; k < TRIES; k++) {
		cut_by_bytes(c, (uint64_t)((double)sum * pow(2, -(k + 1) * 0.35)));
		SL_TRY(try_cut(c, budget, best));
	}
	return SL_OK;
}

/* *out stays empty if nothing fits. */
static sl_status find(
	const struct sl_trace *t, uint64_t budget, const void *ctx, struct sl_plan *out)
{
	const int64_t *option = ctx;
	struct best best = {.plan = SL_PLAN_INIT};
	struct chen c;
	sl_status st = SL_OK;

	SL_TRY_OUT(begin(&c, t));
	if (c.backward > 0 && c.backward < t->n_ops)
		SL_TRY_OUT(option[0] ? search_by_bytes(&c, budget, &best)
				     : search_evenly(&c, budget, &best));
	if (best.plan.value_offset)
		sl_plan_move(out, &best.plan);
out:
	sl_plan_finish(&best.plan);
	finish(&c);
	return st;
}

static const struct sl_policy_option options[] = {
	{"greedy", 0, 1, 0, "1: segments by bytes and not by number"},
	{0},
};

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	return find(t, budget, option, out);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	static const int64_t usual[] = {0};

	return sl_alone_least(t, find, usual, out_bytes);
}

const struct sl_mem_policy sl_mem_policy_chen = {
	.name = "chen",
	.source = "chen",
	.summary = "recomputes by segments of the forward pass, sqrt(n) of them (a "
		   "baseline)",
	.options = options,
	.own = own,
	.least = least,
};

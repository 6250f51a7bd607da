/* SPDX-License-Identifier: Apache-2.0 */
/* The made-up executor and its twin. */
#include "harness/engine_rig.h"

#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pages.h"
#include "harness/harness.h"
#include "session/wire.h"

#define BOUNCE_BYTES 8192u
#define SLOTS ((uint64_t)1 << 20)

/* Late by a number of yields that depends on the value: no clock, no sleep. */
static void be_late(void *ctx, uint32_t value)
{
	struct sl_rng_key key = {.seed = 99, .stream = value};

	(void)ctx;
	for (uint32_t n = sl_rng_u32(&key, value) % 300; n > 0; n--)
		sched_yield();
}

static void fill(uint8_t *bytes, size_t n, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t)x;
	}
}

static uint64_t digest(uint64_t h, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3u;
	return h;
}

static sl_status create_tiers(struct sl_rig *r, const struct sl_rig_opts *o)
{
	if (o->device)
		SL_TRY(sl_device_pinned_create(o->device, o->tier_bytes, &r->host));
	SL_TRY(o->device ? sl_tier_host_over(r->host, o->tier_bytes, &r->tiers[0])
			 : sl_tier_host_create(o->tier_bytes, &r->tiers[0]));
	SL_TRY(sl_tier_disk_create(sl_test_path(""), o->tier_bytes, &r->tiers[1]));
	for (int k = 0; k < SL_RIG_TIERS; k++) {
		struct sl_tier *outer = NULL;

		if (o->fail_at[k] == 0)
			continue;
		SL_TRY(sl_tier_fault_create(r->tiers[k], o->fail_at[k], SL_E_IO, &outer));
		r->tiers[k] = outer;
	}
	return SL_OK;
}

static sl_status create_twin(struct sl_rig *r)
{
	r->n_twin = r->trace->n_values;
	r->twin = sl_calloc((size_t)r->n_twin + 1, sizeof(*r->twin));
	r->seen = sl_calloc((size_t)r->trace->n_ops + 1, sizeof(*r->seen));
	if (!r->twin || !r->seen)
		return SL_FAIL(SL_E_NOMEM, "no twin");
	for (uint32_t v = 0; v < r->n_twin; v++) {
		if (sl_trace_root(r->trace, v) != v)
			continue;
		r->twin[v] = sl_calloc(1, r->trace->values[v].bytes + 1);
		if (!r->twin[v])
			return SL_FAIL(SL_E_NOMEM, "no twin");
	}
	return SL_OK;
}

/* In two unequal parts, so that partial writes are met. */
static sl_status write_values(struct sl_rig *r)
{
	for (uint32_t v = 0; v < r->n_twin; v++) {
		size_t bytes = (size_t)r->trace->values[v].bytes, part = bytes / 3;

		if (!r->twin[v] || !sl_class_persistent(r->trace->values[v].cls))
			continue;
		fill(r->twin[v], bytes, v + 1);
		SL_TRY(sl_engine_write(
			r->engine, v, part, r->twin[v] + part, bytes - part));
		SL_TRY(sl_engine_write(r->engine, v, 0, r->twin[v], part));
	}
	return SL_OK;
}

/* A run of an op: where its operands lie was settled when it was issued. */
struct rig_call {
	struct sl_rig *r;
	uint32_t op, step;
	bool again;
	uint64_t workspace;
	uint32_t n;
	struct operand {
		uint64_t at; /* in the arena */
		uint8_t *bytes; /* there, or on the way through pinned memory */
		size_t len;
	} operand[]; /* in, mutates, out */
};

static uint64_t place_of(const struct sl_rig *r, uint32_t v)
{
	uint64_t at = sl_engine_offsets(r->engine)[v];

	assert_true(at != SL_NO_OFFSET);
	assert_true(at + r->trace->values[sl_trace_root(r->trace, v)].bytes <= r->budget);
	return at;
}

/* The device's bytes of a list into the digest; in its turn they are the twin's too. */
static sl_status read_list(const struct rig_call *c, uint64_t *h, const uint32_t *list,
	uint32_t n, const struct operand *x)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *twin = c->r->twin[sl_trace_root(c->r->trace, list[i])];

		if (!c->again && memcmp(x[i].bytes, twin, x[i].len) != 0)
			return SL_FAIL(SL_E_NO, "op %u of step %u finds a wrong v%u",
				c->op, c->step, list[i]);
		*h = digest(*h, x[i].bytes, x[i].len);
	}
	return SL_OK;
}

static void write_list(const struct rig_call *c, uint64_t h, const uint32_t *list,
	uint32_t n, const struct operand *x)
{
	for (uint32_t i = 0; i < n; i++) {
		fill(x[i].bytes, x[i].len, h + i);
		if (!c->again)
			fill(c->r->twin[sl_trace_root(c->r->trace, list[i])], x[i].len,
				h + i);
	}
}

static sl_status do_call(void *ctx)
{
	const struct rig_call *c = ctx;
	const struct sl_trace_op *o = &c->r->trace->ops[c->op];
	const struct operand *changed = c->operand + o->n_in;
	const struct operand *born = changed + o->n_mutates;
	uint64_t h = c->op + 1000u * c->step;

	SL_TRY(read_list(c, &h, o->in, o->n_in, c->operand));
	SL_TRY(read_list(c, &h, o->mutates, o->n_mutates, changed));
	if (c->again && c->r->seen[c->op] != h)
		return SL_FAIL(
			SL_E_NO, "op %u finds another thing when it runs again", c->op);
	c->r->seen[c->op] = h;
	write_list(c, h, o->out, o->n_out, born);
	write_list(c, h ^ 1, o->mutates, o->n_mutates, changed);
	return SL_OK;
}

static void place_list(struct rig_call *c, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct operand *x = &c->operand[c->n];
		const struct operand *last = c->n > 0 ? x - 1 : NULL;

		x->at = place_of(c->r, list[i]);
		x->len = (size_t)c->r->trace->values[sl_trace_root(c->r->trace, list[i])]
				 .bytes;
		x->bytes = c->r->arena + x->at;
		if (c->r->wire)
			x->bytes = last ? last->bytes + last->len : c->r->slots;
		c->n++;
	}
}

/* All of it in the order of the stream, which also keeps ops apart in the slots. */
static sl_status submit_call(struct rig_call *c)
{
	const struct sl_trace_op *o = &c->r->trace->ops[c->op];
	struct sl_device *d = c->r->device;
	struct sl_stream *s = sl_wire_compute(c->r->wire);

	if (o->workspace_bytes > 0)
		SL_TRY(sl_device_fill(d, s, c->r->arena + c->workspace,
			(uint8_t)(c->op | 1), o->workspace_bytes));
	for (uint32_t i = 0; i < o->n_in + o->n_mutates; i++)
		SL_TRY(sl_device_copy(d, s, c->operand[i].bytes,
			c->r->arena + c->operand[i].at, c->operand[i].len));
	SL_TRY(sl_device_submit(d, s, do_call, c));
	for (uint32_t i = o->n_in; i < c->n; i++)
		SL_TRY(sl_device_copy(d, s, c->r->arena + c->operand[i].at,
			c->operand[i].bytes, c->operand[i].len));
	return SL_OK;
}

static sl_status run_op(struct sl_rig *r, uint32_t op, bool again)
{
	const struct sl_trace_op *o = &r->trace->ops[op];
	size_t most = o->n_in + o->n_mutates + o->n_out;
	struct rig_call *c =
		sl_arena_alloc(&r->calls, sizeof(*c) + most * sizeof(c->operand[0]));

	if (!c)
		return SL_FAIL(SL_E_NOMEM, "no memory for a call");
	c->r = r;
	c->op = op;
	c->step = r->step;
	c->again = again;
	c->workspace = sl_engine_workspace(r->engine, op);
	if (o->workspace_bytes > 0)
		assert_true(c->workspace + o->workspace_bytes <= r->budget);
	place_list(c, o->in, o->n_in);
	place_list(c, o->mutates, o->n_mutates);
	place_list(c, o->out, o->n_out);
	if (c->n > 0 && r->wire)
		assert_true(c->operand[c->n - 1].bytes + c->operand[c->n - 1].len <=
			    r->slots + SLOTS);
	if (r->wire)
		return submit_call(c);
	if (o->workspace_bytes > 0)
		memset(r->arena + c->workspace, (int)op | 1, o->workspace_bytes);
	return do_call(c);
}

static sl_status run_again(void *ctx, uint32_t op)
{
	return run_op(ctx, op, true);
}

static sl_status take_arena(struct sl_rig *r)
{
	struct sl_device_arena a;
	void *slots;

	if (!r->device) {
		r->arena = sl_pages_reserve(r->arena_bytes);
		return r->arena ? SL_OK : SL_FAIL(SL_E_NOMEM, "no arena");
	}
	SL_TRY(sl_device_pinned_create(r->device, SLOTS, &slots));
	r->slots = slots;
	SL_TRY(sl_device_arena_create(r->device, r->arena_bytes, &a));
	r->arena = a.base;
	return sl_wire_create(&(struct sl_wire_opts){.device = r->device,
				      .arena = r->arena,
				      .tiers = r->tiers,
				      .n_tiers = SL_RIG_TIERS},
		&r->wire);
}

sl_status sl_rig_open(struct sl_rig *r, const struct sl_rig_opts *o,
	const struct sl_trace *t, const struct sl_plan *p)
{
	struct sl_engine_opts e = {
		.arena_bytes = o->budget + BOUNCE_BYTES,
		.tiers = r->tiers,
		.n_tiers = SL_RIG_TIERS,
		.bounce_offset = (o->budget + 4095) & ~(uint64_t)4095,
		.again = run_again,
		.again_ctx = r,
		.poison = true,
		.delay = o->delays ? be_late : NULL,
		.pool = o->pool,
		.page_unit = o->pool ? 4096 : 0,
	};

	e.arena_bytes = e.bounce_offset + BOUNCE_BYTES;
	r->trace = t;
	r->device = o->device;
	r->budget = o->budget;
	SL_TRY(create_tiers(r, o));
	SL_TRY(create_twin(r));
	r->arena_bytes = e.arena_bytes;
	SL_TRY(take_arena(r));
	e.arena = r->arena;
	e.wire = r->wire ? sl_wire_engine(r->wire) : NULL;
	if (o->wrap)
		e.wire = o->wrap(o->wrap_ctx, e.wire);
	SL_TRY(sl_engine_create(&e, &r->engine));
	SL_TRY(sl_engine_adopt(r->engine, t, p));
	return write_values(r);
}

static void give_arena_back(struct sl_rig *r)
{
	if (r->device) {
		sl_device_arena_destroy(
			r->device, &(struct sl_device_arena){r->arena, r->arena_bytes});
		sl_device_pinned_destroy(r->device, r->host);
		sl_device_pinned_destroy(r->device, r->slots);
	} else {
		sl_pages_release(r->arena, r->arena_bytes);
	}
}

void sl_rig_close(struct sl_rig *r)
{
	sl_wire_destroy(r->wire);
	sl_engine_destroy(r->engine);
	for (int k = 0; k < SL_RIG_TIERS; k++)
		sl_tier_destroy(r->tiers[k]);
	for (uint32_t v = 0; r->twin && v < r->n_twin; v++)
		sl_free(r->twin[v]);
	sl_free(r->twin);
	sl_free(r->seen);
	give_arena_back(r);
	sl_arena_finish(&r->calls);
	*r = (struct sl_rig){0};
}

sl_status sl_rig_step(struct sl_rig *r)
{
	r->step++;
	for (uint32_t op = 0; op < r->trace->n_ops; op++) {
		SL_TRY(sl_engine_before(r->engine, op));
		SL_TRY(run_op(r, op, false));
		SL_TRY(sl_engine_after(r->engine, op));
	}
	SL_TRY(sl_engine_end_step(r->engine));
	if (r->wire)
		SL_TRY(sl_engine_settle(r->engine));
	sl_arena_finish(&r->calls);
	return SL_OK;
}

sl_status sl_rig_compare(struct sl_rig *r)
{
	for (uint32_t v = 0; v < r->n_twin; v++) {
		size_t bytes = (size_t)r->trace->values[v].bytes, cut = bytes / 2;
		uint8_t *back;
		sl_status st;

		if (!r->twin[v] || !sl_class_persistent(r->trace->values[v].cls))
			continue;
		back = sl_calloc(1, bytes + 1);
		if (!back)
			return SL_FAIL(SL_E_NOMEM, "nothing to read into");
		st = sl_engine_read(r->engine, v, 0, back, cut);
		if (st == SL_OK)
			st = sl_engine_read(r->engine, v, cut, back + cut, bytes - cut);
		if (st == SL_OK && memcmp(back, r->twin[v], bytes) != 0)
			st = SL_FAIL(SL_E_NO, "v%u differs after step %u", v, r->step);
		sl_free(back);
		SL_TRY(st);
	}
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The made-up executor and its twin. */
#include "harness/engine_rig.h"

#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pages.h"
#include "harness/harness.h"

#define BOUNCE_BYTES 8192u

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
	SL_TRY(sl_tier_host_create(o->tier_bytes, &r->tiers[0]));
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

static const uint8_t *bytes_at(struct sl_rig *r, uint32_t v, size_t *bytes)
{
	uint64_t at = sl_engine_offsets(r->engine)[v];

	*bytes = (size_t)r->trace->values[sl_trace_root(r->trace, v)].bytes;
	assert_true(at != SL_NO_OFFSET);
	assert_true(at + *bytes <= r->budget);
	return r->arena + at;
}

/* The device's bytes of a list into the digest; in its turn they are the twin's too. */
static uint64_t read_list(
	struct sl_rig *r, uint64_t h, const uint32_t *list, uint32_t n, bool again)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t root = sl_trace_root(r->trace, list[i]);
		size_t bytes;
		const uint8_t *device = bytes_at(r, list[i], &bytes);

		if (!again)
			assert_memory_equal(device, r->twin[root], bytes);
		h = digest(h, device, bytes);
	}
	return h;
}

static void write_list(
	struct sl_rig *r, uint64_t h, const uint32_t *list, uint32_t n, bool again)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t root = sl_trace_root(r->trace, list[i]);
		size_t bytes;
		const uint8_t *device = bytes_at(r, list[i], &bytes);

		fill(r->arena + (device - r->arena), bytes, h + i);
		if (!again)
			fill(r->twin[root], bytes, h + i);
	}
}

static void run_op(struct sl_rig *r, uint32_t op, bool again)
{
	const struct sl_trace_op *o = &r->trace->ops[op];
	uint64_t ws = sl_engine_workspace(r->engine, op), h = op + 1000u * r->step;

	if (o->workspace_bytes > 0) {
		assert_true(ws + o->workspace_bytes <= r->budget);
		memset(r->arena + ws, (int)op | 1, o->workspace_bytes);
	}
	h = read_list(r, h, o->in, o->n_in, again);
	h = read_list(r, h, o->mutates, o->n_mutates, again);
	if (again)
		assert_true(r->seen[op] == h);
	r->seen[op] = h;
	write_list(r, h, o->out, o->n_out, again);
	write_list(r, h ^ 1, o->mutates, o->n_mutates, again);
}

static sl_status run_again(void *ctx, uint32_t op)
{
	run_op(ctx, op, true);
	return SL_OK;
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
	r->budget = o->budget;
	SL_TRY(create_tiers(r, o));
	SL_TRY(create_twin(r));
	r->arena_bytes = e.arena_bytes;
	r->arena = sl_pages_reserve(e.arena_bytes);
	if (!r->arena)
		return SL_FAIL(SL_E_NOMEM, "no arena");
	e.arena = r->arena;
	SL_TRY(sl_engine_create(&e, &r->engine));
	SL_TRY(sl_engine_adopt(r->engine, t, p));
	return write_values(r);
}

void sl_rig_close(struct sl_rig *r)
{
	sl_engine_destroy(r->engine);
	for (int k = 0; k < SL_RIG_TIERS; k++)
		sl_tier_destroy(r->tiers[k]);
	for (uint32_t v = 0; r->twin && v < r->n_twin; v++)
		sl_free(r->twin[v]);
	sl_free(r->twin);
	sl_free(r->seen);
	sl_pages_release(r->arena, r->arena_bytes);
	*r = (struct sl_rig){0};
}

sl_status sl_rig_step(struct sl_rig *r)
{
	r->step++;
	for (uint32_t op = 0; op < r->trace->n_ops; op++) {
		SL_TRY(sl_engine_before(r->engine, op));
		run_op(r, op, false);
		SL_TRY(sl_engine_after(r->engine, op));
	}
	return sl_engine_end_step(r->engine);
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

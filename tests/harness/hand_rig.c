/* SPDX-License-Identifier: Apache-2.0 */
/* A small engine for traces and plans written by hand. */
#include "harness/hand_rig.h"

#include <string.h>

#include "base/alloc.h"
#include "harness/harness.h"

#define ARENA 32768u

void sl_hand_plan(struct sl_hand_rig *r, size_t i, const char *text)
{
	sl_plan_finish(&r->plans[i]);
	r->plans[i] = SL_PLAN_INIT;
	sl_assert_ok(sl_plan_parse("plan", text, strlen(text), &r->t, &r->plans[i]));
}

static sl_status again(void *ctx, uint32_t op)
{
	struct sl_hand_rig *r = ctx;

	return r->on_again ? r->on_again(r, op) : SL_OK;
}

void sl_hand_open(struct sl_hand_rig *r, const char *trace, long host_fails)
{
	struct sl_tier *inner = NULL;
	struct sl_engine_opts o = {
		.arena_bytes = ARENA,
		.tiers = &r->host,
		.bounce_offset = SL_NO_OFFSET,
		.again = again,
		.again_ctx = r,
		.poison = true,
	};

	*r = (struct sl_hand_rig){
		.t = SL_TRACE_INIT, .arena = sl_alloc_aligned(SL_HAND_BLOCK, ARENA)};
	assert_non_null(r->arena);
	o.arena = r->arena;
	sl_assert_ok(sl_trace_parse("trace", trace, strlen(trace), &r->t));
	o.n_tiers = r->t.n_tiers;
	sl_assert_ok(sl_tier_host_create(65536, &inner));
	sl_assert_ok(sl_tier_fault_create(inner, host_fails, SL_E_IO, &r->host));
	sl_assert_ok(sl_engine_create(&o, &r->e));
}

void sl_hand_close(struct sl_hand_rig *r)
{
	sl_engine_destroy(r->e);
	sl_tier_destroy(r->host);
	sl_plan_finish(&r->plans[0]);
	sl_plan_finish(&r->plans[1]);
	sl_trace_finish(&r->t);
	sl_free_aligned(r->arena);
}

void sl_hand_write(struct sl_hand_rig *r, uint32_t v, int fill)
{
	uint8_t bytes[SL_HAND_BLOCK];

	memset(bytes, fill, sizeof(bytes));
	sl_assert_ok(sl_engine_write(r->e, v, 0, bytes, sizeof(bytes)));
}

void sl_hand_assert(struct sl_hand_rig *r, uint32_t v, int fill)
{
	uint8_t bytes[SL_HAND_BLOCK];

	sl_assert_ok(sl_engine_read(r->e, v, 0, bytes, sizeof(bytes)));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], fill);
}

sl_status sl_hand_step(struct sl_hand_rig *r)
{
	for (uint32_t op = 0; op < r->t.n_ops; op++) {
		SL_TRY(sl_engine_before(r->e, op));
		SL_TRY(sl_engine_after(r->e, op));
	}
	return sl_engine_end_step(r->e);
}

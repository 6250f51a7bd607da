/* SPDX-License-Identifier: Apache-2.0 */
/* Programs run under plans, with made-up inputs. */
#include "harness/graph_rig.h"

#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "harness/again_plan.h"
#include "harness/harness.h"
#include "memory/policy/policy.h"

#define TIER_BYTES ((uint64_t)64 << 20)
#define LATE_NS 30000

struct sl_program_tier sl_graph_rig_tier(enum sl_rig_tier tier)
{
	return (struct sl_program_tier){
		.name = tier == SL_RIG_DISK ? "disk" : "host",
		.bytes = TIER_BYTES,
		.bytes_per_s = 20000000,
		.latency_ns = 1000,
	};
}

/* Late by up to LATE_NS, now and then, without sleeping. */
static void be_late(void *ctx, uint32_t value)
{
	const struct sl_graph_rig *r = ctx;
	struct sl_rng_key key = {.seed = r->opts.seed, .stream = value};
	uint32_t dice = sl_rng_u32(&key, r->io.step);
	sl_ns until = sl_clock_now() + dice % LATE_NS;

	while (dice % 3 == 0 && sl_clock_now() < until)
		sched_yield();
}

static sl_status make_plan(struct sl_graph_rig *r)
{
	const struct sl_program_tier tier = sl_graph_rig_tier(r->opts.tier);
	struct sl_rng rng = {.key = {.seed = r->opts.seed, .stream = 77}};
	struct sl_policy_choice policy;

	r->n_tiers = r->opts.tier != SL_RIG_NONE;
	r->trace = SL_TRACE_INIT;
	SL_TRY(sl_program_trace(r->opts.program, &tier, r->n_tiers, NULL, &r->trace));
	SL_TRY(sl_policy_parse(r->opts.policy, &policy));
	SL_TRY(sl_policy_apply(&policy, &r->trace, r->opts.budget, &r->plan));
	if (r->opts.other != NULL)
		SL_TRY(sl_policy_plan(sl_policy_find(r->opts.other), &r->trace,
			r->opts.budget, &r->other));
	if (r->opts.again == 0)
		return SL_OK;
	return sl_again_plan(&rng, &r->trace, r->plan.peak + r->plan.peak / 2,
		r->opts.again, &r->plan);
}

static sl_status run_again(void *ctx, uint32_t op)
{
	struct sl_graph_rig *r = ctx;

	return sl_exec_again(r->running, op, sl_engine_workspace(r->engine, op));
}

static uint64_t most_peak(const struct sl_graph_rig *r)
{
	return r->plan.peak > r->other.peak ? r->plan.peak : r->other.peak;
}

static sl_status take_memory(struct sl_graph_rig *r)
{
	struct sl_engine_opts o = {
		.arena_bytes = (most_peak(r) + 4095) & ~(uint64_t)4095,
		.tiers = r->tiers,
		.n_tiers = r->n_tiers,
		.bounce_offset = SL_NO_OFFSET,
		.again = run_again,
		.again_ctx = r,
		.poison = r->opts.poison,
		.delay = r->opts.delays ? be_late : NULL,
		.delay_ctx = r,
	};

	if (r->opts.tier == SL_RIG_HOST)
		SL_TRY(sl_tier_host_create(TIER_BYTES, &r->tiers[0]));
	if (r->opts.tier == SL_RIG_DISK)
		SL_TRY(sl_tier_disk_create(sl_test_path(""), TIER_BYTES, &r->tiers[0]));
	if (r->n_tiers > 0)
		o.bounce_offset = r->plan.value_offset[r->opts.program->n_persistent];
	if (r->opts.width > 0)
		SL_TRY(sl_pool_create(r->opts.width, &r->pool));
	r->arena = sl_alloc_aligned(4096, o.arena_bytes);
	if (r->arena == NULL)
		return SL_FAIL(SL_E_NOMEM, "no arena");
	memset(r->arena, 0xab, o.arena_bytes);
	o.arena = r->arena;
	SL_TRY(sl_engine_create(&o, &r->engine));
	r->in_force = &r->plan;
	return sl_engine_adopt(r->engine, &r->trace, r->in_force);
}

static sl_status write_value(struct sl_graph_rig *r, uint32_t v)
{
	const struct sl_storage_info *info = &r->opts.program->storages[v];
	void *data = sl_calloc(1, (size_t)info->used_bytes + 1);
	sl_status st;

	if (data == NULL)
		return SL_FAIL(SL_E_NOMEM, "no first values");
	sl_graph_io_first(&r->io, info, data);
	st = sl_engine_write(r->engine, v, 0, data, (size_t)info->used_bytes);
	sl_free(data);
	return st;
}

sl_status sl_graph_rig_open(struct sl_graph_rig *r, const struct sl_graph_rig_opts *opts)
{
	*r = (struct sl_graph_rig){.opts = *opts,
		.io = {.seed = opts->seed, .fetched = SL_BUF_INIT, .finite = true}};
	SL_TRY(make_plan(r));
	SL_TRY(take_memory(r));
	for (uint32_t v = 0; v < opts->program->n_persistent; v++)
		SL_TRY(write_value(r, v));
	return SL_OK;
}

static sl_status before(void *ctx, uint32_t op)
{
	return sl_engine_before(ctx, op);
}

static sl_status after(void *ctx, uint32_t op)
{
	return sl_engine_after(ctx, op);
}

sl_status sl_graph_rig_step(struct sl_graph_rig *r)
{
	const struct sl_hook hook = {.ctx = r->engine, .before = before, .after = after};
	const struct sl_exec x = {
		.program = r->opts.program,
		.arena = r->arena,
		.storage_offset = sl_engine_offsets(r->engine),
		.workspace_offset = r->in_force->workspace_offset,
		.hooks = &hook,
		.n_hooks = 1,
		.run = {.seed = r->opts.seed,
			.step = r->io.step,
			.pool = r->pool,
			.feed = sl_graph_io_feed,
			.fetch = sl_graph_io_fetch,
			.io_ctx = &r->io},
	};

	sl_status st;

	sl_kernel_set_width(r->opts.width > 0 ? r->opts.width : 1);
	r->running = &x;
	st = sl_exec_step(&x);
	r->running = NULL;
	SL_TRY(st);
	SL_TRY(sl_engine_end_step(r->engine));
	r->io.step++;
	if (r->opts.other == NULL)
		return SL_OK;
	r->in_force = r->io.step % 2 ? &r->other : &r->plan;
	return sl_engine_adopt(r->engine, &r->trace, r->in_force);
}

sl_status sl_graph_rig_state(struct sl_graph_rig *r, struct sl_buf *out)
{
	sl_status st = SL_OK;

	for (uint32_t v = 0; v < r->opts.program->n_persistent && st == SL_OK; v++) {
		size_t bytes = (size_t)r->opts.program->storages[v].used_bytes;
		void *data = sl_alloc(bytes);

		if (data == NULL)
			return SL_FAIL(SL_E_NOMEM, "no room for a value");
		st = sl_engine_read(r->engine, v, 0, data, bytes);
		if (st == SL_OK)
			st = sl_buf_append(out, data, bytes);
		sl_free(data);
	}
	return st;
}

void sl_graph_rig_close(struct sl_graph_rig *r)
{
	sl_engine_destroy(r->engine);
	sl_tier_destroy(r->tiers[0]);
	sl_pool_destroy(r->pool);
	sl_free_aligned(r->arena);
	sl_plan_finish(&r->plan);
	sl_plan_finish(&r->other);
	sl_trace_finish(&r->trace);
	sl_buf_finish(&r->io.fetched);
	*r = (struct sl_graph_rig){0};
}

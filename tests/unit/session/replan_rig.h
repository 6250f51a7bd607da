/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SESSION_REPLAN_RIG_H
#define SL_TESTS_SESSION_REPLAN_RIG_H

/* A training of four ops whose planning thread waits for leave. Include harness.h first.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "session/replan.h"

#define OPS 4
#define BLOCK 4096u

/* Four ops of 250 ns, and a policy whose plan swaps only while they are so short. */
struct rig {
	struct sl_trace t;
	struct sl_plan first;
	struct sl_replan *r;
	struct sl_engine_link links[2];
	sem_t begin, done;
};

static inline sl_status add_pair(struct sl_plan *p, uint32_t op)
{
	SL_TRY(sl_plan_add_action(p,
		&(struct sl_action){
			.op = op, .phase = SL_AFTER, .kind = SL_ACTION_OUT, .tier = 1}));
	return sl_plan_add_action(p, &(struct sl_action){.op = op + 1,
					     .phase = SL_AFTER,
					     .kind = SL_ACTION_IN,
					     .tier = 1,
					     .channel = 1});
}

/* Below 1500 ns in all it swaps, above a millisecond it gives up. */
static inline sl_status plan(
	const struct sl_trace *t, uint64_t budget, struct sl_plan *out)
{
	uint64_t sum = 0;

	SL_TRY(sl_plan_begin(out, t, budget, "test"));
	for (uint32_t i = 0; i < t->n_ops; i++)
		sum += t->ops[i].dur_ns;
	out->value_offset[0] = 0;
	if (sum > 1000000)
		return SL_FAIL(SL_E_INFEASIBLE, "no such plan");
	return sum < 1500 ? add_pair(out, 0) : SL_OK;
}

static const struct sl_mem_policy policy = {
	.name = "test", .source = "-", .summary = "-", .plan = plan};

static inline void wait_for_leave(void *ctx)
{
	struct rig *g = ctx;

	sem_wait(&g->begin);
	sem_post(&g->done);
}

static inline void rig_open_with(struct rig *g, bool gradual)
{
	const uint32_t v0 = 0;
	struct sl_trace_op op = {
		.kind = "x", .scope = "", .dur_ns = 250, .n_in = 1, .pure = true};
	struct sl_trace_link link = {.to = 1, .bytes_per_s = 1000000000};

	*g = (struct rig){.t = SL_TRACE_INIT};
	op.in = (uint32_t[]){v0};
	sl_assert_ok(sl_trace_add_tier(&g->t, "host", 64 * BLOCK));
	sl_assert_ok(sl_trace_add_link(&g->t, &link));
	link = (struct sl_trace_link){.from = 1, .bytes_per_s = 1000000000};
	sl_assert_ok(sl_trace_add_link(&g->t, &link));
	sl_assert_ok(sl_trace_add_value(&g->t, &(struct sl_trace_value){.bytes = BLOCK,
						       .align = BLOCK,
						       .alias = SL_NO_ID,
						       .cls = SL_CLASS_PARAM}));
	for (int i = 0; i < OPS; i++) {
		op.n_in = i == 0 || i == 3;
		sl_assert_ok(sl_trace_add_op(&g->t, &op));
	}
	sl_assert_ok(sl_policy_plan(&policy, &g->t, 16 * BLOCK, &g->first));
	assert_int_equal(g->first.n_actions, 2);
	sem_init(&g->begin, 0, 0);
	sem_init(&g->done, 0, 0);
	sl_assert_ok(sl_replan_create(
		&(struct sl_replan_opts){
			.trace = &g->t,
			.plan = &g->first,
			.policy = {.policy = &policy},
			.gradual = gradual,
			.budget = 16 * BLOCK,
			.share = 1,
			.hook = wait_for_leave,
			.hook_ctx = g,
		},
		&g->r));
}

static inline void rig_open(struct rig *g)
{
	rig_open_with(g, false);
}

static inline void rig_close(struct rig *g)
{
	sl_replan_destroy(g->r);
	sl_plan_finish(&g->first);
	sl_trace_finish(&g->t);
	sem_destroy(&g->begin);
	sem_destroy(&g->done);
}

/* A step whose ops take so long; gives what the boundary before the next one offers. */
static inline const struct sl_plan *step(struct rig *g, uint64_t each)
{
	for (int i = 0; i < OPS; i++)
		sl_replan_times(g->r)[i] = each;
	sl_replan_measured(g->r, g->links);
	return sl_replan_boundary(g->r);
}

static inline struct sl_replan_stats stats_of(const struct rig *g)
{
	struct sl_replan_stats s;

	sl_replan_stats(g->r, &s);
	return s;
}

/* Lets the planning thread go, and takes steps until its plan was looked at. */
static inline const struct sl_plan *finish_plan(struct rig *g, uint64_t each)
{
	struct sl_replan_stats before = stats_of(g), now = before;
	const struct sl_plan *offer = NULL;

	sem_post(&g->begin);
	sem_wait(&g->done);
	while (now.plans + now.failed == before.plans + before.failed) {
		offer = step(g, each);
		now = stats_of(g);
	}
	return offer;
}

#endif

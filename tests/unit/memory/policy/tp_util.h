/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_POLICY_TP_UTIL_H
#define SL_TESTS_MEMORY_POLICY_TP_UTIL_H

/* Hand-made jobs for the published scheduler, in ms and MB. Include harness.h first. */
#include "memory/policy/tensile_published_int.h"
#include "unit/memory/gen.h"

#define MS 1000000ull
#define MB 1000000ull
#define NO_REDO .no_recompute = true
/* 20 MB a millisecond: 100 MB take 5 ms. */
#define WIRE (&(const struct sl_tp_wire){20000 * MB, 20000 * MB, 0, 0})
#define NO_WIRE (&(const struct sl_tp_wire){0})

static inline uint32_t tp_value(struct gen *g, enum sl_class cls, uint64_t mb)
{
	struct sl_trace_value v = {
		.bytes = mb * MB, .align = 64, .alias = SL_NO_ID, .cls = cls};

	if (g->st == SL_OK)
		g->st = sl_trace_add_value(&g->t, &v);
	return g->t.n_values - 1;
}

static inline struct sl_trace_op *tp_op(struct gen *g, uint64_t ms, const uint32_t *in,
	const uint32_t *out, const uint32_t *mutates)
{
	gen_op(g, "op", 0, in, out, mutates);
	g->t.ops[g->t.n_ops - 1].dur_ns = ms * MS;
	return &g->t.ops[g->t.n_ops - 1];
}

#define TP_PAUSE(g, ms) (void)tp_op(g, ms, GEN_NONE, GEN_NONE, GEN_NONE)
#define TP_EMPTY ((struct gen){.t = SL_TRACE_INIT})

/* f1 f2 f3 f4 b4 b3 b2 b1; x1 to x4 are v0 to v3, g4 to g1 v4 to v7. */
static inline struct gen tp_chain(void)
{
	struct gen g = TP_EMPTY;

	for (int i = 0; i < 8; i++)
		(void)tp_value(&g, SL_CLASS_ACT, 100);
	tp_op(&g, 10, GEN_NONE, GEN_L(0, GEN_E), GEN_NONE);
	for (uint32_t i = 1; i < 4; i++)
		tp_op(&g, 10, GEN_L(i - 1, GEN_E), GEN_L(i, GEN_E), GEN_NONE);
	tp_op(&g, 10, GEN_L(3, GEN_E), GEN_L(4, GEN_E), GEN_NONE);
	for (uint32_t i = 1; i < 4; i++)
		tp_op(&g, 10, GEN_L(3 - i, 3 + i, GEN_E), GEN_L(4 + i, GEN_E), GEN_NONE);
	return g;
}

/* Plans one job and gives it for looking at; the gen stays the caller's. */
static inline struct sl_tp_job *tp_plan(struct sl_tp *p, const struct gen *g,
	const struct sl_tp_wire *wire, const struct sl_tp_options *opt)
{
	const struct sl_trace *t = &g->t;

	sl_assert_ok(gen_end(g));
	sl_assert_ok(sl_tp_init(p, &t, wire, 1, opt));
	sl_assert_ok(sl_tp_run(p));
	return &p->jobs[0];
}

static inline void tp_end(struct sl_tp *p, struct gen *g)
{
	sl_tp_finish(p);
	sl_trace_finish(&g->t);
}

/* Times and delay of `want` in ms. */
static inline void tp_want(const struct sl_tp_job *j, uint32_t i, struct sl_tp_task want)
{
	assert_true(i < j->n_tasks);
	assert_int_equal(j->tasks[i].start_ns, want.start_ns * MS);
	assert_int_equal(j->tasks[i].end_ns, want.end_ns * MS);
	assert_int_equal(j->tasks[i].value, want.value);
	assert_int_equal(j->tasks[i].kind, want.kind);
	assert_int_equal(j->tasks[i].ref, want.ref);
	assert_int_equal(j->tasks[i].delay_ns, want.delay_ns * MS);
}

#endif

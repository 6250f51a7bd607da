/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the executor costs a node: a thousand tiny nodes under memory hooks and the event
 * ring, beside the same kernels called in a bare loop. Half of the nodes work in place,
 * half are born and let an input die.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/event.h"
#include "exec/exec.h"
#include "memory/engine.h"
#include "memory/policy/policy.h"
#include "sluice/ops.h"

#define NODES 1000
#define ROUNDS 301
#define BAR_NS 1000
#define EVENT_SLOTS 16384
#define TIER_BYTES ((uint64_t)1 << 20)

static void must(sl_status st, const char *what)
{
	if (st == SL_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, sl_last_error());
	_Exit(1);
}

/* A program under a plan, ready to run. */
struct bed {
	struct sl_trace trace;
	struct sl_plan plan;
	struct sl_tier *tier;
	struct sl_event_ring *events;
	struct sl_engine *engine;
	uint8_t *arena;
	uint64_t *op_ns;
	double ns[ROUNDS];
};

static sl_status feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	int64_t n = sl_shape_count(&type->shape);

	(void)ctx;
	(void)name;
	(void)part;
	for (int64_t i = 0; i < n; i++)
		((float *)data)[i] = 1;
	return SL_OK;
}

static sl_status fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	(void)ctx;
	(void)name;
	(void)part;
	(void)data;
	(void)type;
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

static struct sl_program *make_program(void)
{
	const struct sl_type type = {SL_F32, SL_SHAPE(4, 4)};
	const int perm[SL_MAX_RANK] = {1, 0};
	struct sl_program *p = NULL;
	struct sl_graph *g = NULL;
	sl_val w, x;

	must(sl_graph_create(&g), "graph");
	w = sl_param(g, "w", &type, (struct sl_init){0});
	x = sl_input(g, "x", &type, NULL);
	for (int i = 0; i < NODES; i++)
		x = i % 2 == 0 ? sl_add(g, x, w) : sl_transpose(g, x, perm);
	sl_output(g, "y", x);
	must(sl_program_seal(g, 1, &p), "seal");
	sl_graph_destroy(g);
	return p;
}

static void bed_open(
	struct bed *b, const struct sl_program *p, const char *policy, bool tier)
{
	const struct sl_program_tier info = {
		.name = "host", .bytes = TIER_BYTES, .bytes_per_s = 1000000000};
	const float zeros[16] = {0};
	struct sl_engine_opts o = {.tiers = &b->tier, .n_tiers = tier};

	*b = (struct bed){.trace = SL_TRACE_INIT};
	must(sl_program_trace(p, &info, tier, NULL, &b->trace), "trace");
	must(sl_policy_plan(sl_policy_find(policy), &b->trace, TIER_BYTES, &b->plan),
		policy);
	if (tier)
		must(sl_tier_host_create(TIER_BYTES, &b->tier), "tier");
	must(sl_event_ring_create(EVENT_SLOTS, &b->events), "events");
	o.arena_bytes = (b->plan.peak + 4095) & ~(uint64_t)4095;
	b->arena = sl_alloc_aligned(4096, o.arena_bytes);
	must(b->arena ? SL_OK : SL_FAIL(SL_E_NOMEM, "no arena"), "arena");
	b->op_ns = sl_alloc(p->n_ops * sizeof(*b->op_ns));
	must(b->op_ns ? SL_OK : SL_FAIL(SL_E_NOMEM, "no times"), "times");
	o.arena = b->arena;
	o.events = b->events;
	o.bounce_offset = tier ? b->plan.value_offset[p->n_persistent] : SL_NO_OFFSET;
	must(sl_engine_create(&o, &b->engine), "engine");
	must(sl_engine_adopt(b->engine, &b->trace, &b->plan), "adopt");
	must(sl_engine_write(b->engine, 0, 0, zeros, sizeof(zeros)), "write");
}

static void bed_close(struct bed *b)
{
	sl_engine_destroy(b->engine);
	sl_event_ring_destroy(b->events);
	sl_tier_destroy(b->tier);
	sl_plan_finish(&b->plan);
	sl_trace_finish(&b->trace);
	sl_free_aligned(b->arena);
	sl_free(b->op_ns);
}

/* Nanoseconds a node of one step. */
static double run_step(struct bed *b, const struct sl_program *p)
{
	const struct sl_hook hook = {.ctx = b->engine, .before = before, .after = after};
	const struct sl_exec x = {
		.program = p,
		.arena = b->arena,
		.storage_offset = sl_engine_offsets(b->engine),
		.workspace_offset = b->plan.workspace_offset,
		.hooks = &hook,
		.n_hooks = 1,
		.events = b->events,
		.op_ns = b->op_ns,
		.run = {.feed = feed, .fetch = fetch},
	};
	sl_ns begin = sl_clock_now();

	must(sl_exec_step(&x), "step");
	must(sl_engine_end_step(b->engine), "end of step");
	return (double)(sl_clock_now() - begin) / (double)p->n_ops;
}

/* The same kernels, one after the other, on buffers of their own. */
static double run_bare(const struct sl_program *p)
{
	static _Alignas(64) float buffer[4][16];
	void *in[3] = {buffer[0], buffer[1], buffer[2]}, *out[1] = {buffer[3]};
	const struct sl_run run = {.feed = feed, .fetch = fetch};
	sl_ns begin = sl_clock_now();

	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sl_program_op *op = &p->ops[i];
		const struct sl_call call = {.node = &op->info,
			.in = in,
			.out = out,
			.run = &run,
			.prepared = op->prepared.state};

		must(op->kernel->run(&call), op->kernel->name);
	}
	return (double)(sl_clock_now() - begin) / (double)p->n_ops;
}

static double run_clock(void)
{
	sl_ns begin = sl_clock_now();

	for (int i = 1; i < NODES; i++)
		(void)sl_clock_now();
	return (double)(sl_clock_now() - begin) / NODES;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_size);
	return v[ROUNDS / 2];
}

static void report(const char *name, struct bed *b, double bare)
{
	struct sl_engine_stats stats;
	double all = median(b->ns);

	sl_engine_stats(b->engine, &stats);
	printf("%-8s %10.0f %10.0f %10.0f   %s (%llu bytes swapped)\n", name, all, bare,
		all - bare, all - bare <= BAR_NS ? "within the bar" : "ABOVE THE BAR",
		(unsigned long long)(stats.swap_in_bytes + stats.swap_out_bytes));
}

int main(void)
{
	static double bare[ROUNDS], clock_ns[ROUNDS];
	static struct bed keep, belady;
	struct sl_program *p = make_program();

	bed_open(&keep, p, "keep", false);
	bed_open(&belady, p, "belady", true);
	sl_kernel_set_width(1);
	for (int i = 0; i < ROUNDS; i++) {
		keep.ns[i] = run_step(&keep, p);
		bare[i] = run_bare(p);
		belady.ns[i] = run_step(&belady, p);
		clock_ns[i] = run_clock();
	}
	printf("%u nodes of 16 elements, one thread, medians of %d interleaved rounds\n",
		p->n_ops, ROUNDS);
	printf("%-8s %10s %10s %10s   bar: %d ns\n", "policy", "ns/node", "kernel",
		"overhead", BAR_NS);
	report("keep", &keep, median(bare));
	report("belady", &belady, median(bare));
	printf("reading the clock: %.0f ns, twice a node for the event ring\n",
		median(clock_ns));
	bed_close(&keep);
	bed_close(&belady);
	sl_program_destroy(p);
	return 0;
}

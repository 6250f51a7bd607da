/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimal: the yardstick. Recomputation alone, and the least time of it that there is:
 * on chains by dynamic programming over stages, exact among schedules that keep a
 * checkpoint until its stage is done with (for equal stages that is revolve's closed
 * form), and on tiny traces by a search over all sets of values on the device.
 * Sources: Griewank and Walther, revolve, TOMS 26(1), 2000; Herrmann et al., Optimal
 * checkpointing for heterogeneous chains, arXiv 1911.13214 (rotor); Jain et al.,
 * Checkmate, arXiv 1910.02653 (what a state is).
 *
 * Departures:
 * 1. The program's tables are fronts of (bytes, time) and not of one memory size: no
 *    rounding of sizes.
 * 2. A stage is what lies between two points at which one value alone goes on; what its
 *    backward ops read of it is kept, or made again, as one. Its output may be kept for
 *    its own backward ops as well as for the next stage.
 * 3. Addresses: where the runs found cannot be placed, those of the next smaller load
 *    are taken, or others that the search finds with times a little off.
 * 4. The integer program (ilp=SECONDS) is for traces of some dozens of ops. It runs what
 *    runs again at one place in the order of the trace, which Checkmate's does, too.
 * 5. What is neither a chain nor tiny gets belady's plan where there is a tier, and so
 * does what takes less time swapped.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "memory/place.h"
#include "memory/policy/alone.h"
#include "memory/policy/keep_int.h"
#include "memory/policy/optimal_int.h"
#include "memory/policy/policy.h"
#include "memory/policy/reach.h"

#define TRIES 12 /* of other runs, where some cannot be placed */
#define DRAWS 24 /* of runs that take little longer, where the best cannot be placed */

enum option { EFFORT, SWAP, ILP };

static const struct sl_policy_option options[] = {
	[EFFORT] = {"effort", 0, 2, 1,
		"0: traces of 16 ops are searched, 2^12 states; 1: 32, 2^16; 2: 64, "
		"2^20"},
	[SWAP] = {"swap", 0, 1, 1, "0: belady's plan is no candidate, only the net"},
	[ILP] = {"ilp", 0, 86400, 0,
		"seconds for the program cbc, to 64 ops; 0: it is not asked"},
	{0},
};

/* Ops that bear or change what persists, or bytes that must stay, run once. */
static bool runs_again(const struct sl_trace *t, const struct sl_trace_op *o)
{
	for (uint32_t i = 0; i < o->n_out + o->n_mutates; i++) {
		uint32_t v = sl_trace_root(
			t, i < o->n_out ? o->out[i] : o->mutates[i - o->n_out]);

		if (sl_optimal_persists(t, v) || sl_value_fixed(&t->values[v]))
			return false;
	}
	return o->pure && o->n_out + o->n_mutates > 0;
}

sl_status sl_optimal_begin(struct sl_optimal *o, const struct sl_trace *t)
{
	struct sl_plan p = SL_PLAN_INIT;

	*o = (struct sl_optimal){.t = t};
	o->rerun = sl_calloc((size_t)t->n_ops + 1, sizeof(*o->rerun));
	o->birth = sl_calloc((size_t)t->n_values + 1, sizeof(*o->birth));
	if (!o->rerun || !o->birth)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	memset(o->birth, 0xff, (size_t)t->n_values * sizeof(*o->birth));
	SL_TRY(sl_plan_begin(&p, t, 0, "optimal"));
	o->base = sl_keep_pack(t, &p);
	sl_plan_finish(&p);
	for (uint32_t op = 0; op < t->n_ops; op++) {
		o->rerun[op] = runs_again(t, &t->ops[op]);
		for (uint32_t i = 0; i < t->ops[op].n_out; i++) {
			uint32_t v = sl_trace_root(t, t->ops[op].out[i]);

			if (o->birth[v] == SL_NO_ID && !sl_optimal_persists(t, v))
				o->birth[v] = op;
		}
	}
	return SL_OK;
}

void sl_optimal_finish(struct sl_optimal *o)
{
	sl_free(o->rerun);
	sl_free(o->birth);
	*o = (struct sl_optimal){0};
}

/* The best plan so far. */
struct finder {
	struct sl_optimal o;
	uint64_t budget;
	uint32_t effort, ilp_s;
	struct sl_plan best;
	uint64_t best_ns, again_ns;
	uint32_t draw; /* of sl_optimal_search */
	bool found;
	bool misplaced; /* runs of the budget's load had no addresses */
};

/* Takes p if it is sound and no slower than what there is. */
static sl_status offer(struct finder *f, struct sl_plan *p, bool *sound)
{
	struct sl_plan_price price = {0};
	sl_status st = sl_plan_check(f->o.t, p, f->budget, NULL);

	*sound = st != SL_E_NO;
	if (st == SL_E_NO)
		return SL_OK; /* runs that a write in between has made void */
	SL_TRY(st);
	SL_TRY(sl_plan_price(f->o.t, p, &price));
	if (f->found && price.iter_ns >= f->best_ns)
		return SL_OK;
	f->found = true;
	f->best_ns = price.iter_ns;
	f->again_ns = price.recompute_ns;
	sl_plan_finish(&f->best);
	sl_plan_move(&f->best, p);
	return SL_OK;
}

typedef sl_status (*solve_fn)(
	const struct finder *f, uint64_t bytes, struct sl_order *out);

static sl_status by_chain(const struct finder *f, uint64_t bytes, struct sl_order *out)
{
	return sl_optimal_chain(&f->o, bytes, (uint32_t)4096 << (2 * f->effort), out);
}

static sl_status by_search(const struct finder *f, uint64_t bytes, struct sl_order *out)
{
	struct sl_optimal_limits limits = {.ops = (uint32_t)16 << f->effort,
		.states = (uint32_t)1 << (12 + 4 * f->effort),
		.below_ns = f->found ? f->again_ns : UINT64_MAX,
		.draw = f->draw};
	bool exact = false;

	return sl_optimal_search(&f->o, bytes, &limits, out, &exact);
}

static sl_status by_program(const struct finder *f, uint64_t bytes, struct sl_order *out)
{
	struct sl_optimal_limits limits = {.ops = 64,
		.seconds = f->ilp_s,
		.below_ns = f->found ? f->again_ns : UINT64_MAX};

	return sl_optimal_ilp(&f->o, bytes, &limits, out);
}

/* What to try after runs of this load, which a solver took to be within `bytes`: it
 * counts a little less than there is where values change in place. */
static uint64_t next_bytes(uint64_t bytes, uint64_t load)
{
	if (load <= bytes)
		return load - 1;
	return bytes > load - bytes ? bytes - (load - bytes) : 0;
}

/* Runs within `*bytes` and their plan; *bytes is then what to try next, 0: nothing. */
static sl_status attempt(struct finder *f, solve_fn solve, uint64_t *bytes)
{
	struct sl_order runs = {0};
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t load = 0;
	bool sound = false;
	sl_status st = SL_OK;

	SL_TRY_OUT(solve(f, *bytes, &runs));
	if (runs.n == 0) {
		*bytes = 0;
		goto out;
	}
	SL_TRY_OUT(sl_order_lower(&f->o, &runs, f->budget, "optimal", &p, &load));
	f->misplaced |= load <= f->budget && !p.value_offset;
	*bytes = next_bytes(*bytes, load);
	if (p.value_offset)
		SL_TRY_OUT(offer(f, &p, &sound));
	if (sound)
		*bytes = 0;
out:
	sl_plan_finish(&p);
	sl_order_finish(&runs);
	return st;
}

static sl_status solve(struct finder *f, solve_fn solver, int tries)
{
	uint64_t bytes = f->budget;

	for (int i = 0; i < tries && bytes > 0; i++)
		SL_TRY(attempt(f, solver, &bytes));
	return SL_OK;
}

/* Of runs that take equally long, some have addresses. */
static sl_status draw_others(struct finder *f)
{
	for (f->draw = 1; f->draw <= DRAWS && f->misplaced; f->draw++) {
		uint64_t bytes = f->budget;

		SL_TRY(attempt(f, by_search, &bytes));
	}
	f->draw = 0;
	return SL_OK;
}

/* The plan that swaps instead. */
static sl_status offer_belady(struct finder *f)
{
	struct sl_reach tiers[SL_REACH_MAX];
	struct sl_plan p = SL_PLAN_INIT;
	bool sound;
	sl_status st = SL_OK;

	if (!f->found || sl_reach_find(f->o.t, tiers) == 0)
		return SL_OK; /* it is the net in any case */
	SL_TRY_OUT(sl_mem_policy_belady.plan(f->o.t, f->budget, &p));
	(void)snprintf(p.policy, sizeof(p.policy), "optimal");
	SL_TRY_OUT(sl_plan_seal(&p, f->o.t));
	SL_TRY_OUT(offer(f, &p, &sound));
out:
	sl_plan_finish(&p);
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

static sl_status find(
	const struct sl_trace *t, uint64_t budget, const void *ctx, struct sl_plan *out)
{
	const int64_t *option = ctx;
	struct finder f = {.budget = budget,
		.best = SL_PLAN_INIT,
		.effort = (uint32_t)option[EFFORT],
		.ilp_s = (uint32_t)option[ILP]};
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_optimal_begin(&f.o, t));
	SL_TRY_OUT(solve(&f, by_chain, TRIES));
	SL_TRY_OUT(solve(&f, by_search, TRIES));
	SL_TRY_OUT(draw_others(&f));
	if (f.ilp_s > 0)
		SL_TRY_OUT(solve(&f, by_program, 2));
	if (option[SWAP])
		SL_TRY_OUT(offer_belady(&f));
	f.best.budget = budget;
	if (f.found)
		sl_plan_move(out, &f.best);
out:
	sl_plan_finish(&f.best);
	sl_optimal_finish(&f.o);
	return st;
}

static sl_status own(const struct sl_trace *t, uint64_t budget, const int64_t *option,
	struct sl_plan *out)
{
	return find(t, budget, option, out);
}

static sl_status least(const struct sl_trace *t, uint64_t *out_bytes)
{
	static const int64_t quick[SL_COUNT(options)] = {0};

	return sl_alone_least(t, find, quick, out_bytes);
}

const struct sl_mem_policy sl_mem_policy_optimal = {
	.name = "optimal",
	.source = "optimal",
	.summary = "the least recomputation there is: chains, tiny traces (a yardstick)",
	.options = options,
	.own = own,
	.least = least,
};

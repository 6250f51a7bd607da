/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random training graphs, each run with all memory it wants again under budgets down to
 * the least one, with ops that run again, with plans that follow one another, and with a
 * buffer of its own for each value: every bit must be the same.
 * SEED=n runs that seed alone.
 */
#include "harness/again_plan.h"
#include "harness/graph_rig.h"
#include "harness/harness.h"
#include "harness/random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/policy/policy.h"

#if defined(__SANITIZE_THREAD__)
#define SEEDS 40
#define WIDE_SEEDS 4
#elif defined(__SANITIZE_ADDRESS__)
#define SEEDS 60
#define WIDE_SEEDS 4
#else
#define SEEDS 500
#define WIDE_SEEDS 5
#endif
#define STEPS 3
#define AGAIN 12 /* attempts at runs again */
#define PLANS_EVERY 3
#define DISK_EVERY 16 /* the others have a host tier */

/* Operators whose runs again are counted: NULL for all, some with several outputs, in
 * place, or with random bits. */
static const char *const kinds[] = {
	NULL, "batch_norm", "layer_norm", "attention", "dropout", "relu"};
#define N_KINDS SL_COUNT(kinds)

/* What a run leaves behind. */
struct result {
	struct sl_buf fetched, state;
	uint64_t peak, swapped;
	uint32_t again[N_KINDS];
	bool finite;
};

struct tally {
	uint64_t ops, swapped, again[N_KINDS], chosen; /* chosen: by policies */
	int finite, graphs;
};

static void result_finish(struct result *r)
{
	sl_buf_finish(&r->fetched);
	sl_buf_finish(&r->state);
}

static sl_status run(const struct sl_graph_rig_opts *opts, struct result *out)
{
	struct sl_graph_rig rig = {0};
	struct sl_engine_stats stats;
	sl_status st;

	*out = (struct result){.state = SL_BUF_INIT};
	SL_TRY_OUT(sl_graph_rig_open(&rig, opts));
	for (int i = 0; i < STEPS; i++)
		SL_TRY_OUT(sl_graph_rig_step(&rig));
	SL_TRY_OUT(sl_graph_rig_state(&rig, &out->state));
	sl_engine_stats(rig.engine, &stats);
	out->finite = rig.io.finite;
	out->peak = rig.plan.peak;
	out->swapped = stats.swap_in_bytes + stats.swap_out_bytes;
	for (size_t k = 0; k < N_KINDS; k++)
		out->again[k] = sl_again_count(&rig.trace, &rig.plan, kinds[k]);
	if (opts->other == NULL && stats.recompute_ops != STEPS * (uint64_t)out->again[0])
		st = SL_FAIL(SL_E_NO, "the engine ran %llu ops again, its plan says %u",
			(unsigned long long)stats.recompute_ops, STEPS * out->again[0]);
	out->fetched = rig.io.fetched;
	rig.io.fetched = SL_BUF_INIT;
	if (opts->other == NULL && stats.peak_device_bytes != rig.plan.peak)
		st = SL_FAIL(SL_E_NO, "the engine used %llu bytes, its plan says %llu",
			(unsigned long long)stats.peak_device_bytes,
			(unsigned long long)rig.plan.peak);
out:
	sl_graph_rig_close(&rig);
	return st;
}

static sl_status compare(const struct result *want, const struct result *got)
{
	if (want->fetched.len != got->fetched.len ||
		memcmp(want->fetched.data, got->fetched.data, want->fetched.len) != 0)
		return SL_FAIL(SL_E_NO, "outputs differ");
	if (want->state.len != got->state.len ||
		memcmp(want->state.data, got->state.data, want->state.len) != 0)
		return SL_FAIL(SL_E_NO, "persistent values differ");
	return SL_OK;
}

static sl_status run_and_compare(const struct sl_graph_rig_opts *opts,
	const struct result *want, struct tally *tally)
{
	struct result got;
	sl_status st = run(opts, &got);

	if (st == SL_OK)
		st = compare(want, &got);
	for (size_t k = 0; st == SL_OK && tally != NULL && k < N_KINDS; k++)
		tally->again[k] += got.again[k];
	if (st == SL_OK && tally != NULL) {
		tally->swapped += got.swapped;
		tally->chosen += opts->again == 0 ? got.again[0] : 0;
	}
	result_finish(&got);
	return st == SL_OK ? st
			   : sl_fail_prefix(st, "budget %llu, width %d",
				     (unsigned long long)opts->budget, opts->width);
}

static sl_status compare_twin(const struct sl_graph *g, const struct sl_program *p,
	uint64_t seed, const struct result *want)
{
	struct sl_graph_io io = {.seed = seed, .fetched = SL_BUF_INIT};
	struct result got = {.state = SL_BUF_INIT};
	sl_status st = sl_graph_twin(g, p, STEPS, &io, &got.state);

	got.fetched = io.fetched;
	if (st == SL_OK)
		st = compare(&got, want);
	result_finish(&got);
	return st == SL_OK ? st : sl_fail_prefix(st, "a buffer for each value");
}

static sl_status least_budget(const struct sl_program *p, const char *policy,
	enum sl_rig_tier tier, uint64_t *out)
{
	const struct sl_program_tier info = sl_graph_rig_tier(tier);
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_least_budget exact;
	struct sl_policy_choice choice;
	sl_status st;

	SL_TRY_OUT(sl_program_trace(p, &info, tier != SL_RIG_NONE, NULL, &t));
	SL_TRY_OUT(sl_policy_parse(policy, &choice));
	SL_TRY_OUT(sl_policy_least(choice.policy, &t, out));
	SL_TRY_OUT(sl_trace_least_budget(&t, &exact));
	if (tier != SL_RIG_NONE && *out != exact.bytes)
		st = SL_FAIL(SL_E_NO, "the policy needs %llu, the bound is %llu",
			(unsigned long long)*out, (unsigned long long)exact.bytes);
out:
	sl_trace_finish(&t);
	return st;
}

/* With all effort now and then: that takes as long as some dozen quick plans, whose fates
 * are the same in kind. */
static const char *tensile_at(uint64_t turn)
{
	return turn % 25 == 0  ? "tensile"
	       : turn % 5 == 0 ? "tensile:effort=1"
			       : "tensile:effort=0";
}

/* The policies that swap, in turn; the one that takes long to plan less often. */
static const char *policy_at(uint64_t turn)
{
	static const char *const names[] = {"capuchin", "belady", "vdnn"};

	return turn % 17 == 0 ? "tensile:effort=0" : names[turn % SL_COUNT(names)];
}

/* B*, and one or two between it and the unbudgeted peak; then runs again, without a
 * budget or beside swapping. */
static sl_status under_budgets(const struct sl_program *p, uint64_t seed,
	const struct result *want, struct tally *tally)
{
	struct sl_rng rng = {.key = {.seed = seed, .stream = 5}};
	struct sl_graph_rig_opts o = {.program = p,
		.seed = seed,
		.tier = seed % DISK_EVERY == 0 ? SL_RIG_DISK : SL_RIG_HOST,
		.poison = true,
		.delays = true};
	uint64_t least, blocks;

	SL_TRY(least_budget(p, "belady", o.tier, &least));
	blocks = want->peak > least ? (want->peak - least) / 4096 : 0;
	for (int i = 0; i < 2 + (seed % 3 == 0); i++) {
		o.budget = least + (i > 0 ? sl_rng_below(&rng, blocks + 1) * 4096 : 0);
		o.width = i;
		o.policy = policy_at(4 * seed + (uint64_t)i);
		SL_TRY(run_and_compare(&o, want, tally));
	}
	o.again = AGAIN;
	o.width = seed % 2 ? 2 : 0;
	o.budget = seed % 2 ? UINT64_MAX : o.budget;
	return run_and_compare(&o, want, tally);
}

/* The policy that recomputes, in turn with another one after each step; or alone, without
 * a tier, where it can do nothing else. */
static sl_status under_plans(const struct sl_program *p, uint64_t seed,
	const struct result *want, struct tally *tally)
{
	static const char *const others[] = {
		"capuchin", NULL, "belady", NULL, "vdnn", NULL, "mimose"};
	struct sl_rng rng = {.key = {.seed = seed, .stream = 6}};
	struct sl_graph_rig_opts o = {.program = p,
		.policy = tensile_at(seed / PLANS_EVERY),
		.other = others[seed / PLANS_EVERY % SL_COUNT(others)],
		.seed = seed,
		.width = seed % 8 ? 2 : 0,
		.poison = true,
		.delays = true};
	uint64_t least, blocks;

	o.tier = o.other != NULL ? SL_RIG_HOST : SL_RIG_NONE;
	SL_TRY(least_budget(p, o.policy, o.tier, &least));
	blocks = want->peak > least ? (want->peak - least) / 4096 : 0;
	o.budget = least + sl_rng_below(&rng, blocks / 2 + 1) * 4096;
	return run_and_compare(&o, want, tally);
}

static sl_status run_seed(uint64_t seed, struct tally *tally)
{
	const struct sl_random_graph_opts opts = {.seed = seed};
	struct sl_graph *g = NULL;
	struct sl_program *p = NULL;
	struct result want = {0};
	sl_status st;

	SL_TRY_OUT(sl_random_graph(&opts, &g));
	SL_TRY_OUT(sl_program_seal(g, 2, &p));
	SL_TRY_OUT(run(&(struct sl_graph_rig_opts){.program = p,
			       .policy = "keep",
			       .budget = UINT64_MAX,
			       .seed = seed},
		&want));
	SL_TRY_OUT(compare_twin(g, p, seed, &want));
	SL_TRY_OUT(under_budgets(p, seed, &want, tally));
	if (seed % PLANS_EVERY == 0)
		SL_TRY_OUT(under_plans(p, seed, &want, tally));
	tally->ops += p->n_ops;
	tally->finite += want.finite;
	tally->graphs++;
out:
	result_finish(&want);
	sl_program_destroy(p);
	sl_graph_destroy(g);
	return st;
}

static void budgets_change_no_bit(void **state)
{
	const char *only = getenv("SEED");
	uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
	uint64_t last = only != NULL ? first : SEEDS;
	struct tally tally = {0};

	(void)state;
	for (uint64_t seed = first; seed <= last; seed++) {
		sl_status st = run_seed(seed, &tally);

		if (st != SL_OK)
			fail_msg("SEED=%llu: %s: %s (%s)", (unsigned long long)seed,
				sl_status_name(st), sl_last_error(),
				sl_last_error_where());
	}
	print_message("%d graphs, %llu ops, %d all finite, %llu bytes swapped\n",
		tally.graphs, (unsigned long long)tally.ops, tally.finite,
		(unsigned long long)tally.swapped);
	for (size_t k = 0; k < N_KINDS; k++) {
		print_message("%s: %llu runs again\n", kinds[k] ? kinds[k] : "all",
			(unsigned long long)tally.again[k]);
		assert_true(tally.again[k] > 0 || SEEDS < 500 || only != NULL);
	}
	print_message("%llu of these were planned by policies\n",
		(unsigned long long)tally.chosen);
	assert_true(tally.chosen > 0 || only != NULL);
	assert_true(tally.finite * 10 >= tally.graphs * 9);
}

static sl_status run_wide(uint64_t seed)
{
	const struct sl_random_graph_opts opts = {.seed = seed, .moves = 8, .scale = 12};
	struct sl_graph_rig_opts o = {
		.policy = "keep", .budget = UINT64_MAX, .seed = seed, .width = 1};
	struct sl_graph *g = NULL;
	struct sl_program *p = NULL;
	struct result want = {0};
	sl_status st;

	SL_TRY_OUT(sl_random_graph(&opts, &g));
	SL_TRY_OUT(sl_program_seal(g, 4, &p));
	o.program = p;
	SL_TRY_OUT(run(&o, &want));
	for (o.width = 2; o.width <= 4; o.width += 2)
		SL_TRY_OUT(run_and_compare(&o, &want, NULL));
out:
	result_finish(&want);
	sl_program_destroy(p);
	sl_graph_destroy(g);
	return st;
}

static void the_number_of_threads_changes_no_bit(void **state)
{
	(void)state;
	for (uint64_t seed = 1001; seed <= 1000 + WIDE_SEEDS; seed++) {
		sl_status st = run_wide(seed);

		if (st != SL_OK)
			fail_msg("wide seed %llu: %s: %s (%s)", (unsigned long long)seed,
				sl_status_name(st), sl_last_error(),
				sl_last_error_where());
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(budgets_change_no_bit),
		SL_TEST(the_number_of_threads_changes_no_bit),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

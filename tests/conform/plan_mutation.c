/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker on trial: sound plans with one action removed, moved, doubled or
 * changed, in its address or in the op that it runs again. A naive
 * interpreter decides whether the mutant does harm: it knows addresses and contents only,
 * one token a byte, and runs the iteration twice. Every harmful mutant must be refused;
 * every original accepted.
 */
#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

#include "conform/plan_machine.h"
#include "harness/again_plan.h"
#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

enum mutation { REMOVED, MOVED, DOUBLED, CHANGED, MUTATIONS };
static const char *const mutation_names[MUTATIONS] = {
	"removed", "moved", "doubled", "changed"};
#define AGAIN_TRIES 12
#define SLACK ((uint64_t)1 << 17)

/* Sanitizers look for slips of memory, which some plans show as well. */
#if defined(__SANITIZE_ADDRESS__)
#define RANDOM_PLANS 60
#define TRAINING_PLANS 15
#else
#define RANDOM_PLANS 160
#define TRAINING_PLANS 40
#endif

struct count {
	long mutants, harmful, refused;
	long by_kind[SL_ACTION_COUNT], impure;
};

static void add(struct sl_plan *p, const struct sl_action *a)
{
	sl_assert_ok(sl_plan_add_action(p, a));
}

/* Another op to run again, or another address. */
static void change(
	const struct sl_trace *t, struct sl_rng *r, uint64_t budget, struct sl_action *a)
{
	uint64_t *offset = &a->offset;

	if (a->kind == SL_ACTION_RECOMPUTE && sl_rng_below(r, 2)) {
		a->again = (uint32_t)sl_rng_below(r, t->n_ops);
		return;
	}
	if (a->kind == SL_ACTION_RECOMPUTE && sl_rng_below(r, 3) == 0)
		offset = &a->workspace_offset;
	*offset = sl_rng_below(r, 8) ? sl_rng_below(r, budget / 4096 + 1) * 4096
				     : SL_NO_OFFSET;
}

/* What becomes of the action; moved and doubled ones go to a random position. */
static struct sl_action mutant_of(const struct sl_trace *t, const struct sl_plan *p,
	uint32_t which, enum mutation how, struct sl_rng *r)
{
	struct sl_action a = p->actions[which];
	uint32_t op = (uint32_t)sl_rng_below(r, t->n_ops);
	enum sl_phase phase = sl_rng_below(r, 2) ? SL_BEFORE : SL_AFTER;

	if (how == CHANGED)
		change(t, r, p->budget, &a);
	if (how == MOVED || (how == DOUBLED && sl_rng_below(r, 2))) {
		a.op = op;
		a.phase = phase;
	}
	return a;
}

/* A copy of p with action `which` changed. */
static void mutate(const struct sl_trace *t, const struct sl_plan *p, uint32_t which,
	enum mutation how, struct sl_rng *r, struct sl_plan *out)
{
	struct sl_action a = mutant_of(t, p, which, how, r);
	bool more = how == MOVED || how == DOUBLED, in_front = sl_rng_below(r, 2);

	sl_assert_ok(sl_plan_begin(out, t, p->budget, p->policy));
	memcpy(out->value_offset, p->value_offset,
		t->n_values * sizeof(*p->value_offset));
	memcpy(out->workspace_offset, p->workspace_offset,
		t->n_ops * sizeof(*p->workspace_offset));
	for (uint32_t i = 0; i < p->n_starts; i++)
		sl_assert_ok(sl_plan_add_start(out, &p->starts[i]));
	if (more && in_front)
		add(out, &a);
	for (uint32_t i = 0; i < p->n_actions; i++) {
		if (i == which && how == CHANGED)
			add(out, &a);
		else if (i != which || how == DOUBLED)
			add(out, &p->actions[i]);
	}
	if (more && !in_front)
		add(out, &a);
	sl_assert_ok(sl_plan_seal(out, t));
}

static void try_mutant(const struct sl_trace *t, const struct sl_plan *p,
	enum mutation how, struct sl_rng *r, struct count *c)
{
	struct sl_plan bad = SL_PLAN_INIT;
	uint32_t which = (uint32_t)sl_rng_below(r, p->n_actions);
	bool harmful, refused;

	mutate(t, p, which, how, r, &bad);
	harmful = machine_is_harmful(t, &bad, p->budget);
	refused = sl_plan_check(t, &bad, p->budget, NULL) != SL_OK;
	c->mutants++;
	c->harmful += harmful;
	c->refused += refused;
	c->by_kind[p->actions[which].kind]++;
	if (harmful && !refused)
		fail_msg("a harmful mutant passed: action %u (kind %d of v%u) %s", which,
			(int)p->actions[which].kind, p->actions[which].value,
			mutation_names[how]);
	sl_plan_finish(&bad);
}

/* Every run again made one of an op that updates what persists, or reaches outside. */
static void try_impure(const struct sl_trace *t, struct sl_plan *p, struct count *c)
{
	for (uint32_t i = 0; i < p->n_actions; i++) {
		struct sl_action *a = &p->actions[i], was = *a;
		uint32_t op = a->op;

		if (a->kind != SL_ACTION_RECOMPUTE)
			continue;
		while (op > 0 && t->ops[op].pure &&
			(t->ops[op].n_mutates == 0 ||
				!sl_class_persistent(
					t->values[t->ops[op].mutates[0]].cls)))
			op--;
		if (op == 0)
			continue;
		a->again = op;
		a->value = t->ops[op].n_mutates > 0 ? t->ops[op].mutates[0] : a->value;
		a->offset = t->ops[op].n_mutates > 0 ? SL_NO_OFFSET : a->offset;
		assert_true(sl_plan_check(t, p, p->budget, NULL) == SL_E_NO);
		*a = was;
		c->impure++;
	}
}

/* One plan of a trace, its budget between the least and the peak, and runs again; skips
 * plans without actions. */
static int try_plan(struct gen *g, uint64_t seed, struct count *c)
{
	struct sl_rng r = {.key = {.seed = seed, .stream = 7}};
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0, peak = 0, budget;
	int done = 0;

	sl_assert_ok(gen_end(g));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_belady, &g->t, &least));
	sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &g->t, &peak));
	budget = least + (peak - least) * sl_rng_below(&r, 4) / 4;
	sl_assert_ok(sl_policy_plan(&sl_mem_policy_belady, &g->t, budget, &p));
	budget += SLACK;
	sl_assert_ok(sl_again_plan(&r, &g->t, budget, AGAIN_TRIES, &p));
	assert_false(machine_is_harmful(&g->t, &p, budget));
	for (int k = 0; p.n_actions && k < 4 * MUTATIONS; k++)
		try_mutant(&g->t, &p, (enum mutation)(k % MUTATIONS), &r, c);
	try_impure(&g->t, &p, c);
	done = p.n_actions > 0;
	sl_plan_finish(&p);
	sl_trace_finish(&g->t);
	return done;
}

static void report(const struct count *c, int plans)
{
	print_message(
		"%d plans, %ld mutants (of out %ld, in %ld, drop-clean %ld, drop %ld, "
		"recompute %ld, "
		"move %ld): %ld harmful, %ld refused; %ld runs of impure ops\n",
		plans, c->mutants, c->by_kind[SL_ACTION_OUT], c->by_kind[SL_ACTION_IN],
		c->by_kind[SL_ACTION_DROP_CLEAN], c->by_kind[SL_ACTION_DROP],
		c->by_kind[SL_ACTION_RECOMPUTE], c->by_kind[SL_ACTION_MOVE], c->harmful,
		c->refused, c->impure);
	assert_true(c->harmful > c->mutants / 2);
	assert_true(c->by_kind[SL_ACTION_OUT] && c->by_kind[SL_ACTION_IN] &&
		    c->by_kind[SL_ACTION_DROP_CLEAN] && c->by_kind[SL_ACTION_MOVE]);
	assert_true(c->by_kind[SL_ACTION_DROP] && c->by_kind[SL_ACTION_RECOMPUTE] &&
		    c->impure);
}

static void every_harmful_mutant_of_a_random_plan_is_refused(void **state)
{
	(void)state;
	struct count c = {0};
	int plans = 0;

	for (uint64_t seed = 1; plans < RANDOM_PLANS; seed++) {
		struct gen g = gen_random(seed, 4 + (uint32_t)(seed % 16));

		plans += try_plan(&g, seed, &c);
	}
	report(&c, plans);
}

static void every_harmful_mutant_of_a_training_plan_is_refused(void **state)
{
	(void)state;
	struct count c = {0};
	int plans = 0;

	for (uint64_t seed = 1; plans < TRAINING_PLANS; seed++) {
		struct gen g = gen_training(1 + seed % 4, 16, 8 + seed % 24, 1 << 22);

		plans += try_plan(&g, seed, &c);
	}
	report(&c, plans);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_harmful_mutant_of_a_random_plan_is_refused),
		SL_TEST(every_harmful_mutant_of_a_training_plan_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

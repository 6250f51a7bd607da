/* SPDX-License-Identifier: Apache-2.0 */
/* optimal on chains: revolve's numbers where stages are equal, and where they are not
 * those of a recursion by memory size that is written here. */
#include "harness/harness.h"

#include <stdlib.h>
#include <string.h>

#include "memory/policy/policy.h"
#include "unit/memory/gen.h"

#define MIB ((uint64_t)1 << 20)
#define MAX_N 64

static uint64_t again_ns(const struct sl_trace *t, uint64_t budget)
{
	struct sl_policy_choice c = sl_policy_usual(sl_policy_find("optimal"));

	c = sl_policy_quick(&c);
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	sl_status st = sl_policy_apply(&c, t, budget, &p);

	if (st == SL_E_INFEASIBLE)
		return UINT64_MAX;
	sl_assert_ok(st);
	sl_assert_ok(sl_plan_price(t, &p, &price));
	assert_int_equal(price.swap_out_bytes + price.swap_in_bytes, 0);
	sl_plan_finish(&p);
	return price.recompute_ns;
}

/* A chain of n steps: op 0 feeds x0, op i bears x_i of bytes[i] in ns[i]; then a gradient
 * of x_{n-1} and, for i from n down to 1, the backward op of step i, which reads x_{i-1},
 * has so much workspace, and, if own, reads x_i as well. */
struct chain {
	uint32_t n;
	bool own;
	uint64_t bytes[MAX_N + 1], ns[MAX_N + 1], workspace[MAX_N + 1];
};

static struct gen make(const struct chain *c)
{
	struct gen g = {.t = SL_TRACE_INIT};
	uint32_t n = c->n, end = n - !c->own;

	for (uint32_t i = 0; i <= end; i++)
		(void)gen_value(&g, i == 0 ? SL_CLASS_INPUT : SL_CLASS_ACT, c->bytes[i]);
	for (uint32_t i = 0; i <= n; i++)
		(void)gen_value(&g, SL_CLASS_GRAD, 64); /* end + 1 + i */
	for (uint32_t i = 0; i <= end; i++)
		gen_op(&g, "f", 0, i > 0 ? GEN_L(i - 1, GEN_E) : GEN_NONE,
			GEN_L(i, GEN_E), GEN_NONE);
	gen_op(&g, "loss", 0, GEN_L(end, GEN_E), GEN_L(end + 1 + n, GEN_E), GEN_NONE);
	for (uint32_t i = n; i > 0; i--)
		gen_op(&g, "b", c->workspace[i],
			GEN_L(end + 1 + i, i - 1, c->own ? i : GEN_E, GEN_E),
			GEN_L(end + i, GEN_E), GEN_NONE);
	sl_assert_ok(gen_end(&g));
	g.t.ops[0].pure = false;
	for (uint32_t i = 0; i <= end; i++)
		g.t.ops[i].dur_ns = c->ns[i];
	return g;
}

/* Steps run again by revolve with s checkpoints, the input one of them: the first way
 * through is not counted. */
static uint64_t revolve(uint64_t t[MAX_N + 1][MAX_N + 1], uint32_t n, uint32_t s)
{
	for (uint32_t k = 1; k <= s; k++) {
		t[1][k] = 0;
		for (uint32_t i = 2; i <= n; i++) {
			t[i][k] = (uint64_t)i * (i - 1) / 2;
			for (uint32_t m = 1; m < i && k > 1; m++) {
				uint64_t ns = m + t[i - m][k - 1] + t[m][k];

				t[i][k] = ns < t[i][k] ? ns : t[i][k];
			}
		}
	}
	return t[n][s] - (n - 1);
}

/* s checkpoints of a MiB, one value to come from and one to go to, or to work in. */
static void equal_stages_take_as_many_runs_as_revolve(void **state)
{
	static const uint32_t lengths[] = {2, 3, 5, 8, 13, 16, 24, 32, 48, 64};
	static uint64_t t[MAX_N + 1][MAX_N + 1];
	(void)state;

	assert_int_equal(revolve(t, 16, 2) + 15, 45);
	assert_int_equal(revolve(t, 64, 8) + 63, 137);
	for (size_t k = 0; k < SL_COUNT(lengths); k++) {
		struct chain c = {.n = lengths[k]};
		struct gen g;

		for (uint32_t i = 0; i <= c.n; i++) {
			c.bytes[i] = c.workspace[i] = MIB;
			c.ns[i] = 1000;
		}
		g = make(&c);
		for (uint32_t s = 1; s <= 16 && s <= c.n; s += s < 4 ? 1 : 4)
			assert_int_equal(again_ns(&g.t, (s + 2) * MIB + MIB / 2),
				1000 * revolve(t, c.n, s));
		sl_trace_finish(&g.t);
	}
}

/*
 * The recursion: the least time of runs again to do the backward ops of steps b down to a
 * within `room`, x_{a-1} on the device and counted, as is x_b if `there`. Sizes are in
 * MiB. `first`: the way there is the first one, and costs nothing.
 */
#define HET_N 14
#define HET_ROOM 160
#define NEVER (UINT64_MAX / 4)

struct recursion {
	const struct chain *c;
	uint64_t memo[HET_N + 1][HET_N + 1][2][2][HET_ROOM + 1]; /* + 1 */
};

static uint64_t mib(uint64_t bytes)
{
	return bytes / MIB;
}

/* The most at a time of steps a to k, from x_{a-1}, which stays. */
static uint64_t sweep(const struct chain *c, uint32_t a, uint32_t k)
{
	uint64_t most = 0;

	for (uint32_t i = a; i <= k; i++) {
		uint64_t now = mib(c->bytes[a - 1]) + mib(c->bytes[i]) +
			       (i > a ? mib(c->bytes[i - 1]) : 0);

		most = now > most ? now : most;
	}
	return most;
}

static uint64_t least_ns(
	struct recursion *r, uint32_t a, uint32_t b, int there, int first, uint64_t room);

static uint64_t least_of_one(
	const struct chain *c, uint32_t a, int there, int first, uint64_t room)
{
	uint64_t both = mib(c->bytes[a - 1]) + (c->own ? mib(c->bytes[a]) : 0);

	if (both + mib(c->workspace[a]) > room)
		return NEVER;
	return c->own && !there && !first ? c->ns[a] : 0;
}

/* One job of it. */
struct job {
	uint32_t a, b;
	int there, first;
	uint64_t room;
};

static uint64_t least_split(struct recursion *r, struct job j, uint32_t k, int keep)
{
	const struct chain *c = r->c;
	uint64_t beside = j.there ? mib(c->bytes[j.b]) : 0, ns = 0, above, below;
	uint64_t input = mib(c->bytes[j.a - 1]);

	if (sweep(c, j.a, k) + beside > j.room || input > j.room)
		return NEVER;
	for (uint32_t i = j.a; i <= k; i++)
		ns += j.first ? 0 : c->ns[i];
	above = least_ns(r, k + 1, j.b, j.there, j.first, j.room - input);
	below = least_ns(r, j.a, k, keep, 0, j.room);
	return above >= NEVER || below >= NEVER ? NEVER : ns + above + below;
}

static uint64_t least_ns(
	struct recursion *r, uint32_t a, uint32_t b, int there, int first, uint64_t room)
{
	uint64_t *memo = &r->memo[a][b][there][first][room], best = NEVER;

	if (*memo > 0)
		return *memo - 1;
	if (a == b)
		best = least_of_one(r->c, a, there, first, room);
	for (uint32_t k = a; k < b; k++) {
		for (int keep = 0; keep <= (r->c->own ? 1 : 0); keep++) {
			uint64_t ns = least_split(
				r, (struct job){a, b, there, first, room}, k, keep);

			best = ns < best ? ns : best;
		}
	}
	*memo = best + 1;
	return best;
}

static struct chain random_chain(uint64_t seed)
{
	struct sl_rng rng = {.key = {.seed = seed}};
	struct chain c = {.own = seed % 2};

	c.n = 4 + (uint32_t)(sl_rng_below(&rng, HET_N - 3));
	for (uint32_t i = 0; i <= c.n; i++) {
		c.bytes[i] = (1 + sl_rng_below(&rng, 8)) * MIB;
		c.ns[i] = 1 + sl_rng_below(&rng, 1000);
		c.workspace[i] = (sl_rng_below(&rng, 6)) * MIB;
	}
	return c;
}

struct tally {
	int equal, less, unplaced;
};

/* Budgets from where nothing fits to where all does. Short chains are searched as well,
 * which may find what no checkpoints do; sizes in the way of each other may have no
 * addresses although they add up. */
static void compare(struct recursion *r, const struct chain *c, struct tally *n)
{
	struct gen g = make(c);

	r->c = c;
	memset(r->memo, 0, sizeof(r->memo));
	for (uint64_t room = 8; room <= 40; room += 4) {
		uint64_t want = least_ns(r, 1, c->n, 0, 1, room);
		uint64_t have = again_ns(&g.t, room * MIB + MIB / 2);

		if (want >= NEVER)
			continue;
		n->equal += have == want;
		n->less += have < want;
		n->unplaced += have == UINT64_MAX;
		assert_true(have <= want || have == UINT64_MAX);
	}
	sl_trace_finish(&g.t);
}

static void unequal_stages_take_as_long_as_the_recursion_says(void **state)
{
	struct recursion *r = calloc(1, sizeof(*r));
	struct tally all = {0}, longer = {0};
	(void)state;

	assert_non_null(r);
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct chain c = random_chain(seed);

		compare(r, &c, c.n < 8 ? &all : &longer);
	}
	free(r);
	assert_true(longer.equal > 500);
	assert_int_equal(longer.less, 0);
	assert_true(longer.unplaced <= 1);
	assert_true(all.equal > 300);
	assert_true(all.less > 0);
	assert_int_equal(all.unplaced, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(equal_stages_take_as_many_runs_as_revolve),
		SL_TEST(unequal_stages_take_as_long_as_the_recursion_says),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

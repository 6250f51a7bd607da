/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine over tiers whose n-th call fails, n = 1, 2, 3, ...: each run ends with the
 * tier's status and a message that names value and tier; nothing hangs, nothing leaks;
 * contents that were handed to an op before the failure are right.
 */
#include "harness/engine_rig.h"
#include "harness/harness.h"

#include <string.h>

#define TIER_BYTES ((uint64_t)16 << 20)
#define BUDGET ((uint64_t)36 * 4096)

struct pair {
	struct sl_trace t;
	struct sl_plan a, b;
};

static void find_pair(struct pair *c, uint64_t seed)
{
	struct sl_rng rng = {.key = {.seed = seed}};

	for (;;) {
		*c = (struct pair){.t = SL_TRACE_INIT};
		if (sl_random_trace(&rng, 14, TIER_BYTES, &c->t) == SL_OK &&
			sl_random_plan(&rng, &c->t, BUDGET, &c->a) == SL_OK &&
			sl_random_plan(&rng, &c->t, BUDGET, &c->b) == SL_OK)
			return;
		sl_plan_finish(&c->a);
		sl_plan_finish(&c->b);
		sl_trace_finish(&c->t);
	}
}

static sl_status run(struct sl_rig *rig, const struct pair *c)
{
	SL_TRY(sl_rig_step(rig));
	SL_TRY(sl_engine_adopt(rig->engine, &c->t, &c->b));
	SL_TRY(sl_rig_step(rig));
	return sl_rig_compare(rig);
}

/* SL_OK once n is beyond the last call. */
static sl_status run_failing(const struct pair *c, int tier, long n, bool delays)
{
	struct sl_rig_opts o = {
		.budget = BUDGET, .tier_bytes = TIER_BYTES, .delays = delays};
	struct sl_rig rig = {0};
	sl_status st;

	o.fail_at[tier] = n;
	st = sl_rig_open(&rig, &o, &c->t, &c->a);
	if (st != SL_OK) {
		sl_assert_fails(st, SL_E_IO, "injected");
		goto out;
	}
	st = run(&rig, c);
	if (st != SL_OK) {
		sl_assert_fails(st, SL_E_IO, tier == 0 ? "host tier" : "disk tier");
		assert_non_null(strstr(sl_last_error(), "injected"));
	}
out:
	sl_rig_close(&rig);
	return st;
}

static void every_failed_tier_call_ends_with_its_status(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct pair c;
		find_pair(&c, seed);
		for (int tier = 0; tier < SL_RIG_TIERS; tier++) {
			long n = 1;
			while (run_failing(&c, tier, n, n % 2 == 0) != SL_OK)
				n++;
			assert_true(n > 10);
		}
		sl_plan_finish(&c.a);
		sl_plan_finish(&c.b);
		sl_trace_finish(&c.t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_failed_tier_call_ends_with_its_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose memory is settled, planned together for the links that their lanes share. */
#include "harness/harness.h"

#include "base/alloc.h"
#include "memory/policy/jobs.h"
#include "unit/memory/gen.h"

#define DISK ((uint64_t)1 << 30)
#define MOST 3

struct rig {
	struct gen gens[MOST];
	struct sl_jobs_lease jobs[MOST];
	struct sl_policy_choice choice;
	uint64_t alone_ns; /* of a job that has the links to itself */
	uint64_t alone_p;
};

/* Equal jobs in 60 % of the peak, in lanes of these numbers. */
static void open_rig(struct rig *r, const uint32_t lanes[MOST])
{
	struct sl_plan alone = SL_PLAN_INIT;
	uint64_t peak;

	*r = (struct rig){.choice = sl_policy_usual(&sl_mem_policy_tensile)};
	r->choice = sl_policy_quick(&r->choice);
	for (size_t i = 0; i < MOST; i++) {
		r->gens[i] = gen_training(3, 64, 96, DISK);
		sl_assert_ok(gen_end(&r->gens[i]));
		sl_assert_ok(sl_policy_least(&sl_mem_policy_keep, &r->gens[i].t, &peak));
		r->jobs[i] = (struct sl_jobs_lease){.trace = &r->gens[i].t,
			.choice = &r->choice,
			.budget = peak * 6 / 10 & ~(SL_PAGE_BYTES - 1),
			.most_p_bytes = peak,
			.lane = lanes[i]};
	}
	sl_assert_ok(
		sl_policy_apply(&r->choice, &r->gens[0].t, r->jobs[0].budget, &alone));
	r->alone_ns = alone.price_ns;
	r->alone_p = alone.p_bytes;
	assert_true(alone.n_actions > 0);
	sl_plan_finish(&alone);
}

static void forget(struct rig *r)
{
	for (size_t i = 0; i < MOST; i++)
		sl_plan_finish(&r->jobs[i].plan);
}

static void close_rig(struct rig *r)
{
	forget(r);
	for (size_t i = 0; i < MOST; i++)
		sl_trace_finish(&r->gens[i].t);
}

static void check(const struct rig *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sl_jobs_lease *j = &r->jobs[i];

		sl_assert_ok(sl_plan_check(j->trace, &j->plan, j->budget, NULL));
		assert_true(j->plan.p_bytes <= j->most_p_bytes);
	}
}

static void jobs_of_one_lane_share_nothing(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r, (const uint32_t[MOST]){4, 4, 4});
	sl_assert_ok(sl_policy_jobs_leases(r.jobs, MOST, 0));
	check(&r, MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(r.jobs[i].plan.price_ns, r.alone_ns);
	close_rig(&r);
}

static void jobs_of_several_lanes_share_the_links(void **state)
{
	uint64_t two, three;
	struct rig r;

	(void)state;
	open_rig(&r, (const uint32_t[MOST]){0, 7, 0});
	sl_assert_ok(sl_policy_jobs_leases(r.jobs, MOST, 0));
	check(&r, MOST);
	two = r.jobs[0].plan.price_ns;
	assert_true(two > r.alone_ns);
	assert_int_equal(r.jobs[1].plan.price_ns, two);
	assert_int_equal(r.jobs[2].plan.price_ns, two);
	forget(&r);
	/* One lane more, of jobs that are not planned here. */
	sl_assert_ok(sl_policy_jobs_leases(r.jobs, 2, 1));
	check(&r, 2);
	three = r.jobs[0].plan.price_ns;
	assert_true(three > two);
	close_rig(&r);
}

static void who_moves_nothing_leaves_the_links_to_the_others(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r, (const uint32_t[MOST]){0, 1, 2});
	r.jobs[1].budget = r.jobs[2].budget = DISK;
	sl_assert_ok(sl_policy_jobs_leases(r.jobs, MOST, 0));
	check(&r, MOST);
	assert_true(r.jobs[0].plan.price_ns <= r.alone_ns);
	for (uint32_t i = 0; i < r.jobs[1].plan.n_actions; i++)
		assert_int_not_equal(r.jobs[1].plan.actions[i].kind, SL_ACTION_OUT);
	close_rig(&r);
}

static void what_does_not_fit_the_lease_is_no_plan(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r, (const uint32_t[MOST]){0, 1, 2});
	assert_true(r.alone_p > 0);
	r.jobs[0].most_p_bytes = 0;
	r.jobs[1].budget = SL_PAGE_BYTES;
	sl_assert_ok(sl_policy_jobs_leases(r.jobs, MOST, 0));
	assert_int_equal(r.jobs[0].plan.n_values, 0);
	assert_int_equal(r.jobs[1].plan.n_values, 0);
	check(&(struct rig){.jobs = {r.jobs[2]}}, 1);
	/* They go on with what they have, which moves bytes too. */
	assert_true(r.jobs[2].plan.price_ns > r.alone_ns);
	close_rig(&r);
}

static void without_memory_nothing_is_left(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r, (const uint32_t[MOST]){0, 1, 2});
	for (long k = 1; k < 4000; k += k < 16 ? 1 : 97) {
		sl_status st;

		sl_alloc_fail_at(k);
		st = sl_policy_jobs_leases(r.jobs, 2, 0);
		if (!sl_alloc_failed())
			break;
		sl_assert_fails(st, SL_E_NOMEM, "memory");
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(r.jobs[i].plan.n_values, 0);
	}
	sl_alloc_fail_at(0);
	close_rig(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(jobs_of_one_lane_share_nothing),
		SL_TEST(jobs_of_several_lanes_share_the_links),
		SL_TEST(who_moves_nothing_leaves_the_links_to_the_others),
		SL_TEST(what_does_not_fit_the_lease_is_no_plan),
		SL_TEST(without_memory_nothing_is_left),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

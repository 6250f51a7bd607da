/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that share a device, in one process and without sockets: each result must be that
 * of the job alone, while the rig checks the safety rule after every step.
 */
#include "harness/lane_rig.h"

#include <dirent.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/atom.h"
#include "base/rng.h"
#include "device/shared.h"

#define PAGE ((uint64_t)SL_SHARED_PAGE)

static void ends_as_alone(const struct rig_job *j)
{
	assert_int_equal(j->result, SL_OK);
	assert_true(j->digest == rig_alone(j));
	assert_false(j->foreign);
}

static uint64_t count_runs(const struct rig *r, uint32_t first, uint32_t second)
{
	uint64_t n = 0;
	uint32_t last = SL_JOB_NONE;

	for (size_t i = 0; i < r->log.n; i++) {
		const struct sl_step *s = &r->log.steps[i];

		if (s->kind != SL_STEP_RUN)
			continue;
		n += last == first && s->job == second;
		last = s->job;
	}
	return n;
}

/* So that nobody is through before the others came. */
static struct sl_atom32 all_there;

static void wait_for_all(struct rig_job *j, uint64_t round)
{
	while (round == 0 && !sl_atom32_load(&all_there))
		sched_yield();
	(void)j;
}

static void start_all(struct rig *r)
{
	sl_atom32_store(&all_there, 0);
	for (uint32_t i = 0; i < r->n; i++)
		rig_start(&r->jobs[i]);
	sl_atom32_store(&all_there, 1);
}

static void fifty_turns_of_two_jobs_interleave_in_one_lane(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *a, *b;

	(void)state;
	rig_open(r, "rr", 10 * PAGE, 0);
	a = rig_add(r, 0, PAGE, 6 * PAGE, 50);
	b = rig_add(r, 0, PAGE, 6 * PAGE, 50);
	a->in_turn = wait_for_all;
	start_all(r);
	rig_run_until(r, 0);
	rig_join(a);
	rig_join(b);
	ends_as_alone(a);
	ends_as_alone(b);
	assert_int_equal(r->share.lanes.n, 1);
	assert_int_equal(count_runs(r, a->id, b->id), 50);
	assert_int_equal(count_runs(r, b->id, a->id), 49);
	/* Nothing is copied, made or mapped at a switch. */
	assert_int_equal(r->made, 3);
	assert_int_equal(a->maps + b->maps, 2);
	assert_int_equal(r->scrubs, 0);
	assert_true(r->most_held_bytes <= 8 * PAGE);
	rig_close(r);
	sl_free(r);
}

/* Each goes on only when the other is in a turn, too. */
static void meet(struct rig_job *j, uint64_t round)
{
	static struct sl_atom32 in[2];
	uint32_t me = j->id % 2;

	sl_atom32_store(&in[me], (uint32_t)round + 1);
	while (sl_atom32_load(&in[1 - me]) < round + 1)
		sched_yield();
}

static void two_lanes_are_used_at_once(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *a, *b, *c, *d;

	(void)state;
	rig_open(r, "rr", 10 * PAGE, 2);
	/* One lane of 6; then, when the large ones are gone, two of 3. */
	a = rig_add(r, 0, PAGE, 6 * PAGE, 50);
	b = rig_add(r, 1, PAGE, 6 * PAGE, 50);
	a->in_turn = wait_for_all;
	c = rig_add(r, 0, PAGE, 3 * PAGE, 50);
	d = rig_add(r, 1, PAGE, 3 * PAGE, 50);
	c->in_turn = d->in_turn = meet;
	sl_atom32_store(&all_there, 0);
	rig_start(a);
	rig_start(b);
	sl_atom32_store(&all_there, 1);
	rig_run_until(r, 0);
	assert_int_equal(count_runs(r, a->id, b->id), 50);
	rig_start(c);
	rig_start(d);
	assert_int_equal(r->share.lanes.open, 2);
	assert_int_equal(r->share.ledger.granted_bytes, 8 * PAGE);
	rig_run_until(r, 0);
	for (uint32_t i = 0; i < r->n; i++) {
		rig_join(&r->jobs[i]);
		ends_as_alone(&r->jobs[i]);
	}
	rig_close(r);
	sl_free(r);
}

static void a_lane_of_two_users_is_scrubbed_at_each_hand_over(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *a;

	(void)state;
	rig_open(r, "rr", 11 * PAGE, 0);
	a = rig_add(r, 0, PAGE, 6 * PAGE, 40);
	(void)rig_add(r, 1, PAGE, 7 * PAGE, 40);
	(void)rig_add(r, 2, PAGE, 5 * PAGE, 40);
	a->in_turn = wait_for_all;
	start_all(r);
	rig_run_until(r, 0);
	for (uint32_t i = 0; i < r->n; i++) {
		rig_join(&r->jobs[i]);
		ends_as_alone(&r->jobs[i]);
	}
	assert_int_equal(r->share.lanes.n, 1);
	assert_int_equal(r->scrubs, 119);
	/* Three users' pieces of the lane, but never more pages than it has. */
	assert_int_equal(r->made, 6);
	assert_true(r->most_held_bytes <= 10 * PAGE);
	rig_close(r);
	sl_free(r);
}

static void a_job_changes_its_size_at_a_boundary(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *a, *b;

	(void)state;
	rig_open(r, "rr", 20 * PAGE, 1);
	a = rig_add(r, 0, 4 * PAGE, 6 * PAGE, 60);
	b = rig_add(r, 0, 3 * PAGE, 4 * PAGE, 60);
	a->resize_at = 20;
	a->new_p_bytes = 6 * PAGE;
	a->new_e_bytes = 9 * PAGE;
	b->resize_at = 30;
	b->new_p_bytes = PAGE;
	b->new_e_bytes = PAGE;
	rig_start(a);
	rig_start(b);
	rig_run_until(r, 0);
	rig_join(a);
	rig_join(b);
	ends_as_alone(a);
	ends_as_alone(b);
	assert_int_equal(a->maps, 2);
	rig_close(r);
	sl_free(r);
}

static struct sl_atom32 stuck, revoked;

static void get_stuck(struct rig_job *j, uint64_t round)
{
	wait_for_all(j, round);
	if (round < 5)
		return;
	sl_atom32_store(&stuck, 1);
	while (!sl_atom32_load(&revoked))
		sched_yield();
}

static void one_that_is_revoked_in_its_turn_costs_the_others_nothing(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *bad, *other, *waiting;

	(void)state;
	rig_open(r, "rr", 12 * PAGE, 1);
	bad = rig_add(r, 0, 2 * PAGE, 6 * PAGE, 50);
	other = rig_add(r, 1, 2 * PAGE, 5 * PAGE, 50);
	/* Has no room beside them. */
	waiting = rig_add(r, 2, 4 * PAGE, 5 * PAGE, 50);
	bad->in_turn = get_stuck;
	start_all(r);
	while (!sl_atom32_load(&stuck) || r->share.lanes.items[0].holder != bad->id)
		rig_step(r);
	assert_false(sl_share_find(&r->share, waiting->id)->resident);
	rig_revoke(bad);
	rig_run_until(r, 0);
	rig_join(other);
	rig_join(waiting);
	ends_as_alone(other);
	ends_as_alone(waiting);
	/* It touches memory that is gone, survives, and is told. */
	sl_atom32_store(&revoked, 1);
	rig_join(bad);
	assert_int_equal(bad->result, SL_E_LOST);
	rig_close(r);
	sl_free(r);
}

static void one_that_never_fits_is_refused(void **state)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct rig_job *a;

	(void)state;
	rig_open(r, "fair", 8 * PAGE, 0);
	a = rig_add(r, 0, 2 * PAGE, 7 * PAGE, 1);
	rig_start(a);
	rig_run_until(r, 0);
	rig_join(a);
	assert_int_equal(a->result, SL_E_INFEASIBLE);
	rig_close(r);
	sl_free(r);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Jobs of any size come as others go; some change their size. */
static void many_come_and_go(const char *policy, uint64_t seed)
{
	struct rig *r = sl_alloc(sizeof(*r));
	struct sl_rng rng = {.key = {.seed = seed}};

	rig_open(r, policy, 64 * PAGE, 0);
	for (int i = 0; i < RIG_JOBS; i++) {
		struct rig_job *j = rig_add(r, (uint32_t)sl_rng_below(&rng, RIG_USERS),
			PAGE * (1 + sl_rng_below(&rng, 12)),
			PAGE * (1 + sl_rng_below(&rng, 30)), 1 + sl_rng_below(&rng, 30));

		if (sl_rng_below(&rng, 4) == 0) {
			j->resize_at = 1 + sl_rng_below(&rng, 10);
			j->new_p_bytes = j->p_bytes;
			j->new_e_bytes =
				PAGE * (1 + sl_rng_below(&rng, j->e_bytes / PAGE));
		}
		rig_start(j);
		rig_run_until(r, (uint32_t)sl_rng_below(&rng, 12) + 1);
	}
	rig_run_until(r, 0);
	for (uint32_t i = 0; i < r->n; i++) {
		rig_join(&r->jobs[i]);
		ends_as_alone(&r->jobs[i]);
	}
	rig_close(r);
	sl_free(r);
}

static void whoever_comes_and_goes_ends_as_alone(void **state)
{
	static const char *const policies[] = {"fair", "rr", "pack", "fifo", "srtf"};
	int before = count_fds();

	(void)state;
	for (size_t i = 0; i < SL_COUNT(policies); i++)
		for (uint64_t seed = 1; seed <= 4; seed++)
			many_come_and_go(policies[i], seed);
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(fifty_turns_of_two_jobs_interleave_in_one_lane),
		SL_TEST(two_lanes_are_used_at_once),
		SL_TEST(a_lane_of_two_users_is_scrubbed_at_each_hand_over),
		SL_TEST(a_job_changes_its_size_at_a_boundary),
		SL_TEST(one_that_is_revoked_in_its_turn_costs_the_others_nothing),
		SL_TEST(one_that_never_fits_is_refused),
		SL_TEST(whoever_comes_and_goes_ends_as_alone),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

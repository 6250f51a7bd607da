/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/session/shared.c and src/share/client: sessions as jobs of a daemon. */
#include "harness/fake_daemon.h"
#include "harness/harness.h"
#include "harness/session_run.h"

#include <pthread.h>
#include <string.h>

#define MOST 4

struct run {
	struct sl_session_config config;
	struct sl_session_run shared, alone;
	sl_status st;
	char error[512];
};

static void *train(void *arg)
{
	struct run *r = arg;

	r->st = sl_session_run_all(&r->config, &r->shared);
	strncpy(r->error, sl_last_error(), sizeof(r->error) - 1);
	return NULL;
}

/* Several models at once; each ends as it does alone. */
static void train_together(
	const struct sl_fake_opts *opts, size_t n, struct sl_fake_seen *seen)
{
	struct sl_fake_daemon *d = sl_fake_start(opts);
	static struct run runs[MOST];
	pthread_t threads[MOST];

	for (size_t i = 0; i < n; i++) {
		struct run *r = &runs[i];

		assert_true(sl_session_small((int)(i % SL_SMALL_MODELS), &r->config));
		r->config.steps = 12;
		r->config.threads = 1;
		sl_assert_ok(sl_session_run_all(&r->config, &r->alone));
		r->config.shared = true;
		r->config.socket = sl_fake_socket(d);
		r->config.allow_slowdown = opts->row > 0 ? 1e3 : 0;
		assert_int_equal(pthread_create(&threads[i], NULL, train, r), 0);
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		if (runs[i].st != SL_OK)
			fail_msg("job %zu: %s", i, runs[i].error);
		assert_string_equal(
			runs[i].shared.summary.digest, runs[i].alone.summary.digest);
		assert_int_equal(runs[i].shared.summary.shared.turns, 12);
	}
	sl_fake_seen(d, seen);
	sl_fake_stop(d);
	assert_int_equal(seen->jobs, n);
	assert_int_equal(seen->ends, n);
	assert_int_equal(seen->end_code, SL_OK);
}

static void jobs_that_take_turns_end_as_they_do_alone(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){0}, 3, &seen);
	assert_true(seen.reports >= 36); /* more where samples were late */
	assert_true(seen.idles >= 3); /* the last step of each is followed by a digest */
}

static void jobs_with_less_memory_end_as_they_do_alone(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){.row = 2}, 4, &seen);
	train_together(&(struct sl_fake_opts){.row = 4, .park_every = 5}, 4, &seen);
}

static void parked_jobs_come_back_as_they_were(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){.park_every = 3}, 3, &seen);
	assert_true(seen.parks >= 6);
	train_together(
		&(struct sl_fake_opts){.park_every = 3, .park_twice = true}, 3, &seen);
	assert_true(seen.parks >= 18);
}

static void a_lane_may_change_under_a_job(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){.lane_every = 2}, 3, &seen);
	assert_true(seen.lanes >= 9);
}

static void jobs_come_back_when_connections_break(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){.drop_every = 4}, 3, &seen);
	assert_true(seen.attaches >= 6);
}

static void an_end_that_nobody_heard_is_said_again(void **state)
{
	struct sl_fake_seen seen;

	(void)state;
	train_together(&(struct sl_fake_opts){.drop_end = true}, 3, &seen);
	assert_int_equal(seen.attaches, 3);
}

static void train_one(struct run *r, const struct sl_fake_opts *opts)
{
	struct sl_fake_daemon *d = sl_fake_start(opts);

	*r = (struct run){0};
	assert_true(sl_session_small(1, &r->config));
	r->config.steps = 1 << 20; /* so that what comes late comes in time */
	r->config.shared = true;
	r->config.socket = sl_fake_socket(d);
	(void)train(r);
	sl_fake_stop(d);
}

static void revoked_memory_ends_a_job(void **state)
{
	struct run r;

	(void)state;
	train_one(&r, &(struct sl_fake_opts){.lose_at = 3});
	assert_int_equal(r.st, SL_E_LOST);
	assert_int_equal(r.shared.n, 3);
}

static void a_cancelled_job_is_interrupted_at_a_boundary(void **state)
{
	struct run r;

	(void)state;
	train_one(&r, &(struct sl_fake_opts){.stop_at = 3});
	assert_int_equal(r.st, SL_E_INTERRUPTED);
	assert_true(r.shared.n >= 3);
	assert_int_equal(strlen(r.shared.summary.digest), 64);
}

static void a_refusal_is_told(void **state)
{
	struct run r;

	(void)state;
	train_one(&r, &(struct sl_fake_opts){.refusal = "needs 5 GiB; --budget"});
	assert_int_equal(r.st, SL_E_INFEASIBLE);
	assert_non_null(strstr(r.error, "needs 5 GiB; --budget"));
}

static void without_a_daemon_it_says_what_to_do(void **state)
{
	struct run r = {0};

	(void)state;
	assert_true(sl_session_small(0, &r.config));
	r.config.shared = true;
	r.config.socket = "/tmp/no-such-folder/daemon.sock";
	(void)train(&r);
	assert_int_equal(r.st, SL_E_LOST);
	assert_non_null(strstr(r.error, "sluiced"));
}

static void a_stop_leaves_the_queue(void **state)
{
	static const volatile sig_atomic_t stop_later = 1;
	struct sl_fake_daemon *d =
		sl_fake_start(&(struct sl_fake_opts){.admits_nobody = true});
	struct sl_fake_seen seen;
	struct sl_session *s = NULL;
	struct sl_session_config config;

	(void)state;
	assert_true(sl_session_small(0, &config));
	config.shared = true;
	config.socket = sl_fake_socket(d);
	sl_assert_ok(sl_session_open(&config, &s));
	sl_session_close(s);
	config.stop = &stop_later;
	sl_assert_ok(sl_session_open(&config, &s));
	sl_assert_fails(sl_session_prepare(s, NULL), SL_E_INTERRUPTED, "interrupted");
	sl_session_close(s);
	sl_fake_seen(d, &seen);
	assert_int_equal(seen.ends, seen.jobs);
	sl_fake_stop(d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(jobs_that_take_turns_end_as_they_do_alone),
		SL_TEST(jobs_with_less_memory_end_as_they_do_alone),
		SL_TEST(parked_jobs_come_back_as_they_were),
		SL_TEST(a_lane_may_change_under_a_job),
		SL_TEST(jobs_come_back_when_connections_break),
		SL_TEST(an_end_that_nobody_heard_is_said_again),
		SL_TEST(revoked_memory_ends_a_job),
		SL_TEST(a_cancelled_job_is_interrupted_at_a_boundary),
		SL_TEST(a_refusal_is_told),
		SL_TEST(without_a_daemon_it_says_what_to_do),
		SL_TEST(a_stop_leaves_the_queue),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

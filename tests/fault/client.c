/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of the daemon when host memory runs out or files fail: it ends with a status,
 * nothing leaks, and the daemon, which is another process here, goes on.
 */
#include "harness/fake_daemon.h"
#include "harness/harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/client/client.h"

#define P_BYTES 20480u
#define E_BYTES 8192u
#define TURNS 7

struct job {
	char socket[128];
	pid_t daemon;
};

/* Its allocations are not the job's. */
static void start(struct job *j)
{
	const struct sl_fake_opts opts = {
		.park_every = 2, .lane_every = 3, .drop_every = 5};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	j->daemon = fork();
	assert_true(j->daemon >= 0);
	if (j->daemon == 0) {
		struct sl_fake_daemon *d;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		d = sl_fake_start(&opts);
		(void)!write(ends[1], sl_fake_socket(d), strlen(sl_fake_socket(d)) + 1);
		(void)close(ends[0]);
		for (;;)
			(void)pause();
	}
	(void)close(ends[1]);
	assert_true(read(ends[0], j->socket, sizeof(j->socket)) > 0);
	(void)close(ends[0]);
}

static sl_status turns(struct sl_client *c, uint8_t *base)
{
	for (uint32_t i = 1; i <= TURNS; i++) {
		SL_TRY(sl_client_enter(c));
		memset(base + P_BYTES, 0xA5, E_BYTES);
		for (uint32_t k = 0; k < P_BYTES; k++)
			if (base[k] != (uint8_t)(k + i))
				fail_msg(
					"turn %u: byte %u of P is not what it was", i, k);
		for (uint32_t k = 0; k < P_BYTES; k++)
			base[k] = (uint8_t)(k + i + 1);
		(void)sl_client_wanted(c);
		SL_TRY(sl_client_leave(c, 1000, i == TURNS));
	}
	return SL_OK;
}

static sl_status live(struct sl_client *c)
{
	struct sl_msg_reg job = {.kind = SL_WIRE_RUN, .priority = 20, .turn_ns = 1000};
	struct sl_client_room room;

	job.menu.n = 1;
	job.menu.rows[0] = (struct sl_wire_option){P_BYTES, E_BYTES, 1000};
	SL_TRY(sl_client_enlist(c, &job));
	SL_TRY(sl_client_admit(c, &room));
	for (uint32_t k = 0; k < P_BYTES; k++)
		room.base[k] = (uint8_t)(k + 1);
	SL_TRY(sl_client_ready(c));
	return turns(c, room.base);
}

static sl_status life(void *ctx)
{
	const struct job *j = ctx;
	const struct sl_client_opts opts = {.socket = j->socket,
		.folder = "/var/tmp",
		.daemon_timeout_ns = 2000000000};
	struct sl_client *c = NULL;
	sl_status st;

	SL_TRY(sl_client_open(&opts, &c));
	st = live(c);
	sl_client_end(c, st);
	sl_client_close(c);
	return st;
}

static void finish(struct job *j)
{
	sl_assert_ok(life(j));
	assert_int_equal(waitpid(j->daemon, NULL, WNOHANG), 0);
	assert_int_equal(kill(j->daemon, SIGKILL), 0);
	assert_int_equal(waitpid(j->daemon, NULL, 0), j->daemon);
	(void)unlink(j->socket);
	*strrchr(j->socket, '/') = '\0';
	(void)rmdir(j->socket);
}

static void a_job_survives_every_failed_allocation(void **state)
{
	struct job j;

	(void)state;
	start(&j);
	assert_true(sl_torture(life, &j) > 5);
	finish(&j);
}

static void a_job_survives_every_failed_system_call(void **state)
{
	struct job j;

	(void)state;
	start(&j);
	assert_true(sl_torture_fs(life, &j, ENOSPC) > 3);
	assert_true(sl_torture_fs(life, &j, EIO) > 3);
	finish(&j);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_job_survives_every_failed_allocation),
		SL_TEST(a_job_survives_every_failed_system_call),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ruling, refusals, and ends of the socket that are no daemon of ours. */
#include "harness/harness.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "harness/wire_script.h"

static void a_refusal_has_the_daemons_code_and_words(void **state)
{
	struct sl_script s = {.n = 1,
		.answers = {{.number = SL_MSG_ERROR,
			.u.error = {.code = SL_E_NOT_FOUND, .text = "no job 7"}}}};
	struct sl_daemon *d = sl_script_meet(&s);

	(void)state;
	sl_assert_fails(sl_daemon_pause(d, 7), SL_E_NOT_FOUND, "no job 7");
	sl_script_end(&s, d);
	/* A code that is none does not become one. */
	s.answers[0].u.error.code = 4000;
	d = sl_script_meet(&s);
	sl_assert_fails(sl_daemon_cancel(d, 7), SL_E_LOST, "no job 7");
	sl_script_end(&s, d);
	s.answers[0].u.error.code = 0;
	d = sl_script_meet(&s);
	sl_assert_fails(sl_daemon_resume(d, 7), SL_E_LOST, "no job 7");
	sl_script_end(&s, d);
}

static void ruling_says_what_was_meant(void **state)
{
	struct sl_script s = {.n = 1, .answers = {{.number = SL_MSG_DONE}}};
	struct sl_daemon *d = sl_script_meet(&s);

	(void)state;
	sl_assert_ok(sl_daemon_limit(d, 1000, 5 << 20));
	sl_script_end(&s, d);
	assert_int_equal(s.asked.u.limit.user, 1000);
	assert_int_equal(s.asked.u.limit.bytes, 5 << 20);
	d = sl_script_meet(&s);
	sl_assert_ok(sl_daemon_priority(d, 2, -5));
	sl_script_end(&s, d);
	assert_int_equal(s.asked.u.priority.priority, -5);
	d = sl_script_meet(&s);
	sl_assert_fails(sl_daemon_policy(d, "a name that is too long"), SL_E_USAGE,
		"no job policy");
	sl_assert_ok(sl_daemon_policy(d, "srtf"));
	sl_script_end(&s, d);
	assert_string_equal(s.asked.u.policy.name, "srtf");
}

static void a_service_answers(void **state)
{
	struct sl_script s = {.n = 1,
		.answers = {{.number = SL_MSG_ANSWER,
			.u.answer = {.ran_ns = 500000000,
				.batch = 4,
				.output = {(const uint8_t *)"out", 3}}}}};
	struct sl_daemon *d = sl_script_meet(&s);
	struct sl_daemon_answer out;

	(void)state;
	sl_assert_ok(sl_daemon_ask(d, "net", 0.5, "in", 2, &out));
	assert_true(out.ran_s == 0.5);
	assert_int_equal(out.batch, 4);
	assert_int_equal(out.output_bytes, 3);
	assert_memory_equal(out.output, "out", 3);
	sl_assert_fails(
		sl_daemon_ask(d, "net", -1, "in", 2, &out), SL_E_USAGE, "seconds");
	sl_script_end(&s, d);
	s.answers[0].u.answer.code = SL_E_BUSY;
	d = sl_script_meet(&s);
	sl_assert_fails(sl_daemon_ask(d, "net", 0, "in", 2, &out), SL_E_BUSY, "net");
	sl_script_end(&s, d);
}

static void what_is_no_daemon_of_ours_is_said(void **state)
{
	struct sl_script s = {
		.welcome = {.number = SL_MSG_WELCOME, .u.welcome = {.version = 2}}};
	struct sl_daemon *d = NULL;

	(void)state;
	sl_script_begin(&s);
	sl_assert_fails(sl_daemon_open(s.path, &d), SL_E_UNSUPPORTED, "version 2");
	sl_script_end(&s, NULL);
	s.welcome = (struct sl_msg){.number = SL_MSG_DONE};
	sl_script_begin(&s);
	sl_assert_fails(sl_daemon_open(s.path, &d), SL_E_LOST, "no answer to that");
	sl_script_end(&s, NULL);
	s.welcome = (struct sl_msg){.number = SL_MSG_ERROR,
		.u.error = {.code = SL_E_BUSY, .text = "too many connections"}};
	sl_script_begin(&s);
	sl_assert_fails(sl_daemon_open(s.path, &d), SL_E_BUSY, "too many");
	sl_script_end(&s, NULL);
	unlink(s.path);
	sl_assert_fails(sl_daemon_open(s.path, &d), SL_E_LOST, "sluiced --budget");
	assert_null(d);
}

static sl_status look(void *ctx)
{
	struct sl_buf out = SL_BUF_INIT;
	struct sl_daemon *d = NULL;
	sl_status st;

	SL_TRY_OUT(sl_daemon_open(ctx, &d));
	SL_TRY_OUT(sl_daemon_config(d, &out));
out:
	sl_daemon_close(d);
	sl_buf_finish(&out);
	return st;
}

/* In a process of its own, whose allocations do not count here. */
static void answer_for_ever(struct sl_script *s)
{
	for (;;) {
		int fd = accept(s->listener, NULL, NULL);
		struct sl_link *l;
		struct sl_msg m;

		if (fd < 0 || sl_link_create(fd, &l) != SL_OK)
			_exit(1);
		while (sl_link_get(l, &m, -1) == SL_OK) {
			struct sl_msg words = {.number = SL_MSG_WORDS,
				.seq = m.seq,
				.u.words = {.text = {(const uint8_t *)"a = 1\n", 6}}};

			s->welcome.seq = m.seq;
			if (sl_link_put(l,
				    m.number == SL_MSG_HELLO ? &s->welcome : &words,
				    -1) != SL_OK)
				break;
		}
		sl_link_destroy(l);
	}
}

static void every_failing_allocation_is_an_error(void **state)
{
	struct sl_script s = {0};
	struct sl_daemon *d = sl_script_meet(&s);
	pid_t child;

	(void)state;
	/* The listener stays. */
	sl_daemon_close(d);
	pthread_join(s.thread, NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		answer_for_ever(&s);
	assert_in_range(sl_torture(look, s.path), 4, 40);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(s.listener);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_refusal_has_the_daemons_code_and_words),
		SL_TEST(ruling_says_what_was_meant),
		SL_TEST(a_service_answers),
		SL_TEST(what_is_no_daemon_of_ours_is_said),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

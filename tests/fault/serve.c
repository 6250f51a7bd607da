/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon when its n-th allocation or system call fails: it goes on, keeps its books,
 * leaks nothing, and serves the next job. */
#include "unit/share/serve/peers.h"

#include <dirent.h>
#include <errno.h>

#include "base/alloc.h"

#define USER 1000

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

/* A peer to whom anything may happen: its failures are nobody's but its own. */
struct talker {
	struct peer p;
	struct sl_msg last;
	bool gone;
};

static void turn(struct rig *r)
{
	for (int i = 0; i < 6; i++) {
		r->now += 1000;
		(void)!sl_serve_round(r->s, false);
	}
}

static void dial(struct rig *r, struct talker *t)
{
	struct ucred who = {.pid = getpid(), .uid = USER};
	int ends[2];

	sl_link_destroy(t->p.link);
	t->p.link = NULL;
	t->gone = true;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		0);
	if (sl_link_create(ends[0], &t->p.link) != SL_OK) {
		(void)close(ends[1]);
		return;
	}
	t->gone = sl_serve_adopt(r->s, ends[1], &who) != SL_OK;
}

static void say(struct rig *r, struct talker *t, struct sl_msg m)
{
	bool empty;

	m.seq = ++t->p.seq;
	if (!t->gone)
		t->gone = sl_link_send(t->p.link, &m) != SL_OK ||
			  sl_link_flush(t->p.link, &empty) != SL_OK;
	turn(r);
}

static bool hear_any(struct talker *t)
{
	bool any = false, closed;

	for (int tries = 0; tries < 3 && !any && !t->gone; tries++) {
		if (sl_link_next(t->p.link, &t->last, &any) != SL_OK && !any)
			t->gone = true;
		if (!t->gone && !any)
			t->gone = sl_link_receive(t->p.link, &closed) != SL_OK;
	}
	return any;
}

/* The next message of that number, others skipped. */
static bool hear(struct talker *t, enum sl_msg_number number)
{
	while (hear_any(t))
		if (t->last.number == number)
			return true;
	return false;
}

static void greet(struct rig *r, struct talker *t)
{
	dial(r, t);
	say(r, t,
		(struct sl_msg){.number = SL_MSG_HELLO,
			.u.hello = {.magic = SL_WIRE_MAGIC, .version = SL_WIRE_VERSION}});
	if (!hear(t, SL_MSG_WELCOME))
		t->gone = true;
}

static void leave(struct talker *t)
{
	peer_close(&t->p);
	t->gone = true;
}

static void join(struct rig *r, struct talker *t, uint64_t part)
{
	t->p = (struct peer){.page_fd = -1, .p_fd = -1, .lane_fd = -1};
	greet(r, t);
	say(r, t, job_of(part, 4));
	if (!hear(t, SL_MSG_REGISTERED))
		return;
	t->p.job = t->last.u.registered.job;
	t->p.token[0] = t->last.u.registered.token_high;
	t->p.token[1] = t->last.u.registered.token_low;
	t->p.page_fd = sl_link_take(t->p.link, 0);
	/* A job that cannot begin ends. */
	if (sl_turn_map(t->p.page_fd, &t->p.page) != SL_OK) {
		leave(t);
		return;
	}
	if (!hear(t, SL_MSG_ADMITTED))
		return;
	t->p.p_fd = sl_link_take(t->p.link, 0);
	t->p.lane_fd = sl_link_take(t->p.link, 1);
	say(r, t, (struct sl_msg){.number = SL_MSG_READY});
}

static void work(struct rig *r, struct talker *t)
{
	for (int i = 0; i < 3 && t->p.page && sl_turn_try(t->p.page); i++) {
		t->p.turns++;
		sl_turn_yield(t->p.page);
		say(r, t,
			(struct sl_msg){.number = SL_MSG_REPORT,
				.u.report = {.turns = t->p.turns}});
	}
}

/* As a client does: until it hears an answer. */
static void come_back(struct rig *r, struct talker *t)
{
	bool heard = !t->p.page;

	for (int i = 0; i < 4 && !heard; i++) {
		greet(r, t);
		say(r, t, attach_of(&t->p));
		while (!heard && hear_any(t))
			heard = t->last.seq == t->p.seq && t->last.seq > 0;
	}
	say(r, t, (struct sl_msg){.number = SL_MSG_READY});
}

/* After all of it: a new job gets its turn, and when it is gone nothing is granted. */
static void serves_the_next(struct rig *r)
{
	struct peer p, q;

	for (int i = 0; i < 3; i++)
		rig_pass(r, 20 * SECOND);
	peer_join(r, &p, USER, job_of(8, 4));
	assert_true(sl_turn_try(p.page));
	peer_close(&p);
	rig_turn(r);
	peer_hello(r, &q, USER);
	peer_send(r, &q, (struct sl_msg){.number = SL_MSG_STATUS});
	peer_want(&q, SL_MSG_STATE);
	assert_int_equal(q.last.u.state.granted_bytes, 0);
	assert_int_equal(q.last.u.state.jobs, 0);
	peer_close(&q);
	rig_turn(r);
}

static sl_status start(struct rig *r)
{
	*r = (struct rig){.now = 1000 * SECOND};
	SL_TRY(sl_serve_settings_create(&r->settings));
	SL_TRY(sl_serve_settings_set(
		r->settings, "socket", sl_test_path("d.sock"), SL_SERVE_FLAG));
	SL_TRY(sl_serve_settings_set(r->settings, "budget", "96KiB", SL_SERVE_FLAG));
	SL_TRY(sl_serve_settings_set(r->settings, "quantum", "0", SL_SERVE_FLAG));
	SL_TRY(sl_serve_settings_set(
		r->settings, "config", sl_test_path("empty.conf"), SL_SERVE_FLAG));
	SL_TRY(sl_serve_settings_load(r->settings));
	return rig_try_start(r);
}

static sl_status lives(void *ctx)
{
	struct talker t[3] = {0};
	struct rig r;
	sl_status st;

	(void)ctx;
	(void)unlink(sl_test_path("d.sock.journal"));
	SL_TRY_OUT(start(&r));
	for (uint64_t i = 0; i < 3; i++)
		join(&r, &t[i], 8 + i);
	for (int i = 0; i < 2; i++)
		work(&r, &t[i]);
	sl_serve_close(r.s);
	r.s = NULL;
	SL_TRY_OUT(rig_try_start(&r));
	for (int i = 0; i < 3; i++)
		come_back(&r, &t[i]);
	for (int i = 0; i < 2; i++)
		work(&r, &t[i]);
	for (int i = 0; i < 3; i++)
		leave(&t[i]);
	turn(&r);
	if (sl_alloc_failed() || sl_fs_failed())
		serves_the_next(&r);
out:
	for (int i = 0; i < 3; i++)
		if (t[i].p.link)
			leave(&t[i]);
	sl_serve_close(r.s);
	sl_serve_settings_destroy(r.settings);
	return st;
}

static void every_failed_allocation_costs_one_at_most(void **state)
{
	int before;

	(void)state;
	sl_assert_ok(sl_fs_write(sl_test_path("empty.conf"), "", 0));
	sl_assert_ok(lives(NULL));
	before = open_files();
	assert_true(sl_torture(lives, NULL) >= 50);
	assert_int_equal(open_files(), before);
}

static void every_failed_system_call_costs_one_at_most(void **state)
{
	const int errors[] = {ENOMEM, EIO, EMFILE};
	int before;

	(void)state;
	sl_assert_ok(sl_fs_write(sl_test_path("empty.conf"), "", 0));
	before = open_files();
	for (size_t i = 0; i < SL_COUNT(errors); i++)
		assert_true(sl_torture_fs(lives, NULL, errors[i]) >= 10);
	assert_int_equal(open_files(), before);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_failed_allocation_costs_one_at_most),
		SL_TEST(every_failed_system_call_costs_one_at_most),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

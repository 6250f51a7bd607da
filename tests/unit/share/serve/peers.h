/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SERVE_PEERS_H
#define SL_TESTS_SERVE_PEERS_H

#include <sys/stat.h>

#include "share/turn.h"
#include "share/wire/link.h"
#include "unit/share/serve/rig.h"

/* A peer, and the job that it has. */
struct peer {
	struct sl_link *link;
	struct sl_msg last; /* texts and bytes of it are valid until the next one */
	uint32_t job, seq;
	uint64_t token[2];
	struct sl_turn_page *page;
	int page_fd, p_fd, lane_fd;
	uint64_t turns, used;
};

static inline void peer_open_as(struct rig *r, struct peer *p, uid_t user, pid_t pid)
{
	struct ucred who = {.pid = pid, .uid = user, .gid = user};
	int ends[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		0);
	sl_assert_ok(sl_link_create(ends[0], &p->link));
	sl_assert_ok(sl_serve_adopt(r->s, ends[1], &who));
}

static inline void peer_send(struct rig *r, struct peer *p, struct sl_msg m)
{
	bool empty;

	m.seq = ++p->seq;
	sl_assert_ok(sl_link_send(p->link, &m));
	sl_assert_ok(sl_link_flush(p->link, &empty));
	rig_turn(r);
}

/* The next message into p->last; false: there is none. */
static inline bool peer_next(struct peer *p)
{
	bool any, closed;

	sl_assert_ok(sl_link_next(p->link, &p->last, &any));
	if (!any) {
		sl_assert_ok(sl_link_receive(p->link, &closed));
		sl_assert_ok(sl_link_next(p->link, &p->last, &any));
	}
	return any;
}

static inline void peer_want(struct peer *p, enum sl_msg_number number)
{
	assert_true(peer_next(p));
	if (p->last.number == SL_MSG_ERROR && number != SL_MSG_ERROR)
		print_error("%s\n", p->last.u.error.text);
	assert_int_equal(p->last.number, number);
}

static inline void peer_want_error(struct peer *p, sl_status code, const char *part)
{
	peer_want(p, SL_MSG_ERROR);
	assert_int_equal(p->last.u.error.code, code);
	if (!strstr(p->last.u.error.text, part))
		print_error("%s\n", p->last.u.error.text);
	assert_non_null(strstr(p->last.u.error.text, part));
}

static inline void peer_hello_as(struct rig *r, struct peer *p, uid_t user, pid_t pid)
{
	struct sl_msg m = {.number = SL_MSG_HELLO,
		.u.hello = {.magic = SL_WIRE_MAGIC, .version = SL_WIRE_VERSION}};

	*p = (struct peer){.page_fd = -1, .p_fd = -1, .lane_fd = -1};
	peer_open_as(r, p, user, pid);
	peer_send(r, p, m);
	peer_want(p, SL_MSG_WELCOME);
}

static inline void peer_hello(struct rig *r, struct peer *p, uid_t user)
{
	peer_hello_as(r, p, user, getpid());
}

/* A new connection for the same job. */
static inline void peer_again(struct rig *r, struct peer *p, uid_t user)
{
	struct sl_msg m = {.number = SL_MSG_HELLO,
		.u.hello = {.magic = SL_WIRE_MAGIC, .version = SL_WIRE_VERSION}};

	sl_link_destroy(p->link);
	peer_open_as(r, p, user, getpid());
	peer_send(r, p, m);
	peer_want(p, SL_MSG_WELCOME);
}

/* The message of one that comes back with what it has. */
static inline struct sl_msg attach_of(const struct peer *p)
{
	struct sl_msg m = {.number = SL_MSG_ATTACH,
		.u.attach = {.job = p->job,
			.token_high = p->token[0],
			.token_low = p->token[1],
			.turns = p->turns,
			.used_ns = p->used}};
	const int fds[] = {p->page_fd, p->p_fd, p->lane_fd};

	for (uint32_t i = 0; i < 3; i++)
		if (fds[i] >= 0) {
			m.u.attach.has |= 1u << i;
			m.fds[m.n_fds++] = fds[i];
		}
	return m;
}

/* A job of so many pages of P and E. */
static inline struct sl_msg job_of(uint64_t persistent, uint64_t ephemeral)
{
	struct sl_msg m = {.number = SL_MSG_REGISTER,
		.u.reg = {.name = "job", .priority = SL_JOB_PRIORITY, .menu = {.n = 1}}};

	m.u.reg.menu.rows[0] =
		(struct sl_wire_option){persistent * PAGE, ephemeral * PAGE, 1000000};
	return m;
}

static inline void peer_registered(struct peer *p)
{
	peer_want(p, SL_MSG_REGISTERED);
	p->job = p->last.u.registered.job;
	p->token[0] = p->last.u.registered.token_high;
	p->token[1] = p->last.u.registered.token_low;
	p->page_fd = sl_link_take(p->link, 0);
	sl_assert_ok(sl_turn_map(p->page_fd, &p->page));
}

/* Takes the descriptors of admitted, and says ready. */
static inline void peer_admitted(struct rig *r, struct peer *p)
{
	peer_want(p, SL_MSG_ADMITTED);
	sl_fs_close(p->p_fd);
	sl_fs_close(p->lane_fd);
	p->p_fd = sl_link_take(p->link, 0);
	p->lane_fd = sl_link_take(p->link, 1);
	if (p->last.u.admitted.persistent_bytes == 0) {
		p->lane_fd = p->p_fd;
		p->p_fd = -1;
	}
	peer_send(r, p, (struct sl_msg){.number = SL_MSG_READY});
}

/* Comes, is admitted at once, is ready. */
static inline void peer_join(struct rig *r, struct peer *p, uid_t user, struct sl_msg m)
{
	peer_hello(r, p, user);
	peer_send(r, p, m);
	peer_registered(p);
	peer_admitted(r, p);
}

/* Runs n iterations of 1 ms, all within its turn. */
static inline void peer_run(struct rig *r, struct peer *p, int n)
{
	for (int i = 0; i < n; i++) {
		assert_true(sl_turn_try(p->page));
		sl_turn_begin(p->page, r->now);
		rig_pass(r, 1000000);
		sl_turn_count(p->page, 1000000);
		p->turns++;
		p->used += 1000000;
	}
}

static inline void peer_report(struct rig *r, struct peer *p)
{
	sl_turn_yield(p->page);
	peer_send(r, p,
		(struct sl_msg){.number = SL_MSG_REPORT,
			.u.report = {.turns = p->turns, .used_ns = p->used}});
}

static inline void peer_close(struct peer *p)
{
	sl_link_destroy(p->link);
	sl_turn_unmap(p->page);
	sl_fs_close(p->page_fd);
	sl_fs_close(p->p_fd);
	sl_fs_close(p->lane_fd);
	*p = (struct peer){.page_fd = -1, .p_fd = -1, .lane_fd = -1};
}

#endif

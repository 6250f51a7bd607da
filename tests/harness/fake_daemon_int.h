/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_FAKE_DAEMON_INT_H
#define SL_TESTS_FAKE_DAEMON_INT_H

#include <pthread.h>

#include "harness/fake_daemon.h"
#include "share/turn.h"
#include "share/wire/link.h"

#define SL_FAKE_JOBS 8

struct sl_fake_job {
	bool used, ready, idle, parked, again, has_turn, wants_lane, over, dropped;
	struct sl_link *link; /* NULL: gone; it may come back */
	struct sl_msg_reg asked;
	struct sl_turn_page *page;
	int fd_page, fd_p, fd_lane;
	uint64_t p, e, reports;
	uint32_t row;
};

struct sl_fake_daemon {
	struct sl_fake_opts opts;
	struct sl_fake_seen seen;
	char folder[64], path[100];
	int listener;
	pthread_t thread;
	pthread_mutex_t lock; /* of seen and stop */
	bool stop;
	struct sl_fake_job jobs[SL_FAKE_JOBS]; /* a slot a connection until it registers
						  or attaches */
	size_t last; /* that had the turn */
};

/* fake_talk.c: what was said, and saying something. */
void sl_fake_hear(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m);
void sl_fake_say(struct sl_fake_job *j, const struct sl_msg *m);
void sl_fake_take_room(struct sl_fake_job *j);
/* fake_plan.c: answers as opts say. */
void sl_fake_on_trace(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m);
/* All of it but the link: the slot is free. */
void sl_fake_forget(struct sl_fake_job *j);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A small daemon for tests of its clients: its loop, and who has the turn. */
#include "harness/fake_daemon_int.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "device/shared.h"
#include "harness/harness.h"

#define NOBODY SL_FAKE_JOBS

static bool can_run(const struct sl_fake_job *j)
{
	return j->used && j->page != NULL && j->ready && !j->idle && !j->parked &&
	       !j->over && j->link != NULL && !j->wants_lane;
}

static void other_lane(struct sl_fake_daemon *d, struct sl_fake_job *j)
{
	struct sl_msg m = {.number = SL_MSG_LANE, .n_fds = 1};

	j->wants_lane = false;
	if (j->e == 0)
		return;
	(void)close(j->fd_lane);
	sl_assert_ok(sl_shared_create(j->e, "test-lane", &j->fd_lane));
	m.fds[0] = j->fd_lane;
	m.u.lane = (struct sl_msg_lane){.lane = 4, .lane_bytes = j->e};
	j->ready = false;
	d->seen.lanes++;
	sl_fake_say(j, &m);
}

/* The turn goes round; before it does, whatever was in the lane is gone. */
static void give_turn(struct sl_fake_daemon *d)
{
	size_t n = 0, next = NOBODY;

	for (size_t i = 1; i <= SL_FAKE_JOBS; i++) {
		size_t k = (d->last + i) % SL_FAKE_JOBS;
		struct sl_fake_job *j = &d->jobs[k];

		if (j->has_turn && !j->over)
			return;
		if (j->wants_lane && j->link != NULL)
			other_lane(d, j);
		if (!can_run(j))
			continue;
		next = next == NOBODY ? k : next;
		n++;
	}
	if (next == NOBODY)
		return;
	d->last = next;
	d->jobs[next].has_turn = true;
	if (d->jobs[next].e > 0)
		sl_assert_ok(sl_shared_scrub(d->jobs[next].fd_lane, 0, d->jobs[next].e));
	sl_turn_grant_one(d->jobs[next].page);
}

static void drop(struct sl_fake_job *j)
{
	sl_link_destroy(j->link);
	sl_fake_forget(j);
}

static void serve_job(struct sl_fake_daemon *d, struct sl_fake_job *j)
{
	struct sl_link *l = j->link;
	bool closed = false, any = true;

	(void)!sl_link_receive(l, &closed);
	/* An attach moves the link to another slot. */
	while (any && j->link == l) {
		struct sl_msg m;

		if (sl_link_next(l, &m, &any) == SL_OK && any)
			sl_fake_hear(d, j, &m);
	}
	if (closed && j->link == l)
		drop(j);
}

static void greet(struct sl_fake_daemon *d)
{
	int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; i < SL_FAKE_JOBS && fd >= 0; i++) {
		struct sl_fake_job *j = &d->jobs[i];

		if (j->used && j->link != NULL)
			continue;
		if (j->used && i + 2 < SL_FAKE_JOBS)
			continue; /* it may come back */
		sl_fake_forget(j);
		*j = (struct sl_fake_job){
			.used = true, .fd_page = -1, .fd_p = -1, .fd_lane = -1};
		sl_assert_ok(sl_link_create(fd, &j->link));
		return;
	}
}

static bool stops(struct sl_fake_daemon *d)
{
	bool stop;

	pthread_mutex_lock(&d->lock);
	stop = d->stop;
	pthread_mutex_unlock(&d->lock);
	return stop;
}

static void *run(void *arg)
{
	struct sl_fake_daemon *d = arg;

	while (!stops(d)) {
		struct pollfd p[SL_FAKE_JOBS + 1] = {
			{.fd = d->listener, .events = POLLIN}};

		for (size_t i = 0; i < SL_FAKE_JOBS; i++)
			p[i + 1] = (struct pollfd){
				.fd = d->jobs[i].link != NULL
					      ? sl_link_fd(d->jobs[i].link)
					      : -1,
				.events = POLLIN};
		(void)poll(p, SL_FAKE_JOBS + 1, 5);
		pthread_mutex_lock(&d->lock);
		if (p[0].revents != 0)
			greet(d);
		for (size_t i = 0; i < SL_FAKE_JOBS; i++)
			if (p[i + 1].revents != 0 && d->jobs[i].link != NULL)
				serve_job(d, &d->jobs[i]);
		give_turn(d);
		pthread_mutex_unlock(&d->lock);
	}
	return NULL;
}

struct sl_fake_daemon *sl_fake_start(const struct sl_fake_opts *opts)
{
	struct sl_fake_daemon *d = calloc(1, sizeof(*d));
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	assert_non_null(d);
	d->opts = *opts;
	(void)snprintf(d->folder, sizeof(d->folder), "/tmp/sluice-fake-XXXXXX");
	assert_non_null(mkdtemp(d->folder));
	(void)snprintf(d->path, sizeof(d->path), "%s/daemon.sock", d->folder);
	memcpy(name.sun_path, d->path, sizeof(d->path));
	d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(d->listener >= 0);
	assert_int_equal(bind(d->listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(d->listener, 16), 0);
	pthread_mutex_init(&d->lock, NULL);
	assert_int_equal(pthread_create(&d->thread, NULL, run, d), 0);
	return d;
}

const char *sl_fake_socket(const struct sl_fake_daemon *d)
{
	return d->path;
}

void sl_fake_seen(struct sl_fake_daemon *d, struct sl_fake_seen *out)
{
	pthread_mutex_lock(&d->lock);
	*out = d->seen;
	pthread_mutex_unlock(&d->lock);
}

void sl_fake_stop(struct sl_fake_daemon *d)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	for (size_t i = 0; i < SL_FAKE_JOBS; i++) {
		struct sl_fake_job *j = &d->jobs[i];

		sl_link_destroy(j->link);
		sl_fake_forget(j);
	}
	(void)close(d->listener);
	(void)unlink(d->path);
	(void)rmdir(d->folder);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

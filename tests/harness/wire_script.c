/* SPDX-License-Identifier: Apache-2.0 */
/* An end of the daemon's socket that says what a test wants. */
#include "harness/wire_script.h"

#include "harness/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static sl_status play(struct sl_script *s, struct sl_link *l)
{
	struct sl_msg m, unasked = {.number = SL_MSG_CHANNEL};
	uint32_t seq;

	SL_TRY(sl_link_get(l, &m, -1));
	s->welcome.seq = m.seq;
	SL_TRY(sl_link_put(l, &s->welcome, -1));
	SL_TRY(sl_link_get(l, &m, -1));
	s->asked = m;
	seq = m.seq;
	for (size_t i = 0; i < s->n; i++) {
		m = s->answers[i];
		m.seq = seq;
		/* What is said unasked in between is for nobody. */
		SL_TRY(sl_link_put(l, &unasked, -1));
		SL_TRY(sl_link_put(l, &m, -1));
	}
	return s->hangs_up ? SL_OK : sl_link_get(l, &m, -1);
}

static void *serve(void *ctx)
{
	struct sl_script *s = ctx;
	int fd = accept(s->listener, NULL, NULL);
	struct sl_link *l;

	if (fd < 0 || sl_link_create(fd, &l) != SL_OK)
		return NULL;
	/* The caller goes in the middle, or at the end. */
	if (play(s, l) != SL_OK)
		shutdown(fd, SHUT_RDWR);
	sl_link_destroy(l);
	return NULL;
}

void sl_script_begin(struct sl_script *s)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (s->welcome.number == SL_MSG_NONE)
		s->welcome = (struct sl_msg){.number = SL_MSG_WELCOME,
			.u.welcome = {.version = SL_WIRE_VERSION,
				.ruler = 1,
				.capacity_bytes = 1 << 30,
				.policy = "fair"}};
	snprintf(s->path, sizeof(s->path), "%s", sl_test_path("sock"));
	memcpy(name.sun_path, s->path, sizeof(name.sun_path));
	unlink(s->path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(s->listener, (const struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(s->listener, 4), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

struct sl_daemon *sl_script_meet(struct sl_script *s)
{
	struct sl_daemon *d = NULL;

	sl_script_begin(s);
	sl_assert_ok(sl_daemon_open(s->path, &d));
	return d;
}

void sl_script_end(struct sl_script *s, struct sl_daemon *d)
{
	sl_daemon_close(d);
	pthread_join(s->thread, NULL);
	close(s->listener);
}

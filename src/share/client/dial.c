/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon is, and the first words with it. */
#include "share/client/client_int.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == SL_CLIENT_PATH,
	"paths of sockets have their size");

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

sl_status sl_client_path(const char *given, char out[SL_CLIENT_PATH])
{
	const char *folder = variable("XDG_RUNTIME_DIR");
	int n;

	given = given != NULL ? given : variable("SLUICE_SOCKET");
	if (given != NULL)
		n = snprintf(out, SL_CLIENT_PATH, "%s", given);
	else
		n = snprintf(out, SL_CLIENT_PATH, "%s/sluice/daemon.sock",
			folder != NULL ? folder : "/run");
	if (n < 0 || n >= SL_CLIENT_PATH)
		return SL_FAIL(SL_E_LIMIT,
			"the socket's path is longer than %d bytes; name a shorter one "
			"with --socket",
			SL_CLIENT_PATH - 1);
	return SL_OK;
}

sl_status sl_client_dial(const char *path, int *out_fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return SL_FAIL(
			SL_E_NOMEM, "no socket for the daemon: %s", strerror(errno));
	memcpy(name.sun_path, path, strnlen(path, sizeof(name.sun_path) - 1));
	if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0) {
		*out_fd = fd;
		return SL_OK;
	}
	err = errno;
	sl_fs_close(fd);
	if (err == EACCES || err == EPERM)
		return SL_FAIL(SL_E_LOST,
			"you may not use the daemon at %s; its group or its owner may",
			path);
	return SL_FAIL(SL_E_LOST,
		"no daemon listens at %s (%s); start one with `sluiced --budget SIZE`, "
		"or name its socket with --socket or SLUICE_SOCKET",
		path, strerror(err));
}

sl_status sl_client_flush(struct sl_link *l, sl_ns limit_ns)
{
	sl_ns end = sl_clock_now() + limit_ns;
	struct pollfd p = {.fd = sl_link_fd(l), .events = POLLOUT};

	for (;;) {
		bool empty = false;
		sl_status st = sl_link_flush(l, &empty);

		if (st == SL_OK && empty)
			return SL_OK;
		if (st != SL_OK && st != SL_E_BUSY)
			return st;
		if (sl_clock_now() > end)
			return SL_FAIL(SL_E_BUSY, "the daemon does not read");
		(void)poll(&p, 1, 10);
	}
}

static sl_status answer(struct sl_client *c, struct sl_link *l, struct sl_msg *out)
{
	sl_status st;

	do {
		st = sl_link_get(l, out, SL_CLIENT_ANSWER_NS);
	} while (st == SL_E_INTERRUPTED && !(c->opts.stop != NULL && *c->opts.stop != 0));
	return st;
}

static sl_status hello(struct sl_client *c, struct sl_link *l)
{
	struct sl_msg m = {.number = SL_MSG_HELLO, .seq = 1};

	m.u.hello.magic = SL_WIRE_MAGIC;
	m.u.hello.version = SL_WIRE_VERSION;
	sl_wire_text(m.u.hello.program, sizeof(m.u.hello.program),
		c->opts.program != NULL ? c->opts.program : "sluice");
	SL_TRY(sl_link_send(l, &m));
	SL_TRY(sl_client_flush(l, SL_CLIENT_ANSWER_NS));
	SL_TRY(answer(c, l, &m));
	if (m.number == SL_MSG_ERROR)
		return SL_FAIL(SL_E_LOST, "the daemon at %s says: %.400s", c->path,
			m.u.error.text);
	if (m.number != SL_MSG_WELCOME || m.u.welcome.version != SL_WIRE_VERSION)
		return SL_FAIL(SL_E_LOST,
			"the daemon at %s is of another version; restart it", c->path);
	return SL_OK;
}

sl_status sl_client_shake(struct sl_client *c, struct sl_link **out)
{
	struct sl_link *l = NULL;
	sl_status st;
	int fd = -1;

	SL_TRY(sl_client_dial(c->path, &fd));
	SL_TRY(sl_link_create(fd, &l));
	st = hello(c, l);
	if (st == SL_OK) {
		*out = l;
		return SL_OK;
	}
	sl_link_destroy(l);
	return st;
}

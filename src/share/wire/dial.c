/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon listens, and a connection to it. */
#include "share/wire/dial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"

#define TAIL "/sluice/daemon.sock"

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == SL_DAEMON_PATH,
	"a socket's path has its size");

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

static sl_status compose(const char *folder, const char *tail, char out[SL_DAEMON_PATH])
{
	int n = snprintf(out, SL_DAEMON_PATH, "%s%s", folder, tail);

	if (n < 0 || n >= SL_DAEMON_PATH)
		return SL_FAIL(SL_E_USAGE,
			"the socket's path %.40s... is longer than %d bytes; choose a "
			"shorter one with --socket",
			folder, SL_DAEMON_PATH - 1);
	return SL_OK;
}

sl_status sl_daemon_path(const char *given, char out[SL_DAEMON_PATH])
{
	const char *folder = geteuid() != 0 ? variable("XDG_RUNTIME_DIR") : NULL;

	if (given == NULL)
		given = variable("SLUICE_SOCKET");
	if (given != NULL)
		return compose(given, "", out);
	if (folder != NULL) {
		SL_TRY(compose(folder, TAIL, out));
		/* The machine's own daemon serves those who started none. */
		if (access(out, F_OK) == 0 || access("/run" TAIL, F_OK) != 0)
			return SL_OK;
	}
	return compose("/run", TAIL, out);
}

sl_status sl_wire_dial(const char *path, int *out_fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd, err;

	if (len >= sizeof(name.sun_path))
		return SL_FAIL(SL_E_USAGE, "the socket's path is longer than %zu bytes",
			sizeof(name.sun_path) - 1);
	memcpy(name.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return SL_FAIL(SL_E_NOMEM, "no socket is to be had: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0) {
		*out_fd = fd;
		return SL_OK;
	}
	err = errno;
	sl_fs_close(fd);
	if (err == EACCES || err == EPERM)
		return SL_FAIL(SL_E_LOST,
			"you may not use the daemon at %s; its owner, its group and root "
			"may (ls -l %s)",
			path, path);
	return SL_FAIL(SL_E_LOST,
		"no daemon answers at %s (%s); start one with `sluiced --budget SIZE`, "
		"or "
		"say where it listens with --socket PATH or SLUICE_SOCKET",
		path, strerror(err));
}

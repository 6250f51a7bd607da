/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket's file: one daemon a path, known by a lock beside it, so that a file left by
 * a dead one is in nobody's way. Sockets and news of a service manager (systemd's
 * sd_listen_fds(3) and sd_notify(3)), by hand.
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"

#define FIRST_PASSED_FD 3
#define BACKLOG 1024
#define ACCEPTS 64 /* a round */
#define ACCEPT_AGAIN_NS ((sl_ns)100 * 1000000)
#define PATH_MOST 512

static bool address(struct sockaddr_un *a, socklen_t *len, const char *path)
{
	size_t n = strlen(path);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n == 0 || n >= sizeof(a->sun_path))
		return false;
	memcpy(a->sun_path, path, n);
	if (path[0] == '@')
		a->sun_path[0] = '\0';
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
			   (path[0] == '@' ? 0 : 1));
	return true;
}

void sl_srv_notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a;
	socklen_t len;
	int fd;

	if (!path || !address(&a, &len, path))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a, len);
	(void)close(fd);
}

void sl_srv_watchdog(struct sl_serve *s)
{
	if (s->watchdog_ns == 0 || s->now_ns < s->next_watchdog_ns)
		return;
	s->next_watchdog_ns = s->now_ns + s->watchdog_ns;
	sl_srv_notify("WATCHDOG=1");
}

/* Twice as often as the service manager wants to hear. */
static void find_watchdog(struct sl_serve *s)
{
	const char *text = getenv("WATCHDOG_USEC");
	uint64_t usec;

	if (text && sl_u64_parse(text, &usec) == SL_OK && usec > 0 &&
		usec < UINT64_C(1) << 40)
		s->watchdog_ns = (sl_ns)usec * 500;
}

static void make_folder(const char *path)
{
	char folder[PATH_MOST];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path || (size_t)(slash - path) >= sizeof(folder))
		return;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	(void)mkdir(folder, 0755);
}

static sl_status lock(struct sl_serve *s)
{
	char path[PATH_MOST], pid[32] = "";
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s.lock", s->config->socket);
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (s->lock_fd < 0)
		return SL_FAIL(SL_E_WRITE,
			"cannot make %s: %s; give --socket in a folder that is yours",
			path, strerror(errno));
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB)) {
		n = pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[n > 0 ? n : 0] = '\0';
		pid[strcspn(pid, "\n")] = '\0';
		return SL_FAIL(SL_E_BUSY,
			"another daemon, process %s, has %s; end it or give --socket",
			pid[0] != '\0' ? pid : "?", s->config->socket);
	}
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(s->lock_fd, 0) || pwrite(s->lock_fd, pid, (size_t)n, 0) != n)
		return SL_FAIL(SL_E_WRITE, "cannot write %s: %s", path, strerror(errno));
	return SL_OK;
}

/* A listening socket that was passed on; -1: none. */
static int passed_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	uint64_t value = 0;
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (!pid || !n || sl_u64_parse(pid, &value) != SL_OK ||
		value != (uint64_t)getpid() || sl_u64_parse(n, &value) != SL_OK ||
		value < 1)
		return -1;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	if (getsockopt(FIRST_PASSED_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) ||
		!listens)
		return -1;
	(void)fcntl(FIRST_PASSED_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(
		FIRST_PASSED_FD, F_SETFL, fcntl(FIRST_PASSED_FD, F_GETFL) | O_NONBLOCK);
	return FIRST_PASSED_FD;
}

static sl_status give_group(const char *path, const char *name)
{
	struct group g, *found = NULL;
	char text[4096];

	if (name[0] == '\0')
		return SL_OK;
	if (getgrnam_r(name, &g, text, sizeof(text), &found) || !found)
		return SL_FAIL(SL_E_USAGE, "group: there is no '%.40s'", name);
	if (chown(path, (uid_t)-1, g.gr_gid))
		return SL_FAIL(SL_E_WRITE, "cannot give %s to group %.40s: %s", path,
			name, strerror(errno));
	return SL_OK;
}

sl_status sl_srv_sock_bind(struct sl_serve *s, const char *path, int *out_fd)
{
	struct sockaddr_un a;
	struct stat info;
	socklen_t len;
	mode_t before;
	int fd, failed;

	if (!address(&a, &len, path))
		return SL_FAIL(SL_E_USAGE, "'%.60s' is no path for a socket", path);
	if (lstat(path, &info) == 0 && !S_ISSOCK(info.st_mode))
		return SL_FAIL(SL_E_USAGE, "%s is there and no socket", path);
	(void)unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return SL_FAIL(SL_E_IO, "no socket: %s", strerror(errno));
	before = umask(0117);
	failed = bind(fd, (struct sockaddr *)&a, len);
	(void)umask(before);
	if (failed || listen(fd, BACKLOG)) {
		sl_status st = SL_FAIL(
			SL_E_WRITE, "cannot listen at %s: %s", path, strerror(errno));

		sl_fs_close(fd);
		return st;
	}
	*out_fd = fd;
	return give_group(path, s->config->group);
}

static void on_listen(struct sl_serve *s, struct sl_srv_source *source, uint32_t events)
{
	struct epoll_event off = {.data.ptr = source};

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		struct ucred who = {.uid = (uid_t)-1};
		socklen_t len = sizeof(who);
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
				      errno == ENOBUFS)) {
			sl_srv_log_say(
				&s->log, "accept_waits", UINT32_MAX, strerror(errno));
			s->accept_ns = s->now_ns + ACCEPT_AGAIN_NS;
			(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, source->fd, &off);
			return;
		}
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len)) {
			(void)close(fd);
			continue;
		}
		if (sl_serve_adopt(s, fd, &who) != SL_OK)
			sl_srv_log_say(
				&s->log, "peer_refused", UINT32_MAX, sl_last_error());
	}
}

void sl_srv_sock_resume(struct sl_serve *s)
{
	struct epoll_event on = {.events = EPOLLIN, .data.ptr = &s->listen};

	if (s->accept_ns == 0 || s->now_ns < s->accept_ns)
		return;
	s->accept_ns = 0;
	(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, s->listen.fd, &on);
}

sl_status sl_srv_sock_open(struct sl_serve *s)
{
	find_watchdog(s);
	make_folder(s->config->socket);
	SL_TRY(lock(s));
	s->listen = (struct sl_srv_source){.fd = passed_socket(), .on = on_listen};
	if (s->listen.fd < 0) {
		s->bound = true;
		SL_TRY(sl_srv_sock_bind(s, s->config->socket, &s->listen.fd));
	}
	return sl_srv_watch(s, &s->listen, EPOLLIN);
}

void sl_srv_sock_close(struct sl_serve *s)
{
	if (s->bound && s->listen.fd >= 0)
		(void)unlink(s->config->socket);
	sl_srv_unwatch(s, &s->listen);
	sl_fs_close(s->lock_fd);
	s->lock_fd = -1;
}

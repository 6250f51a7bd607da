/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of others, run to their end. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The C library wants pointers that it never writes through. */
union words {
	const char *const *given;
	char *const *wanted;
};

static sl_status spawn(const char *const *argv, pid_t *out)
{
	posix_spawn_file_actions_t a;
	union words words = {.given = argv};
	int failed = posix_spawn_file_actions_init(&a);

	if (failed)
		return SL_FAIL(SL_E_NOMEM, "%s cannot be started: %s", argv[0],
			strerror(failed));
	for (int fd = 0; fd < 3 && !failed; fd++)
		failed = posix_spawn_file_actions_addopen(
			&a, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
	if (!failed)
		failed = posix_spawnp(out, argv[0], &a, NULL, words.wanted, environ);
	(void)posix_spawn_file_actions_destroy(&a);
	if (failed == ENOENT)
		return SL_FAIL(SL_E_NOT_FOUND, "there is no program %s", argv[0]);
	if (failed)
		return SL_FAIL(
			SL_E_IO, "%s cannot be started: %s", argv[0], strerror(failed));
	return SL_OK;
}

/* Whether it has ended in time; if not, it has now. */
static bool await(pid_t pid, unsigned seconds)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int n = -1;

	if (p.fd < 0)
		return true; /* an old kernel: without patience */
	do {
		n = poll(&p, 1, seconds > 1000000 ? -1 : (int)seconds * 1000);
	} while (n < 0 && errno == EINTR);
	(void)close(p.fd);
	if (n > 0)
		return true;
	(void)kill(pid, SIGKILL);
	return false;
}

sl_status sl_child_run(const char *const *argv, unsigned seconds, int *out_code)
{
	pid_t pid = 0;
	int status = 0;
	bool in_time;

	SL_TRY(spawn(argv, &pid));
	in_time = await(pid, seconds);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		return SL_FAIL(SL_E_LIMIT, "%s took longer than %u s and was ended",
			argv[0], seconds);
	if (!WIFEXITED(status))
		return SL_FAIL(SL_E_IO, "%s was ended by a signal", argv[0]);
	*out_code = WEXITSTATUS(status);
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SIGBUS that is nobody's window. */
#include "harness/harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/shared.h"
#include "device/window.h"

#define PAGE ((size_t)SL_SHARED_PAGE)
#define FORMER_SAW 42

static void on_former(int signo)
{
	(void)signo;
	_exit(FORMER_SAW);
}

static uint8_t *map_shrunk(void)
{
	uint8_t *p;
	int fd;

	sl_assert_ok(sl_shared_create(PAGE, "test", &fd));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	sl_assert_ok(sl_shared_revoke(fd));
	sl_fs_close(fd);
	return p;
}

/* Touches memory that is gone and no window's, in a process that has a window. */
static int status_of_a_fault_outside(const struct sigaction *former)
{
	struct sl_window *w;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)sigaction(SIGBUS, former, NULL);
		if (sl_window_create(PAGE, &w) != SL_OK)
			_exit(1);
		*(volatile uint8_t *)map_shrunk() = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_fault_elsewhere_goes_to_the_former_handler(void **state)
{
	struct sigaction former = {.sa_handler = on_former};
	int status;

	(void)state;
	status = status_of_a_fault_outside(&former);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FORMER_SAW);
	former.sa_handler = SIG_DFL;
	status = status_of_a_fault_outside(&former);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	former.sa_handler = SIG_IGN;
	status = status_of_a_fault_outside(&former);
	assert_true(WIFSIGNALED(status));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_fault_elsewhere_goes_to_the_former_handler),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

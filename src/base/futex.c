/* SPDX-License-Identifier: Apache-2.0 */
/* Linux futexes, which the C library has no call for. */
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"

#define SECOND ((sl_ns)1000000000)

_Static_assert(sizeof(struct sl_atom32) == 4, "a futex is 32 bits");

static long sys_wait(
	struct sl_atom32 *word, uint32_t expected, const struct timespec *timeout)
{
	return sl_fs_injected() ? -1
				: syscall(SYS_futex, &word->v, FUTEX_WAIT, expected,
					  timeout, NULL, 0);
}

sl_status sl_futex_wait(struct sl_atom32 *word, uint32_t expected, sl_ns timeout_ns)
{
	struct timespec t = {
		.tv_sec = timeout_ns / SECOND, .tv_nsec = timeout_ns % SECOND};

	if (sys_wait(word, expected, timeout_ns < 0 ? NULL : &t) == 0 ||
		errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT)
		return SL_OK;
	return SL_FAIL(
		SL_E_INVALID, "cannot wait for a shared word: %s", strerror(errno));
}

int sl_futex_wake(struct sl_atom32 *word, int most)
{
	long n = syscall(SYS_futex, &word->v, FUTEX_WAKE, most, NULL, NULL, 0);

	return n < 0 ? 0 : (int)n;
}

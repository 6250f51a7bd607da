/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the CPU device that other processes use. */
#include "device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

#define MUST (SL_MEMFD_GROW | SL_MEMFD_SEAL)
/* A shrink seal would make it irrevocable. */
#define NEVER (SL_MEMFD_SHRINK | SL_MEMFD_WRITE)

static int sys_punch(int fd, uint64_t offset, uint64_t bytes)
{
	int r;

	if (sl_fs_injected())
		return -1;
	do
		r = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)offset, (off_t)bytes);
	while (r && errno == EINTR);
	return r;
}

static int sys_cut(int fd, uint64_t bytes)
{
	return sl_fs_injected() ? -1 : ftruncate(fd, (off_t)bytes);
}

sl_status sl_shared_create(uint64_t bytes, const char *name, int *out_fd)
{
	sl_status st;
	int fd = -1;

	if (bytes == 0 || bytes % SL_SHARED_PAGE != 0)
		return SL_FAIL(SL_E_INVALID,
			"%s: %llu bytes of shared memory; a multiple of %u above 0 is "
			"wanted",
			name, (unsigned long long)bytes, SL_SHARED_PAGE);
	SL_TRY(sl_memfd_create(name, bytes, &fd));
	st = sl_memfd_seal(fd, MUST);
	if (st != SL_OK)
		sl_fs_close(fd);
	else
		*out_fd = fd;
	return st;
}

sl_status sl_shared_scrub(int fd, uint64_t offset, uint64_t bytes)
{
	if (bytes == 0)
		return SL_OK;
	if (offset % SL_SHARED_PAGE != 0 || bytes % SL_SHARED_PAGE != 0 ||
		bytes > (uint64_t)INT64_MAX || offset > (uint64_t)INT64_MAX - bytes)
		return SL_FAIL(SL_E_INVALID, "%llu bytes at %llu are not whole pages",
			(unsigned long long)bytes, (unsigned long long)offset);
	if (sys_punch(fd, offset, bytes))
		return SL_FAIL(errno == ENOMEM ? SL_E_NOMEM : SL_E_IO,
			"cannot empty %llu bytes of shared memory: %s",
			(unsigned long long)bytes, strerror(errno));
	return SL_OK;
}

sl_status sl_shared_trim(int fd, uint64_t bytes)
{
	if (bytes > (uint64_t)INT64_MAX || sys_cut(fd, bytes))
		return SL_FAIL(
			SL_E_IO, "cannot take shared memory away: %s", strerror(errno));
	return SL_OK;
}

sl_status sl_shared_revoke(int fd)
{
	return sl_shared_trim(fd, 0);
}

sl_status sl_shared_identity(int fd, struct sl_memfd_info *out)
{
	return sl_memfd_check(fd, MUST, NEVER, out);
}

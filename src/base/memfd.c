/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is handed from process to process, and proof of what was handed over. */
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fs.h"

/* Linux 6.3 on; older ones say EINVAL and make no difference. */
#define NOEXEC_SEAL 8u

_Static_assert(
	(int)SL_MEMFD_SEAL == F_SEAL_SEAL && (int)SL_MEMFD_SHRINK == F_SEAL_SHRINK &&
		(int)SL_MEMFD_GROW == F_SEAL_GROW && (int)SL_MEMFD_WRITE == F_SEAL_WRITE,
	"the seals are the system's");

static int sys_create(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd;

	if (sl_fs_injected())
		return -1;
	fd = memfd_create(name, flags | NOEXEC_SEAL);
	return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

static int sys_truncate(int fd, uint64_t bytes)
{
	return sl_fs_injected() ? -1 : ftruncate(fd, (off_t)bytes);
}

static int sys_add_seals(int fd, unsigned seals)
{
	return sl_fs_injected() ? -1 : fcntl(fd, F_ADD_SEALS, (int)seals);
}

sl_status sl_memfd_create(const char *name, uint64_t bytes, int *out_fd)
{
	int fd, err;

	if (bytes > (uint64_t)INT64_MAX)
		return SL_FAIL(SL_E_INVALID, "%s: %llu bytes are no size", name,
			(unsigned long long)bytes);
	fd = sys_create(name);
	if (fd < 0)
		return SL_FAIL(errno == ENOMEM ? SL_E_NOMEM : SL_E_IO,
			"%s: cannot create shared memory: %s; raise `ulimit -n`", name,
			strerror(errno));
	if (sys_truncate(fd, bytes)) {
		err = errno;
		sl_fs_close(fd);
		return SL_FAIL(SL_E_NOMEM,
			"%s: cannot give shared memory %llu bytes: %s; see `ulimit -f`",
			name, (unsigned long long)bytes, strerror(err));
	}
	*out_fd = fd;
	return SL_OK;
}

sl_status sl_memfd_seal(int fd, unsigned seals)
{
	if (sys_add_seals(fd, seals))
		return SL_FAIL(SL_E_IO, "cannot seal shared memory: %s", strerror(errno));
	return SL_OK;
}

sl_status sl_memfd_check(int fd, unsigned must, unsigned never, struct sl_memfd_info *out)
{
	struct stat s;
	struct statfs fs;
	int seals;

	/* First: a file of a file system that somebody wrote may never answer the rest.
	 */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 && errno == EINVAL)
		return SL_FAIL(SL_E_INVALID, "the descriptor is not shared memory");
	if (seals < 0 || sl_fs_injected() || fstat(fd, &s) || fstatfs(fd, &fs))
		return SL_FAIL(
			SL_E_IO, "cannot look at a descriptor: %s", strerror(errno));
	if (!S_ISREG(s.st_mode) || fs.f_type != TMPFS_MAGIC || seals < 0)
		return SL_FAIL(SL_E_INVALID, "the descriptor is not shared memory");
	if (((unsigned)seals & must) != must || ((unsigned)seals & never) != 0)
		return SL_FAIL(SL_E_INVALID,
			"the shared memory has seals %x, not all of %x or one of %x",
			(unsigned)seals, must, never);
	*out = (struct sl_memfd_info){.device = s.st_dev,
		.inode = s.st_ino,
		.bytes = (uint64_t)s.st_size,
		.held_bytes = (uint64_t)s.st_blocks * 512};
	return SL_OK;
}

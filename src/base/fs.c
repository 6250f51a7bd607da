/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, with messages a person can act on. Every call that may fail for the world's
 * reasons goes through a sys_ function, where a test can make it fail; clean-up calls,
 * which have nobody to report to, do not.
 *
 * Mutable state: the test switch and a counter for temporary names
 * (docs/adr/0014-test-switches.md).
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"

#define TEMP_TRIES 100
/* Linux moves at most this much in one call. */
#define IO_MAX ((size_t)0x7ffff000)

static atomic_long countdown;
static atomic_int fail_err;
static atomic_int delivered;
static atomic_uint temp_serial;

void sl_fs_fail_at(long n, int err)
{
	atomic_store(&delivered, 0);
	atomic_store(&fail_err, err);
	atomic_store(&countdown, n);
}

int sl_fs_failed(void)
{
	return atomic_load(&delivered);
}

bool sl_fs_injected(void)
{
	if (SL_LIKELY(atomic_load_explicit(&countdown, memory_order_relaxed) <= 0))
		return false;
	if (atomic_fetch_sub(&countdown, 1) != 1)
		return false;
	atomic_store(&delivered, 1);
	errno = atomic_load(&fail_err);
	return true;
}

static int sys_open(const char *path, int flags)
{
	int fd;

	if (sl_fs_injected())
		return -1;
	do
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static int sys_fstat(int fd, struct stat *out)
{
	return sl_fs_injected() ? -1 : fstat(fd, out);
}

static ssize_t sys_pread(int fd, void *data, size_t len, uint64_t offset)
{
	return sl_fs_injected() ? -1 : pread(fd, data, len, (off_t)offset);
}

static ssize_t sys_pwrite(int fd, const void *data, size_t len, uint64_t offset)
{
	return sl_fs_injected() ? -1 : pwrite(fd, data, len, (off_t)offset);
}

static int sys_fsync(int fd)
{
	return sl_fs_injected() ? -1 : fsync(fd);
}

/* Gives a file without a name one; the name of the descriptor itself needs no right. */
static int sys_link(int fd, const char *name)
{
	char self[32];

	if (sl_fs_injected())
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int sys_rename(const char *from, const char *to)
{
	return sl_fs_injected() ? -1 : rename(from, to);
}

static int sys_unlink(const char *path)
{
	return sl_fs_injected() ? -1 : unlink(path);
}

static int sys_statfs(const char *path, struct statfs *out)
{
	return sl_fs_injected() ? -1 : statfs(path, out);
}

static sl_status fail_files(const char *path, const char *what, int err)
{
	return SL_FAIL(SL_E_IO, "%s: cannot %s: %s; raise `ulimit -n`", path, what,
		strerror(err));
}

static sl_status fail_read(const char *path, const char *what, int err)
{
	if (err == EMFILE || err == ENFILE)
		return fail_files(path, what, err);
	if (err == ENOENT || err == ENOTDIR)
		return SL_FAIL(SL_E_NOT_FOUND, "%s: cannot %s: %s; check the path", path,
			what, strerror(err));
	if (err == EACCES || err == EPERM || err == EISDIR || err == EINVAL ||
		err == ELOOP || err == ENAMETOOLONG)
		return SL_FAIL(SL_E_READ,
			"%s: cannot %s: %s; check that it is a file and that "
			"you may read it",
			path, what, strerror(err));
	if (err == ENOMEM)
		return SL_FAIL(
			SL_E_NOMEM, "%s: cannot %s: %s", path, what, strerror(err));
	return SL_FAIL(
		SL_E_IO, "%s: cannot %s: %s; check the disk", path, what, strerror(err));
}

static sl_status fail_write(const char *path, const char *what, int err)
{
	static const int denied[] = {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ELOOP,
		ENAMETOOLONG, EINVAL, ETXTBSY};

	if (err == ENOSPC || err == EDQUOT)
		return SL_FAIL(SL_E_NOSPACE,
			"%s: cannot %s: %s; free space or choose another "
			"folder",
			path, what, strerror(err));
	if (err == EFBIG)
		return SL_FAIL(SL_E_NOSPACE,
			"%s: cannot %s: %s; raise `ulimit -f` or choose another file "
			"system",
			path, what, strerror(err));
	if (err == EMFILE || err == ENFILE)
		return fail_files(path, what, err);
	if (err == ENOMEM)
		return SL_FAIL(
			SL_E_NOMEM, "%s: cannot %s: %s", path, what, strerror(err));
	for (size_t i = 0; i < SL_COUNT(denied); i++)
		if (err == denied[i])
			return SL_FAIL(SL_E_WRITE,
				"%s: cannot %s: %s; check that the folder "
				"exists and that you may write there",
				path, what, strerror(err));
	return SL_FAIL(
		SL_E_IO, "%s: cannot %s: %s; check the disk", path, what, strerror(err));
}

void sl_fs_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

sl_status sl_fs_open(const char *path, int *out_fd, uint64_t *out_size)
{
	struct stat info;
	/* Without O_NONBLOCK a FIFO would hang here instead of being refused. */
	int fd = sys_open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return fail_read(path, "open", errno);
	if (sys_fstat(fd, &info) != 0) {
		int err = errno;
		sl_fs_close(fd);
		return fail_read(path, "look at", err);
	}
	if (!S_ISREG(info.st_mode)) {
		sl_fs_close(fd);
		return SL_FAIL(SL_E_READ, "%s: not a regular file%s; name a file", path,
			S_ISDIR(info.st_mode) ? " but a folder" : "");
	}
	*out_fd = fd;
	if (out_size)
		*out_size = (uint64_t)info.st_size;
	return SL_OK;
}

sl_status sl_fs_pread(int fd, const char *path, void *data, size_t len, uint64_t offset)
{
	unsigned char *p = data;
	size_t done = 0;

	while (done < len) {
		size_t want = len - done < IO_MAX ? len - done : IO_MAX;
		ssize_t got = sys_pread(fd, p + done, want, offset + done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_read(path, "read", errno);
		if (got == 0)
			return SL_FAIL(SL_E_READ,
				"%s: ends at byte %llu, %zu more were wanted; "
				"is it cut short?",
				path, (unsigned long long)(offset + done), len - done);
		done += (size_t)got;
	}
	return SL_OK;
}

sl_status sl_fs_pwrite(
	int fd, const char *path, const void *data, size_t len, uint64_t offset)
{
	const unsigned char *p = data;
	size_t done = 0;

	while (done < len) {
		size_t want = len - done < IO_MAX ? len - done : IO_MAX;
		ssize_t put = sys_pwrite(fd, p + done, want, offset + done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return fail_write(path, "write", put < 0 ? errno : EIO);
		done += (size_t)put;
	}
	return SL_OK;
}

sl_status sl_fs_read(const char *path, size_t max, struct sl_buf *out)
{
	sl_status st = SL_OK;
	char *data = NULL;
	uint64_t size = 0;
	int fd = -1;

	SL_TRY_OUT(sl_fs_open(path, &fd, &size));
	if (size > max || size > out->max) {
		st = SL_FAIL(SL_E_LIMIT, "%s: %llu bytes, over the limit of %zu", path,
			(unsigned long long)size, max < out->max ? max : out->max);
		goto out;
	}
	data = sl_alloc((size_t)size + 1);
	if (!data) {
		st = SL_FAIL(SL_E_NOMEM, "%s: no host memory for its %llu bytes", path,
			(unsigned long long)size);
		goto out;
	}
	SL_TRY_OUT(sl_fs_pread(fd, path, data, (size_t)size, 0));
	data[size] = '\0';
	sl_buf_finish(out);
	out->data = data;
	out->len = (size_t)size;
	out->cap = (size_t)size + 1;
	data = NULL;
out:
	sl_free(data);
	sl_fs_close(fd);
	return st;
}

bool sl_fs_is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folder a path lies in; NULL: no memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return sl_strdup(".");
	char *folder = sl_strdup(path);
	if (folder)
		folder[slash == path ? 1 : slash - path] = '\0';
	return folder;
}

/*
 * Makes or, with a descriptor in *fd, names a file beside `path`, under a name nobody
 * has; *out is the caller's. The name is short, so that only path itself can be too long.
 */
static sl_status temp_name(const char *path, int *fd, char **out)
{
	char *folder = folder_of(path);
	size_t size = folder ? strlen(folder) + 48 : 0;
	char *name = folder ? sl_alloc(size) : NULL;
	int rc = -1;

	for (int i = 0; name && i < TEMP_TRIES; i++) {
		snprintf(name, size, "%s/.sluice-%ld-%u.tmp", folder, (long)getpid(),
			atomic_fetch_add(&temp_serial, 1));
		rc = *fd >= 0 ? sys_link(*fd, name)
			      : sys_open(name, O_RDWR | O_CREAT | O_EXCL);
		if (rc >= 0 || errno != EEXIST)
			break;
	}
	int err = name ? errno : ENOMEM;
	sl_free(folder);
	if (rc < 0) {
		sl_free(name);
		return fail_write(path, "create", err);
	}
	if (*fd < 0)
		*fd = rc;
	*out = name;
	return SL_OK;
}

/* Whether a file without a name could get one later: /proc is mounted. */
static bool may_be_named(int fd)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return access(self, F_OK) == 0;
}

/* The folder's file system has no files without names. */
static bool no_nameless(int err)
{
	return err == EOPNOTSUPP || err == EISDIR || err == EINVAL;
}

/* A file beside `path`, without a name where that is possible. */
static sl_status create_beside(const char *path, struct sl_fs_new *f)
{
	char *folder = folder_of(path);

	if (!folder)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its name", path);
	f->fd = sys_open(folder, O_RDWR | O_TMPFILE);
	int err = errno;
	sl_free(folder);
	if (f->fd < 0 && !no_nameless(err))
		return fail_write(path, "create", err);
	if (f->fd >= 0 && may_be_named(f->fd))
		return SL_OK;
	sl_fs_close(f->fd);
	f->fd = -1;
	return temp_name(path, &f->fd, &f->temp);
}

/* Renaming over a device, a pipe or a file that is kept from writing would replace it. */
static sl_status check_target(const char *path)
{
	struct stat info;

	if (stat(path, &info) != 0)
		return errno == ENOENT ? SL_OK : fail_write(path, "create", errno);
	if (!S_ISREG(info.st_mode))
		return SL_FAIL(SL_E_WRITE,
			"%s: exists and is not a regular file; choose another "
			"name",
			path);
	return access(path, W_OK) == 0 ? SL_OK : fail_write(path, "write", errno);
}

sl_status sl_fs_new_begin(const char *path, struct sl_fs_new *out)
{
	struct sl_fs_new f = {.fd = -1};

	SL_TRY(check_target(path));
	f.path = sl_strdup(path);
	if (!f.path)
		return SL_FAIL(SL_E_NOMEM, "%s: no host memory for its name", path);
	sl_status st = create_beside(path, &f);
	if (st != SL_OK) {
		sl_free(f.path);
		return st;
	}
	*out = f;
	return SL_OK;
}

void sl_fs_new_cancel(struct sl_fs_new *f)
{
	sl_fs_close(f->fd);
	if (f->temp)
		unlink(f->temp);
	sl_free(f->temp);
	sl_free(f->path);
	*f = (struct sl_fs_new){.fd = -1};
}

static sl_status sync_folder(const char *path)
{
	sl_status st = SL_OK;
	char *folder = folder_of(path);

	if (!folder)
		return SL_FAIL(
			SL_E_NOMEM, "%s: no host memory for its folder's name", path);
	int fd = sys_open(folder, O_RDONLY | O_DIRECTORY);
	/* Some file systems cannot sync a folder and say EINVAL; a lasting rename is
	 * theirs. */
	if (fd < 0 || (sys_fsync(fd) != 0 && errno != EINVAL))
		st = fail_write(folder, "sync the folder", errno);
	sl_fs_close(fd);
	sl_free(folder);
	return st;
}

sl_status sl_fs_new_commit(struct sl_fs_new *f)
{
	sl_status st = SL_OK;

	if (sys_fsync(f->fd) != 0) {
		st = fail_write(f->path, "sync", errno);
		goto out;
	}
	if (!f->temp)
		SL_TRY_OUT(temp_name(f->path, &f->fd, &f->temp));
	if (sys_rename(f->temp, f->path) != 0) {
		st = fail_write(f->path, "rename into place", errno);
		goto out;
	}
	sl_free(f->temp);
	f->temp = NULL; /* the name is gone: nothing to unlink */
	st = sync_folder(f->path);
out:
	sl_fs_new_cancel(f);
	return st;
}

sl_status sl_fs_write(const char *path, const void *data, size_t len)
{
	struct sl_fs_new f = {.fd = -1};

	SL_TRY(sl_fs_new_begin(path, &f));
	sl_status st = sl_fs_pwrite(f.fd, path, data, len, 0);
	if (st != SL_OK) {
		sl_fs_new_cancel(&f);
		return st;
	}
	return sl_fs_new_commit(&f);
}

/* For file systems without O_TMPFILE. */
static sl_status scratch_by_name(const char *folder, int *out_fd)
{
	struct sl_buf stem = SL_BUF_INIT;
	char *name = NULL;
	int fd = -1;

	sl_status st = sl_buf_printf(&stem, "%s/sluice-scratch", folder);
	if (st == SL_OK)
		st = temp_name(sl_buf_text(&stem), &fd, &name);
	if (st == SL_OK && sys_unlink(name) != 0) {
		st = fail_write(folder, "unlink a scratch file", errno);
		unlink(name);
		sl_fs_close(fd);
	}
	if (st == SL_OK)
		*out_fd = fd;
	sl_free(name);
	sl_buf_finish(&stem);
	return st;
}

sl_status sl_fs_scratch(const char *folder, int *out_fd)
{
	if (!sl_fs_is_folder(folder))
		return SL_FAIL(
			SL_E_WRITE, "%s: not a folder; name one that exists", folder);
	int fd = sys_open(folder, O_RDWR | O_TMPFILE | O_EXCL);
	if (fd < 0 && no_nameless(errno))
		return scratch_by_name(folder, out_fd);
	if (fd < 0)
		return fail_write(folder, "make a scratch file", errno);
	*out_fd = fd;
	return SL_OK;
}

sl_status sl_fs_is_ram(const char *folder, bool *out)
{
	struct statfs info;

	if (sys_statfs(folder, &info) != 0)
		return fail_read(folder, "look at the file system", errno);
	*out = info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_FS_H
#define SL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sluice/status.h"

/*
 * Files. Every message names the path, what failed and what to try. Missing:
 * SL_E_NOT_FOUND; unreadable: SL_E_READ; not writable: SL_E_WRITE; ENOSPC or EDQUOT:
 * SL_E_NOSPACE; other: SL_E_IO.
 */

/* Reads a whole regular file of at most max bytes. */
SL_NODISCARD sl_status sl_fs_read(const char *path, size_t max, struct sl_buf *out);
/* Opens a regular file for reading; size may be NULL. */
SL_NODISCARD sl_status sl_fs_open(const char *path, int *out_fd, uint64_t *out_size);
/* All of [offset, offset + len), or a failure; short reads and EINTR are continued. */
SL_NODISCARD sl_status sl_fs_pread(
	int fd, const char *path, void *data, size_t len, uint64_t offset);
SL_NODISCARD sl_status sl_fs_pwrite(
	int fd, const char *path, const void *data, size_t len, uint64_t offset);

/*
 * A file that appears whole or not at all: written without a name (where the file system
 * has no such files: under a temporary one) in the same folder, fsynced, named, renamed
 * over the old one, folder fsynced. A process that is killed while it writes leaves
 * nothing. cancel removes it; both calls end the object.
 */
struct sl_fs_new {
	int fd;
	char *path;
	char *temp; /* NULL: it has no name yet */
};
SL_NODISCARD sl_status sl_fs_new_begin(const char *path, struct sl_fs_new *out);
SL_NODISCARD sl_status sl_fs_new_commit(struct sl_fs_new *f);
void sl_fs_new_cancel(struct sl_fs_new *f);
SL_NODISCARD sl_status sl_fs_write(const char *path, const void *data, size_t len);

/* An unlinked file in `folder`, closed by close(). */
SL_NODISCARD sl_status sl_fs_scratch(const char *folder, int *out_fd);
/* Whether the folder lies on a RAM file system (tmpfs, ramfs). */
SL_NODISCARD sl_status sl_fs_is_ram(const char *folder, bool *out);
bool sl_fs_is_folder(const char *path);
void sl_fs_close(int fd); /* -1 is fine */

/* Test switch: the n-th system call of these from now fails with `err` (0 = never).
 */
void sl_fs_fail_at(long n, int err);
int sl_fs_failed(void);
/* For other files that make system calls: true, with errno set, if this one is to fail.
 */
bool sl_fs_injected(void);

#endif

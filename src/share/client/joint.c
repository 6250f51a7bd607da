/* SPDX-License-Identifier: Apache-2.0 */
/* Traces out, and plans in that were made for several jobs together. */
#include "base/buf.h"
#include "base/fs.h"
#include "base/memfd.h"
#include "share/client/client_int.h"

#define SEALS (SL_MEMFD_SHRINK | SL_MEMFD_GROW | SL_MEMFD_WRITE)
#define PLAN_MOST ((size_t)256 << 20)
#define PIECE 65536

void sl_client_say_trace_locked(struct sl_client *c)
{
	struct sl_msg m = {.number = SL_MSG_TRACE, .n_fds = 1, .fds = {c->trace_fd}};

	m.u.trace.bytes = c->trace_bytes;
	if (c->trace_fd >= 0)
		sl_client_say_locked(c, &m);
}

sl_status sl_client_trace(struct sl_client *c, const char *text, size_t len)
{
	sl_status st;
	int fd = -1;

	SL_TRY(sl_memfd_create("sluice-trace", len, &fd));
	SL_TRY_OUT(sl_fs_pwrite(fd, "trace", text, len, 0));
	SL_TRY_OUT(sl_memfd_seal(fd, SEALS));
	pthread_mutex_lock(&c->lock);
	sl_fs_close(c->trace_fd);
	c->trace_fd = fd;
	c->trace_bytes = len;
	sl_client_say_trace_locked(c);
	pthread_mutex_unlock(&c->lock);
	return SL_OK;
out:
	sl_fs_close(fd);
	return st;
}

bool sl_client_has_plan(const struct sl_client *c)
{
	return sl_atom32_load(&c->plan_here) != 0;
}

static sl_status read_all(int fd, uint64_t bytes, struct sl_buf *out)
{
	struct sl_memfd_info info;
	char piece[PIECE];

	SL_TRY(sl_memfd_check(fd, SEALS, 0, &info));
	if (bytes > info.bytes || bytes > PLAN_MOST)
		return SL_FAIL(
			SL_E_LIMIT, "a plan of %llu bytes", (unsigned long long)bytes);
	for (uint64_t at = 0; at < bytes; at += PIECE) {
		size_t len = (size_t)(bytes - at < PIECE ? bytes - at : PIECE);

		SL_TRY(sl_fs_pread(fd, "plan", piece, len, at));
		SL_TRY(sl_buf_append(out, piece, len));
	}
	return SL_OK;
}

sl_status sl_client_take_plan(struct sl_client *c, struct sl_buf *out)
{
	uint64_t bytes;
	sl_status st;
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = c->plan_fd;
	bytes = c->plan_bytes;
	c->plan_fd = -1;
	sl_atom32_store(&c->plan_here, 0);
	pthread_mutex_unlock(&c->lock);
	st = fd >= 0 ? read_all(fd, bytes, out)
		     : SL_FAIL(SL_E_INVALID, "a plan comes with a descriptor");
	sl_fs_close(fd);
	return st;
}

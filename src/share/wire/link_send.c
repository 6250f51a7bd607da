/* SPDX-License-Identifier: Apache-2.0 */
/* The sending half of a link: a buffer, and duplicates of descriptors until they went. */
#include "share/wire/link_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"

/* A place for a frame's descriptors, duplicated. */
static sl_status hold_rights(struct sl_link *l, const struct sl_msg *m)
{
	struct sl_link_rights r = {.at = l->flushed + l->out.len, .fds = {-1, -1, -1}};
	void *rights = l->rights;

	if (l->n_rights == SL_LINK_FRAMES_WITH_FDS)
		return SL_FAIL(SL_E_LIMIT, "%d messages with descriptors wait already",
			SL_LINK_FRAMES_WITH_FDS);
	if (sl_grow(&rights, &l->cap_rights, l->n_rights + 1, sizeof(r),
		    SL_LINK_FRAMES_WITH_FDS) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory to queue descriptors");
	l->rights = rights;
	for (; r.n < m->n_fds; r.n++) {
		r.fds[r.n] = fcntl(m->fds[r.n], F_DUPFD_CLOEXEC, 3);
		if (r.fds[r.n] < 0) {
			int err = errno;

			sl_link_close_fds(r.fds, r.n);
			return SL_FAIL(err == EBADF ? SL_E_INVALID : SL_E_NOMEM,
				"descriptor %d cannot be sent: %s", m->fds[r.n],
				strerror(err));
		}
	}
	l->rights[l->n_rights++] = r;
	return SL_OK;
}

static void drop_last_rights(struct sl_link *l)
{
	l->n_rights--;
	sl_link_close_fds(l->rights[l->n_rights].fds, l->rights[l->n_rights].n);
}

sl_status sl_link_send(struct sl_link *l, const struct sl_msg *m)
{
	sl_status st;

	if (m->n_fds > SL_WIRE_FDS)
		return SL_FAIL(SL_E_INVALID, "%u descriptors are too many for a message",
			m->n_fds);
	if (m->n_fds > 0)
		SL_TRY(hold_rights(l, m));
	st = sl_wire_encode(m, &l->out);
	if (st != SL_OK && m->n_fds > 0)
		drop_last_rights(l);
	return st;
}

/* The next piece: up to where other descriptors begin. */
static size_t piece_end(const struct sl_link *l, const struct sl_link_rights **with)
{
	size_t next = l->first;

	*with = NULL;
	if (next < l->n_rights && l->rights[next].at == l->flushed + l->sent)
		*with = &l->rights[next++];
	return next < l->n_rights ? (size_t)(l->rights[next].at - l->flushed)
				  : l->out.len;
}

static ssize_t send_piece(struct sl_link *l)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SL_WIRE_FDS * sizeof(int))];
	} control = {0};
	const struct sl_link_rights *with;
	size_t end = piece_end(l, &with);
	struct iovec piece = {l->out.data + l->sent, end - l->sent};
	struct msghdr h = {.msg_iov = &piece, .msg_iovlen = 1};
	ssize_t n;

	if (with != NULL) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(with->n * sizeof(int));
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(with->n * sizeof(int))};
		memcpy(CMSG_DATA(&control.align), with->fds, with->n * sizeof(int));
	}
	n = sendmsg(l->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0 && with != NULL) {
		sl_link_close_fds(l->rights[l->first].fds, with->n);
		l->first++;
	}
	return n;
}

/* What was sent makes room. */
static void compact(struct sl_link *l)
{
	if (l->first > 0) {
		l->n_rights -= l->first;
		memmove(l->rights, l->rights + l->first,
			l->n_rights * sizeof(*l->rights));
		l->first = 0;
	}
	if (l->sent > 0) {
		l->out.len -= l->sent;
		memmove(l->out.data, l->out.data + l->sent, l->out.len);
		l->out.data[l->out.len] = '\0';
		l->flushed += l->sent;
		l->sent = 0;
	}
	if (l->out.len == 0 && l->out.cap > SL_LINK_SPARE)
		sl_buf_finish(&l->out);
}

static sl_status flush_fail(int err)
{
	if (err == EAGAIN || err == EWOULDBLOCK)
		return SL_OK;
	if (err == ETOOMANYREFS || err == ENOBUFS || err == ENOMEM)
		return SL_FAIL(SL_E_BUSY, "the system cannot take a message now: %s",
			strerror(err));
	return SL_FAIL(SL_E_LOST, "the peer is gone: %s", strerror(err));
}

sl_status sl_link_flush(struct sl_link *l, bool *out_empty)
{
	sl_status st = SL_OK;
	ssize_t n;

	while (l->sent < l->out.len) {
		n = send_piece(l);
		if (n > 0)
			l->sent += (size_t)n;
		else if (errno != EINTR)
			break;
	}
	if (l->sent < l->out.len)
		st = flush_fail(errno);
	compact(l);
	*out_empty = l->out.len == 0;
	return st;
}

size_t sl_link_kept(const struct sl_link *l)
{
	return l->cap + l->out.cap;
}

size_t sl_link_queued(const struct sl_link *l)
{
	return l->out.len;
}

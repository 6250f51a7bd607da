/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket's end with buffers: the frames of it all and the receiving half; link_send.c
 * has the sending half.
 *
 * A stream socket delivers descriptors with the first byte of what they were sent with,
 * and a read never goes beyond that piece; so after a read the waiting descriptors belong
 * to frames that have at least begun. That is what surplus() leans on.
 */
#include "share/wire/link_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/fs.h"

#define READ_LEAST 4096 /* room before a read, where the most allows */
#define READS 64 /* in one call, so that no peer keeps the others waiting */

void sl_link_close_fds(int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sl_fs_close(fds[i]);
		fds[i] = -1;
	}
}

sl_status sl_link_create(int fd, struct sl_link **out)
{
	struct sl_link *l = sl_calloc(1, sizeof(*l));

	if (l == NULL) {
		sl_fs_close(fd);
		return SL_FAIL(SL_E_NOMEM, "no host memory for a connection");
	}
	*l = (struct sl_link){.fd = fd, .held = {-1, -1, -1}};
	sl_link_limit(l, SL_LINK_MOST, SL_LINK_MOST);
	*out = l;
	return SL_OK;
}

void sl_link_destroy(struct sl_link *l)
{
	if (l == NULL)
		return;
	for (size_t i = l->first; i < l->n_rights; i++)
		sl_link_close_fds(l->rights[i].fds, l->rights[i].n);
	sl_link_close_fds(l->waiting, l->n_waiting);
	sl_link_close_fds(l->held, SL_WIRE_FDS);
	sl_free(l->rights);
	sl_free(l->in);
	sl_buf_finish(&l->out);
	sl_fs_close(l->fd);
	sl_free(l);
}

void sl_link_limit(struct sl_link *l, size_t in_most, size_t out_most)
{
	l->in_most = in_most > SL_WIRE_HEAD ? in_most : SL_WIRE_HEAD;
	l->out.max = out_most;
}

void sl_link_take_memory_only(struct sl_link *l)
{
	l->memory_only = true;
}

bool sl_link_may_block(const struct sl_link *l)
{
	return !l->drained || l->n_waiting > 0;
}

int sl_link_fd(const struct sl_link *l)
{
	return l->fd;
}

/* Room for a read at the end of the buffer; *room 0: it is full. */
static sl_status make_room(struct sl_link *l, size_t *room)
{
	/* Kept bytes and one more frame: what next() refuses never fills the buffer. */
	size_t most = l->in_most + READ_LEAST;
	void *in = l->in;

	if (l->read > 0) {
		memmove(l->in, l->in + l->read, l->len - l->read);
		l->len -= l->read;
		l->read = 0;
	}
	if (l->cap - l->len < READ_LEAST && l->cap < most) {
		size_t need = l->len + READ_LEAST < most ? l->len + READ_LEAST : most;

		if (sl_grow(&in, &l->cap, need, 1, most) != 0)
			return SL_FAIL(
				SL_E_NOMEM, "no host memory for what a peer sends");
		l->in = in;
	}
	if (most > l->cap)
		most = l->cap;
	*room = most > l->len ? most - l->len : 0;
	return SL_OK;
}

/* Keeps the descriptors that came with a read; false: more than can belong to frames. */
static bool keep_rights(struct sl_link *l, struct msghdr *h)
{
	bool fits = (h->msg_flags & MSG_CTRUNC) == 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[SL_LINK_RIGHTS];

		/* The system makes one of all that come at once. */
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			l->n_waiting > SL_LINK_WAITING)
			continue;
		if (n > SL_LINK_RIGHTS)
			n = SL_LINK_RIGHTS;
		memcpy(fds, CMSG_DATA(c), n * sizeof(int));
		memcpy(l->waiting + l->n_waiting, fds, n * sizeof(int));
		l->n_waiting += (uint32_t)n;
		for (size_t i = 0; l->memory_only && i < n; i++)
			fits = fits && fcntl(fds[i], F_GET_SEALS) >= 0;
	}
	return fits && l->n_waiting <= SL_LINK_WAITING;
}

/* One read; *more: it may be worth another. */
static sl_status read_once(struct sl_link *l, bool *more)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SL_LINK_RIGHTS * sizeof(int))];
	} control;
	struct iovec piece = {0};
	struct msghdr h = {.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	*more = false;
	SL_TRY(make_room(l, &piece.iov_len));
	if (piece.iov_len == 0)
		return SL_OK;
	piece.iov_base = l->in + l->len;
	got = recvmsg(l->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && errno == EINTR) {
		*more = true;
		return SL_OK;
	}
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return SL_OK;
	if (got <= 0) {
		l->closed = true;
		l->drained = got == 0;
		return SL_OK;
	}
	l->len += (size_t)got;
	if (!keep_rights(l, &h)) {
		l->broken = true;
		return SL_FAIL(SL_E_FORMAT,
			"a peer sent descriptors that its messages do not have, or "
			"none is free here");
	}
	/* Unclaimed ones wait for next() to say whose they are. */
	*more = l->n_waiting == 0;
	return SL_OK;
}

sl_status sl_link_receive(struct sl_link *l, bool *out_closed)
{
	bool more = !l->closed && !l->broken;
	sl_status st = SL_OK;

	*out_closed = l->closed;
	if (l->broken)
		return SL_FAIL(SL_E_LOST, "the connection broke before");
	for (int i = 0; more && i < READS && st == SL_OK; i++)
		st = read_once(l, &more);
	*out_closed = l->closed;
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a link, for ends that have a thread to wait with. */
#include "share/wire/link_int.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

/* Milliseconds until the deadline, rounded up; -1: for ever. */
static int left_ms(sl_ns deadline)
{
	sl_ns left;

	if (deadline < 0)
		return -1;
	left = deadline - sl_clock_now();
	if (left <= 0)
		return 0;
	left = (left + 999999) / 1000000;
	return left > INT_MAX ? INT_MAX : (int)left;
}

static sl_ns deadline_of(sl_ns timeout_ns)
{
	return timeout_ns < 0 ? -1 : sl_clock_now() + timeout_ns;
}

static sl_status wait_for(struct sl_link *l, short events, sl_ns deadline)
{
	struct pollfd p = {.fd = l->fd, .events = events};
	int n = poll(&p, 1, left_ms(deadline));

	if (n > 0)
		return SL_OK;
	if (n == 0)
		return SL_FAIL(SL_E_BUSY, "the peer did not answer in time");
	if (errno == EINTR)
		return SL_FAIL(SL_E_INTERRUPTED, "interrupted");
	return SL_FAIL(SL_E_IO, "cannot wait for a peer: %s", strerror(errno));
}

sl_status sl_link_wait(struct sl_link *l, sl_ns timeout_ns)
{
	short events = sl_link_queued(l) > 0 ? POLLIN | POLLOUT : POLLIN;

	return wait_for(l, events, deadline_of(timeout_ns));
}

sl_status sl_link_put(struct sl_link *l, const struct sl_msg *m, sl_ns timeout_ns)
{
	sl_ns deadline = deadline_of(timeout_ns);
	bool empty;

	SL_TRY(sl_link_send(l, m));
	for (;;) {
		SL_TRY(sl_link_flush(l, &empty));
		if (empty)
			return SL_OK;
		SL_TRY(wait_for(l, POLLOUT, deadline));
	}
}

sl_status sl_link_get(struct sl_link *l, struct sl_msg *out, sl_ns timeout_ns)
{
	sl_ns deadline = deadline_of(timeout_ns);
	bool any, closed = false;

	for (;;) {
		sl_status st = sl_link_next(l, out, &any);

		if (st != SL_OK || any)
			return st;
		if (closed)
			return SL_FAIL(SL_E_LOST, "the peer hung up");
		SL_TRY(wait_for(l, POLLIN, deadline));
		SL_TRY(sl_link_receive(l, &closed));
	}
}

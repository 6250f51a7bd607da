/* SPDX-License-Identifier: Apache-2.0 */
/* The first words with the daemon. */
#include "share/client/client_int.h"

#include <poll.h>

#include "share/wire/dial.h"

sl_status sl_client_flush(struct sl_link *l, sl_ns limit_ns)
{
	sl_ns end = sl_clock_now() + limit_ns;
	struct pollfd p = {.fd = sl_link_fd(l), .events = POLLOUT};

	for (;;) {
		bool empty = false;
		sl_status st = sl_link_flush(l, &empty);

		if (st == SL_OK && empty)
			return SL_OK;
		if (st != SL_OK && st != SL_E_BUSY)
			return st;
		if (sl_clock_now() > end)
			return SL_FAIL(SL_E_BUSY, "the daemon does not read");
		(void)poll(&p, 1, 10);
	}
}

static sl_status answer(struct sl_client *c, struct sl_link *l, struct sl_msg *out)
{
	sl_status st;

	do {
		st = sl_link_get(l, out, SL_CLIENT_ANSWER_NS);
	} while (st == SL_E_INTERRUPTED && !(c->opts.stop != NULL && *c->opts.stop != 0));
	return st;
}

static sl_status hello(struct sl_client *c, struct sl_link *l)
{
	struct sl_msg m = {.number = SL_MSG_HELLO, .seq = 1};

	m.u.hello.magic = SL_WIRE_MAGIC;
	m.u.hello.version = SL_WIRE_VERSION;
	sl_wire_text(m.u.hello.program, sizeof(m.u.hello.program),
		c->opts.program != NULL ? c->opts.program : "sluice");
	SL_TRY(sl_link_send(l, &m));
	SL_TRY(sl_client_flush(l, SL_CLIENT_ANSWER_NS));
	SL_TRY(answer(c, l, &m));
	if (m.number == SL_MSG_ERROR)
		return SL_FAIL(SL_E_LOST, "the daemon at %s says: %.400s", c->path,
			m.u.error.text);
	if (m.number != SL_MSG_WELCOME || m.u.welcome.version != SL_WIRE_VERSION)
		return SL_FAIL(SL_E_LOST,
			"the daemon at %s is of another version; restart it", c->path);
	return SL_OK;
}

sl_status sl_client_shake(struct sl_client *c, struct sl_link **out)
{
	struct sl_link *l = NULL;
	sl_status st;
	int fd = -1;

	SL_TRY(sl_wire_dial(c->path, &fd));
	SL_TRY(sl_link_create(fd, &l));
	st = hello(c, l);
	if (st == SL_OK) {
		*out = l;
		return SL_OK;
	}
	sl_link_destroy(l);
	return st;
}

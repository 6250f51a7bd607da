/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of somebody who looks or rules: hello, requests, answers. */
#include "share/look/look_int.h"

#include <stdio.h>

#include "base/alloc.h"
#include "share/wire/dial.h"

sl_status sl_look_ask(struct sl_daemon *d, struct sl_msg *m)
{
	sl_status st;

	m->seq = ++d->seq;
	st = sl_link_put(d->link, m, SL_LOOK_NS);
	return st == SL_E_BUSY ? SL_FAIL(SL_E_BUSY, "the daemon does not read") : st;
}

static sl_status refused(const struct sl_msg *m)
{
	uint32_t code = m->u.error.code;
	bool known = code > SL_OK && code < SL_STATUS_COUNT;

	return SL_FAIL(known ? (sl_status)code : SL_E_LOST, "%s", m->u.error.text);
}

sl_status sl_look_answer(struct sl_daemon *d, struct sl_msg *out, sl_ns timeout_ns)
{
	/* What it says unasked, and late answers to what nobody waits for, are for no
	 * one. */
	do {
		sl_status st = sl_link_get(d->link, out, timeout_ns);

		if (st == SL_E_BUSY)
			return SL_FAIL(SL_E_BUSY, "the daemon does not answer in time");
		if (st == SL_E_LOST)
			return SL_FAIL(SL_E_LOST, "the daemon is gone");
		SL_TRY(st);
	} while (out->seq != d->seq);
	return out->number == SL_MSG_ERROR ? refused(out) : SL_OK;
}

sl_status sl_look_odd(const struct sl_msg *m)
{
	const struct sl_wire_row *row = sl_wire_row_find((uint32_t)m->number);

	return SL_FAIL(SL_E_LOST,
		"the daemon answers with %s, which is no answer to that",
		row != NULL ? row->name : "nothing");
}

sl_status sl_look_do(struct sl_daemon *d, struct sl_msg *m)
{
	struct sl_msg answer;

	SL_TRY(sl_look_ask(d, m));
	SL_TRY(sl_look_answer(d, &answer, SL_LOOK_NS));
	return answer.number == SL_MSG_DONE ? SL_OK : sl_look_odd(&answer);
}

static sl_status greet(struct sl_daemon *d)
{
	struct sl_msg m = {.number = SL_MSG_HELLO,
		.u.hello = {.magic = SL_WIRE_MAGIC,
			.version = SL_WIRE_VERSION,
			.program = "sluice"}};
	const struct sl_msg_welcome *w = &m.u.welcome;

	SL_TRY(sl_look_ask(d, &m));
	SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS));
	if (m.number != SL_MSG_WELCOME)
		return sl_look_odd(&m);
	if (w->version != SL_WIRE_VERSION)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"the daemon speaks version %u of the protocol and this program "
			"version %d; use those of one build",
			w->version, SL_WIRE_VERSION);
	d->greeting = (struct sl_daemon_greeting){.boot = w->boot,
		.capacity_bytes = w->capacity_bytes,
		.protocol = w->version,
		.ruler = w->ruler != 0};
	sl_wire_text(d->greeting.policy, sizeof(d->greeting.policy), w->policy);
	sl_wire_text(d->greeting.device, sizeof(d->greeting.device), w->device);
	return SL_OK;
}

sl_status sl_daemon_open(const char *socket, struct sl_daemon **out)
{
	char path[SL_DAEMON_PATH];
	struct sl_daemon *d;
	sl_status st;
	int fd = -1;

	SL_TRY(sl_daemon_path(socket, path));
	d = sl_calloc(1, sizeof(*d));
	if (d == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a connection");
	SL_TRY_OUT(sl_wire_dial(path, &fd));
	SL_TRY_OUT(sl_link_create(fd, &d->link));
	st = greet(d);
	if (st != SL_OK)
		(void)sl_fail_prefix(st, "%s", path);
out:
	if (st != SL_OK) {
		sl_daemon_close(d);
		return st;
	}
	*out = d;
	return SL_OK;
}

void sl_daemon_close(struct sl_daemon *d)
{
	if (d == NULL)
		return;
	sl_link_destroy(d->link);
	sl_free(d);
}

const struct sl_daemon_greeting *sl_daemon_greeting(const struct sl_daemon *d)
{
	return &d->greeting;
}

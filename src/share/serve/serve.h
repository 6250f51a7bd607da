/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_SERVE_H
#define SL_SHARE_SERVE_SERVE_H

#include <sys/socket.h>

#include "base/clock.h"
#include "sluice/serve.h"

/* The daemon as an object, for the program and for tests on a clock of their own. */
struct sl_serve;

struct sl_serve_options {
	struct sl_serve_settings *settings; /* loaded; borrowed until close */
	sl_ns (*clock)(void *ctx); /* NULL: the system's; never goes back */
	void *clock_ctx;
	bool sockets; /* takes the socket's path and the signals; else peers are adopted
		       */
	int log_fd; /* where JSON lines go; -1: nowhere */
};

SL_NODISCARD sl_status sl_serve_open(
	const struct sl_serve_options *o, struct sl_serve **out);
/* One round of the loop: what is there is heard, decided, carried out, said. wait: until
 * something is due. */
SL_NODISCARD sl_status sl_serve_round(struct sl_serve *s, bool wait);
/* A connected stream socket as a peer of these credentials; takes it. */
SL_NODISCARD sl_status sl_serve_adopt(
	struct sl_serve *s, int fd, const struct ucred *who);
/* What jobs have stays theirs: a daemon that starts again takes them back. */
void sl_serve_close(struct sl_serve *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_LOOK_INT_H
#define SL_SHARE_LOOK_INT_H

#include "share/wire/link.h"
#include "sluice/client.h"

struct sl_daemon {
	struct sl_link *link;
	struct sl_daemon_greeting greeting;
	uint32_t seq; /* of the latest request */
};

#define SL_LOOK_NS ((sl_ns)10 * 1000 * 1000 * 1000)

/* Sends a request; its seq is set. */
SL_NODISCARD sl_status sl_look_ask(struct sl_daemon *d, struct sl_msg *m);
/* The next answer to the latest request; an ERROR becomes its status and words. */
SL_NODISCARD sl_status sl_look_answer(
	struct sl_daemon *d, struct sl_msg *out, sl_ns timeout_ns);
/* Another number was wanted. */
sl_status sl_look_odd(const struct sl_msg *m);
/* A request whose answer is DONE. */
SL_NODISCARD sl_status sl_look_do(struct sl_daemon *d, struct sl_msg *m);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_HOST_H
#define SL_SESSION_HOST_H

#include "exec/gate.h"
#include "session/menu.h"

/*
 * Who a session gets its memory and its turns from when it does not own the device: the
 * daemon (shared.c), or a test. Called on the session's thread, in this order: join,
 * ready, then the gate.
 */
struct sl_host_grant {
	uint32_t row;
	uint8_t *base; /* P and lane side by side, whatever may lie there */
	uint64_t bytes;
};

struct sl_host {
	struct sl_gate gate; /* its ctx is that of the others too */
	/* Returns when the job is admitted with one of the rows; it may take hours. */
	sl_status (*join)(
		void *ctx, const struct sl_menu *menu, struct sl_host_grant *out);
	/* P is filled: turns may come. */
	sl_status (*ready)(void *ctx);
	/* Somebody else asked for the end. */
	bool (*stopped)(void *ctx);
	/* For the summary and the reports. */
	void (*stats)(void *ctx, struct sl_shared_stats *out);
};

/* After the plans are made: asks for memory with a menu and lets the machine live in what
 * it gets. Nothing without a host. */
SL_NODISCARD sl_status sl_session_join(struct sl_session *s);

#endif

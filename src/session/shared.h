/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_SHARED_H
#define SL_SESSION_SHARED_H

#include "session/host.h"

struct sl_client;

/* A session as a job of the daemon: connects, and becomes the session's host. Before the
 * session is prepared. SL_E_LOST without a daemon. */
SL_NODISCARD sl_status sl_shared_open(struct sl_session *s);
/* The client, for a service's requests; NULL: the session is not shared. */
struct sl_client *sl_shared_client(const struct sl_session *s);
/* Of a service: requests come here, on the reader's thread. Before prepare. */
struct sl_msg_query;
void sl_shared_serve(struct sl_session *s, void *ctx,
	void (*query)(void *ctx, const struct sl_msg_query *q));
/* Takes the job off the list; nothing touches its memory any more. NULL is fine. */
void sl_shared_close(struct sl_shared *x);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_SHARED_H
#define SL_SESSION_SHARED_H

#include "session/host.h"

struct sl_service;

/* A session as a job of the daemon: connects, and becomes the session's host. Before the
 * session is prepared. SL_E_LOST without a daemon. */
SL_NODISCARD sl_status sl_shared_open(struct sl_session *s);
/* Answers the job's requests; NULL: it is no service. */
struct sl_service *sl_shared_service(const struct sl_session *s);
/* Takes the job off the list; nothing touches its memory any more. NULL is fine. */
void sl_shared_close(struct sl_shared *x);

#endif

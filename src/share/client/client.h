/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_CLIENT_CLIENT_H
#define SL_SHARE_CLIENT_CLIENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/buf.h"
#include "share/wire/proto.h"

/*
 * A job's side of the daemon: it registers with a menu, maps what it is admitted with,
 * asks for turns, makes room when told to, and comes back when the daemon was restarted.
 *
 *   open -> enlist -> admit -> (P is filled) -> ready -> enter, leave, ... -> end ->
 * close
 *
 *   thread    does
 *   session   everything below but where it says otherwise; it alone touches the memory,
 *             so parking and other lanes wait until it looks: in admit, enter, idle, tend
 *   reader    receives; notes what came, nudges the session's thread; connects again
 *
 * A holder of the turn that nobody asks for it makes no system call. While the daemon is
 * gone it runs on; who waits, waits, up to daemon_timeout.
 */
struct sl_client;

struct sl_client_opts {
	const char *socket; /* NULL: SLUICE_SOCKET, else the usual place */
	const char *program; /* for the daemon's log; NULL: "sluice" */
	sl_ns daemon_timeout_ns; /* waits so long for a daemon that is gone; 0: 60 s */
	/* Where P is kept while the job is parked: an unlinked file there; "none": in
	 * memory. */
	const char *folder;
	const volatile sig_atomic_t *stop; /* NULL: never */
	void *ctx; /* of these */
	/* About once a second of waiting, on the session's thread; NULL: not told. */
	void (*waits)(void *ctx, const char *reason, sl_ns waited_ns);
	/* A request for a service, on the reader's thread: what it is given lives for the
	 * call. NULL: it is no service. */
	void (*query)(void *ctx, const struct sl_msg_query *q);
};

/* Connects. SL_E_LOST: no daemon is there, or of another version. opts' texts are
 * borrowed until close. */
SL_NODISCARD sl_status sl_client_open(
	const struct sl_client_opts *opts, struct sl_client **out);
/* Joins the queue; SL_E_INFEASIBLE and others with the daemon's reason. */
SL_NODISCARD sl_status sl_client_enlist(
	struct sl_client *c, const struct sl_msg_reg *job);

struct sl_client_room {
	uint32_t row; /* of the menu */
	uint8_t *base; /* P, then the lane; stays while the memory behind it changes */
	uint64_t persistent_bytes, ephemeral_bytes;
};
/* Waits to be admitted, and maps. SL_E_INTERRUPTED, SL_E_LOST, SL_E_NOMEM_DEVICE. */
SL_NODISCARD sl_status sl_client_admit(struct sl_client *c, struct sl_client_room *out);
SL_NODISCARD sl_status sl_client_ready(struct sl_client *c);

/* As in exec/gate.h. */
SL_NODISCARD sl_status sl_client_enter(struct sl_client *c);
bool sl_client_wanted(struct sl_client *c);
SL_NODISCARD sl_status sl_client_leave(struct sl_client *c, sl_ns used_ns, bool rests);
SL_NODISCARD sl_status sl_client_idle(struct sl_client *c);
bool sl_client_lost(const struct sl_client *c); /* any thread */
/* SL_E_LOST with what is known of the reason. */
sl_status sl_client_reason(struct sl_client *c);
/* While idle: does what the daemon asks for meanwhile, such as parking. P may be gone
 * until the next enter. */
SL_NODISCARD sl_status sl_client_tend(struct sl_client *c);

/* Somebody cancelled the job; any thread. */
bool sl_client_stopped(const struct sl_client *c);
/* The job's part of the channels to lower tiers, in millionths; any thread. */
uint32_t sl_client_channel_ppm(const struct sl_client *c);
/* What its tiers hold and carried so far; the daemon hears it once a second. */
void sl_client_rate(struct sl_client *c, const struct sl_msg_rate *rate);
/* The text of the job's trace, after ready and when its times changed: jobs that gave
 * theirs may be planned together, also by a daemon that was restarted. */
SL_NODISCARD sl_status sl_client_trace(struct sl_client *c, const char *text, size_t len);
/* The text of such a plan that came since, appended; false: none did. Nobody checked it.
 */
bool sl_client_has_plan(const struct sl_client *c);
SL_NODISCARD sl_status sl_client_take_plan(struct sl_client *c, struct sl_buf *out);
/* Of a service; any thread. The daemon may be gone: then nobody hears it. */
void sl_client_answer(struct sl_client *c, const struct sl_msg_answer *a);

struct sl_client_stats {
	uint32_t job, lane, row;
	uint64_t turns, switches, parked, reattached;
	sl_ns admit_ns; /* waited to be admitted at first */
	sl_ns waited_ns; /* that and for turns */
	sl_ns used_ns;
};
void sl_client_stats(struct sl_client *c, struct sl_client_stats *out);

/* Gives the memory back and takes the job off the list; how: what became of it. Nothing
 * may touch the memory any more. */
void sl_client_end(struct sl_client *c, sl_status how);
void sl_client_close(struct sl_client *c); /* NULL is fine; ends it if need be */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_CLIENT_H
#define SLUICE_CLIENT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * The daemon that shares a device, seen from outside: who is there, why somebody waits,
 * and the words that rule. A connection is one thread's. Each call waits for its answer
 * at most ten seconds (SL_E_BUSY) and otherwise gives what the daemon refused with, or
 * SL_E_LOST when it is gone; after SL_E_LOST, SL_E_BUSY or a failure of a callback a
 * connection is only good for closing.
 */
struct sl_daemon;
struct sl_buf;

#define SL_DAEMON_PATH 108 /* bytes of a socket's path with its end */

/* Where the daemon listens: `given`, else SLUICE_SOCKET, else the first of these that is
 * there: $XDG_RUNTIME_DIR/sluice/daemon.sock (not for root), /run/sluice/daemon.sock.
 * SL_E_USAGE: longer than a socket's path can be. */
SL_NODISCARD sl_status sl_daemon_path(const char *given, char out[SL_DAEMON_PATH]);

/* Connects and says hello. SL_E_LOST: no daemon is there, and how to start one; or you
 * may not use it. SL_E_UNSUPPORTED: it is of another version. */
SL_NODISCARD sl_status sl_daemon_open(const char *socket, struct sl_daemon **out);
void sl_daemon_close(struct sl_daemon *d); /* NULL is fine */

struct sl_daemon_greeting {
	uint64_t boot; /* another one after each start */
	uint64_t capacity_bytes;
	uint32_t protocol;
	bool ruler; /* you may rule over everybody's jobs */
	char policy[16], device[16];
};
const struct sl_daemon_greeting *sl_daemon_greeting(const struct sl_daemon *d);

struct sl_job_row {
	uint32_t id, user, pid, lane;
	const char *state; /* waiting admitted running resident paused parked ended */
	const char *kind; /* train infer service run */
	bool seated; /* resident: lane says where */
	int32_t priority;
	uint64_t persistent_bytes, ephemeral_bytes; /* the sum is its peak */
	uint64_t resident_bytes, swapped_bytes;
	uint64_t turns; /* iterations */
	double rate; /* iterations a second, lately */
	double used_s, turn_s, waited_s, age_s;
	double length_s; /* declared; 0: not */
	int64_t key; /* of the policy: the least goes first */
	double share; /* of the device, lately: 0 to 1 */
	char name[64], reason[256];
};
typedef sl_status (*sl_job_row_fn)(void *ctx, const struct sl_job_row *row);
/* all: with jobs that ended. A failure of each is given back. */
SL_NODISCARD sl_status sl_daemon_list(
	struct sl_daemon *d, bool all, void *ctx, sl_job_row_fn each);

struct sl_daemon_state {
	uint64_t capacity_bytes, granted_bytes, largest_free_bytes;
	uint32_t jobs, residents, lanes;
	double uptime_s;
	uint64_t turns, switches, crashes, rejects;
	bool journal_ok;
	char policy[16], version[32];
};
struct sl_lane_row {
	uint32_t lane, members;
	uint32_t holder; /* job whose turn it is; 0: nobody's */
	uint64_t address, bytes;
};
typedef sl_status (*sl_lane_row_fn)(void *ctx, const struct sl_lane_row *row);
SL_NODISCARD sl_status sl_daemon_status(
	struct sl_daemon *d, struct sl_daemon_state *out, void *ctx, sl_lane_row_fn each);

/* Why the job waits, and what would let it in; appended. SL_E_NOT_FOUND: no such job. */
SL_NODISCARD sl_status sl_daemon_explain(
	struct sl_daemon *d, uint32_t job, struct sl_buf *out);
/* Lines "name = value  # where it is from"; appended. */
SL_NODISCARD sl_status sl_daemon_config(struct sl_daemon *d, struct sl_buf *out);
/* The daemon's log: the last lines, then, with follow, those that come, until stop is
 * nonzero (SL_E_INTERRUPTED). text is some whole lines. */
typedef sl_status (*sl_text_fn)(void *ctx, const char *text, size_t len);
SL_NODISCARD sl_status sl_daemon_events(struct sl_daemon *d, uint32_t last, bool follow,
	const volatile sig_atomic_t *stop, void *ctx, sl_text_fn each);

/* Ruling: over one's own jobs, and for the daemon's owner and root over all. */
SL_NODISCARD sl_status sl_daemon_pause(struct sl_daemon *d, uint32_t job);
SL_NODISCARD sl_status sl_daemon_resume(struct sl_daemon *d, uint32_t job);
SL_NODISCARD sl_status sl_daemon_cancel(struct sl_daemon *d, uint32_t job);
SL_NODISCARD sl_status sl_daemon_priority(
	struct sl_daemon *d, uint32_t job, int32_t priority);
/* The owner's and root's. bytes 0: no limit. */
SL_NODISCARD sl_status sl_daemon_limit(
	struct sl_daemon *d, uint32_t user, uint64_t bytes);
SL_NODISCARD sl_status sl_daemon_policy(struct sl_daemon *d, const char *name);

/* A request for a service, and what it answered. output is the connection's until its
 * next call. */
struct sl_daemon_answer {
	double waited_s, ran_s;
	uint32_t batch; /* requests that ran together */
	const uint8_t *output;
	uint32_t output_bytes;
};
SL_NODISCARD sl_status sl_daemon_ask(struct sl_daemon *d, const char *service,
	double within_s, const void *input, uint32_t input_bytes,
	struct sl_daemon_answer *out);

/* Names of the protocol's messages; NULL past the end. Borrowed for ever. */
const char *sl_message_name_at(size_t i, const char **summary);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_DECISION_H
#define SL_SHARE_DECISION_H

#include "base/buf.h"
#include "share/job.h"

/*
 * What happened to the jobs of a device and what was decided about them, in order. Text
 * form: docs/formats/jobs.md.
 */
/* The largest time in nanoseconds, and the largest size. */
#define SL_SHARE_MOST ((int64_t)1 << 61)

enum sl_step_kind {
	/* What happens. */
	SL_STEP_ARRIVE,
	SL_STEP_TURN, /* turns are over and reported: the job's lane is at a boundary */
	SL_STEP_END, /* the same, and the job is gone; what it held is free */
	SL_STEP_RESIZE, /* new P and E, at a boundary */
	SL_STEP_HOLD, /* its user pauses it */
	SL_STEP_RELEASE,
	SL_STEP_LIMIT, /* most bytes (P + E of residents) of a user; 0: none */
	SL_STEP_TICK, /* time passes */
	SL_STEP_PARKED, /* a job that was asked to gave up its residence: it waits */
	SL_STEP_PRIORITY,
	SL_STEP_POLICY, /* another policy from now on; levels begin anew */
	SL_STEP_SEAT, /* as the log begins: a job sits in a lane of these bytes, with this
			 service behind it; and maybe has the turn */
	SL_STEP_PAST, /* the same of a job that waits: service, and whether it is parked
		       */
	SL_STEP_AWAY, /* as HOLD, but nobody's wish: it fills its memory, or is to come
			 back; it is not parked meanwhile */
	/* What is decided. */
	SL_STEP_ADMIT, /* the job becomes resident in a lane, which then has these bytes
			*/
	SL_STEP_RUN, /* the lane's turn is the job's */
	SL_STEP_SHRINK, /* the lane has these bytes; closed when it has no jobs */
	SL_STEP_REJECT, /* it can never fit */
	SL_STEP_PARK, /* a resident without the turn is to move P away; it has no turns
			 and its bytes are charged until it is parked, or ends */
	SL_STEP_KINDS
};

struct sl_step {
	enum sl_step_kind kind;
	uint32_t job, lane, user;
	int32_t priority;
	sl_ns at_ns, deadline_ns, length_ns, turn_ns, used_ns;
	uint64_t turns, persistent_bytes, ephemeral_bytes, bytes;
	uint32_t flag; /* SEAT: has the turn; PAST: parked; POLICY: total_waits */
	char policy[16];
};

static inline bool sl_step_is_event(const struct sl_step *s)
{
	return s->kind < SL_STEP_ADMIT;
}

/* The rules that the log was made under. */
struct sl_share_rules {
	char policy[16];
	uint64_t capacity_bytes;
	uint32_t lanes; /* at most so many; 0: as many as fit */
	sl_ns max_wait_ns; /* A: when a waiting job comes of age; 0: never */
	bool total_waits; /* all its waits count; else the one under way */
	bool shares; /* residents of a lane share it in virtual time: no turns */
	/* Parking (state.h): service that a resident has before an equal takes its place,
	 * 0: nobody is parked; and how fast P moves to the lower tier and back, 0:
	 * as fast as the moves of the log. */
	sl_ns quantum_ns;
	uint64_t park_bytes_per_s;
};

struct sl_log {
	struct sl_share_rules rules;
	struct sl_step *steps;
	size_t n, cap;
};

/* Room for n more steps; SL_E_NOMEM. */
SL_NODISCARD sl_status sl_log_reserve(struct sl_log *l, size_t n);
SL_NODISCARD sl_status sl_log_add(struct sl_log *l, const struct sl_step *s);
void sl_log_finish(struct sl_log *l);

SL_NODISCARD sl_status sl_step_print(const struct sl_step *s, struct sl_buf *out);
SL_NODISCARD sl_status sl_log_print(const struct sl_log *l, struct sl_buf *out);
/* SL_E_FORMAT "source:line: what"; *out is then empty. */
SL_NODISCARD sl_status sl_log_parse(
	const char *source, const char *data, size_t len, struct sl_log *out);

#endif

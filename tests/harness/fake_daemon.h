/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_FAKE_DAEMON_H
#define SL_TESTS_FAKE_DAEMON_H

#include <stdbool.h>

#include "share/wire/proto.h"

/*
 * A daemon of one lane on a thread of its own, for tests of its clients. It admits
 * everybody at once, gives the turn to one after the other, empties the lane in between,
 * and, if told so, disturbs them.
 */
/* What a trace is answered with: a plan that can be taken, or one that is text without a
 * meaning, larger than the job's memory, of another job, not sound. */
enum sl_fake_plan {
	SL_FAKE_NO_PLAN,
	SL_FAKE_PLAN_GOOD,
	SL_FAKE_PLAN_GARBAGE,
	SL_FAKE_PLAN_LARGE,
	SL_FAKE_PLAN_OTHER,
	SL_FAKE_PLAN_UNSOUND,
};

struct sl_fake_opts {
	uint32_t row; /* of the menu, if there are so many */
	uint64_t park_every; /* reports of a job until it is parked and brought back */
	bool park_twice; /* asked again as soon as it is admitted again */
	uint64_t lane_every; /* until it gets other memory for the lane */
	uint64_t drop_every; /* until its connection breaks */
	bool drop_end; /* the first END of a job breaks its connection, unheard */
	uint64_t lose_at; /* the report after which its memory is revoked */
	uint64_t stop_at; /* the report after which it is cancelled */
	bool admits_nobody;
	enum sl_fake_plan plan;
	const char *refusal; /* of REGISTER; NULL: none */
};

struct sl_fake_seen {
	uint64_t jobs, ends, reports, idles, attaches, parks, lanes, explains, rates;
	uint64_t traces, plans;
	uint32_t end_code; /* of the last END */
	struct sl_msg_reg last; /* job */
};

struct sl_fake_daemon;
struct sl_fake_daemon *sl_fake_start(const struct sl_fake_opts *opts);
const char *sl_fake_socket(const struct sl_fake_daemon *d);
void sl_fake_seen(struct sl_fake_daemon *d, struct sl_fake_seen *out);
void sl_fake_stop(struct sl_fake_daemon *d); /* everything breaks */

#endif

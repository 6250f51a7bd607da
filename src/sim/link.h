/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SIM_LINK_H
#define SL_SIM_LINK_H

#include <stdbool.h>

#include "sim/engine.h"

/*
 * Wires in virtual time. A wire carries both directions at once (full duplex) or shares
 * its time among them (half). Transfers of one channel are carried first in first out;
 * those of several channels that flow at the same time share the direction equally: each
 * of n gets an nth of what it would have alone (a fluid model).
 *
 * 1. A transfer starts when it is the first of its channel, its time has come and
 * may_start allows it. Then its latency passes, during which it takes nothing of the
 * wire, then its bytes flow.
 * 2. Alone it takes latency + floor(bytes * 1e9 / bytes_per_s) ns. Work is counted in
 * 2^-32 ns; a transfer with less than a nanosecond to go is done: times are rounded down
 * once, when a transfer ends.
 * 3. `started` and `done` are called from events or from push and kick; they may push
 * and kick.
 */
__extension__ typedef unsigned __int128 sl_sim_work;

struct sl_channel;

struct sl_transfer {
	uint64_t bytes;
	uint64_t bytes_per_s; /* alone on the wire; at least 1 */
	uint64_t latency_ns;
	uint64_t not_before_ns;
	void *ctx;
	bool (*may_start)(void *ctx); /* NULL: yes */
	sl_status (*started)(void *ctx); /* NULL: nobody hears it */
	sl_status (*done)(void *ctx); /* the transfer is the owner's again */
	struct sl_transfer *next; /* in the channel */
};

struct sl_lane {
	struct sl_sim *sim;
	struct sl_channel *first, *last; /* that flow, in order of start */
	uint64_t n;
	sl_sim_work served; /* what each flow has got since the lane began */
	uint64_t since_ns, busy_ns;
	uint64_t epoch; /* an event of an older one is void */
	uint64_t bytes; /* carried to the end */
};

struct sl_link {
	struct sl_lane lane[2]; /* of half duplex: one */
	bool half_duplex;
};

struct sl_channel {
	struct sl_lane *lane;
	struct sl_transfer *head, *tail;
	bool under_way, timed; /* head has started; waits for its time */
	sl_sim_work until; /* served at which head ends */
	struct sl_channel *next; /* in the lane, or of those that end together */
};

void sl_link_init(struct sl_link *l, struct sl_sim *sim, bool half_duplex);
void sl_channel_init(struct sl_channel *c, struct sl_link *l, int direction); /* 0 or 1 */
/* Borrowed until done is called. */
SL_NODISCARD sl_status sl_channel_push(struct sl_channel *c, struct sl_transfer *t);
/* Asks the first transfer again whether it may start. */
SL_NODISCARD sl_status sl_channel_kick(struct sl_channel *c);

#endif

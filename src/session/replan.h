/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_REPLAN_H
#define SL_SESSION_REPLAN_H

#include "base/clock.h"
#include "memory/engine.h"
#include "memory/policy/policy.h"

/*
 * New plans for a training that goes on: measured times of ops are held against those the
 * plan was made with, and a thread plans again on a copy of the trace.
 *
 *   IDLE --(times drifted)--> BUSY --(the thread is done)--> READY --(boundary)--> IDLE
 *
 *   thread     owns
 *   training   times; in IDLE and READY also the corrected trace and both plans
 *   planning   in BUSY: the corrected trace (reads), the plan not in force (writes)
 *
 * 1. The training thread never waits for the planning one, but when it destroys this.
 * 2. The first step warms up and is not judged; the first measured one always gives the
 * second plan, and if plans are gradual the next one that time is left for a third; from
 * then on a drift does.
 * 3. A new plan is offered only if it is cheaper than the one in force by the corrected
 * times: taking it over moves bytes.
 * 4. Planning takes a bounded part of the time, whatever drifts.
 * 5. While a plan of somebody who knows the other jobs is in force, another part of the
 * links alone gives no plan of our own, but after some silence; a drift does, as ever.
 * 6. A plan that cannot be made is dropped; the one in force stays good.
 */
struct sl_replan_opts {
	const struct sl_trace *trace; /* borrowed, as are the others */
	const struct sl_plan *plan; /* in force at first */
	struct sl_policy_choice policy;
	bool gradual; /* the second plan has one step of effort, a third one all of it */
	uint64_t budget; /* of each plan */
	uint64_t most_p_bytes; /* that it may leave at the boundary; 0: all */
	double limit; /* of drift; 0: SL_DRIFT_DEFAULT */
	/* planning takes at most one part in so many of the time, whatever drifts */
	uint32_t share;
	/* tests: called on the planning thread before it plans; may be NULL */
	void (*hook)(void *ctx);
	void *hook_ctx;
};

#define SL_REPLAN_MAX_LINKS 16u

struct sl_replan;
SL_NODISCARD sl_status sl_replan_create(
	const struct sl_replan_opts *opts, struct sl_replan **out);
void sl_replan_destroy(struct sl_replan *r); /* waits for a plan under way */

/* Where a step notes nanoseconds, by op. */
uint64_t *sl_replan_times(struct sl_replan *r);
/* The step is over and noted all times; links are what copies took since the engine
 * began, one for each link of the trace. */
void sl_replan_measured(struct sl_replan *r, const struct sl_engine_link *links);
/* The links are shared with others from now on: what is left of them, in millionths. */
void sl_replan_channel(struct sl_replan *r, uint32_t ppm);
/* A plan that another made, checked already; taken (p is empty afterwards) and offered at
 * a boundary unless it is much dearer than the one in force. */
void sl_replan_offer(struct sl_replan *r, struct sl_plan *p);
/* The trace with the latest times, and the links as if they were all the job's. */
SL_NODISCARD sl_status sl_replan_print(const struct sl_replan *r, struct sl_buf *out);
/* Another number when its times changed. */
uint64_t sl_replan_version(const struct sl_replan *r);
/* Before a step: judges what was measured. Returns a plan that is to be adopted, or NULL.
 * After a plan comes sl_replan_adopted, before anything else. */
const struct sl_plan *sl_replan_boundary(struct sl_replan *r);
void sl_replan_adopted(struct sl_replan *r, bool yes);

/* Stays where it is until the next one was adopted. */
const struct sl_plan *sl_replan_plan(const struct sl_replan *r);

struct sl_replan_stats {
	uint64_t plans; /* made after the first one */
	uint64_t adopted, failed;
	uint64_t joint; /* adopted, of others */
	uint64_t steps_meanwhile; /* that went on while the thread planned */
	uint64_t price_ns; /* of the plan in force, by the latest corrected times */
};
void sl_replan_stats(const struct sl_replan *r, struct sl_replan_stats *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_STATE_H
#define SL_SHARE_STATE_H

#include "share/decision.h"
#include "share/lane.h"
#include "share/ledger.h"

/*
 * The jobs of one device: events go in, decisions come out. No clock, thread or socket:
 * time is what the events say, and the same events give the same decisions. The daemon,
 * `sluice sim` and the tests run this code; decision_check.h judges it.
 *
 * Order of jobs: those of age first, the longest of age leading; then priority, deadline
 * (earliest first, none last), the policy's own key, arrival.
 *
 * Ageing: a job that has waited max_wait (A) comes of age. While a job of age waits,
 * nobody but the first of them is admitted, and lanes give their turns to those of age
 * first. So it gets its turn after at most A + R, where R is the service still owed, at
 * the moment it came of age, to the jobs then resident and to those of age before it:
 * later arrivals cannot delay it. Under policies that take turns each wait counts by
 * itself, and a job of age leads until it has had A / 4 of service; under the others all
 * waits count and it leads until it ends.
 *
 * Parking (rules.quantum_ns above 0): where a job W would fit if residents moved their P
 * to a lower tier, the fewest of those are asked to that may be: a paused one for
 * anybody; one of a later rank (age, priority, deadline) at once; one of equal rank under
 * policies of turns once its service since it was admitted is a quantum, and 20 times
 * moving away and back, and is not behind W; under srtf one with more left than W and its
 * own move, after such a stay too where either has outlived what it declared and nobody
 * knows what is left. They are asked when they have no turn; their bytes are W's from
 * PARKED on, and nobody after W may have them. So each move but those for a rank is paid
 * for by a quantum of service or by less work left, and two jobs cannot chase each other.
 * The bound is then A + R + M: M is the time that those asked take to move; a resident of
 * a later rank than the first of age no longer counts in R but for the turn that it has.
 */

/* A job policy: pure, deterministic, from any thread. NULL slots have a default. */
struct sl_job_policy {
	const char *name;
	const char *source; /* key in docs/papers.md */
	const char *summary;
	bool eager; /* P is charged as soon as it fits; else at the first turn */
	bool passes; /* a job that does not fit lets later ones pass */
	bool turns; /* residents of a lane take turns until they end */
	uint32_t lanes; /* at most so many unless told otherwise; 0: as many as fit */
	/* Who goes first, < 0: a; usual_ns as in sl_job_remaining. NULL: arrival. */
	int (*compare)(const struct sl_job *a, const struct sl_job *b, sl_ns usual_ns);
	/* What a report adds to the job's level. NULL: nothing. */
	int64_t (*charge)(const struct sl_step *report);
	bool by_remaining; /* a resident is parked for one that has less left */
	/* Part of a lane in virtual time, above 0; set if `turns`. */
	double (*weight)(const struct sl_job *j);
};

struct sl_user_limit {
	uint32_t user;
	uint64_t bytes;
};

struct sl_share {
	const struct sl_job_policy *policy;
	struct sl_share_rules rules;
	sl_ns now_ns;
	struct sl_job **jobs; /* alive, ids ascending */
	struct sl_job **order, **victims; /* scratch, as many */
	size_t n, cap, order_cap, victims_cap;
	uint64_t next_id; /* the least id that may arrive */
	struct sl_lanes lanes;
	struct sl_lane *trial; /* scratch of the choice of who is parked */
	uint64_t *second;
	size_t cap_trial, cap_second;
	struct sl_ledger ledger;
	uint32_t asked_lanes; /* at most so many as asked for; 0: the policy's */
	/* Other policies by their names, for SL_STEP_POLICY; NULL: there are none. */
	const struct sl_job_policy *(*find)(const char *name);
	double park_ns_per_byte; /* as moves took; of use without rules.park_bytes_per_s
				  */
	int64_t least_level; /* of those that were resident; a newcomer begins with it */
	struct sl_user_limit *limits;
	size_t n_limits, cap_limits;
	uint64_t admitted; /* so far */
	double ended_ns; /* service of the jobs that ended */
	uint64_t ended;
};

/* rules->lanes 0: the policy's; policy name and total_waits are filled in. */
void sl_share_init(struct sl_share *s, const struct sl_job_policy *policy,
	const struct sl_share_rules *rules);
void sl_share_finish(struct sl_share *s);

/* An event. SL_E_INVALID for one that does not fit the state, SL_E_NOMEM_DEVICE for a
 * resize there is no room for, SL_E_NOMEM; the state is as before then. */
SL_NODISCARD sl_status sl_share_apply(struct sl_share *s, const struct sl_step *event);
/* Appends the decisions that are due now, carried out. After SL_E_NOMEM those appended
 * stand, and the call may be repeated. */
SL_NODISCARD sl_status sl_share_decide(struct sl_share *s, struct sl_log *out);

/* NULL if it is not alive. */
struct sl_job *sl_share_find(const struct sl_share *s, uint32_t id);
/* Whether the job that holds the lane should report at its next boundary, because another
 * would be picked or the lane is to move. */
bool sl_share_wants_boundary(const struct sl_share *s, uint32_t lane);
/* When to apply a tick and decide again, though nothing happens until then: somebody
 * comes of age, or has had the turn for so long that another may be due; -1: never. */
sl_ns sl_share_next_wake(const struct sl_share *s);
/* The event that makes `policy` rule from then on; s->find must know it. Everybody is
 * level then. Not in virtual time. */
struct sl_step sl_share_policy_event(
	const struct sl_share *s, const struct sl_job_policy *policy, sl_ns at_ns);
/* When the next job comes of age; -1: none will. */
sl_ns sl_share_next_age(const struct sl_share *s);
/*
 * Menus: whether the job would be admitted now if it had these sizes (resize changes a
 * waiting job's), whether a user's job of these sizes can ever be, and the largest E that
 * would be beside this P (UINT64_MAX: P alone does not fit).
 */
bool sl_share_fits_now(
	struct sl_share *s, uint32_t job, uint64_t persistent, uint64_t ephemeral);
bool sl_share_fits_ever(
	const struct sl_share *s, uint32_t user, uint64_t persistent, uint64_t ephemeral);
uint64_t sl_share_room(const struct sl_share *s, uint32_t job, uint64_t persistent);

/* Names of jobs for texts; NULL, as the whole, where there is none. */
struct sl_share_names {
	const char *(*name)(void *ctx, uint32_t job);
	void *ctx;
	sl_ns now_ns; /* later than the last event; 0: then */
};
/* In words: why the job has no turn now and what would change that. Some lines; or one
 * of at most SL_SHARE_REASON bytes with its end. Empty for a job that is not there. */
#define SL_SHARE_REASON 200
SL_NODISCARD sl_status sl_share_explain(struct sl_share *s, uint32_t job,
	const struct sl_share_names *names, struct sl_buf *out);
void sl_share_reason(struct sl_share *s, uint32_t job, char text[SL_SHARE_REASON]);
/* What the policy orders the job by, the least first: its level, what it has left, or its
 * arrival. */
int64_t sl_share_key(const struct sl_share *s, const struct sl_job *j);

/* Residents of a lane share it: virtual time under a policy of turns. */
bool sl_share_is_fluid(const struct sl_share *s);
/* The safety rule, the ledger, and that lanes hold their jobs; SL_E_NO with the breach.
 */
SL_NODISCARD sl_status sl_share_check(const struct sl_share *s);

#endif

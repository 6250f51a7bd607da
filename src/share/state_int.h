/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_STATE_INT_H
#define SL_SHARE_STATE_INT_H

#include "share/state.h"

/* Marks the jobs that have come of age by now. */
void sl_share_age(struct sl_share *s);
/* Sets who runs and who is held, and keeps the account of its waits. */
void sl_share_set(struct sl_share *s, struct sl_job *j, bool running, bool held);
static inline bool sl_job_waits(const struct sl_job *j)
{
	return !j->running && !j->held;
}
/* Whether P + E keeps within the limit of the job's user, beside the user's residents. */
bool sl_share_in_limit(const struct sl_share *s, const struct sl_job *j,
	uint64_t persistent, uint64_t ephemeral);
uint64_t sl_share_limit(const struct sl_share *s, uint32_t user);

/* order.c. What comes before any policy's key: age, priority, deadline. */
int sl_share_rank(const struct sl_job *a, const struct sl_job *b);
/* The same of j against a resident that would have to yield. */
int sl_share_rank_against(
	const struct sl_share *s, const struct sl_job *j, const struct sl_job *resident);
/* keyed: by the policy too; else by arrival. */
int sl_share_order(const struct sl_share *s, bool keyed, const struct sl_job *a,
	const struct sl_job *b);
/* As those that wait for admission go. */
int sl_share_wait_order(
	const struct sl_share *s, const struct sl_job *a, const struct sl_job *b);
/* The job of age that has waited longest, but for those whose own user's limit keeps
 * them out; NULL: none. */
const struct sl_job *sl_share_first_aged(const struct sl_share *s);
sl_ns sl_share_usual(const struct sl_share *s);
/* What fair and rr compare, also of a job that was never resident. */
int64_t sl_share_level(const struct sl_share *s, const struct sl_job *j);
void sl_share_find_least(struct sl_share *s);

/* seat.c. Room in the tables for this lane. */
SL_NODISCARD sl_status sl_share_lane_room(struct sl_share *s, uint32_t lane);
/* j becomes resident in the lane, which is opened or gets these bytes; all or nothing. */
SL_NODISCARD sl_status sl_share_sit(
	struct sl_share *s, struct sl_job *j, uint32_t lane, uint64_t bytes);
void sl_share_stand_up(struct sl_share *s, struct sl_job *j);
void sl_share_take_turn(struct sl_share *s, struct sl_job *j);
SL_NODISCARD sl_status sl_share_apply_past(
	struct sl_share *s, struct sl_job *j, const struct sl_step *e);
SL_NODISCARD sl_status sl_share_apply_policy(struct sl_share *s, const struct sl_step *e);
void sl_share_set_policy(
	struct sl_share *s, const struct sl_job_policy *policy, uint32_t lanes);

/* park.c. */
static inline bool sl_share_parks(const struct sl_share *s)
{
	return s->rules.quantum_ns > 0;
}
/* Time to move P away and back, and the service that a resident has before an equal. */
sl_ns sl_share_moving(const struct sl_share *s, const struct sl_job *j);
sl_ns sl_share_stay(const struct sl_share *s, const struct sl_job *j);
/* Chooses who is to move away for whom, and asks those without a turn. */
SL_NODISCARD sl_status sl_share_park(struct sl_share *s, struct sl_log *out);
/* The job as it would be if it reported now what its turn may have been; or at its next
 * boundary, so after a turn at least. */
struct sl_job sl_share_then(
	const struct sl_share *s, const struct sl_job *j, bool a_turn);
/* Service still owed to it, and less what its turn under way may have been. */
sl_ns sl_share_remaining(const struct sl_share *s, const struct sl_job *j);
/* The lanes as they will be without those that go (parking, leaving, chosen): at a
 * boundary and shrunk, in s->trial; the second largest E of each in s->second. */
struct sl_lanes sl_share_without(struct sl_share *s);
/* P + E of w and of its user's residents that stay. */
uint64_t sl_share_users_bytes(const struct sl_share *s, const struct sl_job *w);
/* Whether w fits then. */
bool sl_share_fits_without(struct sl_share *s, const struct sl_job *w);
/* Whether it does if of those that stay `out` goes too; v and sum as of the two above. */
bool sl_share_fits_without_one(struct sl_share *s, const struct sl_lanes *v, uint64_t sum,
	const struct sl_job *w, const struct sl_job *out);
/* Bytes are on their way to somebody: from residents that go, or lanes that shrink. */
bool sl_share_moves(const struct sl_share *s);
/* Bytes are on their way to j: nobody after it may have them. */
bool sl_share_claims(struct sl_share *s, const struct sl_job *j);

#endif

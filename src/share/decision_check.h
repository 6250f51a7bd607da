/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_DECISION_CHECK_H
#define SL_SHARE_DECISION_CHECK_H

#include "share/decision.h"

/*
 * The judge of decisions: knows no policy and shares no code with state.c and decide.c.
 * Fed a log step by step, it proves that
 * 1. each decision is legal in the state it was made in: an admitted job waited, a turn
 *    goes to a resident of a lane that nobody holds, sizes suffice; who is parked is a
 *    resident without a turn, has none until it is admitted again, and is not of age but
 *    for one of age as long;
 * 2. sum of P + sum of lanes never exceeds the capacity, a user's limit is kept, no more
 *    lanes are open than the rules allow;
 * 3. no starvation: while a job of age waits nobody but the first of them is admitted,
 *    and its lane's turn goes to nobody else; and when time passes no lane stands idle
 *    beside a job that could use it, so that the wait ends (the bound: state.h).
 * Where residents share a lane in virtual time their own waits are not seen here.
 */
struct sl_decision_check;

SL_NODISCARD sl_status sl_decision_check_open(
	const struct sl_share_rules *rules, struct sl_decision_check **out);
/* SL_E_NO with the breach, SL_E_NOMEM; of no use after a failure. */
SL_NODISCARD sl_status sl_decision_check_step(
	struct sl_decision_check *c, const struct sl_step *s);
void sl_decision_check_close(struct sl_decision_check *c);

/* A whole log; the message has the number of the step (1: the first). */
SL_NODISCARD sl_status sl_decision_check_log(const struct sl_log *l);

#endif

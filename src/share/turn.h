/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_TURN_H
#define SL_SHARE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "sluice/status.h"

/*
 * The page that a job shares with whoever hands out turns: 4096 bytes of a memfd whose
 * size is sealed, so that neither side can take it from under the other. A job that has
 * the turn and is not asked for it runs iteration after iteration without a system call.
 *
 *   job                                       hander-out
 *   sl_turn_wait ................. sleeps
 *                                             sl_turn_grant
 *   sl_turn_begin, iteration, sl_turn_count
 *   sl_turn_asked? no: again from begin
 *                                             sl_turn_ask
 *   sl_turn_asked? yes: sl_turn_yield, and a message with its totals
 *
 * One thread a side. Each side takes what the other writes for hostile: never for an
 * index or a size.
 */
struct sl_turn_page;

#define SL_TURN_PAGE_BYTES 4096u

/*
 * The job's side. The descriptor may be closed after map. SL_E_INVALID if it is not such
 * a page; SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_turn_map(int fd, struct sl_turn_page **out);
void sl_turn_unmap(struct sl_turn_page *page); /* NULL is fine; both sides */
/* Has the turn. */
bool sl_turn_try(const struct sl_turn_page *page);
/* Was struck off the list: no turn will come any more. */
bool sl_turn_revoked(const struct sl_turn_page *page);
/*
 * Waits for the turn, at most timeout_ns (< 0: for ever). *out_got false: that time is
 * over, a signal came, or sl_turn_nudge; the caller sees to it and waits again. SL_E_LOST
 * once the job is struck off.
 */
SL_NODISCARD sl_status sl_turn_wait(
	struct sl_turn_page *page, sl_ns timeout_ns, bool *out_got);
/* From another thread of the job: the wait under way ends, or else the next one. */
void sl_turn_nudge(struct sl_turn_page *page);
/* An iteration begins; it is over, took used_ns, and the turn is kept. */
void sl_turn_begin(struct sl_turn_page *page, sl_ns now_ns);
void sl_turn_count(struct sl_turn_page *page, sl_ns used_ns);
/* The turn is wanted back at the boundary. */
bool sl_turn_asked(const struct sl_turn_page *page);
/* Gives it back; the job then says so in a message. */
void sl_turn_yield(struct sl_turn_page *page);

/* The side that hands out. */
SL_NODISCARD sl_status sl_turn_create(int *out_fd, struct sl_turn_page **out);
/* Takes back a question that is still open, gives the turn and wakes the job. */
void sl_turn_grant(struct sl_turn_page *page);
/* The same of a turn that is wanted back at its first boundary: no short iteration slips
 * by between the turn and the question. */
void sl_turn_grant_one(struct sl_turn_page *page);
void sl_turn_ask(struct sl_turn_page *page);
void sl_turn_unask(struct sl_turn_page *page);
/* For good; wakes the job. */
void sl_turn_revoke(struct sl_turn_page *page);

/* What the job wrote, as it is this moment; totals of its life, which a hostile job may
 * let fall. */
struct sl_turn_seen {
	uint64_t turns, used_ns;
	sl_ns began_ns; /* of the iteration under way or the last one; 0: not within a
			   turn */
	bool has; /* it has the turn */
	bool yielded; /* it gave the last one back */
};
void sl_turn_look(const struct sl_turn_page *page, struct sl_turn_seen *out);
uint64_t sl_turn_turns(const struct sl_turn_page *page);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_SERVE_INT_H
#define SL_SHARE_SERVE_SERVE_INT_H

#include "share/serve/journal.h"
#include "share/serve/types_int.h"

/* What the daemon's files do for each other. */

/* loop.c */
SL_NODISCARD sl_status sl_srv_watch(
	struct sl_serve *s, struct sl_srv_source *source, uint32_t events);
void sl_srv_unwatch(struct sl_serve *s, struct sl_srv_source *source); /* and closes */

/* peer.c */
void sl_srv_peer_close(struct sl_serve *s, struct sl_srv_peer *p, const char *why);
void sl_srv_peers_hear(struct sl_serve *s); /* resumes who is due, hears messages */
void sl_srv_peers_round(struct sl_serve *s); /* and says what is queued */
sl_ns sl_srv_peers_due(const struct sl_serve *s); /* -1: never */
void sl_srv_peers_bury(struct sl_serve *s);
void sl_srv_peers_finish(struct sl_serve *s); /* all of them; the daemon ends */
/* Queues; a peer that does not read is cut off. */
/* Large messages: of jobs, and of everybody while there are services. */
void sl_srv_peer_widen(struct sl_serve *s, struct sl_srv_peer *p);
void sl_srv_send(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
void sl_srv_done(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq);
/* The thread's last failure, as an answer. */
void sl_srv_error(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq, sl_status st);
void sl_srv_words(struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq,
	const char *text, size_t len);

/* bury.c: closes what may take long; true: it is over, and the burial may be freed. */
bool sl_srv_bury(struct sl_serve *s, struct sl_srv_burial *b);
/* As the daemon ends, after a moment; false: its thread has the burial still. */
bool sl_srv_bury_last(struct sl_srv_burial *b);

/* users.c: whose turn to be heard it is, and who has too much. */
SL_NODISCARD sl_status sl_srv_user_join(
	struct sl_serve *s, uid_t uid, struct sl_srv_user **out);
void sl_srv_user_leave(struct sl_serve *s, struct sl_srv_user *u);
/* Its peer that is to be heard next; NULL: nobody has anything to say. */
struct sl_srv_peer *sl_srv_next_heard(struct sl_serve *s);
/* It was heard for so long. */
void sl_srv_heard(struct sl_serve *s, struct sl_srv_peer *p, sl_ns took);
/* Cuts off who lets the daemon keep too much for its user. */
void sl_srv_users_round(struct sl_serve *s);

/* verbs.c: what a message does. A failure is the answer. */
void sl_srv_handle(struct sl_serve *s, struct sl_srv_peer *p, struct sl_msg *m);

/* jobs.c */
SL_NODISCARD sl_status sl_srv_register(
	struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
struct sl_srv_job *sl_srv_job_find(const struct sl_serve *s, uint32_t id);
/* Its process or connection is gone, or it said so. */
void sl_srv_job_end(struct sl_serve *s, struct sl_srv_job *j, const char *why);
/* Its connection is gone. Who lives may be at work: the lane's memory is not for others.
 */
void sl_srv_job_part(struct sl_serve *s, struct sl_srv_job *j, const char *why);
/* Takes its memory and tells it, then ends it. */
void sl_srv_job_lose(
	struct sl_serve *s, struct sl_srv_job *j, sl_status code, const char *why);
void sl_srv_job_free(struct sl_serve *s, struct sl_srv_job *j);
/* It is resident no more; its memory goes. */
void sl_srv_job_leave(struct sl_serve *s, struct sl_srv_job *j);
void sl_srv_jobs_bury(struct sl_serve *s);
void sl_srv_job_hold(struct sl_serve *s, struct sl_srv_job *j, unsigned why, bool on);
void sl_srv_idle(struct sl_serve *s); /* who is idle for long may be parked */
sl_ns sl_srv_idle_due(const struct sl_serve *s);
SL_NODISCARD sl_status sl_srv_job_watch(struct sl_serve *s, struct sl_srv_job *j);
/* When the process began; 0: it is not there, or has no memory any more. */
uint64_t sl_srv_pid_start(pid_t pid);
SL_NODISCARD sl_status sl_srv_job_room(struct sl_serve *s); /* for one more */
struct sl_step sl_srv_arrival(struct sl_serve *s, const struct sl_srv_job *j);
bool sl_srv_random(void *to, size_t bytes);

/* steps.c: events in, decisions out, both into the decision log. */
struct sl_step sl_srv_step(
	const struct sl_serve *s, enum sl_step_kind kind, uint32_t job);
SL_NODISCARD sl_status sl_srv_event(struct sl_serve *s, const struct sl_step *e);
/* Without deciding: of some events of one time, which are then decided on together. */
SL_NODISCARD sl_status sl_srv_apply(struct sl_serve *s, const struct sl_step *e);
void sl_srv_decide(struct sl_serve *s);
sl_ns sl_srv_time(struct sl_serve *s); /* of the decision log */
SL_NODISCARD sl_status sl_srv_steps_begin(struct sl_serve *s); /* a new log, its head */
void sl_srv_steps_flush(struct sl_serve *s);
void sl_srv_steps_end(struct sl_serve *s);

/* turns.c */
void sl_srv_report(
	struct sl_serve *s, struct sl_srv_job *j, uint64_t turns, uint64_t used);
/* Service since the last report as far as it can be true; books it. */
void sl_srv_book(const struct sl_serve *s, struct sl_srv_job *j, uint64_t turns,
	uint64_t used, struct sl_step *out);
void sl_srv_turns(struct sl_serve *s); /* gives, asks back, revokes */
sl_ns sl_srv_turns_due(const struct sl_serve *s);
/* That much of the past counts for no deadline of a job. */
void sl_srv_excuse(struct sl_serve *s, sl_ns away);
/* When sl_share wants a tick; -1: never. */
sl_ns sl_srv_wake(const struct sl_serve *s);

/* lanes.c */
struct sl_srv_mem *sl_srv_mem_find(const struct sl_serve *s, uint32_t lane, uid_t user);
/* Makes and gives up memory as residents need it. */
void sl_srv_mems(struct sl_serve *s);
/* Empties and closes it; lane: whose turns wait for that, or SL_LANE_NONE. */
void sl_srv_mem_retire(struct sl_serve *s, int fd, uint64_t bytes, uint32_t lane);
/* The lane's memory of that user goes, whoever maps it; its other jobs get new one. */
void sl_srv_mem_revoke(struct sl_serve *s, uint32_t lane, uid_t user);
/* Still as large as it was made. */
bool sl_srv_mem_whole(const struct sl_srv_mem *m);
/* Its memory, where it is not there yet. */
SL_NODISCARD sl_status sl_srv_mem_make(struct sl_serve *s, struct sl_srv_mem *m);
/* Whether nobody else's bytes lie in the lane; begins to empty it if some do. */
bool sl_srv_lane_clean(struct sl_serve *s, uint32_t lane, uid_t user);
void sl_srv_scrub(struct sl_serve *s);
void sl_srv_mems_finish(struct sl_serve *s);

/* carry.c */
void sl_srv_carry(struct sl_serve *s);

/* list.c: rows of LIST and STATUS. */
void sl_srv_freshen(struct sl_serve *s); /* sl_share knows what time it is */
void sl_srv_explain(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
/* Lines of the decision log. */
void sl_srv_events(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
void sl_srv_follow(struct sl_serve *s); /* new ones, to who follows */
void sl_srv_list(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
void sl_srv_status(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
/* Turns and service until this moment, the turn under way included. */
void sl_srv_totals(const struct sl_serve *s, const struct sl_srv_job *j, uint64_t *turns,
	uint64_t *used);
/* What a total that a job says is above the known one, as far as that can be true. */
uint64_t sl_srv_said(uint64_t total, uint64_t known, uint64_t most);
void sl_srv_remember(struct sl_serve *s, struct sl_srv_job *j, const char *why);

/* answer.c: requests for services. */
SL_NODISCARD sl_status sl_srv_ask(
	struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
SL_NODISCARD sl_status sl_srv_answer(
	struct sl_serve *s, const struct sl_srv_job *j, const struct sl_msg *m);
void sl_srv_asks_of_job(struct sl_serve *s, uint32_t job); /* it ended */
void sl_srv_asks_of_peer(struct sl_serve *s, const struct sl_srv_peer *p);

/* menu.c */
bool sl_srv_row_allowed(const struct sl_msg_reg *r, uint32_t i);
void sl_srv_menus(struct sl_serve *s); /* waiting jobs get rows that let them in */
void sl_srv_channels(struct sl_serve *s); /* parts of the channels */

/* joint.c: plans for several jobs at once, by a child. */
SL_NODISCARD sl_status sl_srv_joint_open(struct sl_serve *s);
SL_NODISCARD sl_status sl_srv_trace(struct sl_serve *s, struct sl_srv_peer *p,
	struct sl_srv_job *j, const struct sl_msg *m);
void sl_srv_joint_want(struct sl_serve *s); /* who takes part has changed */
void sl_srv_joint_round(struct sl_serve *s);
sl_ns sl_srv_joint_due(const struct sl_serve *s);
void sl_srv_joint_close(struct sl_serve *s);

/* metrics.c */
SL_NODISCARD sl_status sl_srv_metrics_open(struct sl_serve *s);
SL_NODISCARD sl_status sl_srv_metrics_print(struct sl_serve *s, struct sl_buf *out);
void sl_srv_observe(struct sl_srv_hist *h, double seconds, uint64_t times);
void sl_srv_metrics_round(struct sl_serve *s);
sl_ns sl_srv_metrics_due(const struct sl_serve *s);
void sl_srv_metrics_close(struct sl_serve *s);

/* record.c: the journal of this daemon. Never fails its caller. */
/* Reads what a former daemon left, takes it over (attach.c), and begins anew. */
SL_NODISCARD sl_status sl_srv_record_open(struct sl_serve *s);
void sl_srv_record_end(struct sl_serve *s, uint32_t job);
void sl_srv_record_mem(struct sl_serve *s, const struct sl_srv_mem *m);
void sl_srv_record_limit(struct sl_serve *s, uint32_t user, uint64_t bytes);
void sl_srv_record_policy(struct sl_serve *s);
void sl_srv_record_flush(struct sl_serve *s); /* once a round */
void sl_srv_record_close(struct sl_serve *s);

/* attach.c: jobs of a former daemon. */
SL_NODISCARD sl_status sl_srv_restore(
	struct sl_serve *s, const struct sl_journal_book *b);
SL_NODISCARD sl_status sl_srv_attach(
	struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m);
void sl_srv_grace(struct sl_serve *s); /* whether it is over */
/* Device and inode; zeros for what is none. */
void sl_srv_identity(int fd, uint64_t *device, uint64_t *inode);

/* sock.c: the socket's file, its lock, the service manager. */
SL_NODISCARD sl_status sl_srv_sock_bind(
	struct sl_serve *s, const char *path, int *out_fd);
SL_NODISCARD sl_status sl_srv_sock_open(struct sl_serve *s);
void sl_srv_sock_close(struct sl_serve *s);
void sl_srv_sock_resume(struct sl_serve *s); /* accepts again */
void sl_srv_notify(const char *text);
void sl_srv_watchdog(struct sl_serve *s); /* says that the loop goes round */
#endif

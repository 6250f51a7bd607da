/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_CLIENT_CLIENT_INT_H
#define SL_SHARE_CLIENT_CLIENT_INT_H

#include <pthread.h>

#include "base/atom.h"
#include "device/window.h"
#include "share/client/client.h"
#include "share/turn.h"
#include "share/wire/dial.h"
#include "share/wire/link.h"

/* Bits of sl_client.flags, for looks without the lock. */
#define SL_CLIENT_NEWS 1u /* there is mail */
#define SL_CLIENT_LOST 2u
#define SL_CLIENT_STOP 4u

#define SL_CLIENT_LOOK_NS ((sl_ns)100 * 1000000) /* between looks at the stop flag */
#define SL_CLIENT_ANSWER_NS ((sl_ns)10 * 1000000000) /* most for a request */

/* What the daemon said and the session's thread has not seen to yet. */
struct sl_client_mail {
	bool admitted, lane, park;
	struct sl_msg_admitted grant;
	int fd_p, fd_lane; /* of the grant */
	struct sl_msg_lane other;
	int fd_other; /* the other lane */
};

struct sl_client_reply {
	uint32_t seq; /* that is waited for; 0: none */
	bool here;
	sl_status status;
	char text[512];
};

struct sl_client {
	struct sl_client_opts opts;
	char path[SL_DAEMON_PATH];
	struct sl_atom32 flags, channel_ppm, swaps, plan_here;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* of what follows, up to the next blank line */
	pthread_cond_t changed;
	struct sl_link *link; /* NULL: no daemon is there; the reader receives from it
				 without the lock, and it alone exchanges it */
	bool closing;
	uint64_t breaks; /* connections that broke */
	uint32_t seq;
	struct sl_client_reply reply;
	struct sl_client_mail mail;
	char lost_text[256], words[256];
	uint32_t words_seq; /* of the question under way; 0: none */
	struct sl_msg_rate rate;
	bool rate_new;
	int plan_fd, trace_fd; /* -1: none; the trace is said again to another daemon */
	uint64_t plan_bytes, trace_bytes;
	uint64_t reattached;
	/* What an ATTACH says. */
	uint32_t job; /* 0 with no token: not enlisted */
	uint64_t token_high, token_low;
	int fd_page, fd_p, fd_lane;
	bool fresh_lane; /* its pages come with the first turn: until then they may be
			    another user's */
	bool enlisted, filled, idle; /* filled, idle: written by the session alone */
	struct sl_turn_page *page;

	/* The session's alone. */
	struct sl_client_stats stats;
	struct sl_window *window;
	uint64_t p_bytes, e_bytes;
	bool mapped, will_yield, ended;
	bool stale; /* not mapped: its lane was replaced meanwhile; LANE is on its way */
	bool restore; /* P is to be filled from where it was parked once it is mapped */
	int fd_park; /* -1: not parked in a file */
	uint8_t *park; /* NULL: not parked in memory */
	sl_ns explain_at, waits_from;
};

/* client.c */
bool sl_client_flag(const struct sl_client *c, uint32_t flag);
/* Under the lock: sends what can be sent; nobody hears it while there is no daemon. */
void sl_client_say_locked(struct sl_client *c, const struct sl_msg *m);
void sl_client_say(struct sl_client *c, const struct sl_msg *m);
/* Under the lock: for at most ns, or until something changed. */
void sl_client_wait_locked(struct sl_client *c, sl_ns ns);
/* READY for the lane's memory that the client has; under the lock or on the session's
 * thread. */
struct sl_msg sl_client_ready_msg(const struct sl_client *c);

/* dial.c */
SL_NODISCARD sl_status sl_client_shake(struct sl_client *c, struct sl_link **out);
SL_NODISCARD sl_status sl_client_flush(struct sl_link *l, sl_ns limit_ns);

/* reader.c */
void *sl_client_reader(void *client);

/* room.c, on the session's thread: carries the mail out. */
SL_NODISCARD sl_status sl_client_see_to(struct sl_client *c);
void sl_client_give_room(struct sl_client *c);

/* joint.c; under the lock. */
void sl_client_say_trace_locked(struct sl_client *c);

/* wait.c */
SL_NODISCARD sl_status sl_client_wait_turn(struct sl_client *c, bool stoppable);
void sl_client_explain(struct sl_client *c, sl_ns waited_ns);

#endif

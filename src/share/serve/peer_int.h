/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_PEER_INT_H
#define SL_SHARE_SERVE_PEER_INT_H

#include <pthread.h>
#include <sys/types.h>

#include "base/atom.h"
#include "share/wire/link.h"

/* Connections, and whose they are. */
struct sl_serve;

/* What epoll points to. */
struct sl_srv_source {
	int fd;
	void (*on)(struct sl_serve *s, struct sl_srv_source *source, uint32_t events);
};

/* Who has connections. */
struct sl_srv_user {
	struct sl_srv_user *next;
	uid_t uid;
	uint64_t n; /* connections, those that are being closed too */
	/* The loop's time that went into its messages; who had least is heard next. */
	sl_ns used_ns;
	uint64_t queued; /* bytes in its connections' buffers, as of this round */
};

/* What is closed by a thread (bury.c). */
#define SL_SRV_BURIED 254
struct sl_srv_burial {
	pthread_t thread;
	bool started;
	struct sl_atom32 done;
	struct sl_link *link; /* NULL: none */
	int fds[SL_SRV_BURIED];
	uint32_t n_fds;
};

struct sl_srv_peer {
	struct sl_srv_source source; /* first */
	struct sl_srv_peer *next;
	struct sl_srv_user *user;
	uint64_t heard; /* when, of all messages */
	struct sl_srv_job *job; /* its live one */
	struct sl_link *link;
	uid_t uid;
	pid_t pid;
	bool ruler; /* the daemon's owner or root */
	bool greeted, closing, dead; /* closing: when all is said; dead: freed soon */
	bool more; /* whole messages may lie in the link */
	bool closed; /* it hung up: gone when those are heard */
	bool writes; /* epoll looks for room to write */
	double tokens; /* messages it may send now */
	sl_ns filled_ns; /* when they were counted */
	sl_ns resume_ns; /* not read before; 0: it is read */
	bool follow; /* wants each new line of the log */
	uint64_t followed; /* steps told */
	uint32_t follow_seq;
	struct sl_srv_burial burial;
};

#endif

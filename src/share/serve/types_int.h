/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_SERVE_TYPES_INT_H
#define SL_SHARE_SERVE_TYPES_INT_H

#include <sys/socket.h>
#include <sys/types.h>

#include "share/serve/config.h"
#include "share/serve/log.h"
#include "share/serve/peer_int.h"
#include "share/serve/serve.h"
#include "share/state.h"
#include "share/turn.h"

/*
 * The daemon's own: connections, jobs, memory. sl_share says who is resident and whose
 * turn it is; carry.c makes the world so, once a round of the loop. One thread.
 */
#define SL_SRV_VERSION "0.1.0"
#define SL_SRV_PAGE 4096u
#define SL_SRV_HAS_IDLE 8u /* of ATTACH.has: it wants no turns until awake */
#define SL_SRV_TURN_LEAST_NS 1000u /* no iteration is shorter */
#define SL_SRV_RING 4096u /* steps kept for EVENTS */
#define SL_SRV_ENDED 256u /* ended jobs that are remembered */
#define SL_SRV_CHUNK ((uint64_t)64 << 20) /* bytes emptied a round */

/* Why sl_share has a job on hold. */
enum sl_srv_hold {
	SL_SRV_HOLD_USER = 1,
	SL_SRV_HOLD_UNREADY = 2, /* maps and fills its memory */
	SL_SRV_HOLD_IDLE = 4, /* wants no turn */
	SL_SRV_HOLD_ABSENT = 8 /* has not come back to a new daemon */
};

/* What a job is to be told about its memory. */
enum sl_srv_tell {
	SL_SRV_TELL_NOTHING,
	SL_SRV_TELL_ADMITTED,
	SL_SRV_TELL_RESIZED,
	SL_SRV_TELL_LANE
};

struct sl_srv_job {
	uint32_t id;
	struct sl_srv_job
		*buried; /* gone; freed at the end of the round, with this one */
	struct sl_srv_peer *peer; /* NULL: absent */
	struct sl_srv_source exit; /* pidfd; fd -1: none */
	uid_t user;
	pid_t pid;
	uint64_t pid_start; /* clock ticks after boot; tells a new process of the same pid
			     */
	struct sl_msg_reg asked; /* as it registered; sizes in whole pages */
	uint32_t row; /* of the menu */
	uint64_t token[2];
	int page_fd;
	struct sl_turn_page *page;
	int p_fd;
	uint64_t p_bytes; /* of p_fd */
	int trace_fd; /* -1: it gave none */
	uint64_t trace_bytes;
	/* What a job that comes back must bring. */
	uint64_t page_device, page_inode, part_device, part_inode;

	unsigned holds; /* enum sl_srv_hold, as a sum */
	bool held, stays; /* as sl_share knows it */
	sl_ns idle_ns; /* since when it wants no turn */
	bool resident;
	uint32_t lane;
	enum sl_srv_tell tell;
	uint32_t tell_seq; /* of the RESIZE to answer */
	bool told; /* has the descriptors of P and lane */
	bool ready; /* and has mapped them */
	bool parked, parking; /* P lies in its own tier; it was asked to put it there */
	bool granted; /* has the turn */
	bool overhang; /* runs on with a turn of the books before these */
	bool wanted; /* was asked to report */
	bool stopped; /* was told to end */
	uint32_t lost_seq; /* of the request that its end answers; 0: none */
	bool outcast; /* did not come back in time: its P stays charged, no more */
	bool unsaid; /* the journal does not know its state yet */
	sl_ns arrived_ns, granted_ns, wanted_ns, unready_ns, parking_ns;
	sl_ns waited_ns; /* until it was first resident; -1: it was not */
	uint64_t turns, used_ns; /* totals reported and booked */
	struct sl_msg_rate rate;
	sl_ns rate_ns;
	uint32_t channel_ppm; /* as last told */
	/* For its rate: totals some seconds ago. */
	uint64_t then_turns, then_used_ns;
	sl_ns then_ns;
	uint32_t rate_milli, share_ppm;
};

/* Memory of a user's jobs in a lane. */
struct sl_srv_mem {
	uint32_t lane;
	uid_t user;
	int fd; /* -1: is to be made, or brought back */
	uint64_t bytes;
	bool dirty; /* pages may be there */
	bool known; /* from the journal: device and inode say what is to be brought */
	uint64_t device, inode;
};

/* Memory to be emptied, a chunk a round. */
struct sl_srv_scrub {
	int fd;
	uint64_t at, bytes;
	bool closes; /* and is given up then */
	uint32_t lane; /* whose memory it was */
	uid_t user; /* unless it closes: of this user */
};

/* A request that waits for its answer. */
struct sl_srv_ask {
	uint64_t id;
	struct sl_srv_peer *peer; /* who asked */
	uint32_t seq, job; /* of the request; the service */
	sl_ns asked_ns;
};

/* Seconds, by upper bounds. */
#define SL_SRV_BUCKETS 10
#define SL_SRV_BOUNDS \
	{ \
		1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10, 100 \
	}
struct sl_srv_hist {
	uint64_t counts[SL_SRV_BUCKETS + 1];
	double sum;
};

struct sl_srv_scrape;
struct sl_srv_joint;

struct sl_srv_counts {
	uint64_t turns, switches, crashes, rejects, lost, messages, refused, paused;
	uint64_t swap_in, swap_out; /* of jobs that ended */
	uint64_t step_retries;
};

/* The journal's file (record.c). */
struct sl_srv_record {
	char path[512];
	int fd; /* -1: none */
	bool ok; /* says all there is to say */
	bool whole; /* is to be written anew */
	uint64_t bytes, base_bytes; /* now, and after it was last written anew */
	sl_ns retry_ns; /* when it is not ok */
	struct sl_buf text; /* lines to come */
};

struct sl_serve {
	struct sl_serve_settings *settings;
	const struct sl_serve_config *config;
	sl_ns (*clock)(void *ctx);
	void *clock_ctx;
	sl_ns now_ns; /* of this round */
	sl_ns boot_ns; /* of the decision log's time 0 */
	uint64_t boot; /* differs after each start */
	uid_t owner;

	int epoll_fd;
	struct sl_srv_source listen, signals, metrics[2];
	int lock_fd;
	sl_ns watchdog_ns, next_watchdog_ns; /* the service manager's; 0: none */
	sl_ns accept_ns; /* no descriptor was free: nobody is let in before; 0: all are */
	struct sl_msg_job ended[SL_SRV_ENDED];
	uint64_t n_ended; /* ever */
	bool stop, bound; /* bound: the socket's path is ours to remove */

	struct sl_share share;
	struct sl_log decided; /* by the last event */
	struct sl_step *ring;
	uint64_t ring_n; /* steps ever; the last SL_SRV_RING are kept */
	int log_fd;
	struct sl_buf log_text;
	bool dirty; /* carry.c has something to look at */
	bool policy_chosen; /* by a message, which the journal keeps */
	bool redecide; /* memory ran out while deciding */
	sl_ns retry_ns; /* look again then, though nothing happens; 0: no */
	sl_ns grace_ns; /* until then absent jobs may come back; 0: over */

	struct sl_srv_peer *peers;
	size_t n_peers;
	struct sl_srv_user *users;
	sl_ns heard_ns; /* used_ns of the user who was heard last */
	uint64_t n_heard; /* messages ever */
	uint32_t n_burials; /* threads that close something */
	struct sl_srv_job **jobs;
	size_t n_jobs, cap_jobs;
	struct sl_srv_job *buried;
	uint32_t next_job;
	struct sl_srv_mem *mems;
	size_t n_mems, cap_mems;
	struct sl_srv_scrub *scrubs;
	size_t n_scrubs, cap_scrubs;
	struct sl_srv_record record;
	struct sl_srv_log log;
	struct sl_srv_ask *asks;
	size_t n_asks, cap_asks;
	uint64_t next_ask;
	struct sl_srv_scrape *scrapes;
	struct sl_srv_joint *joint; /* NULL: no child processes, as in tests */
	struct sl_srv_hist iterations, waits;
	struct sl_srv_counts counts;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_LANE_RIG_H
#define SL_TESTS_LANE_RIG_H

#include <pthread.h>

#include "device/window.h"
#include "harness/harness.h"
#include "share/decision.h"
#include "share/state.h"
#include "share/turn.h"

/*
 * A shared device within one process and without sockets: each job is a thread with a
 * window of its own, and the test's thread hands out memory and turns as the daemon does.
 * After every step the safety rule is checked in the books and in the memory that is
 * really there; at the end the log is judged and decided again.
 */
#define RIG_JOBS 32
#define RIG_LANES 16
#define RIG_USERS 3

struct rig;

struct rig_job {
	/* Set by the test. */
	uint32_t user;
	uint64_t p_bytes, e_bytes;
	uint64_t rounds;
	uint64_t resize_at; /* before this round, if above 0, to these: */
	uint64_t new_p_bytes, new_e_bytes;
	/* Within each turn, on the job's thread. */
	void (*in_turn)(struct rig_job *j, uint64_t round);

	/* Results: SL_OK and the digest of P, or how it ended. */
	sl_status result;
	uint64_t digest;
	int maps; /* how often memory was mapped */
	bool foreign; /* it saw bytes of another user in its lane */

	/* The rig's. */
	struct rig *rig;
	uint32_t id;
	pthread_t thread;
	struct sl_turn_page *mine, *page; /* its own mapping and the rig's */
	struct sl_window *window;
	int mail[2], fd_p, fd_old; /* old: until it has moved to the new one */
	uint64_t reported_turns, reported_ns;
	bool over;
};

struct rig_lane {
	int fd[RIG_USERS];
	uint32_t last_user; /* of the last turn; RIG_USERS: none */
};

struct rig {
	struct sl_share share;
	struct sl_log log;
	struct rig_job jobs[RIG_JOBS];
	uint32_t n, alive;
	struct rig_lane lanes[RIG_LANES];
	int wire[2]; /* messages of the jobs */
	uint64_t switches, scrubs, made; /* made: pieces of memory */
	uint64_t most_held_bytes;
};

void rig_open(struct rig *r, const char *policy, uint64_t capacity, uint32_t lanes);
/* A job begins; the test may change it until rig_start. */
struct rig_job *rig_add(struct rig *r, uint32_t user, uint64_t p_bytes, uint64_t e_bytes,
	uint64_t rounds);
void rig_start(struct rig_job *j);
/* Hands out until `alive` jobs are left. */
void rig_run_until(struct rig *r, uint32_t alive);
/* Handles one message. */
void rig_step(struct rig *r);
/* The job does not answer: its memory and its turn are taken away. */
void rig_revoke(struct rig_job *j);
/* Waits for its thread. */
void rig_join(struct rig_job *j);
/* The log is judged and decided again; nothing may be left. */
void rig_close(struct rig *r);

/* What the job's digest is when it runs alone in memory of its own. */
uint64_t rig_alone(const struct rig_job *j);

#endif

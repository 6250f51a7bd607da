/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_REPLAY_INT_H
#define SL_MEMORY_REPLAY_INT_H

#include "memory/replay.h"
#include "sim/link.h"

/* A replay's parts, for replay*.c only. A player carries one job out. */
struct sl_player;

/* A copy that is not over. */
struct sl_player_copy {
	struct sl_player *player;
	struct sl_transfer transfer;
	uint32_t value, tier, channel;
	bool in;
	bool dropped; /* in: the value was given up meanwhile */
	bool stays; /* out: the value is still there */
	bool waited; /* in: something began to wait for it at waited_ns */
	uint64_t at; /* on the device */
	uint64_t begin_ns, waited_ns;
	struct sl_player_copy *next; /* in order of issue */
};

/* What a player does on the device, or wants to. */
struct sl_task {
	enum sl_replay_kind kind;
	uint32_t id, op;
	uint64_t dur_ns, bytes, asked_ns, begin_ns;
	uint64_t extra_bytes; /* held while it runs, no longer */
};

struct sl_compute {
	struct sl_player *first, *last; /* the first runs, the others wait */
	uint64_t busy_ns;
};

/* Bytes in use; those of a moment count only if time passes meanwhile. */
struct sl_held {
	uint64_t bytes, peak, since_ns;
};

struct sl_player {
	struct sl_replay_run *run;
	const struct sl_trace *trace;
	const struct sl_plan *plan;
	uint32_t id, iterations, iteration;
	struct sl_compute *compute, own;
	struct sl_channel *queues; /* [2 n_links] */
	uint32_t *queue_of; /* [2 n_links]: link x (0 from, 1 to the device) */
	uint64_t *at; /* [n_values] device offset */
	bool *on; /* [n_values] on the device or coming, by position */
	uint32_t *last; /* [n_values] step of its last access */
	struct sl_player_copy **coming; /* [n_values] its copy in that is not over */
	struct sl_player_copy *copies, *last_copy;
	/* Where it is; a step is an op that runs, for the first time or again. */
	uint32_t op, action, step;
	enum sl_phase phase;
	bool busy; /* its task is queued or runs */
	struct sl_task task;
	struct sl_player *next; /* in compute */
	uint64_t begin_ns; /* of the iteration */
	struct sl_held held;
	struct sl_replay_result result;
};

struct sl_wire {
	struct sl_link link;
	const char *from, *to;
	uint32_t ordinal; /* among the links of one trace with the same ends */
};

struct sl_replay_run {
	const struct sl_replay_opts *opts;
	struct sl_sim sim;
	struct sl_player *players; /* [n_jobs] */
	struct sl_compute compute;
	struct sl_wire **wires;
	uint32_t n_wires;
	size_t cap_wires;
	struct sl_held held;
};

/* replay.c: books. */
void sl_player_hold(struct sl_player *p, uint64_t bytes);
void sl_player_release(struct sl_player *p, uint64_t bytes);
/* The span's job, iteration, end and held bytes are filled in here. */
SL_NODISCARD sl_status sl_player_tell(struct sl_player *p, struct sl_replay_span s);

/* replay_job.c. The action where p is, if there is one; NULL: none at this position. */
const struct sl_action *sl_player_action(const struct sl_player *p);
void sl_player_find_last(struct sl_player *p);
/* An event: the first iteration begins. */
sl_status sl_player_begin(void *player, uint64_t unused);
/* Goes on until p waits for something or is at its end. */
SL_NODISCARD sl_status sl_player_go_on(struct sl_player *p);

/* replay_copy.c. */
SL_NODISCARD sl_status sl_player_issue(struct sl_player *p, const struct sl_action *a);
/* v's bytes are given up: now, or when its copy in is over. */
void sl_player_drop(struct sl_player *p, uint32_t v);
/* Whether v is there; if not, whoever asked waits for its copy. */
bool sl_player_arrived(struct sl_player *p, uint32_t v);
/* v takes the bytes at `at`. */
void sl_player_take(struct sl_player *p, uint32_t v, uint64_t at);
/* Whether no copy uses these device bytes any more. */
bool sl_player_free(const struct sl_player *p, uint64_t at, uint64_t bytes);

#endif

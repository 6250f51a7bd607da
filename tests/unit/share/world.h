/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SHARE_WORLD_H
#define SL_TESTS_SHARE_WORLD_H

#include "events.h"
#include "share/sim.h"

/* A desk with jobs that do what it says, as behind a daemon: turns of one unit, reports
 * only when asked to or at the end, moves that take `move` units. */
#define WORLD_JOBS 1024

struct world {
	struct desk d;
	sl_ns now, move;
	sl_ns left[WORLD_JOBS]; /* service still to come */
	sl_ns run[WORLD_JOBS]; /* service not yet reported */
	sl_ns since[WORLD_JOBS]; /* when its move or its wait began */
	sl_ns first[WORLD_JOBS], end[WORLD_JOBS]; /* -1: not yet */
	uint32_t jobs;
};

static inline void world_open(struct world *w, const char *policy, uint64_t capacity,
	sl_ns quantum, sl_ns max_wait)
{
	*w = (struct world){0};
	desk_open(&w->d, policy, capacity, 0, max_wait);
	w->d.s.rules.quantum_ns = w->d.log.rules.quantum_ns = quantum;
	/* Too fast to count: units of time are nanoseconds here. */
	w->d.s.rules.park_bytes_per_s = w->d.log.rules.park_bytes_per_s =
		quantum > 0 ? (uint64_t)1 << 60 : 0;
}

/* Its first event's text is the caller's. */
static inline uint32_t world_job(
	struct world *w, uint64_t p, uint64_t e, sl_ns length, int32_t priority)
{
	struct sl_step s = arrives(w->now, w->jobs, p, e, length);

	assert_true(w->jobs < WORLD_JOBS);
	s.priority = priority;
	w->left[w->jobs] = length;
	w->first[w->jobs] = w->end[w->jobs] = -1;
	desk_event(&w->d, s);
	return w->jobs++;
}

static inline void world_report(struct world *w, uint32_t id)
{
	enum sl_step_kind kind = w->left[id] > 0 ? SL_STEP_TURN : SL_STEP_END;
	sl_ns used = w->run[id];

	w->run[id] = 0;
	if (kind == SL_STEP_END)
		w->end[id] = w->now;
	desk_event(&w->d, reports(kind, w->now, id, used));
}

/* One unit of time. */
static inline void world_step(struct world *w)
{
	struct sl_share *s = &w->d.s;
	sl_ns wake = sl_share_next_wake(s);

	for (size_t i = 0; i < s->n; i++) {
		struct sl_job *j = s->jobs[i];

		if (!j->running)
			continue;
		w->first[j->id] = w->first[j->id] < 0 ? w->now : w->first[j->id];
		w->run[j->id]++;
		w->left[j->id]--;
	}
	w->now++;
	for (size_t i = 0; i < s->n; i++)
		if (!s->jobs[i]->parking)
			w->since[s->jobs[i]->id] = w->now;
	for (uint32_t id = 0; id < w->jobs; id++) {
		const struct sl_job *j = sl_share_find(s, id);

		if (j && j->parking && w->now - w->since[id] >= w->move)
			desk_event(&w->d, says(SL_STEP_PARKED, w->now, id));
		else if (j && j->running && w->run[id] > 0 &&
			 (w->left[id] == 0 || sl_share_wants_boundary(s, j->lane)))
			world_report(w, id);
	}
	if (wake >= 0 && wake <= w->now && s->now_ns < w->now)
		desk_event(&w->d, says(SL_STEP_TICK, w->now, 0));
}

static inline size_t world_count(const struct world *w, enum sl_step_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < w->d.log.n; i++)
		n += w->d.log.steps[i].kind == kind;
	return n;
}

static inline void world_close(struct world *w)
{
	sl_assert_ok(sl_log_replay_with(&w->d.log,
		sl_job_policy_find(w->d.log.rules.policy), sl_job_policy_find));
	desk_close(&w->d);
}

#endif

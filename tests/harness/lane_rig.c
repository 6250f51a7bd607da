/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the lane rig that hands out memory and turns. */
#include "harness/lane_rig_int.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/shared.h"
#include "share/decision_check.h"
#include "share/policy/policy.h"
#include "share/sim.h"

#define SECOND ((sl_ns)1000000000)

void rig_open(struct rig *r, const char *policy, uint64_t capacity, uint32_t lanes)
{
	struct sl_share_rules rules = {.capacity_bytes = capacity, .lanes = lanes};

	memset(r, 0, sizeof(*r));
	sl_share_init(&r->share, sl_job_policy_find(policy), &rules);
	r->log.rules = r->share.rules;
	for (int i = 0; i < RIG_LANES; i++) {
		r->lanes[i].last_user = RIG_USERS;
		for (int u = 0; u < RIG_USERS; u++)
			r->lanes[i].fd[u] = -1;
	}
	assert_int_equal(pipe(r->wire), 0);
}

struct rig_job *rig_add(
	struct rig *r, uint32_t user, uint64_t p_bytes, uint64_t e_bytes, uint64_t rounds)
{
	struct rig_job *j = &r->jobs[r->n];

	assert_true(r->n < RIG_JOBS && user < RIG_USERS);
	*j = (struct rig_job){.user = user,
		.p_bytes = p_bytes,
		.e_bytes = e_bytes,
		.rounds = rounds,
		.rig = r,
		.id = r->n++,
		.fd_p = -1,
		.fd_old = -1};
	return j;
}

static struct sl_memfd_info info_of(int fd)
{
	struct sl_memfd_info info = {0};

	if (fd >= 0)
		sl_assert_ok(sl_shared_identity(fd, &info));
	return info;
}

/* The safety rule, in memory. A job that resizes has a page twice for a moment. */
static void check_held(struct rig *r)
{
	uint64_t held = 0, slack = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		held += info_of(r->jobs[i].fd_p).held_bytes +
			info_of(r->jobs[i].fd_old).held_bytes;
		slack += r->jobs[i].resize_at > 0 ? SL_SHARED_PAGE : 0;
	}
	for (int i = 0; i < RIG_LANES; i++)
		for (int u = 0; u < RIG_USERS; u++)
			held += info_of(r->lanes[i].fd[u]).held_bytes;
	assert_true(held <= r->share.rules.capacity_bytes + slack);
	if (held > r->most_held_bytes)
		r->most_held_bytes = held;
}

static int make(struct rig *r, uint64_t bytes)
{
	int fd;

	sl_assert_ok(sl_shared_create(bytes, "rig", &fd));
	r->made++;
	return fd;
}

static void drop_old(struct rig_job *j)
{
	sl_fs_close(j->fd_old);
	j->fd_old = -1;
}

/* P of the job's present size and the lane's memory for its user. */
static void send_memory(struct rig_job *j)
{
	struct rig *r = j->rig;
	const struct sl_job *s = sl_share_find(&r->share, j->id);
	int *lane = &r->lanes[s->lane].fd[j->user];
	struct rig_mail mail = {.st = SL_OK};

	/* No larger than its jobs touch: pages come with the first touch. */
	if (*lane < 0)
		*lane = make(r, r->share.rules.capacity_bytes);
	drop_old(j);
	j->fd_old = j->fd_p;
	j->fd_p = make(r, s->persistent_bytes);
	mail.fd_p = dup(j->fd_p);
	mail.fd_lane = dup(*lane);
	assert_int_equal(write(j->mail[1], &mail, sizeof(mail)), sizeof(mail));
}

static void send_refusal(struct rig_job *j, sl_status st)
{
	struct rig_mail mail = {.st = st, .fd_p = -1, .fd_lane = -1};

	assert_int_equal(write(j->mail[1], &mail, sizeof(mail)), sizeof(mail));
}

/* What one user left in a lane is gone before another's job runs in it. */
static void give_turn(struct rig_job *j, uint32_t at)
{
	struct rig_lane *lane = &j->rig->lanes[at];

	if (lane->last_user != j->user && lane->last_user < RIG_USERS &&
		lane->fd[lane->last_user] >= 0) {
		int fd = lane->fd[lane->last_user];

		sl_assert_ok(sl_shared_scrub(fd, 0, info_of(fd).bytes));
		assert_int_equal(info_of(fd).held_bytes, 0);
		j->rig->scrubs++;
	}
	lane->last_user = j->user;
	j->rig->switches++;
	if (sl_share_wants_boundary(&j->rig->share, at))
		sl_turn_grant_one(j->page);
	else
		sl_turn_grant(j->page);
}

static void shrink(struct rig *r, struct rig_lane *lane, uint64_t bytes)
{
	for (int u = 0; u < RIG_USERS; u++) {
		if (lane->fd[u] < 0)
			continue;
		if (bytes > 0) {
			sl_assert_ok(sl_shared_scrub(lane->fd[u], bytes,
				r->share.rules.capacity_bytes - bytes));
			continue;
		}
		sl_fs_close(lane->fd[u]);
		lane->fd[u] = -1;
		lane->last_user = RIG_USERS;
	}
}

static void carry_out(struct rig *r, const struct sl_step *s)
{
	if (s->kind == SL_STEP_ADMIT)
		send_memory(&r->jobs[s->job]);
	else if (s->kind == SL_STEP_RUN)
		give_turn(&r->jobs[s->job], s->lane);
	else if (s->kind == SL_STEP_SHRINK)
		shrink(r, &r->lanes[s->lane], s->bytes);
	else if (s->kind == SL_STEP_REJECT)
		send_refusal(&r->jobs[s->job], SL_E_INFEASIBLE);
	else
		fail_msg("decision %d is not for this rig", (int)s->kind);
}

static void ask_holders(struct rig *r)
{
	for (uint32_t i = 0; i < r->share.lanes.n; i++) {
		uint32_t holder = r->share.lanes.items[i].holder;

		if (r->share.lanes.items[i].open && holder != SL_JOB_NONE &&
			sl_share_wants_boundary(&r->share, i))
			sl_turn_ask(r->jobs[holder].page);
	}
}

static sl_status event(struct rig *r, struct sl_step e)
{
	size_t from;

	e.at_ns = sl_clock_now();
	SL_TRY(sl_share_apply(&r->share, &e));
	sl_assert_ok(sl_log_add(&r->log, &e));
	from = r->log.n;
	sl_assert_ok(sl_share_decide(&r->share, &r->log));
	sl_assert_ok(sl_share_check(&r->share));
	for (; from < r->log.n; from++)
		carry_out(r, &r->log.steps[from]);
	ask_holders(r);
	check_held(r);
	return SL_OK;
}

void rig_start(struct rig_job *j)
{
	int fd;

	assert_int_equal(pipe(j->mail), 0);
	sl_assert_ok(sl_turn_create(&fd, &j->page));
	sl_assert_ok(sl_turn_map(fd, &j->mine));
	sl_fs_close(fd);
	j->rig->alive++;
	assert_int_equal(pthread_create(&j->thread, NULL, rig_job_main, j), 0);
	sl_assert_ok(event(j->rig, (struct sl_step){.kind = SL_STEP_ARRIVE,
					   .job = j->id,
					   .user = j->user,
					   .priority = SL_JOB_PRIORITY,
					   .persistent_bytes = j->p_bytes,
					   .ephemeral_bytes = j->e_bytes}));
}

static void job_is_over(struct rig_job *j)
{
	j->over = true;
	j->rig->alive--;
	sl_fs_close(j->fd_p);
	j->fd_p = -1;
	drop_old(j);
}

/* Totals become what came since the last report. */
static struct sl_step report(struct rig_job *j, enum sl_step_kind kind)
{
	struct sl_turn_seen seen;
	struct sl_step e = {.kind = kind, .job = j->id};

	sl_turn_look(j->page, &seen);
	e.turns = seen.turns - j->reported_turns;
	e.used_ns = (sl_ns)(seen.used_ns - j->reported_ns);
	j->reported_turns = seen.turns;
	j->reported_ns = seen.used_ns;
	return e;
}

static void resize(struct rig_job *j)
{
	struct sl_step e = {.kind = SL_STEP_RESIZE,
		.job = j->id,
		.persistent_bytes = j->new_p_bytes,
		.ephemeral_bytes = j->new_e_bytes};
	sl_status st = event(j->rig, e);

	if (st == SL_OK)
		send_memory(j);
	else
		send_refusal(j, st);
}

/* Whether there is a message; else the time has come to look at who has the turn. */
static bool wait_for_note(struct rig *r)
{
	struct pollfd p = {.fd = r->wire[0], .events = POLLIN};
	sl_ns at = sl_share_next_wake(&r->share), left = at - sl_clock_now();
	struct timespec t = {.tv_nsec = left > 0 ? left % SECOND : 0,
		.tv_sec = left > 0 ? left / SECOND : 0};

	return ppoll(&p, 1, at < 0 ? NULL : &t, NULL) != 0;
}

void rig_step(struct rig *r)
{
	struct rig_note note;
	struct rig_job *j;

	if (!wait_for_note(r)) {
		sl_assert_ok(event(r, (struct sl_step){.kind = SL_STEP_TICK}));
		return;
	}
	assert_int_equal(read(r->wire[0], &note, sizeof(note)), sizeof(note));
	j = &r->jobs[note.job];
	if (j->over)
		return;
	drop_old(j);
	if (note.what == RIG_REPORT) {
		sl_assert_ok(event(r, report(j, SL_STEP_TURN)));
	} else if (note.what == RIG_RESIZE) {
		/* At a boundary, without a turn; held meanwhile, so that none comes. */
		sl_assert_ok(event(r, report(j, SL_STEP_TURN)));
		resize(j);
		sl_assert_ok(event(
			r, (struct sl_step){.kind = SL_STEP_RELEASE, .job = j->id}));
	} else if (note.what == RIG_HOLD) {
		sl_assert_ok(
			event(r, (struct sl_step){.kind = SL_STEP_HOLD, .job = j->id}));
	} else {
		job_is_over(j);
		/* A refused one is off the list already. */
		if (sl_share_find(&r->share, j->id))
			sl_assert_ok(event(r, report(j, SL_STEP_END)));
	}
}

void rig_run_until(struct rig *r, uint32_t alive)
{
	while (r->alive > alive)
		rig_step(r);
}

void rig_revoke(struct rig_job *j)
{
	struct rig *r = j->rig;
	const struct sl_job *s = sl_share_find(&r->share, j->id);
	struct rig_lane *lane = &r->lanes[s->lane];

	sl_turn_revoke(j->page);
	sl_assert_ok(sl_shared_revoke(j->fd_p));
	sl_assert_ok(sl_shared_revoke(lane->fd[j->user]));
	sl_fs_close(lane->fd[j->user]);
	lane->fd[j->user] = -1;
	job_is_over(j);
	sl_assert_ok(event(r, report(j, SL_STEP_END)));
}

void rig_join(struct rig_job *j)
{
	assert_int_equal(pthread_join(j->thread, NULL), 0);
	sl_turn_unmap(j->mine);
	sl_turn_unmap(j->page);
	close(j->mail[0]);
	close(j->mail[1]);
	j->mine = j->page = NULL;
}

void rig_close(struct rig *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->jobs[i].page)
			rig_join(&r->jobs[i]);
	assert_int_equal(r->share.ledger.granted_bytes, 0);
	assert_true(sl_ledger_settled(&r->share.ledger));
	for (int i = 0; i < RIG_LANES; i++)
		for (int u = 0; u < RIG_USERS; u++)
			assert_int_equal(r->lanes[i].fd[u], -1);
	sl_assert_ok(sl_decision_check_log(&r->log));
	sl_assert_ok(sl_log_replay(&r->log, r->share.policy));
	sl_log_finish(&r->log);
	sl_share_finish(&r->share);
	close(r->wire[0]);
	close(r->wire[1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the world as sl_share says: who is resident gets memory, who has the turn is
 * told. It looks at states, not at decisions, so a step that fails (memory, descriptors)
 * is simply taken again.
 *
 * Memory is given out only when all that is to be emptied is empty and when the ledger
 * has the bytes at their place: sum P + sum of lanes holds for pages too.
 */
#include "share/serve/serve_int.h"

#include <stdio.h>

#include "base/fs.h"
#include "device/shared.h"

#define RETRY_NS ((sl_ns)100 * 1000000)
#define ROUNDS 8

static void admit(struct sl_serve *s, struct sl_srv_job *j, const struct sl_job *sj)
{
	j->resident = true;
	j->lane = sj->lane;
	j->told = j->ready = false;
	j->tell = SL_SRV_TELL_ADMITTED;
	j->unsaid = true;
	if (j->trace_fd >= 0)
		sl_srv_joint_want(s);
	if (j->waited_ns < 0) {
		j->waited_ns = s->now_ns - j->arrived_ns;
		sl_srv_observe(&s->waits, (double)j->waited_ns * 1e-9, 1);
	}
	if (j->holds != 0)
		sl_srv_job_hold(s, j, 0, true);
}

/* Asks for P to be moved away; what was never handed out needs no moving. */
static void park(struct sl_serve *s, struct sl_srv_job *j)
{
	struct sl_step e = sl_srv_step(s, SL_STEP_PARKED, j->id);

	j->parking = true;
	j->parking_ns = s->now_ns;
	if (j->told) {
		sl_srv_send(s, j->peer, &(struct sl_msg){.number = SL_MSG_PARK});
		return;
	}
	if (sl_srv_event(s, &e) != SL_OK)
		sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
	sl_srv_job_leave(s, j);
}

/* What sl_share changed. */
static void follow(struct sl_serve *s)
{
	for (size_t i = 0; i < s->n_jobs;) {
		struct sl_srv_job *j = s->jobs[i];
		const struct sl_job *sj = sl_share_find(&s->share, j->id);

		if (!sj) {
			s->counts.rejects++;
			sl_srv_job_lose(s, j, SL_E_INFEASIBLE,
				"the job is larger than the device");
			i = 0;
			continue;
		}
		if (sj->resident && !j->resident)
			admit(s, j, sj);
		if (sj->parking && !j->parking)
			park(s, j);
		i++;
	}
}

/* Its bytes are at their place in the ledger: nothing that runs stands in their way. */
static bool has_place(const struct sl_serve *s, const struct sl_job *sj)
{
	const struct sl_region *p =
		sl_ledger_find(&s->share.ledger, SL_LEDGER_JOB, sj->id);
	const struct sl_region *lane =
		sl_ledger_find(&s->share.ledger, SL_LEDGER_LANE, sj->lane);

	return p && lane && p->size_bytes >= sj->persistent_bytes &&
	       lane->size_bytes >= sj->ephemeral_bytes;
}

static sl_status make_part(struct sl_srv_job *j, const struct sl_job *sj)
{
	char name[64];
	int fd = -1;

	if (j->p_bytes == sj->persistent_bytes && (j->p_fd >= 0 || j->p_bytes == 0))
		return SL_OK;
	if (sj->persistent_bytes > 0) {
		(void)snprintf(name, sizeof(name), "sluice-job-%u", j->id);
		SL_TRY(sl_shared_create(sj->persistent_bytes, name, &fd));
	}
	/* Of the old part the job still has what it copies from. */
	sl_fs_close(j->p_fd);
	j->p_fd = fd;
	j->p_bytes = sj->persistent_bytes;
	sl_srv_identity(fd, &j->part_device, &j->part_inode);
	return SL_OK;
}

static void put_fds(struct sl_msg *m, const struct sl_srv_job *j, int lane_fd)
{
	if (m->number != SL_MSG_LANE && j->p_fd >= 0)
		m->fds[m->n_fds++] = j->p_fd;
	if (lane_fd >= 0)
		m->fds[m->n_fds++] = lane_fd;
}

static void fill_admitted(struct sl_msg *m, const struct sl_srv_job *j,
	const struct sl_job *sj, const struct sl_srv_mem *mem)
{
	m->number = SL_MSG_ADMITTED;
	m->u.admitted = (struct sl_msg_admitted){.row = j->row,
		.restore = j->parked,
		.persistent_bytes = sj->persistent_bytes,
		.ephemeral_bytes = sj->ephemeral_bytes,
		.lane = j->lane,
		.lane_bytes = mem->bytes,
		.channel_ppm = j->channel_ppm};
}

static void fill_resized(struct sl_msg *m, const struct sl_srv_job *j,
	const struct sl_job *sj, const struct sl_srv_mem *mem)
{
	m->number = SL_MSG_RESIZED;
	m->seq = j->tell_seq;
	m->u.resized = (struct sl_msg_resized){.lane = j->lane,
		.persistent_bytes = sj->persistent_bytes,
		.ephemeral_bytes = sj->ephemeral_bytes,
		.lane_bytes = mem->bytes};
}

static void fill_lane(struct sl_msg *m, const struct sl_srv_job *j,
	const struct sl_job *sj, const struct sl_srv_mem *mem)
{
	(void)sj;
	m->number = SL_MSG_LANE;
	m->u.lane = (struct sl_msg_lane){.lane = j->lane, .lane_bytes = mem->bytes};
}

static sl_status tell(struct sl_serve *s, struct sl_srv_job *j)
{
	static void (*const fill[])(struct sl_msg *, const struct sl_srv_job *,
		const struct sl_job *, const struct sl_srv_mem *) = {
		[SL_SRV_TELL_ADMITTED] = fill_admitted,
		[SL_SRV_TELL_RESIZED] = fill_resized,
		[SL_SRV_TELL_LANE] = fill_lane,
	};
	const struct sl_job *sj = sl_share_find(&s->share, j->id);
	struct sl_srv_mem *mem = sl_srv_mem_find(s, j->lane, j->user);
	struct sl_msg m = {.fds = {-1, -1, -1}};

	if (!sj || !mem || !has_place(s, sj))
		return SL_OK;
	/* A job of its user cut it short: nobody else is given it. */
	if (mem->fd >= 0 && !sl_srv_mem_whole(mem)) {
		sl_srv_mem_revoke(s, j->lane, j->user);
		return SL_OK;
	}
	/* Too small, and still in use, or to be brought back: another round. */
	if (mem->known || (mem->fd >= 0 && mem->bytes < sj->ephemeral_bytes))
		return SL_OK;
	SL_TRY(sl_srv_mem_make(s, mem));
	SL_TRY(make_part(j, sj));
	fill[j->tell](&m, j, sj, mem);
	put_fds(&m, j, mem->fd);
	/* A job that asked for other sizes maps them before it looks for its turn. */
	j->ready = j->tell == SL_SRV_TELL_RESIZED;
	j->unready_ns = s->now_ns;
	j->tell = SL_SRV_TELL_NOTHING;
	j->told = j->unsaid = true;
	mem->dirty = true;
	sl_srv_send(s, j->peer, &m);
	return SL_OK;
}

static void tell_all(struct sl_serve *s)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];
		uint32_t id = j->id;

		if (j->tell == SL_SRV_TELL_NOTHING || j->granted || j->overhang ||
			!j->peer || s->n_scrubs > 0)
			continue;
		if (tell(s, j) != SL_OK) {
			sl_srv_log_say(&s->log, "memory_waits", id, sl_last_error());
			s->retry_ns = s->now_ns + RETRY_NS;
		}
		/* Who did not read is gone, and the list has changed. */
		if (i < s->n_jobs && s->jobs[i] != j)
			i--;
	}
}

void sl_srv_carry(struct sl_serve *s)
{
	if (s->redecide && s->now_ns >= s->retry_ns)
		sl_srv_decide(s);
	for (int i = 0; i < ROUNDS && s->dirty; i++) {
		s->dirty = false;
		follow(s);
		sl_srv_menus(s);
		sl_srv_mems(s);
		sl_srv_channels(s);
		tell_all(s);
		sl_srv_turns(s);
	}
}

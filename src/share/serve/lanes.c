/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of lanes: one for each (lane, user), as large as the largest E of the user's
 * jobs in it.
 *
 * 1. Users never see each other's bytes: their memory is not the same.
 * 2. Of one lane, only the memory of the user whose job has the turn keeps pages; what
 *    others left there, and what was given up, is emptied before the turn is given.
 * 3. Memory is emptied a chunk a round, so that nobody waits for the loop; what is not
 *    empty yet is not given out again (carry.c).
 * 4. It grows by new memory and shrinks where it is, while none of its jobs has the
 *    turn: what is granted of the device is never less than what is there.
 */
#include "share/serve/serve_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memfd.h"
#include "device/shared.h"

#define MAX_MEMS ((size_t)1 << 20)

struct sl_srv_mem *sl_srv_mem_find(const struct sl_serve *s, uint32_t lane, uid_t user)
{
	for (size_t i = 0; i < s->n_mems; i++)
		if (s->mems[i].lane == lane && s->mems[i].user == user)
			return &s->mems[i];
	return NULL;
}

static void drop_scrub(struct sl_serve *s, size_t i)
{
	s->n_scrubs--;
	memmove(&s->scrubs[i], &s->scrubs[i + 1],
		(s->n_scrubs - i) * sizeof(s->scrubs[0]));
}

static bool push(struct sl_serve *s, const struct sl_srv_scrub *x)
{
	if (sl_grow((void **)&s->scrubs, &s->cap_scrubs, s->n_scrubs + 1,
		    sizeof(s->scrubs[0]), MAX_MEMS))
		return false;
	s->scrubs[s->n_scrubs++] = *x;
	return true;
}

static bool is_empty(int fd)
{
	struct sl_memfd_info info;

	return sl_shared_identity(fd, &info) == SL_OK && info.held_bytes == 0;
}

void sl_srv_mem_retire(struct sl_serve *s, int fd, uint64_t bytes, uint32_t lane)
{
	const struct sl_srv_scrub x = {
		.fd = fd, .bytes = bytes, .closes = true, .lane = lane};

	if (fd < 0)
		return;
	for (size_t i = 0; i < s->n_scrubs; i++)
		if (s->scrubs[i].fd == fd)
			drop_scrub(s, i--);
	if (!is_empty(fd) && push(s, &x))
		return;
	/* Nothing to wait for, or no memory for the list: at once, then. */
	(void)!sl_shared_revoke(fd);
	sl_fs_close(fd);
}

static void finish_scrub(struct sl_serve *s, size_t i)
{
	struct sl_srv_scrub x = s->scrubs[i];
	struct sl_srv_mem *m;

	drop_scrub(s, i);
	s->dirty = true;
	if (x.closes) {
		(void)!sl_shared_revoke(x.fd);
		sl_fs_close(x.fd);
		return;
	}
	m = sl_srv_mem_find(s, x.lane, x.user);
	if (m && m->fd == x.fd)
		m->dirty = false;
}

void sl_srv_scrub(struct sl_serve *s)
{
	struct sl_srv_scrub *x = s->scrubs;
	uint64_t chunk;

	if (s->n_scrubs == 0)
		return;
	chunk = x->bytes - x->at < SL_SRV_CHUNK ? x->bytes - x->at : SL_SRV_CHUNK;
	if (sl_shared_scrub(x->fd, x->at, chunk) != SL_OK) {
		sl_srv_log_say(&s->log, "scrub_failed", UINT32_MAX, sl_last_error());
		x->at = x->bytes;
	} else {
		x->at += chunk;
	}
	if (x->at >= x->bytes)
		finish_scrub(s, 0);
}

static bool is_scrubbed(const struct sl_serve *s, int fd)
{
	for (size_t i = 0; i < s->n_scrubs; i++)
		if (s->scrubs[i].fd == fd)
			return true;
	return false;
}

/* The turn comes back to the user whose memory is being emptied: not under its job. */
static void keep_own(struct sl_serve *s, uint32_t lane, uid_t user)
{
	const struct sl_srv_mem *m = sl_srv_mem_find(s, lane, user);

	for (size_t i = 0; m && m->fd >= 0 && i < s->n_scrubs; i++)
		if (s->scrubs[i].fd == m->fd)
			drop_scrub(s, i--);
}

bool sl_srv_lane_clean(struct sl_serve *s, uint32_t lane, uid_t user)
{
	bool clean = true;

	keep_own(s, lane, user);
	for (size_t i = 0; i < s->n_scrubs; i++)
		clean = clean && !(s->scrubs[i].closes && s->scrubs[i].lane == lane);
	for (size_t i = 0; i < s->n_mems; i++) {
		struct sl_srv_mem *m = &s->mems[i];
		struct sl_srv_scrub x = {
			.fd = m->fd, .bytes = m->bytes, .lane = m->lane, .user = m->user};

		if (m->lane != lane || m->user == user || !m->dirty || m->fd < 0)
			continue;
		if (!is_scrubbed(s, m->fd) && !push(s, &x)) {
			(void)!sl_shared_scrub(m->fd, 0, m->bytes);
			m->dirty = false;
			continue;
		}
		clean = false;
	}
	return clean;
}

/* What the user's jobs in the lane need; *members: how many there are; *busy: one of them
 * has the turn. */
static uint64_t need_of(const struct sl_serve *s, const struct sl_srv_mem *m,
	uint32_t *members, bool *busy)
{
	uint64_t need = 0;

	*members = 0;
	*busy = false;
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sl_srv_job *j = s->jobs[i];
		const struct sl_job *sj;

		if (!j->resident || j->lane != m->lane || j->user != m->user)
			continue;
		sj = sl_share_find(&s->share, j->id);
		(*members)++;
		*busy = *busy || j->granted || j->overhang;
		if (sj && sj->ephemeral_bytes > need)
			need = sj->ephemeral_bytes;
	}
	return need;
}

/* Jobs that have the old memory are to get the new one. */
static void tell_members(struct sl_serve *s, uint32_t lane, uid_t user)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];

		if (j->resident && j->lane == lane && j->user == user && j->told &&
			j->tell == SL_SRV_TELL_NOTHING)
			j->tell = SL_SRV_TELL_LANE;
	}
}

static void add_missing(struct sl_serve *s)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sl_srv_job *j = s->jobs[i];

		if (!j->resident || sl_srv_mem_find(s, j->lane, j->user))
			continue;
		if (sl_grow((void **)&s->mems, &s->cap_mems, s->n_mems + 1,
			    sizeof(s->mems[0]), MAX_MEMS)) {
			s->retry_ns = s->now_ns + 1;
			return;
		}
		s->mems[s->n_mems++] =
			(struct sl_srv_mem){.lane = j->lane, .user = j->user, .fd = -1};
	}
}

static void forget(struct sl_serve *s, struct sl_srv_mem *m)
{
	sl_srv_mem_retire(s, m->fd, m->bytes, m->lane);
	m->fd = -1;
	m->bytes = 0;
	m->dirty = m->known = false;
	sl_srv_record_mem(s, m);
}

/* Those that it was larger for are gone: no job that is left maps what goes. */
static void trim(struct sl_serve *s, struct sl_srv_mem *m, uint64_t need)
{
	if (m->fd < 0 || m->bytes <= need || sl_shared_trim(m->fd, need) != SL_OK)
		return;
	for (size_t i = 0; i < s->n_scrubs; i++)
		if (s->scrubs[i].fd == m->fd && s->scrubs[i].bytes > need) {
			s->scrubs[i].bytes = need;
			if (s->scrubs[i].at > need)
				s->scrubs[i].at = need;
		}
	m->bytes = need;
	sl_srv_record_mem(s, m);
}

void sl_srv_mems(struct sl_serve *s)
{
	add_missing(s);
	for (size_t i = 0; i < s->n_mems; i++) {
		struct sl_srv_mem *m = &s->mems[i];
		uint32_t members;
		bool busy;
		uint64_t need = need_of(s, m, &members, &busy);

		if (members > 0 && !m->known && !busy)
			trim(s, m, need);
		if (members > 0 && (m->known || m->bytes >= need))
			continue;
		if (members > 0)
			tell_members(s, m->lane, m->user);
		if (busy)
			continue;
		forget(s, m);
		if (members == 0)
			s->mems[i--] = s->mems[--s->n_mems];
	}
}

sl_status sl_srv_mem_make(struct sl_serve *s, struct sl_srv_mem *m)
{
	uint32_t members;
	bool busy;
	uint64_t need = need_of(s, m, &members, &busy);
	char name[64];

	if (m->fd >= 0 || m->known || need == 0)
		return SL_OK;
	(void)snprintf(name, sizeof(name), "sluice-lane-%u-%u", m->lane, m->user);
	SL_TRY(sl_shared_create(need, name, &m->fd));
	m->bytes = need;
	m->dirty = false;
	sl_srv_identity(m->fd, &m->device, &m->inode);
	sl_srv_record_mem(s, m);
	return SL_OK;
}

bool sl_srv_mem_whole(const struct sl_srv_mem *m)
{
	struct sl_memfd_info info;

	return sl_shared_identity(m->fd, &info) == SL_OK && info.bytes == m->bytes;
}

void sl_srv_mem_revoke(struct sl_serve *s, uint32_t lane, uid_t user)
{
	struct sl_srv_mem *m = sl_srv_mem_find(s, lane, user);

	if (!m)
		return;
	forget(s, m);
	tell_members(s, lane, user);
	s->dirty = true;
}

void sl_srv_mems_finish(struct sl_serve *s)
{
	for (size_t i = 0; i < s->n_scrubs; i++)
		if (s->scrubs[i].closes)
			sl_fs_close(s->scrubs[i].fd);
	for (size_t i = 0; i < s->n_mems; i++)
		sl_fs_close(s->mems[i].fd);
	sl_free(s->scrubs);
	sl_free(s->mems);
	s->n_scrubs = s->n_mems = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that comes and goes: mapping what a job is admitted with, parking P. */
#include "share/client/client_int.h"

#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/memfd.h"

#define PIECE ((uint64_t)8 << 20)

static void drop_fd(int *fd)
{
	sl_fs_close(*fd);
	*fd = -1;
}

static void forget_park(struct sl_client *c)
{
	drop_fd(&c->fd_park);
	sl_free(c->park);
	c->park = NULL;
}

/* The window, its descriptors, and what was parked. */
void sl_client_give_room(struct sl_client *c)
{
	if (c->window != NULL)
		sl_window_unmap(c->window);
	pthread_mutex_lock(&c->lock);
	drop_fd(&c->fd_p);
	drop_fd(&c->fd_lane);
	pthread_mutex_unlock(&c->lock);
	c->mapped = c->stale = c->restore = false;
	forget_park(c);
}

/* A copy past the page cache where that is possible: cached pages would be memory that
 * nobody was granted. */
static sl_status copy_out(struct sl_client *c, const uint8_t *base)
{
	if (strcmp(c->opts.folder, "none") == 0) {
		c->park = sl_alloc(c->p_bytes);
		if (c->park == NULL)
			return SL_FAIL(SL_E_NOMEM, "no host memory to park %llu bytes in",
				(unsigned long long)c->p_bytes);
		memcpy(c->park, base, c->p_bytes);
		return SL_OK;
	}
	SL_TRY(sl_fs_scratch(c->opts.folder, &c->fd_park));
	(void)fcntl(c->fd_park, F_SETFL, O_DIRECT);
	for (uint64_t at = 0; at < c->p_bytes; at += PIECE) {
		uint64_t left = c->p_bytes - at;
		size_t len = (size_t)(left < PIECE ? left : PIECE);

		SL_TRY(sl_fs_pwrite(c->fd_park, c->opts.folder, base + at, len, at));
	}
	if ((fcntl(c->fd_park, F_GETFL) & O_DIRECT) == 0 &&
		sync_file_range(c->fd_park, 0, 0,
			SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0)
		(void)posix_fadvise(c->fd_park, 0, 0, POSIX_FADV_DONTNEED);
	return SL_OK;
}

static sl_status copy_in(struct sl_client *c, uint8_t *base)
{
	if (c->park != NULL) {
		memcpy(base, c->park, c->p_bytes);
		return SL_OK;
	}
	if (c->fd_park < 0 && c->p_bytes > 0)
		return SL_FAIL(SL_E_LOST,
			"the daemon asks for what was not parked: it is of another "
			"version");
	for (uint64_t at = 0; at < c->p_bytes; at += PIECE) {
		uint64_t left = c->p_bytes - at;
		size_t len = (size_t)(left < PIECE ? left : PIECE);
		sl_status st =
			sl_fs_pread(c->fd_park, c->opts.folder, base + at, len, at);

		if (st != SL_OK)
			return sl_fail_prefix(st == SL_E_READ ? SL_E_IO : st,
				"reading back what was parked");
	}
	return SL_OK;
}

static sl_status park(struct sl_client *c)
{
	const struct sl_msg m = {.number = SL_MSG_PARKED};
	sl_status st = SL_OK;

	if (!c->mapped && !c->stale)
		return SL_OK;
	if (sl_turn_try(c->page))
		sl_turn_yield(c->page);
	/* Not back yet from where it was parked: it is there still. */
	if (c->mapped || (c->filled && !c->restore))
		st = copy_out(c, sl_window_base(c->window));
	if (st != SL_OK && sl_client_lost(c))
		return sl_client_reason(c);
	if (st != SL_OK)
		return sl_fail_prefix(st,
			"parking %llu bytes to make room for another job; --disk DIR "
			"names "
			"another folder",
			(unsigned long long)c->p_bytes);
	sl_window_unmap(c->window);
	c->mapped = c->stale = false;
	c->stats.parked++;
	pthread_mutex_lock(&c->lock);
	drop_fd(&c->fd_p);
	drop_fd(&c->fd_lane);
	sl_client_say_locked(c, &m);
	pthread_mutex_unlock(&c->lock);
	return SL_OK;
}

static sl_status check_grant(const struct sl_client *c, const struct sl_msg_admitted *g)
{
	bool fits = g->persistent_bytes % 4096 == 0 && g->ephemeral_bytes % 4096 == 0 &&
		    g->lane_bytes >= g->ephemeral_bytes &&
		    g->persistent_bytes < UINT64_MAX / 4 &&
		    g->ephemeral_bytes < UINT64_MAX / 4;

	if (c->window != NULL)
		fits = fits && g->persistent_bytes == c->p_bytes &&
		       g->ephemeral_bytes == c->e_bytes;
	if (fits)
		return SL_OK;
	return SL_FAIL(SL_E_LOST,
		"admitted with %llu and %llu bytes in a lane of %llu: the daemon is of "
		"another version",
		(unsigned long long)g->persistent_bytes,
		(unsigned long long)g->ephemeral_bytes,
		(unsigned long long)g->lane_bytes);
}

static sl_status map(struct sl_client *c)
{
	if (c->window == NULL)
		SL_TRY(sl_window_create(c->p_bytes + c->e_bytes, &c->window));
	SL_TRY(sl_window_map(c->window, c->fd_p, c->p_bytes, c->fd_lane, c->e_bytes));
	return sl_window_populate_p(c->window);
}

struct sl_msg sl_client_ready_msg(const struct sl_client *c)
{
	struct sl_msg m = {.number = SL_MSG_READY};
	struct sl_memfd_info info;

	if (c->fd_lane >= 0 && sl_memfd_check(c->fd_lane, 0, 0, &info) == SL_OK)
		m.u.ready.memory = (uint32_t)info.inode;
	return m;
}

/* Memory that is gone already was replaced by other, which the daemon is about to send;
 * if it was taken away instead, it says that. */
static sl_status settle(struct sl_client *c)
{
	struct sl_msg m;
	sl_status st;

	/* P, where it is mapped, stays. */
	st = c->window != NULL && c->p_bytes > 0 &&
			     sl_window_p_bytes(c->window) == c->p_bytes
		     ? sl_window_map_lane(c->window, c->fd_lane, c->e_bytes)
		     : map(c);
	c->fresh_lane = true;
	c->mapped = st == SL_OK;
	c->stale = st == SL_E_LOST && !sl_client_lost(c);
	if (c->stale)
		return SL_OK;
	SL_TRY(st);
	if (!c->restore)
		return SL_OK;
	SL_TRY(copy_in(c, sl_window_base(c->window)));
	forget_park(c);
	c->restore = false;
	m = sl_client_ready_msg(c);
	sl_client_say(c, &m);
	return SL_OK;
}

static sl_status move_in(struct sl_client *c, const struct sl_client_mail *mail)
{
	const struct sl_msg_admitted *g = &mail->grant;

	pthread_mutex_lock(&c->lock);
	drop_fd(&c->fd_p);
	drop_fd(&c->fd_lane);
	c->fd_p = mail->fd_p;
	c->fd_lane = mail->fd_lane;
	pthread_mutex_unlock(&c->lock);
	SL_TRY(check_grant(c, g));
	c->p_bytes = g->persistent_bytes;
	c->e_bytes = g->ephemeral_bytes;
	c->stats.row = g->row;
	c->stats.lane = g->lane;
	sl_atom32_store(&c->channel_ppm, g->channel_ppm);
	/* What was never filled is filled now, whatever became of the first grant. */
	c->restore = g->restore != 0 && c->filled;
	c->mapped = false;
	if (c->window != NULL)
		sl_window_unmap(c->window);
	return settle(c);
}

static sl_status change_lane(struct sl_client *c, const struct sl_client_mail *mail)
{
	struct sl_msg m;
	bool has = c->mapped || c->stale;

	if (!has || mail->other.lane_bytes < c->e_bytes) {
		sl_fs_close(mail->fd_other);
		return has ? SL_FAIL(SL_E_LOST,
				     "a lane of %llu bytes where %llu are needed",
				     (unsigned long long)mail->other.lane_bytes,
				     (unsigned long long)c->e_bytes)
			   : SL_OK;
	}
	pthread_mutex_lock(&c->lock);
	drop_fd(&c->fd_lane);
	c->fd_lane = mail->fd_other;
	pthread_mutex_unlock(&c->lock);
	c->stats.lane = mail->other.lane;
	SL_TRY(settle(c));
	m = sl_client_ready_msg(c);
	if (c->filled && c->mapped)
		sl_client_say(c, &m);
	return SL_OK;
}

static void take_mail(struct sl_client *c, struct sl_client_mail *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->mail;
	c->mail = (struct sl_client_mail){.fd_p = -1, .fd_lane = -1, .fd_other = -1};
	(void)sl_atom32_and(&c->flags, ~SL_CLIENT_NEWS);
	pthread_mutex_unlock(&c->lock);
}

static void drop_mail(struct sl_client_mail *mail)
{
	if (mail->admitted) {
		sl_fs_close(mail->fd_p);
		sl_fs_close(mail->fd_lane);
	}
	if (mail->lane)
		sl_fs_close(mail->fd_other);
}

/* It is to park what it was just admitted with and has not looked at: PARK came last,
 * for another ADMITTED follows only upon the answer. */
static void leave_parked(struct sl_client *c, struct sl_client_mail *mail)
{
	const struct sl_msg m = {.number = SL_MSG_PARKED};

	drop_mail(mail);
	mail->admitted = mail->lane = mail->park = false;
	c->stats.parked++;
	sl_client_say(c, &m);
}

sl_status sl_client_see_to(struct sl_client *c)
{
	struct sl_client_mail mail;
	sl_status st = SL_OK;

	if (sl_client_lost(c))
		return sl_client_reason(c);
	if (!sl_client_flag(c, SL_CLIENT_NEWS))
		return SL_OK;
	take_mail(c, &mail);
	if (mail.park && mail.admitted && !c->mapped && !c->stale)
		leave_parked(c, &mail);
	if (mail.park)
		st = park(c);
	if (st == SL_OK && mail.admitted) {
		mail.admitted = false;
		st = move_in(c, &mail);
	}
	if (st == SL_OK && mail.lane) {
		mail.lane = false;
		st = change_lane(c, &mail);
	}
	drop_mail(&mail);
	return st == SL_E_LOST ? sl_fail_prefix(st, "the daemon took the memory away")
			       : st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's file: appended to, written anew when it has doubled or when it could not
 * be written. A full disk stops nobody: the daemon goes on and tries again.
 */
#include "share/serve/serve_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define TEXT_MOST ((size_t)256 << 20)
#define READ_MOST ((size_t)256 << 20)
#define SLACK_BYTES ((uint64_t)64 << 10)
#define RETRY_NS ((sl_ns)1000000000)

void sl_srv_identity(int fd, uint64_t *device, uint64_t *inode)
{
	struct stat info;

	*device = *inode = 0;
	if (fd < 0 || fstat(fd, &info))
		return;
	*device = (uint64_t)info.st_dev;
	*inode = (uint64_t)info.st_ino;
}

/* What could not be written or kept is written as a whole, later. */
static void fail(struct sl_serve *s, const char *why)
{
	/* Once more at once, then now and then. */
	s->record.retry_ns = s->record.ok ? s->now_ns : s->now_ns + RETRY_NS;
	if (s->record.ok)
		sl_srv_log_say(&s->log, "journal_fails", UINT32_MAX, why);
	s->record.ok = false;
	sl_buf_clear(&s->record.text);
}

static void kept(struct sl_serve *s, sl_status st)
{
	if (st != SL_OK)
		fail(s, sl_last_error());
}

void sl_srv_record_end(struct sl_serve *s, uint32_t job)
{
	kept(s, sl_journal_put_end(&s->record.text, job));
}

void sl_srv_record_mem(struct sl_serve *s, const struct sl_srv_mem *m)
{
	struct sl_journal_mem line = {.lane = m->lane,
		.user = m->user,
		.device = m->device,
		.inode = m->inode,
		.bytes = m->bytes};

	kept(s, sl_journal_put_mem(&s->record.text, &line));
}

void sl_srv_record_limit(struct sl_serve *s, uint32_t user, uint64_t bytes)
{
	kept(s, sl_journal_put_limit(&s->record.text, user, bytes));
}

void sl_srv_record_policy(struct sl_serve *s)
{
	s->policy_chosen = true;
	kept(s, sl_journal_put_policy(&s->record.text, s->share.rules.policy));
}

static sl_status put_job(struct sl_serve *s, struct sl_srv_job *j, struct sl_buf *out)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);
	const struct sl_wire_option *row = &j->asked.menu.rows[j->row];
	struct sl_journal_job line = {.id = j->id,
		.user = j->user,
		.row = j->row,
		.lane = j->resident && !j->outcast ? j->lane : SL_LANE_NONE,
		.pid = j->pid,
		.pid_start = j->pid_start,
		.token_high = j->token[0],
		.token_low = j->token[1],
		.told = j->told,
		.paused = (j->holds & SL_SRV_HOLD_USER) != 0,
		.parked = j->parked,
		.persistent_bytes = sj ? sj->persistent_bytes : row->persistent_bytes,
		.ephemeral_bytes = sj ? sj->ephemeral_bytes : row->ephemeral_bytes,
		.turns = j->turns,
		.used_ns = j->used_ns,
		.page_device = j->page_device,
		.page_inode = j->page_inode,
		.part_device = j->part_device,
		.part_inode = j->part_inode,
		.asked = j->asked};

	SL_TRY(sl_journal_put_job(out, &line));
	j->unsaid = false;
	return SL_OK;
}

static sl_status put_all(struct sl_serve *s, struct sl_buf *out)
{
	SL_TRY(sl_journal_put_head(out, s->next_job));
	if (s->policy_chosen)
		SL_TRY(sl_journal_put_policy(out, s->share.rules.policy));
	for (size_t i = 0; i < s->share.n_limits; i++)
		SL_TRY(sl_journal_put_limit(
			out, s->share.limits[i].user, s->share.limits[i].bytes));
	for (size_t i = 0; i < s->n_jobs; i++)
		SL_TRY(put_job(s, s->jobs[i], out));
	for (size_t i = 0; i < s->n_mems; i++)
		if (s->mems[i].bytes > 0)
			SL_TRY(sl_journal_put_mem(
				out, &(struct sl_journal_mem){.lane = s->mems[i].lane,
					     .user = s->mems[i].user,
					     .device = s->mems[i].device,
					     .inode = s->mems[i].inode,
					     .bytes = s->mems[i].bytes}));
	return SL_OK;
}

static bool write_all(int fd, const struct sl_buf *text)
{
	for (size_t at = 0; at < text->len;) {
		ssize_t n = write(fd, text->data + at, text->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? ENOSPC : errno;
			return false;
		}
		at += (size_t)n;
	}
	return true;
}

/* All of it, under another name until it is whole. */
static void write_anew(struct sl_serve *s)
{
	struct sl_srv_record *r = &s->record;
	struct sl_buf all = SL_BUF_MAX(TEXT_MOST);
	char path[sizeof(r->path) + 8];
	int fd = -1;

	(void)snprintf(path, sizeof(path), "%s.new", r->path);
	if (put_all(s, &all) != SL_OK) {
		fail(s, sl_last_error());
		goto out;
	}
	/* Never what somebody else put there: it has the jobs' tokens. */
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || !write_all(fd, &all) || rename(path, r->path)) {
		fail(s, strerror(errno));
		(void)unlink(path);
		goto out;
	}
	sl_fs_close(r->fd);
	r->fd = fd;
	fd = -1;
	if (!r->ok)
		sl_srv_log_say(&s->log, "journal_ok", UINT32_MAX, NULL);
	r->ok = true;
	r->bytes = r->base_bytes = all.len;
	sl_buf_clear(&r->text);
out:
	sl_fs_close(fd);
	sl_buf_finish(&all);
}

void sl_srv_record_flush(struct sl_serve *s)
{
	struct sl_srv_record *r = &s->record;

	if (r->path[0] == '\0')
		return;
	if (!r->ok && s->now_ns >= r->retry_ns)
		write_anew(s);
	for (size_t i = 0; r->ok && i < s->n_jobs; i++)
		if (s->jobs[i]->unsaid)
			kept(s, put_job(s, s->jobs[i], &r->text));
	if (!r->ok || r->text.len == 0)
		return;
	if (!write_all(r->fd, &r->text)) {
		fail(s, strerror(errno));
		return;
	}
	r->bytes += r->text.len;
	sl_buf_clear(&r->text);
	if (r->bytes > 2 * r->base_bytes + SLACK_BYTES)
		write_anew(s);
}

/* What cannot be read is kept beside, and said. */
static void set_aside(struct sl_serve *s, const char *why)
{
	char path[sizeof(s->record.path) + 8];

	(void)snprintf(path, sizeof(path), "%s.bad", s->record.path);
	(void)rename(s->record.path, path);
	sl_srv_log_say(&s->log, "journal_unreadable", UINT32_MAX, why);
}

static sl_status take_over(struct sl_serve *s)
{
	struct sl_buf text = SL_BUF_MAX(READ_MOST);
	struct sl_journal_book book = {.next_job = 1};
	sl_status st = sl_fs_read(s->record.path, READ_MOST, &text);

	if (st == SL_OK)
		st = sl_journal_parse(
			s->record.path, sl_buf_text(&text), text.len, &book);
	if (st != SL_OK && st != SL_E_NOT_FOUND && st != SL_E_NOMEM)
		set_aside(s, sl_last_error());
	if (book.torn)
		sl_srv_log_say(&s->log, "journal_torn", UINT32_MAX,
			"its last line was not whole and does not count");
	if (st != SL_E_NOMEM)
		st = sl_srv_restore(s, &book);
	sl_journal_finish(&book);
	sl_buf_finish(&text);
	return st;
}

sl_status sl_srv_record_open(struct sl_serve *s)
{
	struct sl_srv_record *r = &s->record;

	r->text.max = TEXT_MOST;
	(void)snprintf(r->path, sizeof(r->path), "%s.journal", s->config->socket);
	SL_TRY(take_over(s));
	r->ok = true;
	write_anew(s);
	return SL_OK;
}

void sl_srv_record_close(struct sl_serve *s)
{
	if (s->record.path[0] != '\0' && s->record.fd >= 0)
		sl_srv_record_flush(s);
	sl_fs_close(s->record.fd);
	s->record.fd = -1;
	sl_buf_finish(&s->record.text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in words: why a job waits, and lines of the decision log. */
#include "share/serve/serve_int.h"

#define WORDS_MOST 65536
#define FRESH_NS ((sl_ns)100 * 1000000)
#define LINE_MOST 512 /* of a step */

static const char *name_of(void *ctx, uint32_t id)
{
	const struct sl_srv_job *j = sl_srv_job_find(ctx, id);

	return j ? j->asked.name : NULL;
}

void sl_srv_freshen(struct sl_serve *s)
{
	struct sl_step tick = sl_srv_step(s, SL_STEP_TICK, 0);

	if (tick.at_ns - s->share.now_ns < FRESH_NS)
		return;
	if (sl_srv_event(s, &tick) != SL_OK)
		sl_srv_log_say(&s->log, "fault", UINT32_MAX, sl_last_error());
}

void sl_srv_explain(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	struct sl_share_names names = {
		.name = name_of, .ctx = s, .now_ns = sl_srv_time(s)};
	struct sl_buf text = SL_BUF_MAX(WORDS_MOST);
	uint32_t id = m->u.explain.job;
	const struct sl_srv_job *j = sl_srv_job_find(s, id);
	sl_status st = SL_OK;

	sl_srv_freshen(s);
	if (!j)
		st = SL_FAIL(SL_E_NOT_FOUND,
			"there is no job %u now; `sluice ps --all` lists jobs", id);
	else if (j->holds & SL_SRV_HOLD_ABSENT)
		st = sl_buf_puts(&text,
			"The daemon was started again and the job has not "
			"come back yet.\n");
	else if (j->resident && !j->ready && !j->parking)
		st = sl_buf_puts(&text, "The job maps and fills its memory.\n");
	if (st == SL_OK && text.len == 0)
		st = sl_share_explain(&s->share, id, &names, &text);
	if (st == SL_OK)
		sl_srv_words(s, p, m->seq, sl_buf_text(&text), text.len);
	else
		sl_srv_error(s, p, m->seq, st);
	sl_buf_finish(&text);
}

/* Steps from `from` on, as many as a message takes; returns the next one. */
static uint64_t say_steps(
	struct sl_serve *s, struct sl_srv_peer *p, uint32_t seq, uint64_t from)
{
	struct sl_buf text = SL_BUF_MAX(WORDS_MOST);

	for (; from < s->ring_n && text.len < WORDS_MOST - LINE_MOST; from++)
		if (sl_step_print(&s->ring[from % SL_SRV_RING], &text) != SL_OK)
			break;
	if (text.len > 0)
		sl_srv_words(s, p, seq, sl_buf_text(&text), text.len);
	else
		from = s->ring_n;
	sl_buf_finish(&text);
	return from;
}

void sl_srv_events(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	uint64_t kept = s->ring_n < SL_SRV_RING ? s->ring_n : SL_SRV_RING;
	uint64_t n = m->u.events.last < kept ? m->u.events.last : kept;
	uint64_t at = s->ring_n - n;

	while (at < s->ring_n && !p->dead)
		at = say_steps(s, p, m->seq, at);
	p->follow = m->u.events.follow != 0;
	p->followed = at;
	p->follow_seq = m->seq;
	if (!p->follow)
		sl_srv_done(s, p, m->seq);
}

void sl_srv_follow(struct sl_serve *s)
{
	for (struct sl_srv_peer *p = s->peers; p; p = p->next) {
		if (!p->follow || p->dead || p->followed == s->ring_n)
			continue;
		/* Who reads too slowly misses lines, and the daemon does not wait. */
		if (s->ring_n - p->followed > SL_SRV_RING)
			p->followed = s->ring_n - SL_SRV_RING;
		if (sl_link_queued(p->link) < WORDS_MOST)
			p->followed = say_steps(s, p, p->follow_seq, p->followed);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon for tests answers; asserts what its clients must not say. */
#include "harness/fake_daemon_int.h"

#include <unistd.h>

#include "device/shared.h"
#include "harness/harness.h"

void sl_fake_say(struct sl_fake_job *j, const struct sl_msg *m)
{
	bool empty;

	if (j->link == NULL)
		return;
	sl_assert_ok(sl_link_send(j->link, m));
	(void)!sl_link_flush(j->link, &empty);
}

static void answer_done(struct sl_fake_job *j, uint32_t seq)
{
	sl_fake_say(j, &(struct sl_msg){.number = SL_MSG_DONE, .seq = seq});
}

void sl_fake_take_room(struct sl_fake_job *j)
{
	if (j->fd_p >= 0)
		(void)close(j->fd_p);
	if (j->fd_lane >= 0)
		(void)close(j->fd_lane);
	j->fd_p = j->fd_lane = -1;
}

void sl_fake_forget(struct sl_fake_job *j)
{
	if (!j->used)
		return;
	sl_turn_unmap(j->page);
	sl_fake_take_room(j);
	if (j->fd_page >= 0)
		(void)close(j->fd_page);
	*j = (struct sl_fake_job){.fd_page = -1, .fd_p = -1, .fd_lane = -1};
}

static void give_room(struct sl_fake_job *j, bool restore)
{
	struct sl_msg m = {.number = SL_MSG_ADMITTED};

	if (j->p > 0) {
		sl_assert_ok(sl_shared_create(j->p, "test-p", &j->fd_p));
		m.fds[m.n_fds++] = j->fd_p;
	}
	if (j->e > 0) {
		sl_assert_ok(sl_shared_create(j->e, "test-lane", &j->fd_lane));
		m.fds[m.n_fds++] = j->fd_lane;
	}
	m.u.admitted = (struct sl_msg_admitted){.row = j->row,
		.restore = restore,
		.persistent_bytes = j->p,
		.ephemeral_bytes = j->e,
		.lane = 3,
		.lane_bytes = j->e,
		.channel_ppm = 500000};
	j->ready = false;
	sl_fake_say(j, &m);
}

static void on_register(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	struct sl_msg out = {.number = SL_MSG_REGISTERED, .seq = m->seq};

	d->seen.jobs++;
	d->seen.last = m->u.reg;
	if (d->opts.refusal != NULL) {
		out.number = SL_MSG_ERROR;
		out.u.error.code = SL_E_INFEASIBLE;
		sl_wire_text(out.u.error.text, sizeof(out.u.error.text), d->opts.refusal);
		sl_fake_say(j, &out);
		return;
	}
	j->asked = m->u.reg;
	j->row = d->opts.row < j->asked.menu.n ? d->opts.row : j->asked.menu.n - 1;
	j->p = j->asked.menu.rows[j->row].persistent_bytes;
	j->e = j->asked.menu.rows[j->row].ephemeral_bytes;
	sl_assert_ok(sl_turn_create(&j->fd_page, &j->page));
	out.u.registered = (struct sl_msg_registered){
		.job = (uint32_t)(j - d->jobs), .token_high = 7, .token_low = 9};
	out.fds[out.n_fds++] = j->fd_page;
	sl_fake_say(j, &out);
	if (!d->opts.admits_nobody)
		give_room(j, false);
}

/* The slot of the new connection gives its link to the job that came back. */
static void on_attach(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	struct sl_fake_job *old = &d->jobs[m->u.attach.job % SL_FAKE_JOBS];
	uint32_t has = m->u.attach.has & 7u;

	assert_true(old->used && old->link == NULL && old != j);
	assert_int_equal(m->u.attach.token_high, 7);
	assert_int_equal(m->u.attach.token_low, 9);
	assert_int_equal(m->n_fds, __builtin_popcount(has));
	if (has == SL_WIRE_HAS_PAGE) { /* it ends, and has given its memory up */
		sl_fake_take_room(old);
		old->ready = false;
	}
	assert_int_equal(has, SL_WIRE_HAS_PAGE | (old->fd_p >= 0 ? SL_WIRE_HAS_P : 0) |
				      (old->fd_lane >= 0 ? SL_WIRE_HAS_LANE : 0));
	old->idle = (m->u.attach.has & SL_WIRE_HAS_IDLE) != 0;
	d->seen.attaches++;
	old->link = j->link;
	*j = (struct sl_fake_job){.fd_page = -1, .fd_p = -1, .fd_lane = -1};
	if (old->has_turn && !sl_turn_try(old->page))
		old->has_turn = false; /* the report got lost */
	answer_done(old, m->seq);
}

static bool every(uint64_t n, uint64_t count)
{
	return n > 0 && count % n == 0;
}

static void on_report(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	assert_true(j->has_turn);
	assert_false(sl_turn_try(j->page));
	j->has_turn = false;
	j->idle = m->u.report.idle != 0;
	j->reports++;
	d->seen.reports++;
	d->seen.idles += m->u.report.idle;
	if (d->opts.lose_at > 0 && j->reports == d->opts.lose_at) {
		sl_turn_revoke(j->page);
		sl_assert_ok(sl_shared_revoke(j->fd_lane));
		j->over = true;
	} else if (d->opts.stop_at > 0 && j->reports == d->opts.stop_at) {
		sl_fake_say(j, &(struct sl_msg){.number = SL_MSG_STOP});
	} else if (every(d->opts.park_every, j->reports)) {
		j->parked = true;
		sl_fake_say(j, &(struct sl_msg){.number = SL_MSG_PARK});
	} else if (every(d->opts.lane_every, j->reports)) {
		j->wants_lane = true;
	} else if (every(d->opts.drop_every, j->reports)) {
		sl_link_destroy(j->link);
		j->link = NULL;
	}
}

static void on_parked(struct sl_fake_daemon *d, struct sl_fake_job *j)
{
	assert_true(j->parked);
	d->seen.parks++;
	sl_fake_take_room(j);
	j->parked = false;
	/* At once, before it can have looked at what it is admitted with. */
	j->again = d->opts.park_twice && !j->again;
	give_room(j, true);
	if (j->again) {
		j->parked = true;
		sl_fake_say(j, &(struct sl_msg){.number = SL_MSG_PARK});
	}
}

static void on_end(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	if (d->opts.drop_end && !j->dropped) {
		j->dropped = true;
		sl_link_destroy(j->link);
		j->link = NULL;
		return;
	}
	d->seen.ends++;
	d->seen.end_code = m->u.end.code;
	j->over = true;
	j->has_turn = false;
	sl_fake_take_room(j);
	answer_done(j, m->seq);
}

static void on_small(
	struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	static const char words[] = "waits for a lane\nand more";
	struct sl_msg out = {.seq = m->seq};

	if (m->number == SL_MSG_HELLO) {
		out.number = SL_MSG_WELCOME;
		out.u.welcome.version = SL_WIRE_VERSION;
	} else if (m->number == SL_MSG_EXPLAIN) {
		out.number = SL_MSG_WORDS;
		out.u.words.text =
			(struct sl_wire_bytes){(const uint8_t *)words, sizeof(words) - 1};
		d->seen.explains++;
	} else {
		d->seen.rates += m->number == SL_MSG_RATE;
		return;
	}
	sl_fake_say(j, &out);
}

void sl_fake_hear(struct sl_fake_daemon *d, struct sl_fake_job *j, const struct sl_msg *m)
{
	if (m->number == SL_MSG_REGISTER)
		on_register(d, j, m);
	else if (m->number == SL_MSG_ATTACH)
		on_attach(d, j, m);
	else if (m->number == SL_MSG_READY)
		j->ready = true;
	else if (m->number == SL_MSG_AWAKE)
		j->idle = false;
	else if (m->number == SL_MSG_REPORT)
		on_report(d, j, m);
	else if (m->number == SL_MSG_PARKED)
		on_parked(d, j);
	else if (m->number == SL_MSG_TRACE)
		sl_fake_on_trace(d, j, m);
	else if (m->number == SL_MSG_END)
		on_end(d, j, m);
	else
		on_small(d, j, m);
}

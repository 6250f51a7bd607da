/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs are offered: while one waits, the fastest row of its menu that would let it
 * in now; and equal parts of the channels to lower tiers.
 */
#include "share/serve/serve_int.h"

#define LOOKS 4 /* waiting jobs that are looked at a round */
#define MILLION 1000000u

bool sl_srv_row_allowed(const struct sl_msg_reg *r, uint32_t i)
{
	uint64_t least = r->menu.rows[0].turn_ns;
	double most = (double)least * (1 + r->allow_slowdown_ppm / (double)MILLION);

	return i == 0 || (double)r->menu.rows[i].turn_ns <= most;
}

/* The fastest allowed row that would let the job in now; menu.n: none would. */
static uint32_t find_row(struct sl_serve *s, const struct sl_srv_job *j)
{
	const struct sl_wire_menu *menu = &j->asked.menu;

	for (uint32_t i = 0; i < menu->n; i++)
		if (sl_srv_row_allowed(&j->asked, i) &&
			sl_share_fits_now(&s->share, j->id,
				menu->rows[i].persistent_bytes,
				menu->rows[i].ephemeral_bytes))
			return i;
	return menu->n;
}

static bool waits_with_menu(const struct sl_serve *s, const struct sl_srv_job *j)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);

	return sj && !sj->resident && !sj->held && !sj->begun && j->asked.menu.n > 1;
}

void sl_srv_menus(struct sl_serve *s)
{
	int looks = 0;

	for (size_t i = 0; i < s->share.n && looks < LOOKS; i++) {
		struct sl_srv_job *j = sl_srv_job_find(s, s->share.jobs[i]->id);
		struct sl_step e;
		uint32_t row;

		if (!j || !waits_with_menu(s, j))
			continue;
		looks++;
		row = find_row(s, j);
		if (row == j->asked.menu.n || row == j->row)
			continue;
		e = sl_srv_step(s, SL_STEP_RESIZE, j->id);
		e.persistent_bytes = j->asked.menu.rows[row].persistent_bytes;
		e.ephemeral_bytes = j->asked.menu.rows[row].ephemeral_bytes;
		j->row = row;
		j->unsaid = true;
		if (sl_srv_event(s, &e) != SL_OK)
			sl_srv_log_say(&s->log, "fault", j->id, sl_last_error());
	}
}

static bool swaps(const struct sl_srv_job *j)
{
	return j->resident && j->asked.channels != 0 && !j->outcast;
}

/* Lanes that run at once and copy: each has an equal part. */
static uint32_t part_of_lanes(const struct sl_serve *s)
{
	uint32_t lanes = 0;

	for (uint32_t lane = 0; lane < s->share.lanes.n; lane++) {
		bool any = false;

		for (size_t i = 0; i < s->n_jobs && !any; i++)
			any = swaps(s->jobs[i]) && s->jobs[i]->lane == lane;
		lanes += any;
	}
	return MILLION / (lanes > 0 ? lanes : 1);
}

void sl_srv_channels(struct sl_serve *s)
{
	uint32_t ppm = part_of_lanes(s);

	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sl_srv_job *j = s->jobs[i];

		if (!swaps(j) || j->channel_ppm == ppm)
			continue;
		j->channel_ppm = ppm;
		/* One that is yet to be admitted is told then. */
		if (j->told)
			sl_srv_send(s, j->peer,
				&(struct sl_msg){.number = SL_MSG_CHANNEL,
					.u.channel = {.ppm = ppm}});
	}
}

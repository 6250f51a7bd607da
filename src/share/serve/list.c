/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about jobs and the device as a whole. */
#include "share/serve/serve_int.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_NS ((sl_ns)2 * 1000000000)

static uint32_t state_of(const struct sl_srv_job *j)
{
	if (j->parked && !j->resident)
		return SL_WIRE_PARKED;
	if (j->granted || j->overhang)
		return SL_WIRE_RUNNING;
	if (j->holds & SL_SRV_HOLD_USER)
		return SL_WIRE_PAUSED;
	if (!j->resident)
		return SL_WIRE_WAITING;
	return j->ready ? SL_WIRE_RESIDENT : SL_WIRE_ADMITTED;
}

void sl_srv_totals(const struct sl_serve *s, const struct sl_srv_job *j, uint64_t *turns,
	uint64_t *used)
{
	struct sl_turn_seen seen;
	uint64_t since =
		s->now_ns > j->granted_ns ? (uint64_t)(s->now_ns - j->granted_ns) : 0;

	*turns = j->turns;
	*used = j->used_ns;
	if (!j->page || !(j->granted || j->overhang))
		return;
	sl_turn_look(j->page, &seen);
	*turns += sl_srv_said(seen.turns, j->turns, since / SL_SRV_TURN_LEAST_NS + 1);
	*used += sl_srv_said(seen.used_ns, j->used_ns, since);
}

uint64_t sl_srv_said(uint64_t total, uint64_t known, uint64_t most)
{
	uint64_t more = total > known ? total - known : 0;

	return more < most ? more : most;
}

/* Turns and service in the latest seconds; measured from look to look. */
static void measure(const struct sl_serve *s, struct sl_srv_job *j)
{
	sl_ns dt = s->now_ns - j->then_ns;
	uint64_t turns, used;
	double part;

	if (dt < WINDOW_NS)
		return;
	sl_srv_totals(s, j, &turns, &used);
	part = (double)sl_srv_said(turns, j->then_turns, UINT64_MAX) /
	       ((double)dt * 1e-9) * 1e3;
	j->rate_milli = part < 4e9 ? (uint32_t)part : UINT32_MAX;
	part = (double)sl_srv_said(used, j->then_used_ns, UINT64_MAX) / (double)dt * 1e6;
	j->share_ppm = part < 1e6 ? (uint32_t)part : 1000000;
	j->then_turns = turns;
	j->then_used_ns = used;
	j->then_ns = s->now_ns;
}

/* What the daemon alone knows; NULL: sl_share knows it. */
static const char *own_reason(const struct sl_srv_job *j)
{
	if (j->holds & SL_SRV_HOLD_ABSENT)
		return "has not come back to the new daemon yet";
	if (j->stopped)
		return "was cancelled; ends at its boundary";
	if (j->parking)
		return "moves its persistent part away for another job";
	if (j->granted || j->overhang)
		return "";
	if (j->holds & SL_SRV_HOLD_IDLE)
		return "wants no turn";
	if (j->resident && !j->ready)
		return "maps and fills its memory";
	return NULL;
}

static void give_reason(
	struct sl_serve *s, const struct sl_srv_job *j, char *text, size_t most)
{
	const char *own = own_reason(j);
	char why[SL_SHARE_REASON] = "";

	if (!own)
		sl_share_reason(&s->share, j->id, why);
	sl_wire_text(text, most, own ? own : why);
}

static void fill(struct sl_serve *s, struct sl_srv_job *j, struct sl_msg_job *out)
{
	const struct sl_job *sj = sl_share_find(&s->share, j->id);
	const struct sl_wire_option *row = &j->asked.menu.rows[j->row];
	uint64_t used;

	measure(s, j);
	*out = (struct sl_msg_job){.job = j->id,
		.user = j->user,
		.pid = j->pid > 0 ? (uint32_t)j->pid : 0,
		.kind = j->asked.kind,
		.state = state_of(j),
		.priority = j->asked.priority,
		.lane = j->resident ? j->lane : SL_LANE_NONE,
		.persistent_bytes = sj ? sj->persistent_bytes : row->persistent_bytes,
		.ephemeral_bytes = sj ? sj->ephemeral_bytes : row->ephemeral_bytes,
		.resident_bytes = j->resident && sj ? sj->persistent_bytes : 0,
		.swapped_bytes =
			j->rate.swapped_bytes +
			(sj && j->parked && !j->resident ? sj->persistent_bytes : 0),
		.turn_ns = j->asked.turn_ns,
		.length_ns = j->asked.length_ns,
		.age_ns = s->now_ns - j->arrived_ns,
		.waited_ns = j->waited_ns < 0 ? s->now_ns - j->arrived_ns : j->waited_ns,
		.key = sj ? sl_share_key(&s->share, sj) : 0,
		.share_ppm = j->share_ppm,
		.rate_milli = j->rate_milli};
	sl_srv_totals(s, j, &out->turns, &used);
	out->used_ns = (int64_t)used;
	memcpy(out->name, j->asked.name, sizeof(out->name));
	give_reason(s, j, out->reason, sizeof(out->reason));
}

void sl_srv_remember(struct sl_serve *s, struct sl_srv_job *j, const char *why)
{
	struct sl_msg_job *row = &s->ended[s->n_ended++ % SL_SRV_ENDED];

	fill(s, j, row);
	row->state = SL_WIRE_ENDED;
	row->resident_bytes = row->swapped_bytes = 0;
	row->share_ppm = row->rate_milli = 0;
	sl_wire_text(row->reason, sizeof(row->reason), why);
}

void sl_srv_list(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	struct sl_msg row = {.number = SL_MSG_JOB, .seq = m->seq};
	uint64_t n = s->n_ended < SL_SRV_ENDED ? s->n_ended : SL_SRV_ENDED;

	sl_srv_freshen(s);
	for (uint64_t i = m->u.list.all ? s->n_ended - n : s->n_ended; i < s->n_ended;
		i++) {
		row.u.job = s->ended[i % SL_SRV_ENDED];
		sl_srv_send(s, p, &row);
	}
	/* In order of arrival, which is the order of sl_share. */
	for (size_t i = 0; i < s->share.n && !p->dead; i++) {
		struct sl_srv_job *j = sl_srv_job_find(s, s->share.jobs[i]->id);

		if (!j)
			continue;
		fill(s, j, &row.u.job);
		sl_srv_send(s, p, &row);
	}
	sl_srv_done(s, p, m->seq);
}

static void fill_state(const struct sl_serve *s, struct sl_msg_state *out)
{
	const struct sl_lanes *v = &s->share.lanes;

	*out = (struct sl_msg_state){.capacity_bytes = v->capacity_bytes,
		.granted_bytes = v->granted_bytes,
		.largest_free_bytes = v->capacity_bytes - v->granted_bytes,
		.jobs = (uint32_t)s->n_jobs,
		.lanes = v->open,
		.uptime_ns = s->now_ns - s->boot_ns,
		.turns = s->counts.turns,
		.switches = s->counts.switches,
		.crashes = s->counts.crashes,
		.rejects = s->counts.rejects,
		.journal_ok = s->record.ok};
	for (size_t i = 0; i < s->n_jobs; i++)
		out->residents += s->jobs[i]->resident;
	sl_wire_text(out->policy, sizeof(out->policy), s->share.rules.policy);
	sl_wire_text(out->version, sizeof(out->version), SL_SRV_VERSION);
}

void sl_srv_status(struct sl_serve *s, struct sl_srv_peer *p, const struct sl_msg *m)
{
	struct sl_msg row = {.number = SL_MSG_STATE, .seq = m->seq};

	fill_state(s, &row.u.state);
	sl_srv_send(s, p, &row);
	row.number = SL_MSG_LANE_ROW;
	for (uint32_t i = 0; i < s->share.lanes.n && !p->dead; i++) {
		const struct sl_lane *v = &s->share.lanes.items[i];
		const struct sl_region *r =
			sl_ledger_find(&s->share.ledger, SL_LEDGER_LANE, i);

		if (!v->open || !r)
			continue;
		row.u.lane_row = (struct sl_msg_lane_row){.lane = i,
			.holder = v->holder == SL_JOB_NONE ? 0 : v->holder,
			.members = v->members,
			.address = sl_ledger_address(&s->share.ledger, SL_LEDGER_LANE, r),
			.bytes = v->size_bytes};
		sl_srv_send(s, p, &row);
	}
	sl_srv_done(s, p, m->seq);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who is there: jobs, lanes, the daemon as a whole. */
#include "share/look/look_int.h"

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static bool is_seated(const struct sl_msg_job *j)
{
	return j->state == SL_WIRE_ADMITTED || j->state == SL_WIRE_RUNNING ||
	       j->state == SL_WIRE_RESIDENT ||
	       (j->state == SL_WIRE_PAUSED && j->resident_bytes > 0);
}

static struct sl_job_row job_row(const struct sl_msg_job *j)
{
	struct sl_job_row row = {.id = j->job,
		.user = j->user,
		.pid = j->pid,
		.lane = j->lane,
		.state = sl_wire_state_name(j->state),
		.kind = sl_wire_kind_name(j->kind),
		.seated = is_seated(j),
		.priority = j->priority,
		.persistent_bytes = j->persistent_bytes,
		.ephemeral_bytes = j->ephemeral_bytes,
		.resident_bytes = j->resident_bytes,
		.swapped_bytes = j->swapped_bytes,
		.turns = j->turns,
		.rate = j->rate_milli / 1e3,
		.used_s = seconds(j->used_ns),
		.turn_s = seconds(j->turn_ns),
		.waited_s = seconds(j->waited_ns),
		.age_s = seconds(j->age_ns),
		.length_s = seconds(j->length_ns),
		.key = j->key,
		.share = j->share_ppm / 1e6};

	sl_wire_text(row.name, sizeof(row.name), j->name);
	sl_wire_text(row.reason, sizeof(row.reason), j->reason);
	return row;
}

sl_status sl_daemon_list(struct sl_daemon *d, bool all, void *ctx, sl_job_row_fn each)
{
	struct sl_msg m = {.number = SL_MSG_LIST, .u.list = {.all = all}};

	SL_TRY(sl_look_ask(d, &m));
	for (;;) {
		struct sl_job_row row;

		SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS));
		if (m.number == SL_MSG_DONE)
			return SL_OK;
		if (m.number != SL_MSG_JOB)
			return sl_look_odd(&m);
		row = job_row(&m.u.job);
		SL_TRY(each(ctx, &row));
	}
}

static void copy_state(const struct sl_msg_state *s, struct sl_daemon_state *out)
{
	*out = (struct sl_daemon_state){.capacity_bytes = s->capacity_bytes,
		.granted_bytes = s->granted_bytes,
		.largest_free_bytes = s->largest_free_bytes,
		.jobs = s->jobs,
		.residents = s->residents,
		.lanes = s->lanes,
		.uptime_s = seconds(s->uptime_ns),
		.turns = s->turns,
		.switches = s->switches,
		.crashes = s->crashes,
		.rejects = s->rejects,
		.journal_ok = s->journal_ok != 0};
	sl_wire_text(out->policy, sizeof(out->policy), s->policy);
	sl_wire_text(out->version, sizeof(out->version), s->version);
}

sl_status sl_daemon_status(
	struct sl_daemon *d, struct sl_daemon_state *out, void *ctx, sl_lane_row_fn each)
{
	struct sl_msg m = {.number = SL_MSG_STATUS};

	SL_TRY(sl_look_ask(d, &m));
	SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS));
	if (m.number != SL_MSG_STATE)
		return sl_look_odd(&m);
	copy_state(&m.u.state, out);
	for (;;) {
		SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS));
		if (m.number == SL_MSG_DONE)
			return SL_OK;
		if (m.number != SL_MSG_LANE_ROW)
			return sl_look_odd(&m);
		if (each != NULL)
			SL_TRY(each(ctx, &(struct sl_lane_row){.lane = m.u.lane_row.lane,
						 .members = m.u.lane_row.members,
						 .holder = m.u.lane_row.holder,
						 .address = m.u.lane_row.address,
						 .bytes = m.u.lane_row.bytes}));
	}
}

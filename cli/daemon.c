/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands about the daemon share: names, times, a picture of who is there. */
#include "daemon.h"

#include <math.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"

#define ROWS_MOST ((size_t)1 << 20)
#define PEOPLE_BYTES 4096 /* of an entry of the user database */

static const struct cli_option rows[] = {
	{"socket", "PATH", CLI_TEXT, offsetof(struct cli_args, config.socket),
		"where the daemon listens (default: $SLUICE_SOCKET, "
		"$XDG_RUNTIME_DIR/sluice/daemon.sock, /run/sluice/daemon.sock)"},
};
const struct cli_options cli_daemon_options = {rows, sizeof(rows) / sizeof(rows[0])};

void cli_user_text(uint32_t user, char text[CLI_USER_TEXT])
{
	struct passwd entry, *found = NULL;
	char bytes[PEOPLE_BYTES];

	if (getpwuid_r(user, &entry, bytes, sizeof(bytes), &found) == 0 &&
		found != NULL && strlen(entry.pw_name) < CLI_USER_TEXT)
		snprintf(text, CLI_USER_TEXT, "%s", entry.pw_name);
	else
		snprintf(text, CLI_USER_TEXT, "%u", user);
}

sl_status cli_user_parse(const char *text, uint32_t *out)
{
	struct passwd entry, *found = NULL;
	char bytes[PEOPLE_BYTES];
	uint64_t number;

	if (sl_u64_parse(text, &number) == SL_OK && number < UINT32_MAX) {
		*out = (uint32_t)number;
		return SL_OK;
	}
	if (getpwnam_r(text, &entry, bytes, sizeof(bytes), &found) != 0 || found == NULL)
		return SL_FAIL(SL_E_USAGE,
			"there is no user '%.80s' here; give a name or a number", text);
	*out = entry.pw_uid;
	return SL_OK;
}

sl_status cli_job_parse(const char *text, uint32_t *out)
{
	uint64_t id;

	if (sl_u64_parse(text, &id) != SL_OK || id > UINT32_MAX)
		return SL_FAIL(SL_E_USAGE,
			"'%.80s' is not a job's number; `sluice ps` lists them", text);
	*out = (uint32_t)id;
	return SL_OK;
}

void cli_time_text(double s, char text[CLI_TIME_TEXT])
{
	double days = floor(s / 86400);

	if (!(s >= 0))
		snprintf(text, CLI_TIME_TEXT, "-");
	else if (s < 60)
		snprintf(text, CLI_TIME_TEXT, "%.1fs", s);
	else if (s < 3600)
		snprintf(
			text, CLI_TIME_TEXT, "%dm%02ds", (int)(s / 60), (int)fmod(s, 60));
	else if (s < 86400)
		snprintf(text, CLI_TIME_TEXT, "%dh%02dm", (int)(s / 3600),
			(int)(fmod(s, 3600) / 60));
	else
		snprintf(text, CLI_TIME_TEXT, "%dd%02dh",
			days < 9e6 ? (int)days : 9000000, (int)(fmod(s, 86400) / 3600));
}

struct sl_json *cli_schema_line(struct cli_line *l, const char *name)
{
	struct sl_json *j = cli_line_begin(l, name);

	sl_json_u64(j, "schema", CLI_SCHEMA);
	return j;
}

static sl_status grow(void **items, size_t *cap, size_t n, size_t bytes)
{
	if (sl_grow(items, cap, n + 1, bytes, ROWS_MOST) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu rows", n + 1);
	return SL_OK;
}

static sl_status take_job(void *ctx, const struct sl_job_row *row)
{
	struct cli_picture *p = ctx;
	void *items = p->jobs;

	SL_TRY(grow(&items, &p->cap_jobs, p->n_jobs, sizeof(*row)));
	p->jobs = items;
	p->jobs[p->n_jobs++] = *row;
	return SL_OK;
}

static sl_status take_lane(void *ctx, const struct sl_lane_row *row)
{
	struct cli_picture *p = ctx;
	void *items = p->lanes;
	size_t i = p->n_lanes;

	SL_TRY(grow(&items, &p->cap_lanes, i, sizeof(*row)));
	p->lanes = items;
	for (; i > 0 && p->lanes[i - 1].address > row->address; i--)
		p->lanes[i] = p->lanes[i - 1];
	p->lanes[i] = *row;
	p->n_lanes++;
	return SL_OK;
}

sl_status cli_picture_take(struct cli_picture *p, struct sl_daemon *d, bool all)
{
	p->n_jobs = 0;
	p->n_lanes = 0;
	SL_TRY(sl_daemon_status(d, &p->state, p, take_lane));
	return sl_daemon_list(d, all, p, take_job);
}

void cli_picture_finish(struct cli_picture *p)
{
	sl_free(p->jobs);
	sl_free(p->lanes);
	*p = (struct cli_picture){0};
}

void cli_job_members(struct sl_json *j, const struct sl_job_row *r)
{
	char user[CLI_USER_TEXT];

	cli_user_text(r->user, user);
	sl_json_u64(j, "id", r->id);
	sl_json_str(j, "name", r->name);
	sl_json_str(j, "user", user);
	sl_json_u64(j, "uid", r->user);
	sl_json_u64(j, "pid", r->pid);
	sl_json_str(j, "kind", r->kind);
	sl_json_str(j, "state", r->state);
	sl_json_i64(j, "lane", r->seated ? (int64_t)r->lane : -1);
	sl_json_i64(j, "priority", r->priority);
	sl_json_i64(j, "policy_key", r->key);
	sl_json_u64(j, "persistent_bytes", r->persistent_bytes);
	sl_json_u64(j, "ephemeral_bytes", r->ephemeral_bytes);
	sl_json_u64(j, "resident_bytes", r->resident_bytes);
	sl_json_u64(j, "swapped_bytes", r->swapped_bytes);
	sl_json_u64(j, "peak_bytes", r->persistent_bytes + r->ephemeral_bytes);
	sl_json_u64(j, "iterations", r->turns);
	sl_json_f64(j, "iter_per_s", r->rate);
	sl_json_f64(j, "share", r->share);
	sl_json_f64(j, "used_s", r->used_s);
	sl_json_f64(j, "turn_s", r->turn_s);
	sl_json_f64(j, "waited_s", r->waited_s);
	sl_json_f64(j, "age_s", r->age_s);
	sl_json_f64(j, "length_s", r->length_s);
	sl_json_str(j, "reason", r->reason);
}

void cli_state_members(struct sl_json *j, const struct sl_daemon_state *s)
{
	sl_json_str(j, "policy", s->policy);
	sl_json_str(j, "version", s->version);
	sl_json_u64(j, "capacity_bytes", s->capacity_bytes);
	sl_json_u64(j, "granted_bytes", s->granted_bytes);
	sl_json_u64(j, "largest_free_bytes", s->largest_free_bytes);
	sl_json_u64(j, "jobs", s->jobs);
	sl_json_u64(j, "residents", s->residents);
	sl_json_u64(j, "lanes", s->lanes);
	sl_json_f64(j, "uptime_s", s->uptime_s);
	sl_json_u64(j, "turns", s->turns);
	sl_json_u64(j, "switches", s->switches);
	sl_json_u64(j, "crashes", s->crashes);
	sl_json_u64(j, "rejects", s->rejects);
	sl_json_bool(j, "journal_ok", s->journal_ok);
}

bool cli_rest(double s)
{
	sl_ns end = sl_clock_now() + (sl_ns)((s < 1e6 ? s : 1e6) * 1e9);

	for (;;) {
		sl_ns left = end - sl_clock_now();

		if (cli_stop != 0 || left <= 0)
			return cli_stop == 0;
		/* In slices: a signal may come just before the wait. */
		(void)poll(NULL, 0, left < 200000000 ? (int)(left / 1000000) + 1 : 200);
	}
}

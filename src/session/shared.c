/* SPDX-License-Identifier: Apache-2.0 */
/* A session as one of the daemon's jobs. */
#include "session/shared.h"

#include <string.h>

#include "base/alloc.h"
#include "session/service.h"
#include "share/client/client.h"

#define NS_PER_S 1e9
#define TRACE_MOST ((size_t)64 << 20) /* of its text */
#define TRACE_NS ((sl_ns)5 * 1000000000) /* between traces whose times drifted */
#define MOST_S 1e9 /* of times given in seconds */

struct sl_shared {
	struct sl_host host;
	struct sl_session *session;
	struct sl_client *client;
	struct sl_client_opts opts;
	struct sl_service *service; /* NULL: it is none */
	uint64_t traces; /* the trace's version that the daemon knows, and one more */
	sl_ns trace_at;
};

static sl_ns from_s(double s)
{
	return (sl_ns)((s < MOST_S ? s : MOST_S) * NS_PER_S);
}

static void waits(void *ctx, const char *reason, sl_ns waited_ns)
{
	const struct sl_session *s = ((const struct sl_shared *)ctx)->session;

	if (s->events.wait != NULL)
		s->events.wait(s->events.ctx, reason, (double)waited_ns / 1e6);
}

static void query(void *ctx, const struct sl_msg_query *q)
{
	const struct sl_shared *x = ctx;

	sl_service_push(
		x->service, q->id, q->age_ns, q->within_ns, q->input.data, q->input.size);
}

static enum sl_wire_kind kind_of(const struct sl_shared *x)
{
	if (x->service != NULL)
		return SL_WIRE_SERVICE;
	return x->session->config.infer_only ? SL_WIRE_INFER : SL_WIRE_TRAIN;
}

/* Iterations of the whole run, as far as they are known. */
static int64_t turns_of(const struct sl_session *s)
{
	const struct sl_data_info *info = sl_data_info(s->data);
	enum sl_split split = sl_data_eval_split(s->data);

	if (!s->config.infer_only)
		return sl_session_total_steps(s) - s->step;
	split = split < SL_SPLIT_COUNT ? split : SL_SPLIT_TRAIN;
	return (info->count[split] + s->batch - 1) / s->batch;
}

static sl_ns length_of(const struct sl_shared *x, uint64_t turn_ns)
{
	double ns = (double)turns_of(x->session) * (double)turn_ns;

	if (x->service != NULL)
		return 0; /* it ends when it is told to */
	return (sl_ns)(ns < MOST_S * NS_PER_S ? ns : MOST_S * NS_PER_S);
}

static void describe(
	const struct sl_shared *x, const struct sl_menu *menu, struct sl_msg_reg *out)
{
	const struct sl_session_config *c = &x->session->config;
	double slowdown = c->allow_slowdown < 1000 ? c->allow_slowdown : 1000;

	sl_wire_text(out->name, sizeof(out->name),
		c->serve != NULL      ? c->serve
		: c->job_name != NULL ? c->job_name
				      : c->model);
	out->kind = kind_of(x);
	out->priority = c->priority != 0 ? c->priority : SL_JOB_USUAL_PRIORITY;
	out->deadline_ns = from_s(c->deadline_s);
	out->turn_ns = (sl_ns)menu->rows[0].turn_ns;
	out->length_ns = length_of(x, menu->rows[0].turn_ns);
	out->allow_slowdown_ppm = (uint32_t)(slowdown * 1e6);
	out->channels = menu->swaps ? x->session->machine.n_tiers : 0;
	out->menu.n = menu->n;
	for (uint32_t i = 0; i < menu->n; i++)
		out->menu.rows[i] = (struct sl_wire_option){
			.persistent_bytes = menu->rows[i].persistent_bytes,
			.ephemeral_bytes = menu->rows[i].ephemeral_bytes,
			.turn_ns = menu->rows[i].turn_ns,
		};
}

static sl_status join(void *ctx, const struct sl_menu *menu, struct sl_host_grant *out)
{
	struct sl_shared *x = ctx;
	struct sl_msg_reg job = {0};
	struct sl_client_room room;

	describe(x, menu, &job);
	SL_TRY(sl_client_enlist(x->client, &job));
	SL_TRY(sl_client_admit(x->client, &room));
	*out = (struct sl_host_grant){
		.row = room.row,
		.base = room.base,
		.bytes = room.persistent_bytes + room.ephemeral_bytes,
	};
	return SL_OK;
}

/* A job that swaps shares the channels: it may be planned together with others. It says
 * what it knows of its times when it begins, with the first measured ones, and when they
 * drifted. */
static void tell_trace(struct sl_shared *x)
{
	const struct sl_replan *r = x->session->machine.replan;
	struct sl_buf text = SL_BUF_MAX(TRACE_MOST);

	if (r == NULL || x->traces == sl_replan_version(r) + 1 ||
		(x->traces > 1 && sl_clock_now() - x->trace_at < TRACE_NS))
		return;
	x->traces = sl_replan_version(r) + 1;
	x->trace_at = sl_clock_now();
	/* Too long, or no memory: it is planned for alone, that is all. */
	if (sl_replan_print(r, &text) == SL_OK)
		(void)!sl_client_trace(x->client, sl_buf_text(&text), text.len);
	sl_buf_finish(&text);
}

static sl_status ready(void *ctx)
{
	struct sl_shared *x = ctx;

	SL_TRY(sl_client_ready(x->client));
	tell_trace(x);
	return SL_OK;
}

/* Nobody has to take a plan: one that is no good is left. */
static void look_for_plan(const struct sl_shared *x)
{
	struct sl_buf text = SL_BUF_INIT;
	sl_status st = sl_client_take_plan(x->client, &text);

	if (st == SL_OK)
		st = sl_machine_offer(&x->session->machine, sl_buf_text(&text), text.len);
	if (st != SL_OK)
		sl_session_note(x->session,
			"a plan of the daemon's was not taken: %.300s", sl_last_error());
	sl_buf_finish(&text);
}

static bool stopped(void *ctx)
{
	return sl_client_stopped(((struct sl_shared *)ctx)->client);
}

static void stats(void *ctx, struct sl_shared_stats *out)
{
	struct sl_client_stats s;

	sl_client_stats(((struct sl_shared *)ctx)->client, &s);
	*out = (struct sl_shared_stats){
		.waited_ms = (double)s.waited_ns / 1e6,
		.admit_ms = (double)s.admit_ns / 1e6,
		.turns = s.turns,
		.switches = s.switches,
		.parked = s.parked,
		.lane = s.lane,
		.row = s.row,
		.joint_plans = sl_machine_joint_plans(
			&((struct sl_shared *)ctx)->session->machine),
	};
}

/* What the tiers hold and carried, now and then: the client passes it on. */
static void tell_rate(const struct sl_shared *x)
{
	const struct sl_machine *m = &x->session->machine;
	struct sl_engine_stats now;
	struct sl_msg_rate rate = {0};

	if (m->n_tiers == 0 || m->engine == NULL)
		return;
	sl_engine_stats(m->engine, &now);
	for (uint32_t i = 0; i < m->n_tiers; i++)
		rate.swapped_bytes += now.peak_tier_bytes[i];
	rate.swap_in_bytes = now.swap_in_bytes;
	rate.swap_out_bytes = now.swap_out_bytes;
	sl_client_rate(x->client, &rate);
}

static sl_status enter(void *ctx)
{
	struct sl_shared *x = ctx;

	sl_machine_channel(&x->session->machine, sl_client_channel_ppm(x->client));
	tell_trace(x);
	if (sl_client_has_plan(x->client))
		look_for_plan(x);
	return sl_client_enter(x->client);
}

static bool wanted(void *ctx)
{
	return sl_client_wanted(((struct sl_shared *)ctx)->client);
}

static sl_status leave(void *ctx, sl_ns used_ns, bool rests)
{
	const struct sl_shared *x = ctx;

	tell_rate(x);
	return sl_client_leave(x->client, used_ns, rests);
}

static sl_status idle(void *ctx)
{
	return sl_client_idle(((struct sl_shared *)ctx)->client);
}

static sl_status tend(void *ctx)
{
	return sl_client_tend(((struct sl_shared *)ctx)->client);
}

static bool lost(void *ctx)
{
	return sl_client_lost(((struct sl_shared *)ctx)->client);
}

static void answer(void *ctx, const struct sl_service_answer *a)
{
	const struct sl_shared *x = ctx;

	sl_client_answer(x->client, &(struct sl_msg_answer){
					    .id = a->id,
					    .code = a->status,
					    .waited_ns = a->waited_ns,
					    .ran_ns = a->ran_ns,
					    .batch = a->batch,
					    .output = {(const uint8_t *)a->outputs,
						    (uint32_t)(a->count * sizeof(float))},
				    });
}

/* Between requests the lane is another's, and P may have to make room. */
static sl_status rest(void *ctx)
{
	struct sl_shared *x = ctx;

	if (sl_session_stopped(x->session))
		return SL_FAIL(SL_E_INTERRUPTED, "the service was cancelled");
	SL_TRY(sl_machine_idle(&x->session->machine));
	return sl_client_tend(x->client);
}

static sl_status open_service(struct sl_shared *x)
{
	const struct sl_session_config *c = &x->session->config;
	const struct sl_data_info *info = sl_data_info(x->session->data);
	struct sl_service_opts opts = {
		.ctx = x,
		.sample_bytes = 4 * (size_t)sl_shape_count(&info->sample),
		.answer = answer,
		.idle = rest,
		.within_ns = from_s(c->within_s),
		.stop = c->stop,
	};

	return c->serve != NULL ? sl_service_create(&opts, &x->service) : SL_OK;
}

static sl_status reason(void *ctx)
{
	return sl_client_reason(((struct sl_shared *)ctx)->client);
}

sl_status sl_shared_open(struct sl_session *s)
{
	const struct sl_session_config *config = &s->config;
	struct sl_shared *x = sl_calloc(1, sizeof(*x));

	if (x == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a shared session");
	s->shared = x;
	x->session = s;
	x->opts = (struct sl_client_opts){
		.socket = config->socket,
		.program = "sluice",
		.daemon_timeout_ns = from_s(config->daemon_timeout_s),
		.folder = sl_machine_disk_folder(config),
		.stop = config->stop,
		.ctx = x,
		.waits = waits,
		.query = config->serve != NULL ? query : NULL,
	};
	x->host = (struct sl_host){
		.gate = {.ctx = x,
			.enter = enter,
			.wanted = wanted,
			.leave = leave,
			.idle = idle,
			.tend = tend,
			.lost = lost,
			.reason = reason},
		.join = join,
		.ready = ready,
		.stopped = stopped,
		.stats = stats,
	};
	SL_TRY(open_service(x));
	SL_TRY(sl_client_open(&x->opts, &x->client));
	s->host = &x->host;
	return SL_OK;
}

struct sl_service *sl_shared_service(const struct sl_session *s)
{
	return s->shared != NULL ? s->shared->service : NULL;
}

void sl_shared_close(struct sl_shared *x)
{
	if (x == NULL)
		return;
	if (x->service != NULL)
		sl_service_end(x->service);
	if (x->client != NULL)
		sl_client_end(x->client, x->session->done ? SL_OK : SL_E_INTERRUPTED);
	sl_client_close(x->client);
	sl_service_destroy(x->service);
	sl_free(x);
}

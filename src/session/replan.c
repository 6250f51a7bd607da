/* SPDX-License-Identifier: Apache-2.0 */
/* Planning again, beside a training that goes on. */
#include "session/replan.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "memory/drift.h"

#define WARM_UP 1
#define NICE 10
#define WHOLE 1000000u
#define DEARER 10 /* one part in so many is good enough: times are measured */
#define SILENCE_NS ((sl_ns)30 * 1000000000) /* nobody else plans for the new part */

enum state { IDLE, BUSY, READY };

struct sl_replan {
	struct sl_replan_opts opts;
	struct sl_trace timed; /* the trace with ops of its own, whose times are right */
	struct sl_plan slots[2];
	const struct sl_plan *plan; /* in force: the first one, or a slot */
	uint64_t *times;
	struct sl_trace_link links[SL_REPLAN_MAX_LINKS]; /* of the timed trace */
	struct sl_engine_link copied[SL_REPLAN_MAX_LINKS], /* until now, */
		counted[SL_REPLAN_MAX_LINKS]; /* and until the plan before */
	bool fresh; /* times are of the last step */
	uint64_t seen; /* measured steps */
	uint32_t part_ppm, old_part_ppm; /* of the links: now, and when planned last */
	sl_ns part_since;
	bool joint, taken; /* somebody else's plan is in force; is offered */
	sl_ns rest_until; /* no planning before */
	struct sl_replan_stats stats;
	struct sl_plan other; /* of somebody else; without values: none */

	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state; /* under lock, as is stop */
	bool stop;
	/* what the thread made, while READY */
	bool made, cheaper;
	uint64_t price_ns;
	sl_ns took;
};

static struct sl_plan *free_slot(struct sl_replan *r)
{
	return &r->slots[r->plan == &r->slots[0]];
}

/* No second plan was made yet. */
static bool is_first(const struct sl_replan *r)
{
	return r->stats.plans + r->stats.failed == 0;
}

/* Prices of both plans by the corrected times decide. */
static sl_status plan_again(struct sl_replan *r, struct sl_plan *next)
{
	struct sl_plan_price now, then;

	struct sl_policy_choice policy = r->opts.policy;

	if (is_first(r) && r->opts.gradual)
		policy = sl_policy_at_effort(&policy, 1);
	SL_TRY(sl_policy_apply(&policy, &r->timed, r->opts.budget, next));
	SL_TRY(sl_plan_price(&r->timed, r->plan, &now));
	SL_TRY(sl_plan_price(&r->timed, next, &then));
	r->cheaper = then.iter_ns < now.iter_ns &&
		     (r->opts.most_p_bytes == 0 || next->p_bytes <= r->opts.most_p_bytes);
	r->price_ns = r->cheaper ? then.iter_ns : now.iter_ns;
	return SL_OK;
}

static void work(struct sl_replan *r)
{
	sl_ns begin = sl_clock_now();

	if (r->opts.hook != NULL)
		r->opts.hook(r->opts.hook_ctx);
	r->cheaper = false;
	sl_plan_finish(free_slot(r));
	r->made = plan_again(r, free_slot(r)) == SL_OK;
	r->took = sl_clock_now() - begin;
}

static void *run(void *arg)
{
	struct sl_replan *r = arg;

	/* On Linux a thread has a priority of its own; without it planning is only less
	 * modest. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (r->state != BUSY && !r->stop)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->stop)
			break;
		pthread_mutex_unlock(&r->lock);
		work(r);
		pthread_mutex_lock(&r->lock);
		r->state = READY;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static sl_status copy_trace(struct sl_replan *r)
{
	const struct sl_trace *t = r->opts.trace;
	size_t bytes = t->n_ops * sizeof(*t->ops);

	r->timed = *t;
	r->timed.ops = sl_alloc(bytes);
	r->times = sl_calloc(t->n_ops, sizeof(*r->times));
	if (r->timed.ops == NULL || r->times == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for the times of %u ops", t->n_ops);
	memcpy(r->timed.ops, t->ops, bytes);
	if (t->n_links > SL_REPLAN_MAX_LINKS)
		return SL_FAIL(SL_E_LIMIT, "%u links; plans are made again for up to %u",
			t->n_links, SL_REPLAN_MAX_LINKS);
	if (t->n_links > 0)
		memcpy(r->links, t->links, t->n_links * sizeof(*r->links));
	r->timed.links = r->links;
	return SL_OK;
}

sl_status sl_replan_create(const struct sl_replan_opts *opts, struct sl_replan **out)
{
	struct sl_replan *r = sl_calloc(1, sizeof(*r));
	sl_status st;

	if (r == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory to plan again");
	r->opts = *opts;
	if (!(r->opts.limit > 0))
		r->opts.limit = SL_DRIFT_DEFAULT;
	r->plan = opts->plan;
	r->stats.price_ns = opts->plan->price_ns;
	r->part_ppm = r->old_part_ppm = WHOLE;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	SL_TRY_OUT(copy_trace(r));
	if (pthread_create(&r->thread, NULL, run, r) != 0) {
		st = SL_FAIL(SL_E_NOMEM, "the planning thread did not start");
		goto out;
	}
	r->started = true;
	*out = r;
	return SL_OK;
out:
	sl_replan_destroy(r);
	return st;
}

void sl_replan_destroy(struct sl_replan *r)
{
	if (r == NULL)
		return;
	if (r->started) {
		pthread_mutex_lock(&r->lock);
		r->stop = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	sl_plan_finish(&r->slots[0]);
	sl_plan_finish(&r->slots[1]);
	sl_plan_finish(&r->other);
	sl_free(r->timed.ops);
	sl_free(r->times);
	sl_free(r);
}

uint64_t *sl_replan_times(struct sl_replan *r)
{
	return r->times;
}

void sl_replan_measured(struct sl_replan *r, const struct sl_engine_link *links)
{
	if (r->timed.n_links > 0)
		memcpy(r->copied, links, r->timed.n_links * sizeof(*links));
	r->seen++;
	r->fresh = r->seen > WARM_UP;
}

void sl_replan_channel(struct sl_replan *r, uint32_t ppm)
{
	ppm = ppm > 0 && ppm <= WHOLE ? ppm : WHOLE;
	if (ppm != r->part_ppm)
		r->part_since = sl_clock_now();
	r->part_ppm = ppm;
}

static bool part_changed(const struct sl_replan *r)
{
	return r->part_ppm != r->old_part_ppm &&
	       (!r->joint || sl_clock_now() - r->part_since > SILENCE_NS);
}

static bool wants_plan(const struct sl_replan *r)
{
	uint64_t stored = 0;

	if (!r->fresh || sl_clock_now() < r->rest_until)
		return false;
	if (is_first(r) || part_changed(r) ||
		(r->opts.gradual && r->stats.plans + r->stats.failed == 1))
		return true;
	for (uint32_t i = 0; i < r->timed.n_ops; i++)
		stored += r->timed.ops[i].dur_ns;
	return sl_drift_exceeds(
		sl_drift_sum(r->times, r->timed.n_ops), stored, r->opts.limit);
}

/* What was measured with another part of the links is worth as much of them. */
static void share_link(struct sl_trace_link *l, uint32_t now_ppm, uint32_t old_ppm)
{
	double rate = (double)l->bytes_per_s * now_ppm / old_ppm;

	if (now_ppm != old_ppm)
		l->bytes_per_s = rate < 1 ? 1 : (uint64_t)rate;
}

static void share_links(struct sl_replan *r)
{
	for (uint32_t i = 0; i < r->timed.n_links; i++)
		share_link(&r->links[i], r->part_ppm, r->old_part_ppm);
	r->old_part_ppm = r->part_ppm;
}

static void begin_plan(struct sl_replan *r)
{
	for (uint32_t i = 0; i < r->timed.n_ops; i++)
		r->timed.ops[i].dur_ns =
			sl_drift_correct(r->timed.ops[i].dur_ns, r->times[i]);
	for (uint32_t i = 0; i < r->timed.n_links; i++) {
		const struct sl_engine_link *now = &r->copied[i], *then = &r->counted[i];

		sl_drift_correct_link(&r->links[i], now->copies - then->copies,
			now->bytes - then->bytes, now->ns - then->ns);
		r->counted[i] = *now;
	}
	share_links(r);
	pthread_mutex_lock(&r->lock);
	r->state = BUSY;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* Takes what the thread made; whether it is to be adopted. */
static bool take_result(struct sl_replan *r)
{
	r->state = IDLE;
	r->rest_until = sl_clock_now() + (sl_ns)(r->opts.share - 1) * r->took;
	if (!r->made) {
		r->stats.failed++;
		return false;
	}
	r->stats.plans++;
	r->stats.price_ns = r->price_ns;
	return r->cheaper;
}

void sl_replan_offer(struct sl_replan *r, struct sl_plan *p)
{
	sl_plan_finish(&r->other);
	sl_plan_move(&r->other, p);
}

/* Others' jobs gain what this one may lose: a little dearer is good enough. */
static const struct sl_plan *take_other(struct sl_replan *r)
{
	struct sl_plan_price now, then;
	bool good;

	share_links(r);
	if (sl_plan_price(&r->timed, r->plan, &now) != SL_OK ||
		sl_plan_price(&r->timed, &r->other, &then) != SL_OK)
		return NULL;
	good = then.iter_ns <= now.iter_ns + now.iter_ns / DEARER &&
	       (r->opts.most_p_bytes == 0 || r->other.p_bytes <= r->opts.most_p_bytes);
	if (!good)
		return NULL;
	sl_plan_finish(free_slot(r));
	sl_plan_move(free_slot(r), &r->other);
	r->stats.price_ns = then.iter_ns;
	r->taken = true;
	return free_slot(r);
}

const struct sl_plan *sl_replan_boundary(struct sl_replan *r)
{
	enum state state;
	const struct sl_plan *offer = NULL;

	pthread_mutex_lock(&r->lock);
	state = r->state;
	pthread_mutex_unlock(&r->lock);
	if (state == BUSY)
		r->stats.steps_meanwhile++;
	else if (state == READY)
		offer = take_result(r) ? free_slot(r) : NULL;
	else if (r->other.n_values > 0) {
		offer = take_other(r);
		sl_plan_finish(&r->other);
	} else if (wants_plan(r))
		begin_plan(r);
	r->fresh = false;
	return offer;
}

void sl_replan_adopted(struct sl_replan *r, bool yes)
{
	struct sl_plan_price price;

	if (yes) {
		r->plan = free_slot(r);
		r->stats.adopted += !r->taken;
		r->stats.joint += r->taken;
		r->joint = r->taken;
	} else if (sl_plan_price(&r->timed, r->plan, &price) == SL_OK) {
		r->stats.price_ns = price.iter_ns;
	}
	r->taken = false;
}

sl_status sl_replan_print(const struct sl_replan *r, struct sl_buf *out)
{
	struct sl_trace whole = r->timed;
	struct sl_trace_link links[SL_REPLAN_MAX_LINKS];

	for (uint32_t i = 0; i < whole.n_links; i++) {
		links[i] = r->links[i];
		share_link(&links[i], WHOLE, r->old_part_ppm);
	}
	whole.links = links;
	return sl_trace_print(&whole, out);
}

uint64_t sl_replan_version(const struct sl_replan *r)
{
	return r->stats.plans + r->stats.failed;
}

const struct sl_plan *sl_replan_plan(const struct sl_replan *r)
{
	return r->plan;
}

void sl_replan_stats(const struct sl_replan *r, struct sl_replan_stats *out)
{
	*out = r->stats;
}

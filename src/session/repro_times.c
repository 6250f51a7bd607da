/* SPDX-License-Identifier: Apache-2.0 */
/* What a job of a reproduction knows of its latencies: as predicted before it ran, and as
 * it measured them beside others. */
#include "session/repro_int.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "memory/drift.h"

#define MOST 4.0 /* times too long or too short is a prediction at most */

static const struct {
	const char *kind;
	double median, spread;
} errors[] = {
#include "session/repro_errors.def"
};

/* What a prediction is off by. Alike for ops of one kind and size, in every
 * model: seeded by both. */
static double error_of(const char *kind, uint64_t true_ns)
{
	const struct sl_rng_key key = {.seed = 2105};
	uint64_t element = true_ns;
	double factor;
	size_t i = 0;

	while (i < SL_COUNT(errors) && strcmp(errors[i].kind, kind) != 0)
		i++;
	if (i == SL_COUNT(errors))
		return 1;
	for (; *kind != '\0'; kind++)
		element = (element ^ (uint8_t)*kind) * 1099511628211u;
	factor = errors[i].median * exp(errors[i].spread * sl_rng_normal(&key, element));
	return factor > MOST ? MOST : factor < 1 / MOST ? 1 / MOST : factor;
}

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory for a reproduction");
}

sl_status sl_repro_predict(const struct sl_repro_job *j, struct sl_trace *out)
{
	const struct sl_trace *t = &j->planner->trace;
	size_t ops = t->n_ops * sizeof(*t->ops), links = t->n_links * sizeof(*t->links);

	*out = *t;
	out->ops = sl_alloc(ops + 1);
	out->links = sl_alloc(links + 1);
	if (out->ops == NULL || out->links == NULL) {
		sl_repro_forget(out);
		return no_memory();
	}
	memcpy(out->ops, t->ops, ops);
	memcpy(out->links, t->links, links);
	for (uint32_t i = 0; i < t->n_ops; i++) {
		double ns = (double)t->ops[i].dur_ns *
			    error_of(t->ops[i].kind, t->ops[i].dur_ns);

		out->ops[i].dur_ns = ns < 1 ? 1 : (uint64_t)ns;
	}
	return SL_OK;
}

void sl_repro_forget(struct sl_trace *view)
{
	sl_free(view->ops);
	sl_free(view->links);
	*view = SL_TRACE_INIT;
}

/* Of each op, over all copies and iterations but the first, which warms up. */
struct measure {
	struct seen {
		uint64_t ns, times;
	} * ops;
};

static sl_status see(void *ctx, const struct sl_replay_span *s)
{
	struct seen *at = &((struct measure *)ctx)->ops[s->id];

	if (s->iteration == 0 || s->kind != SL_REPLAY_OP)
		return SL_OK;
	/* On a device that others use, an op takes as long as it is on its way there. */
	at->ns += s->end_ns - s->asked_ns;
	at->times++;
	return SL_OK;
}

/* A link is worth the job's part of it, as in trainings that share one. What copies took
 * while the others still had their first plans is no guide: if each counts on what these
 * left of the link, all together ask for more than there is. */
static void correct(const struct measure *m, uint32_t copies, struct sl_trace *view)
{
	for (uint32_t i = 0; i < view->n_ops; i++)
		if (m->ops[i].times > 0)
			view->ops[i].dur_ns = sl_drift_correct(
				view->ops[i].dur_ns, m->ops[i].ns / m->ops[i].times);
	for (uint32_t i = 0; i < view->n_links; i++)
		view->links[i].bytes_per_s /= copies;
}

/* Alone, an op takes its own time and a copy has the link, whatever the plan is. */
static void correct_alone(const struct sl_trace *t, struct sl_trace *view)
{
	for (uint32_t i = 0; i < t->n_ops; i++)
		view->ops[i].dur_ns =
			sl_drift_correct(view->ops[i].dur_ns, t->ops[i].dur_ns);
}

sl_status sl_repro_correct(const struct sl_repro_job *j, const struct sl_plan *plan,
	uint32_t copies, struct sl_trace *view)
{
	const struct sl_trace *t = &j->planner->trace;
	struct measure m = {0};
	sl_status st = SL_OK;

	if (copies == 1) {
		correct_alone(t, view);
		return SL_OK;
	}
	m.ops = sl_calloc((size_t)t->n_ops + 1, sizeof(*m.ops));
	if (m.ops == NULL) {
		st = no_memory();
		goto out;
	}
	SL_TRY_OUT(sl_repro_replay(
		j, plan, copies, &(struct sl_replay_opts){.span = see, .ctx = &m}, NULL));
	correct(&m, copies, view);
out:
	sl_free(m.ops);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a few steps of a session and keeps what happened in each. */
#include "session/profile_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "exec/cost.h"
#include "session/session_int.h"

#define USUAL_STEPS 5
#define USUAL_WARMUP 2
#define EVENT_SLOTS ((size_t)1 << 17)
#define SHAPES_MOST 4096
#define SHAPES_NAMED 4

/* A run under way. */
struct bed {
	struct sl_session *s;
	struct sl_profile *p;
	enum sl_instance_id id;
	void *samples; /* made up, for inference */
	size_t sample_bytes;
	struct sl_event *events; /* [EVENT_SLOTS], of the last step */
};

static sl_status fill_samples(struct bed *b)
{
	struct sl_predict_info info;
	int64_t vocab = b->s->model.vocab;
	size_t count;

	SL_TRY(sl_session_predict_info(b->s, &info));
	b->sample_bytes = info.sample_bytes * (size_t)info.batch;
	b->samples = sl_alloc(b->sample_bytes);
	if (b->samples == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for samples of %zu bytes",
			b->sample_bytes);
	count = b->sample_bytes / 4;
	for (size_t i = 0; i < count; i++) {
		if (info.tokens)
			((int32_t *)b->samples)[i] =
				(int32_t)((int64_t)(i * 7919) % vocab);
		else
			((float *)b->samples)[i] = (float)(i % 251) / 125 - 1;
	}
	return SL_OK;
}

static sl_status one_batch(struct bed *b)
{
	struct sl_session *s = b->s;
	sl_status st;

	s->io.given = b->samples;
	s->io.given_bytes = b->sample_bytes;
	s->io.request = (struct sl_data_request){.count = s->instances[b->id].batch};
	s->io.has_next = false;
	st = sl_session_run(s, b->id);
	s->io.given = NULL;
	return st;
}

static sl_status add_step(struct bed *b, uint64_t before, sl_ns begin)
{
	const struct sl_event_ring *ring = b->s->machine.events;
	sl_ns end = sl_clock_now();
	uint64_t n = sl_event_count(ring) - before;
	uint64_t held = before + n > EVENT_SLOTS ? EVENT_SLOTS : before + n;

	if (n > EVENT_SLOTS)
		return SL_FAIL(SL_E_LIMIT,
			"a step of %llu events; a profile takes %zu at most",
			(unsigned long long)n, EVENT_SLOTS);
	for (uint64_t i = 0; i < n; i++)
		if (!sl_event_at(ring, held - n + i, &b->events[i]))
			return SL_FAIL(SL_E_LIMIT, "event %llu of the step is lost",
				(unsigned long long)i);
	return sl_profile_add_step(b->p, begin, end, b->events, n);
}

/* Partial batches at the end of an epoch run other ops: they do not count. */
static sl_status steps(struct bed *b, size_t n, bool counts)
{
	size_t done = 0;

	while (done < n) {
		uint64_t before = sl_event_count(b->s->machine.events);
		sl_ns begin = sl_clock_now();

		if (sl_session_stopped(b->s))
			return SL_FAIL(SL_E_INTERRUPTED, "interrupted after %zu steps",
				b->p->n_steps);
		SL_TRY(b->samples != NULL ? one_batch(b) : sl_session_step(b->s));
		if (b->s->io.instance != &b->s->instances[b->id])
			continue;
		if (counts)
			SL_TRY(add_step(b, before, begin));
		done++;
	}
	return SL_OK;
}

/* "[512, 768] [768, 3072]" */
static char *print_shapes(struct sl_arena *arena, const struct sl_node_info *n)
{
	char text[SHAPES_MOST], one[SL_SHAPE_TEXT];
	size_t len = 0;
	int shown = n->n_in > 0 ? n->n_in : n->n_out;

	text[0] = '\0';
	for (int i = 0; i < shown && i < SHAPES_NAMED; i++) {
		const struct sl_type *t = n->n_in > 0 ? &n->in[i] : &n->out[i];

		if (t->dtype == SL_DTYPE_COUNT)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s",
			len > 0 ? " " : "", sl_shape_print(&t->shape, one),
			i + 1 == SHAPES_NAMED && shown > SHAPES_NAMED ? " ..." : "");
	}
	return sl_arena_strdup(arena, text);
}

static sl_status describe_ops(struct sl_profile *p, const struct sl_program *program)
{
	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sl_program_op *from = &program->ops[i];
		struct sl_cost work;

		sl_cost_work(&from->info, &work);
		p->ops[i] = (struct sl_profile_op){
			.op = sl_arena_strdup(&p->arena, from->info.op->name),
			.kernel = sl_arena_strdup(&p->arena, from->kernel->name),
			.scope = sl_arena_strdup(&p->arena, from->scope),
			.shapes = print_shapes(&p->arena, &from->info),
			.flops = work.flops,
			.bytes = work.bytes,
		};
		if (p->ops[i].op == NULL || p->ops[i].kernel == NULL ||
			p->ops[i].scope == NULL || p->ops[i].shapes == NULL)
			return SL_FAIL(SL_E_NOMEM, "no host memory for the names of ops");
	}
	return SL_OK;
}

static sl_status keep_names(struct sl_profile *p, const struct sl_trace *t)
{
	p->n_values = t->n_values;
	p->values = sl_arena_alloc(&p->arena, t->n_values * sizeof(*p->values));
	for (uint32_t i = 0; p->values != NULL && i < t->n_values; i++) {
		p->values[i] = sl_arena_strdup(&p->arena, t->values[i].name);
		if (p->values[i] == NULL)
			p->values = NULL;
	}
	return p->values != NULL
		       ? SL_OK
		       : SL_FAIL(SL_E_NOMEM, "no host memory for the names of values");
}

static const char *tier_name(const struct sl_trace *t, uint32_t id)
{
	return id == 0 ? "device" : t->tiers[id - 1].name;
}

static void name_channels(struct sl_profile *p, const struct sl_trace *t)
{
	struct sl_profile_summary *o = &p->summary;

	for (uint32_t i = 0; i < t->n_links && i < SL_PROFILE_CHANNELS; i++) {
		struct sl_profile_channel *c = &o->channels[o->n_channels++];

		snprintf(c->from, sizeof(c->from), "%s", tier_name(t, t->links[i].from));
		snprintf(c->to, sizeof(c->to), "%s", tier_name(t, t->links[i].to));
	}
}

static sl_status open_bed(struct bed *b, const struct sl_session_config *config,
	const struct sl_session_events *events)
{
	SL_TRY(sl_session_open(config, &b->s));
	b->s->machine.event_slots = EVENT_SLOTS;
	b->id = config->infer_only ? SL_EVAL : SL_TRAIN;
	SL_TRY(sl_session_prepare(b->s, events));
	b->events = sl_alloc(EVENT_SLOTS * sizeof(*b->events));
	if (b->events == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the events of a step");
	return config->infer_only ? fill_samples(b) : SL_OK;
}

static void describe(const struct bed *b)
{
	struct sl_profile_summary *o = &b->p->summary;
	const struct sl_instance *x = &b->s->instances[b->id];
	struct sl_engine_stats stats;

	sl_machine_stats(&b->s->machine, &stats);
	o->batch = x->batch;
	o->threads = sl_pool_width(b->s->machine.pool);
	o->infer = b->s->config.infer_only;
	o->budget_bytes = b->s->config.budget_bytes;
	o->peak_device_bytes = stats.peak_device_bytes;
	name_channels(b->p, &x->trace);
}

static sl_status profile(struct bed *b, const struct sl_profile_opts *opts,
	const struct sl_session_config *config, const struct sl_session_events *events)
{
	size_t n = (size_t)(opts->steps > 0 ? opts->steps : USUAL_STEPS);
	size_t warmup = (size_t)(opts->warmup > 0 ? opts->warmup : USUAL_WARMUP);
	const struct sl_instance *x;
	double flops;

	SL_TRY(open_bed(b, config, events));
	x = &b->s->instances[b->id];
	SL_TRY(sl_profile_init(b->p, x->program->n_ops, n));
	SL_TRY(describe_ops(b->p, x->program));
	if (opts->timeline)
		SL_TRY(keep_names(b->p, &x->trace));
	SL_TRY(steps(b, warmup, false));
	SL_TRY(sl_peak_measure(b->s->machine.pool, &b->p->peak));
	SL_TRY(steps(b, n, true));
	flops = sl_peak_flops(b->s->machine.pool);
	if (flops > b->p->peak.flops_per_s)
		b->p->peak.flops_per_s = flops;
	describe(b);
	return sl_profile_sum_up(b->p);
}

static sl_status check(
	const struct sl_session_config *config, const struct sl_profile_opts *opts)
{
	if (opts->steps > SL_PROFILE_STEPS_MAX)
		return SL_FAIL(SL_E_USAGE, "--steps %lld: a profile measures %d at most",
			(long long)opts->steps, SL_PROFILE_STEPS_MAX);
	if (config->device != NULL && strcmp(config->device, "sim") == 0)
		return SL_FAIL(SL_E_USAGE, "--device sim runs in virtual time: there is "
					   "nothing to measure; see `sluice plan`");
	if (config->shared)
		return SL_FAIL(SL_E_USAGE,
			"a profile has the machine for itself: leave --shared out");
	return SL_OK;
}

sl_status sl_profile_run(const struct sl_session_config *config,
	const struct sl_profile_opts *opts, const struct sl_session_events *events,
	struct sl_profile **out)
{
	struct sl_session_config own = *config;
	struct bed b = {0};
	sl_status st;

	SL_TRY(check(config, opts));
	own.epochs = 0;
	own.steps = (opts->steps > 0 ? opts->steps : USUAL_STEPS) +
		    (opts->warmup > 0 ? opts->warmup : USUAL_WARMUP);
	own.save_path = NULL;
	own.eval = false;
	b.p = sl_calloc(1, sizeof(*b.p));
	if (b.p == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a profile");
	st = profile(&b, opts, &own, events);
	sl_session_close(b.s);
	sl_free(b.samples);
	sl_free(b.events);
	if (st == SL_OK)
		*out = b.p;
	else
		sl_profile_free(b.p);
	return st;
}

void sl_profile_free(struct sl_profile *p)
{
	if (p == NULL)
		return;
	sl_profile_finish(p);
	sl_free(p);
}

const struct sl_profile_summary *sl_profile_summary(const struct sl_profile *p)
{
	return &p->summary;
}

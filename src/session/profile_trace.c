/* SPDX-License-Identifier: Apache-2.0 */
/* The measured steps as trace events for Perfetto: a track each for steps, ops, waits and
 * every copy channel. */
#include "session/profile_int.h"

#include <stdio.h>

#include "base/json.h"

enum track { STEPS, OPS, AGAIN, WAITS, COPIES };

struct writer {
	const struct sl_profile *p;
	struct sl_json json;
	sl_ns zero; /* where the time begins */
};

/* Nanoseconds from begin to end on a track. */
struct span {
	const char *name, *category;
	uint64_t track;
	sl_ns begin, end;
};

static double us(sl_ns ns)
{
	return (double)ns / 1e3;
}

/* Members may be added to "args" until span_close. */
static struct sl_json *span_open(struct writer *w, const struct span *s)
{
	struct sl_json *j = &w->json;

	sl_json_open(j, NULL, '{');
	sl_json_str(j, "ph", "X");
	sl_json_str(j, "name", s->name);
	sl_json_str(j, "cat", s->category);
	sl_json_u64(j, "pid", 0);
	sl_json_u64(j, "tid", s->track);
	sl_json_f64(j, "ts", us(s->begin - w->zero));
	sl_json_f64(j, "dur", us(s->end - s->begin));
	sl_json_open(j, "args", '{');
	return j;
}

static void span_close(struct writer *w)
{
	sl_json_close(&w->json, '}');
	sl_json_close(&w->json, '}');
}

/* kind: "thread_name" with a name, or "thread_sort_index". */
static void name_track(struct writer *w, uint64_t track, const char *name)
{
	static const char *const kinds[] = {"thread_name", "thread_sort_index"};
	struct sl_json *j = &w->json;

	for (int i = 0; i < 2; i++) {
		sl_json_open(j, NULL, '{');
		sl_json_str(j, "ph", "M");
		sl_json_str(j, "name", kinds[i]);
		sl_json_u64(j, "pid", 0);
		sl_json_u64(j, "tid", track);
		sl_json_open(j, "args", '{');
		if (i == 0)
			sl_json_str(j, "name", name);
		else
			sl_json_u64(j, "sort_index", track);
		span_close(w);
	}
}

static void name_tracks(struct writer *w)
{
	static const char *const names[] = {[STEPS] = "steps",
		[OPS] = "ops",
		[AGAIN] = "recomputation",
		[WAITS] = "waits"};
	const struct sl_profile_summary *o = &w->p->summary;
	char name[80];

	for (uint64_t i = 0; i < COPIES; i++)
		name_track(w, i, names[i]);
	for (uint32_t i = 0; i < o->n_channels; i++) {
		snprintf(name, sizeof(name), "copies %s to %s", o->channels[i].from,
			o->channels[i].to);
		name_track(w, COPIES + i, name);
	}
}

static void op_span(
	struct writer *w, const struct sl_event *begin, const struct sl_event *e)
{
	const struct sl_profile_op *o = &w->p->ops[e->id];
	double ns = (double)(e->at_ns - begin->at_ns);
	struct sl_json *j = span_open(w, &(struct span){.name = o->op,
						 .category = e->arg ? "again" : "op",
						 .track = e->arg ? AGAIN : OPS,
						 .begin = begin->at_ns,
						 .end = e->at_ns});

	sl_json_u64(j, "op", e->id);
	sl_json_str(j, "kernel", o->kernel);
	sl_json_str(j, "scope", o->scope);
	sl_json_str(j, "shapes", o->shapes);
	if (ns > 0) {
		sl_json_f64(j, "gflop_per_s", o->flops / ns);
		sl_json_f64(j, "gb_per_s", o->bytes / ns);
		sl_json_f64(j, "roofline",
			sl_profile_least_ns(&w->p->peak, o->flops, o->bytes) / ns);
	}
	span_close(w);
}

static void copy_span(
	struct writer *w, const struct sl_event *begin, const struct sl_event *e)
{
	bool known = e->id < w->p->n_values;
	struct sl_json *j =
		span_open(w, &(struct span){.name = known ? w->p->values[e->id] : "copy",
				     .category = e->kind == SL_EV_IN_END ? "in" : "out",
				     .track = COPIES + e->channel,
				     .begin = begin->at_ns,
				     .end = e->at_ns});

	sl_json_u64(j, "value", e->id);
	sl_json_u64(j, "bytes", e->arg);
	span_close(w);
}

static void wait_span(struct writer *w, const struct sl_event *e)
{
	const struct sl_profile_summary *o = &w->p->summary;
	bool known = e->id < o->n_channels;
	char name[80];

	snprintf(name, sizeof(name), "for %s to %s",
		known ? o->channels[e->id].from : "?",
		known ? o->channels[e->id].to : "?");
	(void)span_open(w, &(struct span){.name = name,
				   .category = "wait",
				   .track = WAITS,
				   .begin = e->at_ns - (sl_ns)e->arg,
				   .end = e->at_ns});
	span_close(w);
}

static void move_event(struct writer *w, const struct sl_event *e)
{
	struct sl_json *j = &w->json;

	sl_json_open(j, NULL, '{');
	sl_json_str(j, "ph", "i");
	sl_json_str(j, "s", "t");
	sl_json_str(j, "name", "move");
	sl_json_u64(j, "pid", 0);
	sl_json_u64(j, "tid", OPS);
	sl_json_f64(j, "ts", us(e->at_ns - w->zero));
	sl_json_open(j, "args", '{');
	sl_json_u64(j, "bytes", e->arg);
	span_close(w);
}

struct open_pairs {
	const struct sl_event *op, *copy[SL_PROFILE_CHANNELS];
};

static void write_event(
	struct writer *w, struct open_pairs *open, const struct sl_event *e)
{
	const struct sl_event **copy = &open->copy[e->channel % SL_PROFILE_CHANNELS];

	if (e->kind == SL_EV_OP_BEGIN)
		open->op = e;
	else if (e->kind == SL_EV_IN_BEGIN || e->kind == SL_EV_OUT_BEGIN)
		*copy = e;
	else if (e->kind == SL_EV_OP_END && open->op != NULL && e->id < w->p->n_ops)
		op_span(w, open->op, e);
	else if ((e->kind == SL_EV_IN_END || e->kind == SL_EV_OUT_END) && *copy != NULL)
		copy_span(w, *copy, e);
	else if (e->kind == SL_EV_WAIT)
		wait_span(w, e);
	else if (e->kind == SL_EV_MOVE)
		move_event(w, e);
}

static void write_step(struct writer *w, size_t i)
{
	const struct sl_profile_step *s = &w->p->steps[i];
	struct open_pairs open = {0};
	char name[32];

	snprintf(name, sizeof(name), "step %zu", i + 1);
	(void)span_open(w, &(struct span){.name = name,
				   .category = "step",
				   .track = STEPS,
				   .begin = s->begin,
				   .end = s->end});
	span_close(w);
	for (size_t k = 0; k < s->n_events; k++)
		write_event(w, &open, &w->p->events[s->first_event + k]);
}

sl_status sl_profile_timeline(const struct sl_profile *p, struct sl_buf *out)
{
	struct writer w = {.p = p};

	if (p->values == NULL)
		return SL_FAIL(SL_E_INVALID,
			"the profile kept no timeline; ask for one in sl_profile_opts");
	w.zero = p->n_steps > 0 ? p->steps[0].begin : 0;
	sl_json_begin(&w.json, out);
	sl_json_open(&w.json, NULL, '{');
	sl_json_str(&w.json, "displayTimeUnit", "ms");
	sl_json_open(&w.json, "traceEvents", '[');
	name_tracks(&w);
	for (size_t i = 0; i < p->n_steps; i++)
		write_step(&w, i);
	sl_json_close(&w.json, ']');
	sl_json_close(&w.json, '}');
	return sl_json_end(&w.json);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans carried out in virtual time: players and wires are made, time runs, books close.
 */
#include "memory/replay_int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory left to replay a plan");
}

/* What was held until now counts if it was held for a while. */
static void settle(struct sl_held *h, uint64_t now_ns)
{
	if (now_ns > h->since_ns && h->bytes > h->peak)
		h->peak = h->bytes;
	h->since_ns = now_ns;
}

void sl_player_hold(struct sl_player *p, uint64_t bytes)
{
	settle(&p->held, p->run->sim.now_ns);
	settle(&p->run->held, p->run->sim.now_ns);
	p->held.bytes += bytes;
	p->run->held.bytes += bytes;
}

void sl_player_release(struct sl_player *p, uint64_t bytes)
{
	settle(&p->held, p->run->sim.now_ns);
	settle(&p->run->held, p->run->sim.now_ns);
	p->held.bytes -= bytes;
	p->run->held.bytes -= bytes;
}

sl_status sl_player_tell(struct sl_player *p, struct sl_replay_span s)
{
	const struct sl_replay_opts *o = p->run->opts;

	if (o->span == NULL)
		return SL_OK;
	s.job = p->id;
	s.iteration = p->iteration;
	s.end_ns = p->run->sim.now_ns;
	s.held_bytes = p->held.bytes;
	return o->span(o->ctx, &s);
}

static const char *place_name(const struct sl_trace *t, uint32_t tier)
{
	return tier == SL_TIER_DEVICE ? "device" : t->tiers[tier - 1].name;
}

/* Of half duplex either way is the same. */
static bool same_places(const struct sl_trace *t, const struct sl_trace_link *a,
	const char *from, const char *to)
{
	const char *f = place_name(t, a->from), *g = place_name(t, a->to);

	return (strcmp(f, from) == 0 && strcmp(g, to) == 0) ||
	       (a->half_duplex && strcmp(f, to) == 0 && strcmp(g, from) == 0);
}

/* How many links before i are apart from it although between the same places. */
static uint32_t ordinal_of(const struct sl_trace *t, uint32_t i)
{
	const struct sl_trace_link *l = &t->links[i];
	uint32_t n = 0;

	for (uint32_t k = 0; k < i && !l->half_duplex; k++)
		n += !t->links[k].half_duplex &&
		     same_places(t, l, place_name(t, t->links[k].from),
			     place_name(t, t->links[k].to));
	return n;
}

static sl_status find_wire(struct sl_replay_run *r, const struct sl_trace *t, uint32_t i,
	struct sl_wire **out)
{
	const struct sl_trace_link *l = &t->links[i];
	uint32_t ordinal = ordinal_of(t, i);
	struct sl_wire *w;

	for (uint32_t k = 0; k < r->n_wires; k++) {
		w = r->wires[k];
		if (w->ordinal == ordinal && w->link.half_duplex == l->half_duplex &&
			same_places(t, l, w->from, w->to)) {
			*out = w;
			return SL_OK;
		}
	}
	if (sl_grow((void **)&r->wires, &r->cap_wires, r->n_wires + 1,
		    sizeof(struct sl_wire *), SIZE_MAX / 64))
		return no_memory();
	w = sl_calloc(1, sizeof(*w));
	if (w == NULL)
		return no_memory();
	sl_link_init(&w->link, &r->sim, l->half_duplex);
	w->from = place_name(t, l->from);
	w->to = place_name(t, l->to);
	w->ordinal = ordinal;
	r->wires[r->n_wires++] = *out = w;
	return SL_OK;
}

/* A queue for each direction of a link; links that are one wire share one. */
static sl_status make_queues(struct sl_player *p)
{
	const struct sl_trace *t = p->trace;

	for (uint32_t i = 0; i < t->n_links; i++) {
		struct sl_wire *w = NULL;
		uint32_t first = i;

		SL_TRY(find_wire(p->run, t, i, &w));
		for (uint32_t k = i; k-- > 0 && w->link.half_duplex;) {
			if (t->links[k].half_duplex &&
				same_places(t, &t->links[k], w->from, w->to))
				first = k;
		}
		for (uint32_t x = 0; x < 2; x++) {
			sl_channel_init(&p->queues[2 * i + x], &w->link, (int)x);
			p->queue_of[2 * i + x] =
				2 * first + (w->link.half_duplex ? 0 : x);
		}
	}
	return SL_OK;
}

static void hold_start(struct sl_player *p)
{
	bool bare = p->run->opts->bare;

	for (uint32_t v = 0; v < p->trace->n_values; v++) {
		const struct sl_trace_value *x = &p->trace->values[v];

		if (x->alias != SL_NO_ID || !sl_class_persistent(x->cls) ||
			(!bare && !sl_plan_starts_on_device(p->plan, v)))
			continue;
		sl_player_take(p, v, bare ? 0 : p->plan->value_offset[v]);
		sl_player_hold(p, x->bytes);
	}
}

static sl_status make_player(struct sl_replay_run *r, uint32_t id)
{
	const struct sl_replay_job *job = &r->opts->jobs[id];
	struct sl_player *p = &r->players[id];
	size_t n = (size_t)job->trace->n_values + 1;
	size_t links = 2 * (size_t)job->trace->n_links + 1;

	*p = (struct sl_player){.run = r,
		.trace = job->trace,
		.plan = job->plan,
		.id = id,
		.iterations = job->iterations > 0 ? job->iterations : 1};
	p->compute = r->opts->own_compute ? &p->own : &r->compute;
	if (!r->opts->bare)
		SL_TRY(sl_plan_check(p->trace, p->plan, UINT64_MAX, NULL));
	p->queues = sl_calloc(links, sizeof(*p->queues));
	p->queue_of = sl_calloc(links, sizeof(*p->queue_of));
	p->at = sl_calloc(n, sizeof(*p->at));
	p->on = sl_calloc(n, sizeof(*p->on));
	p->last = sl_calloc(n, sizeof(*p->last));
	p->coming = sl_calloc(n, sizeof(struct sl_player_copy *));
	if (!p->queues || !p->queue_of || !p->at || !p->on || !p->last || !p->coming)
		return no_memory();
	for (uint32_t i = 0; i < p->trace->n_ops; i++)
		p->result.base_iter_ns += p->trace->ops[i].dur_ns;
	SL_TRY(make_queues(p));
	sl_player_find_last(p);
	hold_start(p);
	return sl_sim_at(&r->sim, job->phase_ns, sl_player_begin, p, 0);
}

static void close_books(struct sl_player *p, struct sl_replay_result *out)
{
	struct sl_replay_result *r = &p->result;

	settle(&p->held, p->run->sim.now_ns);
	r->held_peak_bytes = p->held.peak;
	if (p->run->opts->bare)
		r->peak_bytes = p->held.peak;
	r->stall_ns = r->end_ns - p->begin_ns - p->iterations * r->base_iter_ns -
		      r->recompute_ns - r->turn_ns;
	*out = *r;
}

static void describe_lane(const struct sl_wire *w, int x, struct sl_replay_link *out)
{
	*out = (struct sl_replay_link){.half_duplex = w->link.half_duplex,
		.bytes = w->link.lane[x].bytes,
		.busy_ns = w->link.lane[x].busy_ns};
	snprintf(out->from, sizeof(out->from), "%s", w->from);
	snprintf(out->to, sizeof(out->to), "%s", w->to);
	/* Lane 1 leads to the device, whatever the link's line says. */
	if (!out->half_duplex && (strcmp(w->to, "device") == 0) != (x == 1)) {
		snprintf(out->from, sizeof(out->from), "%s", w->to);
		snprintf(out->to, sizeof(out->to), "%s", w->from);
	}
}

static sl_status sum_up(struct sl_replay_run *r, struct sl_replay_total *out)
{
	struct sl_replay_total t = {.compute_ns = r->compute.busy_ns};

	t.links = sl_calloc(2 * (size_t)r->n_wires + 1, sizeof(*t.links));
	if (t.links == NULL)
		return no_memory();
	for (uint32_t i = 0; i < 2 * r->n_wires; i++) {
		if (r->wires[i / 2]->link.lane[i % 2].bytes > 0)
			describe_lane(
				r->wires[i / 2], (int)(i % 2), &t.links[t.n_links++]);
	}
	settle(&r->held, r->sim.now_ns);
	t.held_peak_bytes = r->held.peak;
	for (uint32_t i = 0; i < r->opts->n_jobs; i++) {
		uint64_t end = r->players[i].result.end_ns;

		t.end_ns = end > t.end_ns ? end : t.end_ns;
		t.compute_ns += r->players[i].own.busy_ns;
	}
	*out = t;
	return SL_OK;
}

static void finish(struct sl_replay_run *r)
{
	for (uint32_t i = 0; r->players != NULL && i < r->opts->n_jobs; i++) {
		struct sl_player *p = &r->players[i];

		while (p->copies != NULL) {
			struct sl_player_copy *c = p->copies;

			p->copies = c->next;
			sl_free(c);
		}
		sl_free(p->queues);
		sl_free(p->queue_of);
		sl_free(p->at);
		sl_free(p->on);
		sl_free(p->last);
		sl_free(p->coming);
	}
	for (uint32_t i = 0; i < r->n_wires; i++)
		sl_free(r->wires[i]);
	sl_free(r->wires);
	sl_free(r->players);
	sl_sim_finish(&r->sim);
}

sl_status sl_replay(const struct sl_replay_opts *opts, struct sl_replay_result *results,
	struct sl_replay_total *total)
{
	struct sl_replay_run r = {.opts = opts};
	sl_status st = SL_OK;

	r.players = sl_calloc((size_t)opts->n_jobs + 1, sizeof(*r.players));
	if (r.players == NULL) {
		st = no_memory();
		goto out;
	}
	for (uint32_t i = 0; i < opts->n_jobs; i++)
		SL_TRY_OUT(make_player(&r, i));
	SL_TRY_OUT(sl_sim_run(&r.sim));
	SL_TRY_OUT(sum_up(&r, total));
	for (uint32_t i = 0; i < opts->n_jobs; i++)
		close_books(&r.players[i], &results[i]);
out:
	finish(&r);
	return st;
}

void sl_replay_total_finish(struct sl_replay_total *t)
{
	sl_free(t->links);
	*t = (struct sl_replay_total){0};
}

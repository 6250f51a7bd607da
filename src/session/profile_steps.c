/* SPDX-License-Identifier: Apache-2.0 */
/* From what happened in a step to how long each op ran, and what else took time. */
#include "session/profile_int.h"

#include "base/alloc.h"

#define MAX_EVENTS ((size_t)1 << 24)

/* Pairs that began and did not end yet. */
struct open_pairs {
	const struct sl_event *op;
	const struct sl_event *copy[SL_PROFILE_CHANNELS];
};

sl_status sl_profile_init(struct sl_profile *p, uint32_t n_ops, size_t n_steps)
{
	*p = (struct sl_profile){.n_ops = n_ops, .cap_steps = n_steps};
	p->ops = sl_arena_alloc(&p->arena, n_ops * sizeof(*p->ops));
	p->steps = sl_arena_alloc(&p->arena, n_steps * sizeof(*p->steps));
	if (p->ops == NULL || p->steps == NULL)
		goto fail;
	for (size_t i = 0; i < n_steps; i++) {
		struct sl_profile_step *s = &p->steps[i];

		s->op_ns = sl_arena_alloc(&p->arena, n_ops * sizeof(*s->op_ns));
		s->again_ns = sl_arena_alloc(&p->arena, n_ops * sizeof(*s->again_ns));
		if (s->op_ns == NULL || s->again_ns == NULL)
			goto fail;
	}
	return SL_OK;
fail:
	sl_profile_finish(p);
	return SL_FAIL(
		SL_E_NOMEM, "no host memory for %zu steps of %u ops", n_steps, n_ops);
}

void sl_profile_finish(struct sl_profile *p)
{
	sl_arena_finish(&p->arena);
	sl_free(p->events);
	*p = (struct sl_profile){0};
}

static void op_ended(const struct sl_profile *p, struct sl_profile_step *s,
	const struct sl_event *const at[2])
{
	double ns = (double)(at[1]->at_ns - at[0]->at_ns);

	if (at[1]->id >= p->n_ops)
		return;
	if (at[1]->arg == 0) {
		s->op_ns[at[1]->id] += (float)ns;
		s->ops_ns += ns;
		return;
	}
	s->again_ns[at[1]->id] += (float)ns;
	s->agains_ns += ns;
	s->again++;
}

static void copy_ended(struct sl_profile_step *s, const struct sl_event *begin,
	const struct sl_event *end)
{
	struct sl_profile_copies *c = &s->channels[end->channel];

	c->copies++;
	c->bytes += (double)end->arg;
	c->ns += (double)(end->at_ns - begin->at_ns);
}

static void waited(struct sl_profile_step *s, const struct sl_event *e)
{
	s->wait_ns += (double)e->arg;
	if (e->id < SL_PROFILE_CHANNELS)
		s->channels[e->id].wait_ns += (double)e->arg;
}

static void copy_event(
	struct open_pairs *open, struct sl_profile_step *s, const struct sl_event *e)
{
	const struct sl_event **from = &open->copy[e->channel];

	if (e->kind == SL_EV_IN_BEGIN || e->kind == SL_EV_OUT_BEGIN) {
		*from = e;
		return;
	}
	if (*from != NULL)
		copy_ended(s, *from, e);
	*from = NULL;
}

static void op_event(const struct sl_profile *p, struct open_pairs *open,
	struct sl_profile_step *s, const struct sl_event *e)
{
	const struct sl_event *const at[2] = {open->op, e};

	if (e->kind == SL_EV_OP_BEGIN) {
		open->op = e;
		return;
	}
	if (open->op != NULL && open->op->id == e->id)
		op_ended(p, s, at);
	open->op = NULL;
}

static void take(const struct sl_profile *p, struct open_pairs *open,
	struct sl_profile_step *s, const struct sl_event *e)
{
	if (e->kind == SL_EV_OP_BEGIN || e->kind == SL_EV_OP_END)
		op_event(p, open, s, e);
	else if (e->kind >= SL_EV_OUT_BEGIN && e->kind <= SL_EV_IN_END &&
		 e->channel < SL_PROFILE_CHANNELS)
		copy_event(open, s, e);
	else if (e->kind == SL_EV_WAIT)
		waited(s, e);
	else if (e->kind == SL_EV_MOVE)
		s->moved_bytes += (double)e->arg;
}

static sl_status keep_events(struct sl_profile *p, struct sl_profile_step *s,
	const struct sl_event *events, size_t n)
{
	if (sl_grow((void **)&p->events, &p->cap_events, p->n_events + n,
		    sizeof(*p->events), MAX_EVENTS) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu events of a timeline",
			p->n_events + n);
	for (size_t i = 0; i < n; i++)
		p->events[p->n_events + i] = events[i];
	s->first_event = p->n_events;
	s->n_events = n;
	p->n_events += n;
	return SL_OK;
}

sl_status sl_profile_add_step(struct sl_profile *p, sl_ns begin, sl_ns end,
	const struct sl_event *events, size_t n)
{
	struct open_pairs open = {0};
	struct sl_profile_step *s;

	if (p->n_steps >= p->cap_steps)
		return SL_FAIL(
			SL_E_LIMIT, "a profile of %zu steps is full", p->cap_steps);
	while (n > 0 && events->at_ns < begin) {
		events++;
		n--;
	}
	s = &p->steps[p->n_steps];
	s->begin = begin;
	s->end = end;
	for (size_t i = 0; i < n; i++)
		take(p, &open, s, &events[i]);
	if (p->values != NULL)
		SL_TRY(keep_events(p, s, events, n));
	p->n_steps++;
	return SL_OK;
}

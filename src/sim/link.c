/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal sharing by one counter: `served` is what each flow of a lane has got, so a flow
 * that began at s ends when served reaches s + its work, however many came and went.
 */
#include "sim/link.h"

#define ONE_NS ((sl_sim_work)1 << 32)
/* Three hundred years: nothing overflows on the way there. */
#define MOST_WORK (ONE_NS << 63)

void sl_link_init(struct sl_link *l, struct sl_sim *sim, bool half_duplex)
{
	*l = (struct sl_link){.half_duplex = half_duplex};
	l->lane[0].sim = l->lane[1].sim = sim;
}

void sl_channel_init(struct sl_channel *c, struct sl_link *l, int direction)
{
	*c = (struct sl_channel){.lane = &l->lane[l->half_duplex ? 0 : direction]};
}

static void serve(struct sl_lane *l)
{
	uint64_t passed = l->sim->now_ns - l->since_ns;

	l->since_ns = l->sim->now_ns;
	if (l->n == 0)
		return;
	l->served += passed * ONE_NS / l->n;
	l->busy_ns += passed;
}

static sl_sim_work left(const struct sl_lane *l, const struct sl_channel *c)
{
	return c->until > l->served ? (c->until - l->served) * l->n : 0;
}

static sl_status flows_end(void *ctx, uint64_t epoch);

/* The event at which the next flow ends; those asked for before are void. */
static sl_status plan_end(struct sl_lane *l)
{
	sl_sim_work least = MOST_WORK;

	l->epoch++;
	if (l->n == 0)
		return SL_OK;
	for (const struct sl_channel *c = l->first; c != NULL; c = c->next)
		least = left(l, c) < least ? left(l, c) : least;
	return sl_sim_at(l->sim, sl_add_ns(l->sim->now_ns, (uint64_t)(least / ONE_NS)),
		flows_end, l, l->epoch);
}

/* Takes the flows that end now out of the lane, as a list in order of start. */
static struct sl_channel *take_ended(struct sl_lane *l)
{
	struct sl_channel *ended = NULL, **to = &ended, **from = &l->first;
	uint64_t n = l->n;

	l->last = NULL;
	while (*from != NULL) {
		struct sl_channel *c = *from;

		if (left(l, c) >= ONE_NS) {
			l->last = c;
			from = &c->next;
			continue;
		}
		*from = c->next;
		c->next = NULL;
		*to = c;
		to = &c->next;
		n--;
	}
	l->n = n;
	return ended;
}

static sl_status end_head(struct sl_channel *c)
{
	struct sl_transfer *t = c->head;

	c->head = t->next;
	if (c->head == NULL)
		c->tail = NULL;
	c->under_way = false;
	c->lane->bytes += t->bytes;
	SL_TRY(t->done(t->ctx));
	return sl_channel_kick(c);
}

static sl_status flows_end(void *ctx, uint64_t epoch)
{
	struct sl_lane *l = ctx;
	struct sl_channel *c, *next;

	if (epoch != l->epoch)
		return SL_OK;
	serve(l);
	c = take_ended(l);
	SL_TRY(plan_end(l));
	for (; c != NULL; c = next) {
		next = c->next;
		c->next = NULL;
		SL_TRY(end_head(c));
	}
	return SL_OK;
}

static sl_status flow_begins(void *ctx, uint64_t arg)
{
	struct sl_channel *c = ctx;
	struct sl_lane *l = c->lane;
	sl_sim_work work = (sl_sim_work)c->head->bytes * 1000000000u * ONE_NS;

	(void)arg;
	serve(l);
	work /= c->head->bytes_per_s;
	c->until = l->served + (work < MOST_WORK ? work : MOST_WORK);
	c->next = NULL;
	*(l->last != NULL ? &l->last->next : &l->first) = c;
	l->last = c;
	l->n++;
	return plan_end(l);
}

static sl_status time_has_come(void *ctx, uint64_t arg)
{
	struct sl_channel *c = ctx;

	(void)arg;
	c->timed = false;
	return sl_channel_kick(c);
}

sl_status sl_channel_kick(struct sl_channel *c)
{
	struct sl_transfer *t = c->head;
	struct sl_sim *sim = c->lane->sim;

	if (t == NULL || c->under_way || c->timed)
		return SL_OK;
	if (t->not_before_ns > sim->now_ns) {
		c->timed = true;
		return sl_sim_at(sim, t->not_before_ns, time_has_come, c, 0);
	}
	if (t->may_start != NULL && !t->may_start(t->ctx))
		return SL_OK;
	c->under_way = true;
	if (t->started != NULL)
		SL_TRY(t->started(t->ctx));
	return sl_sim_at(sim, sl_add_ns(sim->now_ns, t->latency_ns), flow_begins, c, 0);
}

sl_status sl_channel_push(struct sl_channel *c, struct sl_transfer *t)
{
	t->next = NULL;
	*(c->tail != NULL ? &c->tail->next : &c->head) = t;
	c->tail = t;
	return c->head == t ? sl_channel_kick(c) : SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what the engine tells to the account that knows the links. */
#include "session/virtual.h"

#include "base/alloc.h"

static void issue(void *ctx, const struct sl_engine_issue *i)
{
	struct sl_virtual *v = ctx;
	const struct sl_trace_link *link = &v->trace->links[i->channel];

	sl_account_issue(&v->account, &(struct sl_account_copy){
					      .link = i->channel,
					      .number = i->number,
					      .bytes = i->bytes,
					      .bytes_per_s = link->bytes_per_s,
					      .latency_ns = link->latency_ns,
					      .delay_ns = i->delay_ns,
					      .after = i->after,
					      .n_after = i->n_channels,
				      });
}

static void wait(void *ctx, uint32_t channel, uint64_t number)
{
	sl_account_wait(&((struct sl_virtual *)ctx)->account, channel, number);
}

static void move(void *ctx, uint64_t bytes)
{
	struct sl_virtual *v = ctx;

	sl_account_move(&v->account, sl_trace_move_ns(v->trace, bytes));
}

sl_status sl_virtual_create(struct sl_virtual **out)
{
	struct sl_virtual *v = sl_calloc(1, sizeof(*v));

	if (v == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for virtual time");
	v->watch = (struct sl_engine_watch){
		.ctx = v, .issue = issue, .wait = wait, .move = move};
	*out = v;
	return SL_OK;
}

void sl_virtual_destroy(struct sl_virtual *v)
{
	if (v == NULL)
		return;
	sl_account_finish(&v->account);
	sl_free(v);
}

/* Links of half duplex between the same places are one wire. */
static uint32_t queue_of(const struct sl_trace *t, uint32_t i)
{
	const struct sl_trace_link *l = &t->links[i];

	for (uint32_t k = 0; k < i; k++) {
		const struct sl_trace_link *m = &t->links[k];
		bool same = (m->from == l->from && m->to == l->to) ||
			    (m->from == l->to && m->to == l->from);

		if (same && l->half_duplex && m->half_duplex)
			return k;
	}
	return i;
}

void sl_virtual_adopt(struct sl_virtual *v, const struct sl_trace *t)
{
	v->trace = t;
	for (uint32_t i = 0; i < t->n_links && i < SL_ACCOUNT_LINKS; i++)
		v->account.queue_of[i] = queue_of(t, i);
}

void sl_virtual_op(struct sl_virtual *v, uint32_t op)
{
	sl_account_work(&v->account, v->trace->ops[op].dur_ns);
}

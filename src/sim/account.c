/* SPDX-License-Identifier: Apache-2.0 */
/* A copy starts when it is issued, its queue is free and what it waits for is over. */
#include "sim/account.h"

#include "base/alloc.h"
#include "sim/link.h"

void sl_account_finish(struct sl_account *a)
{
	for (uint32_t i = 0; i < SL_ACCOUNT_LINKS; i++)
		sl_free(a->ends_ns[i]);
	*a = (struct sl_account){0};
}

static uint64_t bytes_ns(uint64_t bytes, uint64_t bytes_per_s)
{
	sl_sim_work ns = (sl_sim_work)bytes * 1000000000u / bytes_per_s;

	return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t end_of(const struct sl_account *a, uint32_t link, uint64_t number)
{
	return number > a->before[link] && number <= a->issued[link]
		       ? a->ends_ns[link][number - a->before[link] - 1]
		       : 0;
}

void sl_account_work(struct sl_account *a, uint64_t ns)
{
	a->now_ns = sl_add_ns(a->now_ns, ns);
	a->work_ns = sl_add_ns(a->work_ns, ns);
}

void sl_account_move(struct sl_account *a, uint64_t ns)
{
	a->now_ns = sl_add_ns(a->now_ns, ns);
}

void sl_account_wait(struct sl_account *a, uint32_t link, uint64_t number)
{
	a->now_ns = later(a->now_ns, end_of(a, link, number));
}

void sl_account_issue(struct sl_account *a, const struct sl_account_copy *c)
{
	uint64_t *queue = &a->free_ns[a->queue_of[c->link]];
	uint64_t start = later(sl_add_ns(a->now_ns, c->delay_ns), *queue);
	size_t n = (size_t)(c->number - a->before[c->link]);

	for (uint32_t i = 0; i < c->n_after; i++)
		start = later(start, end_of(a, i, c->after[i]));
	*queue = sl_add_ns(
		sl_add_ns(start, c->latency_ns), bytes_ns(c->bytes, c->bytes_per_s));
	if (sl_grow((void **)&a->ends_ns[c->link], &a->cap[c->link], n, sizeof(uint64_t),
		    SIZE_MAX / 64)) {
		a->failed = SL_E_NOMEM;
		return;
	}
	a->ends_ns[c->link][n - 1] = *queue;
	a->issued[c->link] = c->number;
}

sl_status sl_account_end(struct sl_account *a)
{
	for (uint32_t i = 0; i < SL_ACCOUNT_LINKS; i++) {
		a->now_ns = later(a->now_ns, a->free_ns[i]);
		a->before[i] = a->issued[i];
		a->free_ns[i] = 0;
	}
	a->step_ns = a->now_ns;
	a->stall_ns = sl_add_ns(a->stall_ns, a->now_ns - a->work_ns);
	a->now_ns = a->work_ns = 0;
	return a->failed == SL_OK
		       ? SL_OK
		       : SL_FAIL(a->failed, "no host memory left for virtual time");
}

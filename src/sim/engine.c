/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of events, the earliest first; among equals, the one asked for first. */
#include "sim/engine.h"

#include <stdbool.h>

#include "base/alloc.h"

void sl_sim_finish(struct sl_sim *s)
{
	sl_free(s->heap);
	*s = (struct sl_sim){0};
}

static bool before(const struct sl_sim_event *a, const struct sl_sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

sl_status sl_sim_at(
	struct sl_sim *s, uint64_t at_ns, sl_sim_fn fn, void *ctx, uint64_t arg)
{
	struct sl_sim_event e = {.at_ns = at_ns > s->now_ns ? at_ns : s->now_ns,
		.order = s->asked,
		.fn = fn,
		.ctx = ctx,
		.arg = arg};
	size_t i = s->n;

	if (sl_grow((void **)&s->heap, &s->cap, s->n + 1, sizeof(e), SIZE_MAX / 64))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu events", s->n);
	s->asked++;
	s->n++;
	for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
	return SL_OK;
}

static struct sl_sim_event take_first(struct sl_sim *s)
{
	struct sl_sim_event first = s->heap[0], last = s->heap[--s->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < s->n && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (child >= s->n || !before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return first;
}

sl_status sl_sim_run(struct sl_sim *s)
{
	while (s->n > 0) {
		struct sl_sim_event e = take_first(s);

		s->now_ns = e.at_ns;
		if (s->now_ns == UINT64_MAX)
			return SL_FAIL(SL_E_LIMIT,
				"virtual time ended after 584 years; copies or ops take "
				"too long");
		SL_TRY(e.fn(e.ctx, e.arg));
	}
	return SL_OK;
}

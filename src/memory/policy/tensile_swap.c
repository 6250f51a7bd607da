/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published scheduler's copies of one value: out in the earliest gap of the channel,
 * in in the latest one before the use, again from the access that could not be served,
 * and evicted once more without a copy while the one below is current.
 *
 * Gaps may be filled to the brim: a copy may begin where another ends.
 */
#include "memory/policy/tensile_published_int.h"

#include <string.h>

#include "base/alloc.h"

/* No copy starts later than this, so that its end is a time, too. */
#define FAR_OFF_NS ((uint64_t)1 << 62)

struct window {
	uint64_t from, to;
};

static struct sl_tp_channel *channel_of(struct sl_tp *p, uint32_t job)
{
	return &p->channels[p->opt.channel_per_job ? job : 0];
}

/* Index of the first copy that ends after `at`. */
static size_t busy_at(const struct sl_tp_channel *c, uint64_t at)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->busy[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static sl_status book(struct sl_tp_channel *c, uint64_t start, uint64_t need)
{
	size_t at = busy_at(c, start);

	if (sl_grow((void **)&c->busy, &c->cap, c->n + 1, sizeof(*c->busy),
		    SIZE_MAX / 64))
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	memmove(c->busy + at + 1, c->busy + at, (c->n - at) * sizeof(*c->busy));
	c->busy[at] = (struct sl_tp_busy){start, start + need};
	c->n++;
	return SL_OK;
}

static void unbook(struct sl_tp_channel *c, uint64_t *start)
{
	size_t at = busy_at(c, *start);

	if (*start == SL_TP_NEVER)
		return;
	memmove(c->busy + at, c->busy + at + 1, (c->n - at - 1) * sizeof(*c->busy));
	c->n--;
	*start = SL_TP_NEVER;
}

/* The first place in the window where the channel is free and nobody touches v. */
static bool earliest(const struct sl_tp_channel *c, const struct sl_tp_job *j, uint32_t v,
	struct window w, uint64_t *out)
{
	uint64_t at = w.from, need = sl_tp_out_ns(j, v);
	uint32_t u = j->x.first[v], end = j->x.first[v + 1];
	size_t b = busy_at(c, at);

	while (at < FAR_OFF_NS) {
		while (b < c->n && c->busy[b].end <= at)
			b++;
		while (u < end && sl_tp_end(j, u) <= at)
			u++;
		if (b < c->n && c->busy[b].start < at + need)
			at = c->busy[b].end;
		else if (u < end && sl_tp_start(j, u) < at + need)
			at = sl_tp_end(j, u);
		else
			break;
	}
	*out = at;
	return at < FAR_OFF_NS && at <= w.to && need <= w.to - at;
}

/* The last place in the window where the channel is free. */
static bool latest(
	const struct sl_tp_channel *c, uint64_t need, struct window w, uint64_t *out)
{
	uint64_t to = w.to;
	size_t b = busy_at(c, to); /* may begin before `to` */

	b += b < c->n && c->busy[b].start < to;
	while (to >= need && to - need >= w.from) {
		if (b == 0 || c->busy[b - 1].end <= to - need) {
			*out = to - need;
			return true;
		}
		to = c->busy[--b].start;
	}
	return false;
}

/* The copy in that serves use u, from `from` on. */
static sl_status place_in(struct sl_tp *p, uint32_t job, uint32_t v, uint32_t u,
	uint64_t from, bool *out_done)
{
	struct sl_tp_job *j = &p->jobs[job];
	uint64_t need = sl_tp_in_ns(j, v), at = 0;

	*out_done = latest(
		channel_of(p, job), need, (struct window){from, sl_tp_start(j, u)}, &at);
	if (!*out_done)
		return SL_OK;
	SL_TRY(book(channel_of(p, job), at, need));
	j->uses[u].in_ns = at;
	return SL_OK;
}

void sl_tp_undo(struct sl_tp *p, uint32_t job, uint32_t v)
{
	struct sl_tp_job *j = &p->jobs[job];

	unbook(channel_of(p, job), &j->out_ns[v]);
	for (uint32_t u = j->x.first[v]; u < j->x.first[v + 1]; u++)
		unbook(channel_of(p, job), &j->uses[u].in_ns);
}

/* One try: out from `from` on, in for the first use after it; *out_use is that use. */
static sl_status try_pair(
	struct sl_tp *p, uint32_t job, uint32_t v, struct window w, uint32_t *out_use)
{
	struct sl_tp_job *j = &p->jobs[job];
	uint32_t u = j->x.first[v], end = j->x.first[v + 1];
	uint64_t need = sl_tp_out_ns(j, v), at = 0;
	bool done = false;

	*out_use = SL_NO_ID;
	if (!earliest(channel_of(p, job), j, v, w, &at))
		return SL_OK;
	while (u < end && sl_tp_start(j, u) < at + need)
		u++;
	if (u == end)
		return SL_OK;
	SL_TRY(book(channel_of(p, job), at, need));
	j->out_ns[v] = at;
	SL_TRY(place_in(p, job, v, u, at + need, &done));
	if (!done)
		unbook(channel_of(p, job), &j->out_ns[v]);
	*out_use = u;
	return SL_OK;
}

sl_status sl_tp_swap_normal(
	struct sl_tp *p, uint32_t job, uint32_t v, uint64_t close_ns, bool *out_done)
{
	struct sl_tp_job *j = &p->jobs[job];
	uint32_t first = j->x.first[v], u = first;
	struct window w = {.to = close_ns};

	/* What persists is there at 0, as if borne then. */
	w.from = sl_tp_persists(j, v) ? 0 : sl_tp_end(j, first);
	*out_done = false;
	for (; j->out_ns[v] == SL_TP_NEVER; w.from = sl_tp_end(j, u)) {
		SL_TRY(try_pair(p, job, v, w, &u));
		if (u == SL_NO_ID)
			return SL_OK;
	}
	for (u++; u < j->x.first[v + 1] && !j->x.uses[u - 1].writes; u++) {
		bool again = false;

		SL_TRY(place_in(p, job, v, u, sl_tp_end(j, u - 1), &again));
	}
	j->state[v] = SL_TP_SWAPPED;
	*out_done = true;
	return SL_OK;
}

sl_status sl_tp_cross_iteration(struct sl_tp *p, uint32_t job, uint32_t v, bool *out_done)
{
	struct sl_tp_job *j = &p->jobs[job];
	uint32_t first = j->x.first[v];
	struct window w = {.to = SL_TP_NEVER};
	uint64_t at = 0;

	w.from = sl_tp_end(j, j->x.first[v + 1] - 1);
	*out_done = false;
	if (!earliest(channel_of(p, job), j, v, w, &at))
		return SL_OK;
	SL_TRY(book(channel_of(p, job), at, sl_tp_out_ns(j, v)));
	j->out_ns[v] = at;
	SL_TRY(place_in(p, job, v, first, 0, out_done));
	if (*out_done)
		j->state[v] = SL_TP_CROSSED;
	else
		unbook(channel_of(p, job), &j->out_ns[v]);
	return SL_OK;
}

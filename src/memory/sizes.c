/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by class of size: kept while they are in use, carried over, or made; and what the
 * sizes seen so far say of others. */
#include "memory/sizes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define USUAL_PLANS 64u
#define CARRY_TRIES 3
#define MAX_SAMPLES 256 /* the latest count */

struct entry {
	int64_t size;
	uint64_t used; /* when, by number of the call */
	struct sl_trace trace;
	struct sl_plan plan;
	uint64_t base_ns;
};

struct samples {
	struct sl_size_sample list[MAX_SAMPLES];
	size_t n, next;
	struct sl_size_fit fit;
};

struct sl_sizes {
	struct sl_sizes_opts opts;
	struct slot {
		struct entry *e;
	} * slots; /* by size */
	size_t n;
	struct samples least, peak; /* least budgets, live bytes */
	int64_t refused; /* the smallest class known not to fit; 0: none */
	struct sl_sizes_counts counts;
};

static sl_status no_memory(void)
{
	return SL_FAIL(SL_E_NOMEM, "no host memory for plans by size");
}

sl_status sl_sizes_create(const struct sl_sizes_opts *opts, struct sl_sizes **out)
{
	struct sl_sizes *s;

	if (opts->grid < 0 || opts->grid > SL_SIZES_MOST_SIZE ||
		opts->most_plans > SL_SIZES_MOST_PLANS)
		return SL_FAIL(SL_E_USAGE,
			"a grid lies within 0 and 2^40, plans are at most %u",
			SL_SIZES_MOST_PLANS);
	s = sl_calloc(1, sizeof(*s));
	if (s == NULL)
		return no_memory();
	s->opts = *opts;
	s->opts.grid = opts->grid > 0 ? opts->grid : 1;
	s->opts.most_plans = opts->most_plans > 0 ? opts->most_plans : USUAL_PLANS;
	s->slots = sl_calloc(s->opts.most_plans, sizeof(*s->slots));
	if (s->slots == NULL) {
		sl_free(s);
		return no_memory();
	}
	*out = s;
	return SL_OK;
}

static void entry_destroy(struct entry *e)
{
	if (e == NULL)
		return;
	sl_plan_finish(&e->plan);
	sl_trace_finish(&e->trace);
	sl_free(e);
}

void sl_sizes_destroy(struct sl_sizes *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		entry_destroy(s->slots[i].e);
	sl_free(s->slots);
	sl_free(s);
}

sl_status sl_sizes_class(const struct sl_sizes *s, int64_t size, int64_t *out)
{
	if (size < 1 || size > SL_SIZES_MOST_SIZE)
		return SL_FAIL(SL_E_USAGE, "%lld is no size: it lies within 1 and 2^40",
			(long long)size);
	*out = (size + s->opts.grid - 1) / s->opts.grid * s->opts.grid;
	return SL_OK;
}

/* The first entry whose size is no smaller. */
static size_t find(const struct sl_sizes *s, int64_t size)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->slots[mid].e->size < size)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_known(const struct sl_sizes *s, size_t at, int64_t size)
{
	return at < s->n && s->slots[at].e->size == size;
}

static void add_sample(struct samples *x, int64_t size, uint64_t bytes)
{
	for (size_t i = 0; i < x->n; i++) {
		if (!(x->list[i].size < (double)size || x->list[i].size > (double)size))
			return;
	}
	x->list[x->next] = (struct sl_size_sample){(double)size, (double)bytes};
	x->next = (x->next + 1) % MAX_SAMPLES;
	x->n += x->n < MAX_SAMPLES;
	sl_size_fit(x->list, x->n, &x->fit);
}

/* By what is known of others; 0: nothing. */
static int64_t largest(const struct sl_sizes *s)
{
	int64_t limit = s->refused > 0 ? s->refused - 1 : SL_SIZES_MOST_SIZE, size = 0;

	if (s->least.fit.accepted)
		size = sl_size_fit_largest(&s->least.fit, s->opts.budget_bytes, limit);
	size -= size % s->opts.grid;
	return s->n > 0 && s->slots[s->n - 1].e->size > size ? s->slots[s->n - 1].e->size
							     : size;
}

static sl_status refuse(struct sl_sizes *s, int64_t size, const char *why)
{
	char budget[SL_SIZE_TEXT], hint[64] = "raise it";

	s->counts.refused++;
	if (s->n > 0)
		(void)snprintf(hint, sizeof(hint), "cut it to %lld, which does",
			(long long)s->slots[s->n - 1].e->size);
	return SL_FAIL(SL_E_INFEASIBLE,
		"an input of %lld does not fit the budget of %s (%s): %s, or take fewer "
		"at a time",
		(long long)size, sl_size_print(s->opts.budget_bytes, budget), why, hint);
}

/* A plan of a larger class, the nearest first, where the step is about as fast as it can
 * be; an empty *out: there is none. */
static sl_status carry(
	const struct sl_sizes *s, size_t at, const struct entry *e, struct sl_plan *out)
{
	double most = (double)e->base_ns * (1 + s->opts.slack);

	for (size_t i = at; i < s->n && i < at + CARRY_TRIES && s->opts.slack >= 0; i++) {
		const struct entry *from = s->slots[i].e;
		sl_status st = sl_sizes_carry(
			&from->trace, &from->plan, &e->trace, s->opts.budget_bytes, out);

		if (st == SL_OK && (double)out->price_ns <= most)
			return SL_OK;
		if (st != SL_OK && st != SL_E_NO)
			return st;
		sl_plan_finish(out);
		*out = SL_PLAN_INIT;
	}
	return SL_OK;
}

static void note_refused(struct sl_sizes *s, int64_t size)
{
	if (s->refused == 0 || size < s->refused)
		s->refused = size;
}

/* Its plan is never trusted. */
static sl_status make(struct sl_sizes *s, struct entry *e)
{
	struct sl_plan_price price = {0};
	const struct sl_sizes_source *from = &s->opts.source;
	sl_status st = from->plan(from->ctx, &e->trace, s->opts.budget_bytes, &e->plan);

	if (st == SL_E_INFEASIBLE) {
		note_refused(s, e->size);
		s->counts.refused++;
		return sl_fail_prefix(st, "an input of %lld", (long long)e->size);
	}
	SL_TRY(st);
	SL_TRY(sl_plan_check(&e->trace, &e->plan, s->opts.budget_bytes, NULL));
	SL_TRY(sl_plan_price(&e->trace, &e->plan, &price));
	e->plan.price_ns = price.iter_ns;
	e->plan.stall_ns = price.stall_ns;
	return SL_OK;
}

/* The class's trace, and what it says of other sizes. */
static sl_status measure(struct sl_sizes *s, struct entry *e)
{
	struct sl_least_budget least = {0};
	const struct sl_sizes_source *from = &s->opts.source;

	SL_TRY(from->trace(from->ctx, e->size, &e->trace));
	for (uint32_t i = 0; i < e->trace.n_ops; i++)
		e->base_ns += e->trace.ops[i].dur_ns;
	SL_TRY(sl_trace_least_budget(&e->trace, &least));
	add_sample(&s->least, e->size, least.bytes);
	add_sample(&s->peak, e->size, least.live_peak_bytes);
	if (least.bytes <= s->opts.budget_bytes)
		return SL_OK;
	note_refused(s, e->size);
	return refuse(s, e->size, "the widest op alone needs more");
}

static void drop_oldest(struct sl_sizes *s)
{
	size_t oldest = 0;

	for (size_t i = 1; i < s->n; i++)
		oldest = s->slots[i].e->used < s->slots[oldest].e->used ? i : oldest;
	entry_destroy(s->slots[oldest].e);
	s->n--;
	memmove(s->slots + oldest, s->slots + oldest + 1,
		(s->n - oldest) * sizeof(*s->slots));
	s->counts.dropped++;
}

static void insert(struct sl_sizes *s, struct entry *e)
{
	size_t at;

	if (s->n == s->opts.most_plans)
		drop_oldest(s);
	at = find(s, e->size);
	memmove(s->slots + at + 1, s->slots + at, (s->n - at) * sizeof(*s->slots));
	s->slots[at].e = e;
	s->n++;
}

static sl_status add(struct sl_sizes *s, int64_t size, enum sl_sizes_how *how)
{
	struct entry *e = sl_calloc(1, sizeof(*e));
	sl_status st;

	if (e == NULL)
		return no_memory();
	*e = (struct entry){.size = size, .trace = SL_TRACE_INIT, .plan = SL_PLAN_INIT};
	SL_TRY_OUT(measure(s, e));
	SL_TRY_OUT(carry(s, find(s, size), e, &e->plan));
	*how = e->plan.value_offset != NULL ? SL_SIZES_CARRIED : SL_SIZES_PLANNED;
	if (*how == SL_SIZES_PLANNED)
		SL_TRY_OUT(make(s, e));
	insert(s, e);
	return SL_OK;
out:
	entry_destroy(e);
	return st;
}

sl_status sl_sizes_get(struct sl_sizes *s, int64_t size, struct sl_sizes_found *out)
{
	enum sl_sizes_how how = SL_SIZES_HIT;
	struct entry *e;
	int64_t class = 0;

	SL_TRY(sl_sizes_class(s, size, &class));
	s->counts.asked++;
	if (!is_known(s, find(s, class), class)) {
		if (s->refused > 0 && class >= s->refused)
			return refuse(s, class, "a smaller one does not");
		SL_TRY(add(s, class, &how));
	}
	e = s->slots[find(s, class)].e;
	e->used = s->counts.asked;
	s->counts.hits += how == SL_SIZES_HIT;
	s->counts.carried += how == SL_SIZES_CARRIED;
	s->counts.planned += how == SL_SIZES_PLANNED;
	*out = (struct sl_sizes_found){.size = class,
		.how = how,
		.trace = &e->trace,
		.plan = &e->plan,
		.base_ns = e->base_ns};
	return SL_OK;
}

static enum sl_sizes_verdict guess(const struct sl_sizes *s, int64_t size)
{
	if (sl_size_fit_most(&s->least.fit, size) <= s->opts.budget_bytes)
		return SL_SIZES_FITS;
	return sl_size_fit_least(&s->least.fit, size) > s->opts.budget_bytes
		       ? SL_SIZES_UNLIKELY
		       : SL_SIZES_UNSURE;
}

sl_status sl_sizes_look(const struct sl_sizes *s, int64_t size, struct sl_sizes_view *out)
{
	int64_t class = 0;

	SL_TRY(sl_sizes_class(s, size, &class));
	*out = (struct sl_sizes_view){.verdict = SL_SIZES_UNSURE, .largest = largest(s)};
	if (s->least.fit.accepted)
		out->least_bytes = sl_size_fit_most(&s->least.fit, class);
	if (s->peak.fit.accepted)
		out->peak_bytes = sl_size_fit_most(&s->peak.fit, class);
	if (is_known(s, find(s, class), class))
		out->verdict = SL_SIZES_KNOWN;
	else if (s->refused > 0 && class >= s->refused)
		out->verdict = SL_SIZES_REFUSED;
	else if (s->least.fit.accepted)
		out->verdict = guess(s, class);
	return SL_OK;
}

struct sl_sizes_counts sl_sizes_counts(const struct sl_sizes *s)
{
	return s->counts;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making room for an op. In this order, until everything has a place:
 *
 * 1. best fit among the holes, from the low end; what is small or dies soon from the high
 * end;
 * 2. too few free bytes: evict the value with the farthest next use, big ones before
 * small ones;
 * 3. enough bytes but no hole: slide the values between some neighbouring holes together,
 * choosing the holes with the fewest bytes between them; then slide everything; then
 * evict one more;
 * 4. nothing left to evict: send out what the op itself needs and bring all of it in
 * again, packed from the top by falling alignment. Sizes are multiples of their
 * alignment, so that leaves no gap: this is why the least budget is exact.
 */
#include "memory/policy/belady_int.h"

#include <stdlib.h>

#define WINDOWS_BEFORE_SLIDE 4
#define MAX_RUN 16 /* values evicted for one hole: more are found one by one */
#define SHORT_LIFE_OPS 16

static uint64_t value_room(const struct sl_belady_sim *s, uint32_t v)
{
	return sl_room_value(&s->env->t->values[v]);
}

static sl_status give_items(struct sl_belady_sim *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		SL_TRY(sl_pool_give(&s->device, s->items[i].offset, s->items[i].bytes));
	return SL_OK;
}

/* Small and short-lived things gather at the high end, so that the low end stays whole.
 */
static enum sl_pool_end end_for(
	const struct sl_belady_sim *s, const struct sl_belady_item *it)
{
	const struct sl_trace_index *x = &s->env->x;

	if (it->bytes < SL_PAGE_BYTES || it->kind == SL_BELADY_WORKSPACE)
		return SL_POOL_HIGH;
	if (it->kind == SL_BELADY_BORN &&
		x->uses[x->first[it->owner + 1] - 1].op - s->op <= SHORT_LIFE_OPS)
		return SL_POOL_HIGH;
	return SL_POOL_LOW;
}

/* *failed is the first item without a hole; then no item has its bytes. n_items: all
 * have. */
static sl_status try_items(struct sl_belady_sim *s, size_t *failed)
{
	for (size_t i = 0; i < s->n_items; i++) {
		struct sl_belady_item *it = &s->items[i];
		enum sl_pool_end end = end_for(s, it);
		uint64_t home =
			it->kind == SL_BELADY_ARRIVES ? s->home[it->owner] : SL_NO_OFFSET;

		if (home != SL_NO_OFFSET &&
			sl_pool_is_free(&s->device, home, it->bytes)) {
			it->offset = home;
			SL_TRY(sl_pool_take(&s->device, home, it->bytes));
			continue;
		}
		SL_TRY(sl_pool_alloc(&s->device, it->bytes, it->align, end, &it->offset));
		if (it->offset != SL_POOL_NONE)
			continue;
		*failed = i;
		return give_items(s, i);
	}
	*failed = s->n_items;
	return SL_OK;
}

/* Whether a is the better victim. */
static bool is_better(const struct sl_belady_sim *s, uint32_t a, uint32_t b)
{
	uint64_t room_a = value_room(s, a), room_b = value_room(s, b);
	uint64_t use_a = sl_belady_next_use(s, a), use_b = sl_belady_next_use(s, b);
	bool big_a = room_a >= SL_PAGE_BYTES, big_b = room_b >= SL_PAGE_BYTES;

	if (big_a != big_b)
		return big_a;
	if (use_a != use_b)
		return use_a > use_b;
	if (s->clean[a] != s->clean[b])
		return s->clean[a];
	if (room_a != room_b)
		return room_a > room_b;
	return a < b;
}

/* SL_NO_ID if only values that the op touches are left. */
static uint32_t find_victim(const struct sl_belady_sim *s)
{
	uint32_t best = SL_NO_ID;

	for (uint32_t i = 0; i < s->n_residents; i++) {
		uint32_t v = s->residents[i];

		if (s->touched[v] == s->op + 1)
			continue;
		if (best == SL_NO_ID || is_better(s, v, best))
			best = v;
	}
	return best;
}

/*
 * Slides the values in [lo, hi) to the low end, in order, so that none lands on another.
 * The order of residents stays as it is, so the walk is sound although each move takes
 * one out and in.
 */
static sl_status slide(struct sl_belady_sim *s, uint64_t lo, uint64_t hi)
{
	uint64_t cursor = lo;

	for (uint32_t i = 0; i < s->n_residents; i++) {
		uint32_t v = s->residents[i];
		uint64_t to = sl_align_up(cursor, s->env->t->values[v].align);

		if (s->at[v] < lo || s->at[v] >= hi)
			continue;
		if (to < s->at[v])
			SL_TRY(sl_belady_move(s, v, to));
		cursor = s->at[v] + value_room(s, v);
	}
	return SL_OK;
}

/* A run of neighbours on the device: what would be gained and lost by evicting them all.
 */
struct run {
	uint32_t from, to; /* residents */
	uint64_t next_use; /* the nearest */
	uint64_t bytes;
};

/* Where the free bytes below resident i begin; n_residents: below the end of the arena.
 */
static uint64_t gap_start(const struct sl_belady_sim *s, uint32_t i)
{
	uint32_t v;

	if (i == 0)
		return s->env->fixed_bytes;
	v = s->residents[i - 1];
	return s->at[v] + value_room(s, v);
}

/*
 * The shortest run from resident `from` on that makes a hole for the item. False if a
 * touched value bars it, or as soon as it cannot be better than the best one known.
 */
static bool find_run(const struct sl_belady_sim *s, const struct sl_belady_item *it,
	const struct run *best, struct run *r)
{
	uint64_t start = sl_align_up(gap_start(s, r->from), it->align);

	r->next_use = UINT64_MAX;
	r->bytes = 0;
	for (r->to = r->from; r->to < s->n_residents; r->to++) {
		uint32_t v = s->residents[r->to];
		uint64_t use = sl_belady_next_use(s, v);

		if (s->at[v] >= start + it->bytes)
			return r->to > r->from;
		r->next_use = use < r->next_use ? use : r->next_use;
		r->bytes += value_room(s, v);
		if (s->touched[v] == s->op + 1 || r->to - r->from >= MAX_RUN ||
			r->next_use < best->next_use ||
			(r->next_use == best->next_use && r->bytes >= best->bytes))
			return false;
	}
	return r->to > r->from && start + it->bytes <= s->env->budget;
}

/* Evicts the run whose nearest next use is farthest; *done is false if there is none. */
static sl_status evict_run(
	struct sl_belady_sim *s, const struct sl_belady_item *it, bool *done)
{
	struct run best = {.bytes = UINT64_MAX}, r = {0};

	for (; r.from < s->n_residents; r.from++) {
		if (find_run(s, it, &best, &r))
			best = r;
	}
	*done = best.to > 0;
	for (uint32_t i = best.to; i > best.from; i--)
		SL_TRY(sl_belady_evict(s, s->residents[i - 1]));
	return SL_OK;
}

/* Neighbouring holes and what lies between them. */
struct window {
	uint64_t lo, hi;
	uint64_t taken; /* bytes to slide; UINT64_MAX: there is no such window */
};

/* Holes that together hold `bytes`, with the fewest taken bytes between them. */
static struct window find_window(const struct sl_pool *p, uint64_t bytes)
{
	struct window best = {.taken = UINT64_MAX};
	uint64_t sum = 0;
	size_t from = 0;

	for (size_t to = 0; to < p->n; to++) {
		sum += p->holes[to].bytes;
		while (from < to && sum - p->holes[from].bytes >= bytes)
			sum -= p->holes[from++].bytes;
		uint64_t lo = p->holes[from].offset;
		uint64_t hi = p->holes[to].offset + p->holes[to].bytes;

		if (sum >= bytes && hi - lo - sum < best.taken)
			best = (struct window){lo, hi, hi - lo - sum};
	}
	return best;
}

/* Joins holes for the item; *done is false if the style would rather evict. */
static sl_status squeeze(
	struct sl_belady_sim *s, const struct sl_belady_item *it, int attempt, bool *done)
{
	struct window w = find_window(&s->device, it->bytes);

	*done = false;
	if (attempt > WINDOWS_BEFORE_SLIDE)
		return SL_OK;
	if (s->style == SL_BELADY_RUNS && w.taken > it->bytes)
		return SL_OK;
	*done = true;
	if (attempt == WINDOWS_BEFORE_SLIDE || w.taken == UINT64_MAX)
		return slide(s, s->env->fixed_bytes, s->env->budget);
	return slide(s, w.lo, w.hi);
}

static int by_alignment(const void *a, const void *b)
{
	const struct sl_belady_item *x = a, *y = b;

	if (x->align != y->align)
		return x->align > y->align ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void sort_items(struct sl_belady_sim *s)
{
	qsort(s->items, s->n_items, sizeof(*s->items), by_alignment);
}

/* Everything goes out; the op's own values become arrivals and all is packed from the
 * top. */
static sl_status repack(struct sl_belady_sim *s)
{
	uint64_t top = s->env->budget;

	while (s->n_residents > 0) {
		uint32_t v = s->residents[s->n_residents - 1];

		if (s->touched[v] == s->op + 1)
			s->items[s->n_items++] =
				(struct sl_belady_item){.kind = SL_BELADY_ARRIVES,
					.owner = v,
					.bytes = value_room(s, v),
					.align = s->env->t->values[v].align};
		SL_TRY(sl_belady_evict(s, v));
	}
	sort_items(s);
	for (size_t i = 0; i < s->n_items; i++) {
		if (s->items[i].bytes > top)
			return SL_FAIL(SL_E_INFEASIBLE, "op %u does not fit %llu bytes",
				s->op, (unsigned long long)s->env->budget);
		top -= s->items[i].bytes;
		s->items[i].offset = top;
		if (!sl_pool_is_free(&s->device, top, s->items[i].bytes))
			return SL_FAIL(SL_E_INFEASIBLE, "op %u does not fit %llu bytes",
				s->op, (unsigned long long)s->env->budget);
		SL_TRY(sl_pool_take(&s->device, top, s->items[i].bytes));
	}
	return SL_OK;
}

/* Evicts something for the item; *done is false if nothing is left to evict. */
static sl_status evict_for(
	struct sl_belady_sim *s, const struct sl_belady_item *it, bool *done)
{
	uint32_t victim;

	*done = false;
	if (s->style != SL_BELADY_FARTHEST)
		SL_TRY(evict_run(s, it, done));
	if (*done)
		return SL_OK;
	victim = find_victim(s);
	*done = victim != SL_NO_ID;
	return *done ? sl_belady_evict(s, victim) : SL_OK;
}

sl_status sl_belady_make_room(struct sl_belady_sim *s)
{
	uint64_t need = 0;
	int attempt = 0;

	sort_items(s);
	for (size_t i = 0; i < s->n_items; i++)
		need += s->items[i].bytes;
	for (;;) {
		size_t failed = 0;
		bool done = false;

		SL_TRY(try_items(s, &failed));
		if (failed == s->n_items)
			return SL_OK;
		if (need <= s->device.free_bytes)
			SL_TRY(squeeze(s, &s->items[failed], attempt++, &done));
		if (done)
			continue;
		attempt = 0;
		SL_TRY(evict_for(s, &s->items[failed], &done));
		if (!done)
			return repack(s);
	}
}

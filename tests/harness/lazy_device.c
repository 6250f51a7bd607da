/* SPDX-License-Identifier: Apache-2.0 */
/* Streams without threads, run in an order that a seed chooses; see lazy_device.h. */
#include "harness/lazy_device.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "device/device_impl.h"

#define MOST ((size_t)1 << 24)
#define REGIONS 4096

enum kind { FN, COPY, FILL, RECORD, WAIT };

struct item {
	enum kind kind;
	sl_stream_fn fn;
	void *ctx;
	uint8_t *dst;
	const uint8_t *src;
	uint64_t bytes;
	struct sl_fence *fence;
	uint64_t number; /* of the record */
};

struct sl_fence {
	struct sl_stream *by; /* of the last record */
	uint64_t records, passed;
};

struct sl_stream {
	struct sl_stream *next;
	uint64_t rank;
	struct item *items; /* [begin, n) */
	size_t begin, n, cap;
	sl_status failed;
	char why[512];
};

struct lazy {
	struct sl_device base;
	struct sl_device *cpu; /* has the memory */
	struct sl_stream *streams;
	struct sl_rng_key key;
	uint64_t drawn, bar;
	bool restless; /* ranks are drawn anew at each step */
	bool skips;
	struct sl_device_arena regions[REGIONS]; /* live */
};

static long live;

long lazy_device_live(void)
{
	return live;
}

static struct lazy *lazy_of(struct sl_device *d)
{
	return (struct lazy *)d;
}

static uint64_t draw(struct lazy *l)
{
	return sl_rng_u32(&l->key, l->drawn++);
}

static sl_status note_region(struct lazy *l, void *base, uint64_t bytes)
{
	for (size_t i = 0; i < REGIONS; i++)
		if (!l->regions[i].base) {
			l->regions[i] = (struct sl_device_arena){base, bytes};
			live++;
			return SL_OK;
		}
	return SL_FAIL(SL_E_LIMIT, "too many regions");
}

static void drop_region(struct lazy *l, const void *base)
{
	for (size_t i = 0; i < REGIONS; i++)
		if (l->regions[i].base == base) {
			l->regions[i] = (struct sl_device_arena){0};
			live--;
		}
}

static sl_status check_region(const struct lazy *l, const uint8_t *p, uint64_t bytes)
{
	for (size_t i = 0; i < REGIONS; i++) {
		const struct sl_device_arena *r = &l->regions[i];

		if (r->base && p >= r->base && p + bytes <= r->base + r->bytes)
			return SL_OK;
	}
	return SL_FAIL(SL_E_INVALID, "%llu bytes that are neither an arena's nor pinned",
		(unsigned long long)bytes);
}

static sl_status run_copy(const struct lazy *l, const struct item *it)
{
	SL_TRY(check_region(l, it->dst, it->bytes));
	SL_TRY(check_region(l, it->src, it->bytes));
	if (it->dst < it->src + it->bytes && it->src < it->dst + it->bytes)
		return SL_FAIL(SL_E_INVALID, "both ends of a copy overlap");
	memcpy(it->dst, it->src, it->bytes);
	return SL_OK;
}

static sl_status run_fill(const struct lazy *l, const struct item *it)
{
	SL_TRY(check_region(l, it->dst, it->bytes));
	memset(it->dst, (int)it->number, it->bytes);
	return SL_OK;
}

static sl_status do_item(const struct lazy *l, const struct item *it)
{
	if (it->kind == FN)
		return it->fn(it->ctx);
	return it->kind == COPY ? run_copy(l, it) : run_fill(l, it);
}

static void run_head(struct lazy *l, struct sl_stream *s)
{
	struct item it = s->items[s->begin++];
	sl_status st;

	if (s->begin == s->n)
		s->begin = s->n = 0;
	if (it.kind == RECORD && it.fence->passed < it.number)
		it.fence->passed = it.number;
	if (it.kind == RECORD || it.kind == WAIT || s->failed != SL_OK)
		return;
	st = do_item(l, &it);
	if (st == SL_OK)
		return;
	s->failed = st;
	(void)snprintf(s->why, sizeof(s->why), "%s", sl_last_error());
}

static bool can_run(const struct sl_stream *s)
{
	const struct item *it = &s->items[s->begin];

	return s->begin < s->n && (it->kind != WAIT || it->fence->passed >= it->number);
}

/* Of those that can and are at least `bar`; NULL: none. */
static struct sl_stream *highest(struct lazy *l, uint64_t bar)
{
	struct sl_stream *best = NULL;

	for (struct sl_stream *s = l->streams; s; s = s->next) {
		if (l->restless)
			s->rank = draw(l);
		if (s->rank >= bar && can_run(s) && (!best || s->rank > best->rank))
			best = s;
	}
	return best;
}

static void run_eager(struct lazy *l)
{
	struct sl_stream *s;

	while ((s = highest(l, l->bar)) != NULL)
		run_head(l, s);
}

static sl_status push(struct sl_device *d, struct sl_stream *s, const struct item *it)
{
	struct lazy *l = lazy_of(d);

	if (sl_grow((void **)&s->items, &s->cap, s->n + 1, sizeof(*it), MOST) != 0)
		return SL_FAIL(SL_E_NOMEM, "no memory for an item");
	s->items[s->n++] = *it;
	run_eager(l);
	return SL_OK;
}

static sl_status run_until_empty(struct lazy *l, const struct sl_stream *s)
{
	while (s->begin < s->n) {
		struct sl_stream *next = highest(l, 0);

		if (!next)
			return SL_FAIL(SL_E_INVALID, "streams wait for one another");
		run_head(l, next);
	}
	return SL_OK;
}

static void destroy(struct sl_device *d)
{
	live--;
	sl_device_destroy(lazy_of(d)->cpu);
	sl_free(d);
}

static sl_status arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	SL_TRY(sl_device_arena_create(lazy_of(d)->cpu, bytes, out));
	return note_region(lazy_of(d), out->base, bytes);
}

static void arena_destroy(struct sl_device *d, struct sl_device_arena *a)
{
	drop_region(lazy_of(d), a->base);
	sl_device_arena_destroy(lazy_of(d)->cpu, a);
}

static sl_status pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	SL_TRY(sl_device_pinned_create(lazy_of(d)->cpu, bytes, out));
	return note_region(lazy_of(d), *out, bytes);
}

static void pinned_destroy(struct sl_device *d, void *p)
{
	drop_region(lazy_of(d), p);
	sl_device_pinned_destroy(lazy_of(d)->cpu, p);
}

static sl_status stream_create(struct sl_device *d, struct sl_stream **out)
{
	struct lazy *l = lazy_of(d);
	struct sl_stream *s = sl_calloc(1, sizeof(*s));

	if (!s)
		return SL_FAIL(SL_E_NOMEM, "no memory for a stream");
	s->rank = draw(l);
	s->next = l->streams;
	l->streams = s;
	live++;
	*out = s;
	return SL_OK;
}

static void stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	struct sl_stream **at = &lazy_of(d)->streams;

	(void)run_until_empty(lazy_of(d), s);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	live--;
	sl_free(s->items);
	sl_free(s);
}

static sl_status submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	return push(d, s, &(struct item){.kind = FN, .fn = fn, .ctx = ctx});
}

static sl_status copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	return push(d, s,
		&(struct item){.kind = COPY, .dst = dst, .src = src, .bytes = bytes});
}

static sl_status fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	return push(d, s,
		&(struct item){.kind = FILL, .dst = dst, .number = byte, .bytes = bytes});
}

static sl_status stream_wait(struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	bool skips = lazy_of(d)->skips;

	lazy_of(d)->skips = false;
	if (skips)
		return SL_OK;
	return push(d, s, &(struct item){.kind = WAIT, .fence = f, .number = f->records});
}

static sl_status sync_stream(struct sl_device *d, struct sl_stream *s)
{
	sl_status st = run_until_empty(lazy_of(d), s);

	if (st == SL_OK && s->failed != SL_OK)
		st = SL_FAIL(s->failed, "%s", s->why);
	s->failed = SL_OK;
	return st;
}

static sl_status fence_create(struct sl_device *d, struct sl_fence **out)
{
	(void)d;
	*out = sl_calloc(1, sizeof(**out));
	if (!*out)
		return SL_FAIL(SL_E_NOMEM, "no memory for a fence");
	live++;
	return SL_OK;
}

static sl_status fence_wait(struct sl_device *d, struct sl_fence *f)
{
	return f->passed < f->records ? run_until_empty(lazy_of(d), f->by) : SL_OK;
}

static void fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	(void)fence_wait(d, f);
	live--;
	sl_free(f);
}

static sl_status fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	f->by = s;
	return push(
		d, s, &(struct item){.kind = RECORD, .fence = f, .number = ++f->records});
}

static sl_status fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	(void)d;
	*out_passed = f->passed == f->records;
	return SL_OK;
}

static const struct sl_device_impl lazy_impl = {
	.name = "lazy",
	.destroy = destroy,
	.arena_create = arena_create,
	.arena_destroy = arena_destroy,
	.stream_create = stream_create,
	.stream_destroy = stream_destroy,
	.submit = submit,
	.copy = copy,
	.fill = fill,
	.stream_wait = stream_wait,
	.sync = sync_stream,
	.fence_create = fence_create,
	.fence_destroy = fence_destroy,
	.fence_record = fence_record,
	.fence_wait = fence_wait,
	.fence_query = fence_query,
	.pinned_create = pinned_create,
	.pinned_destroy = pinned_destroy,
};

sl_status lazy_device_create(uint64_t seed, struct sl_device **out)
{
	struct lazy *l = sl_calloc(1, sizeof(*l));
	sl_status st;

	if (!l)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	st = sl_device_create("cpu", &l->cpu);
	if (st != SL_OK) {
		sl_free(l);
		return st;
	}
	l->key = (struct sl_rng_key){.seed = seed, .stream = 77};
	l->restless = seed % 4 == 3;
	l->bar = draw(l);
	live++;
	sl_device_init(&l->base, &lazy_impl, sl_device_bytes(l->cpu));
	*out = &l->base;
	return SL_OK;
}

void lazy_device_skip_wait(struct sl_device *d)
{
	lazy_of(d)->skips = true;
}

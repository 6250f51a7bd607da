/* SPDX-License-Identifier: Apache-2.0 */
/* The pages a launch touches: found by address, and at its end the bytes it read and
 * wrote. */
#include "cuda/emulate/emulate_int.h"

#include <stdlib.h>
#include <string.h>

/* The linker's names for where this library or program begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool in_shared(const struct run *r, uintptr_t address)
{
	return address - (uintptr_t)r->shared < SHARED_ROOM;
}

bool shared_is_live(const struct run *r, uintptr_t address, size_t bytes)
{
	size_t at = address - (uintptr_t)r->shared;
	size_t end = at + bytes;
	if (end > SHARED_ROOM || !r->shared_live[at / GRANULE])
		return false;
	return r->shared_live[(end - 1) / GRANULE] &&
	       (at < STATIC_ROOM || end <= STATIC_ROOM + r->launch->dynamic_shared);
}

static void describe(struct run *r, struct page *p)
{
	uintptr_t start = p->number * PAGE;
	struct emu_range live;
	p->lo = 0;
	p->hi = PAGE;
	p->kind = PAGE_GLOBAL;
	if (in_shared(r, start)) {
		p->kind = PAGE_SHARED;
	} else if (r->launch->live(r->launch->ctx, start, &live)) {
		if (live.start > start)
			p->lo = (unsigned)(live.start - start);
		if (live.end < start + PAGE)
			p->hi = (unsigned)(live.end - start);
	} else if (start >= ((uintptr_t)__ehdr_start & ~(uintptr_t)(PAGE - 1)) &&
		   start < (uintptr_t)_end) {
		p->kind = PAGE_IGNORED; /* constants of the kernels */
	} else {
		p->hi = 0;
	}
}

static void clear(struct page *p)
{
	memset(p->read, 0, sizeof p->read);
	memset(p->written, 0, sizeof p->written);
	memset(p->writer, 0, sizeof p->writer);
	memset(p->reader, 0, sizeof p->reader);
	memset(p->mask, 0, sizeof p->mask);
}

static bool grow(struct run *r)
{
	size_t room = r->page_room == 0 ? 64 : r->page_room * 2;
	struct page **pages = realloc(r->pages, room * sizeof *pages);
	if (pages == NULL)
		return false;
	r->pages = pages;
	memset(pages + r->page_room, 0, (room - r->page_room) * sizeof *pages);
	r->page_room = room;
	free(r->table);
	r->table_size = room * 4;
	r->table = calloc(r->table_size, sizeof *r->table);
	if (r->table == NULL)
		return false;
	for (size_t i = 0; i < r->page_count; i++) {
		size_t at = pages[i]->number % r->table_size;
		while (r->table[at] != NULL)
			at = (at + 1) % r->table_size;
		r->table[at] = pages[i];
	}
	return true;
}

static struct page *find(struct run *r, uintptr_t number)
{
	size_t at = number % r->table_size;
	while (r->table[at] != NULL && r->table[at]->number != number)
		at = (at + 1) % r->table_size;
	if (r->table[at] != NULL)
		return r->table[at];
	struct page *p = r->pages[r->page_count];
	if (p == NULL)
		p = malloc(sizeof *p);
	if (p == NULL)
		return NULL;
	clear(p);
	p->number = number;
	describe(r, p);
	r->pages[r->page_count++] = p;
	r->table[at] = p;
	return p;
}

struct page *page_of(struct run *r, uintptr_t address)
{
	uintptr_t number = address / PAGE;
	struct page *p = r->cache[number % CACHE];
	if (p != NULL && p->number == number)
		return p;
	if (r->page_count == r->page_room && !grow(r))
		return NULL;
	p = find(r, number);
	if (p == NULL || p->hi == 0)
		return NULL;
	r->cache[number % CACHE] = p;
	return p;
}

void pages_reset(struct run *r)
{
	r->page_count = 0;
	memset(r->cache, 0, sizeof r->cache);
	if (r->table != NULL)
		memset(r->table, 0, r->table_size * sizeof(struct page *));
}

void pages_forget_shared(struct run *r)
{
	for (size_t i = 0; i < r->page_count; i++)
		if (r->pages[i]->kind == PAGE_SHARED)
			clear(r->pages[i]);
}

static int by_number(const void *a, const void *b)
{
	const struct page *x = *(struct page *const *)a;
	const struct page *y = *(struct page *const *)b;
	return (x->number > y->number) - (x->number < y->number);
}

static void collect(struct emu_ranges *out, uintptr_t base, const uint64_t *bits)
{
	for (unsigned i = 0; i < PAGE / 64; i++) {
		uint64_t left = bits[i];
		if (left == UINT64_MAX) {
			emu_ranges_add(out, base + i * 64, base + i * 64 + 64);
			continue;
		}
		while (left != 0) {
			unsigned from = (unsigned)__builtin_ctzll(left);
			uint64_t rest = ~(left >> from);
			unsigned n =
				rest == 0 ? 64 - from : (unsigned)__builtin_ctzll(rest);
			emu_ranges_add(
				out, base + i * 64 + from, base + i * 64 + from + n);
			left &= ~(((UINT64_C(1) << n) - 1) << from);
		}
	}
}

void pages_collect(struct run *r)
{
	if (r->page_count > 1)
		qsort(r->pages, r->page_count, sizeof(struct page *), by_number);
	for (size_t i = 0; i < r->page_count; i++) {
		const struct page *p = r->pages[i];
		if (p->kind != PAGE_GLOBAL)
			continue;
		collect(&r->result->reads, p->number * PAGE, p->read);
		collect(&r->result->writes, p->number * PAGE, p->written);
	}
}

void emu_ranges_add(struct emu_ranges *r, uintptr_t start, uintptr_t end)
{
	if (r->count > 0 && r->at[r->count - 1].end == start) {
		r->at[r->count - 1].end = end;
		return;
	}
	if (r->count == r->room) {
		size_t room = r->room == 0 ? 16 : r->room * 2;
		struct emu_range *at = realloc(r->at, room * sizeof *at);
		if (at == NULL)
			return;
		r->at = at;
		r->room = room;
	}
	r->at[r->count++] = (struct emu_range){start, end};
}

void emu_ranges_free(struct emu_ranges *r)
{
	free(r->at);
	*r = (struct emu_ranges){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The race detector's memory: for each byte its last writer and the readers since. */
#include "cuda/driver/clock.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct shadow *s, size_t more)
{
	if (s->count + more <= s->room)
		return true;
	size_t room = s->room * 2 + 64;
	struct segment *at = realloc(s->at, room * sizeof *at);
	if (at == NULL)
		return false;
	s->at = at;
	s->room = room;
	return true;
}

/* The first segment that ends behind a byte. */
static size_t find(const struct shadow *s, uint64_t byte)
{
	size_t lo = 0;
	size_t hi = s->count;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->at[mid].end <= byte)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert(struct shadow *s, size_t i, const struct segment *seg)
{
	memmove(s->at + i + 1, s->at + i, (s->count - i) * sizeof *s->at);
	s->at[i] = *seg;
	s->count++;
}

/* No segment crosses the byte. */
static void split(struct shadow *s, uint64_t byte)
{
	size_t i = find(s, byte);
	if (i == s->count || s->at[i].start >= byte)
		return;
	struct segment left = s->at[i];
	left.end = byte;
	s->at[i].start = byte;
	insert(s, i, &left);
}

static bool before(const struct access *a, const struct clock *c)
{
	return a->number == 0 || c->at[a->slot] >= a->number;
}

static bool same_state(const struct segment *a, const struct segment *b)
{
	return a->end == b->start &&
	       memcmp(&a->writer, &b->writer,
		       sizeof *a - offsetof(struct segment, writer)) == 0;
}

/* Puts this reader in the place of its own slot, of one that came before it, or a free
 * one. */
static void add_reader(
	struct segment *g, const struct access *who, const struct clock *clock)
{
	struct access *place = NULL;
	for (int i = 0; i < CLOCK_READERS; i++) {
		struct access *r = &g->reader[i];
		if (!before(r, clock) || r->number == 0)
			place = place == NULL && r->number == 0 ? r : place;
		else if (place == NULL || place->number == 0)
			place = r;
		else
			*r = (struct access){0};
	}
	if (place != NULL)
		*place = *who;
}

static bool touch(struct segment *g, struct touch *t)
{
	struct conflict c = {g->start, g->writer, true};
	bool fine = before(&g->writer, t->clock);
	t->unwritten |= !t->write && g->writer.number == 0;
	for (int i = 0; i < CLOCK_READERS && fine && t->write; i++) {
		fine = before(&g->reader[i], t->clock);
		c = (struct conflict){g->start, g->reader[i], false};
	}
	if (t->write) {
		g->writer = t->who;
		memset(g->reader, 0, sizeof g->reader);
	} else {
		add_reader(g, &t->who, t->clock);
	}
	if (!fine && t->conflict.first.number == 0)
		t->conflict = c;
	return fine;
}

static void merge(struct shadow *s, uint64_t start, uint64_t end)
{
	size_t i = find(s, start);
	i = i > 0 ? i - 1 : i;
	size_t to = i;
	size_t from = i + 1;
	for (; from < s->count && s->at[from].start <= end; from++) {
		if (same_state(&s->at[to], &s->at[from]))
			s->at[to].end = s->at[from].end;
		else
			s->at[++to] = s->at[from];
	}
	if (to + 1 < from && s->count > 0) {
		memmove(s->at + to + 1, s->at + from, (s->count - from) * sizeof *s->at);
		s->count -= from - to - 1;
	}
}

bool shadow_touch(struct shadow *s, struct touch *t)
{
	bool fine = true;
	if (!make_room(s, 2))
		return true;
	split(s, t->start);
	split(s, t->end);
	uint64_t at = t->start;
	for (size_t i = find(s, at); at < t->end && make_room(s, 1); i++) {
		if (i == s->count || s->at[i].start > at) {
			struct segment gap;
			memset(&gap, 0, sizeof gap);
			gap.start = at;
			gap.end = i == s->count || s->at[i].start > t->end
					  ? t->end
					  : s->at[i].start;
			insert(s, i, &gap);
		}
		fine &= touch(&s->at[i], t);
		at = s->at[i].end;
	}
	merge(s, t->start, t->end);
	return fine;
}

void shadow_forget(struct shadow *s, uint64_t start, uint64_t end)
{
	if (!make_room(s, 2))
		return;
	split(s, start);
	split(s, end);
	size_t from = find(s, start);
	size_t to = find(s, end);
	memmove(s->at + from, s->at + to, (s->count - to) * sizeof *s->at);
	s->count -= to - from;
}

void shadow_free(struct shadow *s)
{
	free(s->at);
	*s = (struct shadow){0};
}

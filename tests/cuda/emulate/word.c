/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two threads of a launch meet at a byte with no barrier between them. */
#include "cuda/emulate/emulate_int.h"

#define WHO_THREAD(w) ((unsigned)((w)&0x7ff))
#define WHO_WARP_EPOCH(w) ((unsigned)((w) >> 11 & 0x7fff))
#define WHO_EPOCH(w) ((unsigned)((w) >> 26 & 0xffff))
#define WHO_BLOCK(w) ((unsigned)((w) >> 42 & 0x1fffff))

static unsigned warp_of(unsigned thread)
{
	return thread >= WHO_WARP ? thread - WHO_WARP : thread / EMU_WARP;
}

/* Whether what `was` did comes before what `now` does, whatever the order of threads. */
static bool ordered(uint64_t was, uint64_t now)
{
	if (was == now)
		return true;
	if (was == EMU_BLOCKS || WHO_BLOCK(was) != WHO_BLOCK(now))
		return false;
	if (WHO_EPOCH(was) != WHO_EPOCH(now))
		return true;
	unsigned t = WHO_THREAD(was);
	if (t == WHO_THREAD(now))
		return true;
	return t != WHO_SEVERAL && warp_of(t) == warp_of(WHO_THREAD(now)) &&
	       WHO_WARP_EPOCH(was) < WHO_WARP_EPOCH(now);
}

/* Who has read, when `now` reads too. */
static uint64_t both_readers(uint64_t was, uint64_t now)
{
	if (was == EMU_BLOCKS || WHO_BLOCK(was) != WHO_BLOCK(now))
		return EMU_BLOCKS;
	unsigned t = WHO_THREAD(was);
	if (WHO_EPOCH(was) != WHO_EPOCH(now) || t == WHO_THREAD(now))
		return now;
	uint64_t no_thread = now & ~UINT64_C(0x7ff);
	if (t == WHO_SEVERAL || warp_of(t) != warp_of(WHO_THREAD(now)))
		return no_thread | WHO_SEVERAL;
	if (WHO_WARP_EPOCH(was) != WHO_WARP_EPOCH(now))
		return now;
	return no_thread | (WHO_WARP + warp_of(t));
}

static void race(struct run *r, const struct page *p, unsigned offset, uint64_t was,
	const char *what)
{
	unsigned t = WHO_THREAD(was);
	unsigned long long at = p->kind == PAGE_SHARED
					? (unsigned long long)(p->number * PAGE + offset -
							       (uintptr_t)r->shared)
					: (unsigned long long)(p->number * PAGE + offset);
	const char *where = p->kind == PAGE_SHARED ? "shared" : "global";
	if (was == EMU_BLOCKS)
		emu_fault(r, EMU_RACE,
			"%s %s byte %#llx, which threads of several blocks read", what,
			where, at);
	else if (t >= WHO_WARP)
		emu_fault(r, EMU_RACE,
			"%s %s byte %#llx, which several threads of block %u read and no "
			"barrier lies between",
			what, where, at, WHO_BLOCK(was));
	else
		emu_fault(r, EMU_RACE,
			"%s %s byte %#llx, which thread %u of block %u touched and no "
			"barrier "
			"lies between",
			what, where, at, t, WHO_BLOCK(was));
}

static unsigned bytes_mask(unsigned offset, unsigned bytes)
{
	return ((1u << bytes) - 1) << (offset & 3);
}

/* The bytes one who is known to have touched, when `now` touches `bytes` too. */
static unsigned known(uint64_t was, uint64_t now, unsigned had, unsigned bytes)
{
	if (was == now)
		return had | bytes;
	/* One note a word: what is not sure is forgotten rather than blamed. */
	return had & bytes ? had & bytes : bytes;
}

static void read_one(struct run *r, struct page *p, unsigned offset, unsigned bytes)
{
	unsigned w = offset / 4;
	unsigned m = bytes_mask(offset, bytes);
	uint64_t now = r->current->who;
	uint64_t was = p->reader[w];
	unsigned had = p->mask[w] >> 4;
	if ((was == now || was == EMU_BLOCKS) && (had & m) == m && p->writer[w] == 0)
		return;
	p->read[offset / 64] |= ((UINT64_C(1) << bytes) - 1) << (offset & 63);
	if (p->writer[w] != 0 && (p->mask[w] & m) != 0 && !ordered(p->writer[w], now))
		race(r, p, offset, p->writer[w], "reads");
	bool overlap = was != 0 && (had & m) != 0;
	p->reader[w] = overlap ? both_readers(was, now) : now;
	had = overlap ? known(was, now, had, m) : was == now ? had | m : m;
	p->mask[w] = (uint8_t)((p->mask[w] & 15) | had << 4);
	uint64_t bit = ((UINT64_C(1) << bytes) - 1) << (offset & 63);
	if (p->kind == PAGE_SHARED && (p->written[offset / 64] & bit) != bit)
		emu_fault(r, EMU_UNWRITTEN,
			"reads shared byte %#zx, which no thread wrote",
			(size_t)(p->number * PAGE + offset - (uintptr_t)r->shared));
}

static void write_one(struct run *r, struct page *p, unsigned offset, unsigned bytes)
{
	unsigned w = offset / 4;
	unsigned m = bytes_mask(offset, bytes);
	uint64_t now = r->current->who;
	uint64_t was = p->writer[w];
	p->written[offset / 64] |= ((UINT64_C(1) << bytes) - 1) << (offset & 63);
	if (was != 0 && (p->mask[w] & m) != 0 && !ordered(was, now))
		race(r, p, offset, was, "writes");
	if (p->reader[w] != 0 && (p->mask[w] >> 4 & m) != 0 &&
		!ordered(p->reader[w], now))
		race(r, p, offset, p->reader[w], "writes");
	p->writer[w] = now;
	unsigned had = was == now ? (p->mask[w] & 15) | m : m;
	p->mask[w] = (uint8_t)((p->mask[w] & 0xf0) | had);
}

void word_read(struct run *r, struct page *p, unsigned offset, unsigned bytes)
{
	while (bytes > 0) {
		unsigned n = 4 - (offset & 3) < bytes ? 4 - (offset & 3) : bytes;
		read_one(r, p, offset, n);
		offset += n;
		bytes -= n;
	}
}

void word_write(struct run *r, struct page *p, unsigned offset, unsigned bytes)
{
	while (bytes > 0) {
		unsigned n = 4 - (offset & 3) < bytes ? 4 - (offset & 3) : bytes;
		write_one(r, p, offset, n);
		offset += n;
		bytes -= n;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What threads of a block and of a warp do together: barriers, shuffles, votes. */
#include "cuda/emulate/builtins.h"
#include "cuda/emulate/emulate_int.h"

#include <string.h>

static struct thread *lane(struct run *r, const struct thread *t, unsigned i)
{
	return &r->threads[t->linear / EMU_WARP * EMU_WARP + i];
}

static bool all_there(struct run *r, const struct thread *t)
{
	unsigned mask = t->word.mask;
	for (unsigned i = 0; i < EMU_WARP; i++) {
		if ((mask >> i & 1) == 0)
			continue;
		const struct thread *o = lane(r, t, i);
		if (o >= r->threads + r->count || o->state != THREAD_WARP ||
			o->word.mask != mask || o->word.op != t->word.op)
			return false;
	}
	return true;
}

static uint64_t answer(struct run *r, const struct thread *t, uint64_t votes)
{
	if (t->word.op == WARP_BALLOT)
		return votes;
	if (t->word.op == WARP_SYNC)
		return 0;
	const struct thread *from = lane(r, t, (unsigned)t->word.source);
	return from->word.value;
}

static void finish(struct run *r, const struct thread *t)
{
	uint64_t votes = 0;
	unsigned mask = t->word.mask;
	for (unsigned i = 0; i < EMU_WARP; i++)
		if (mask >> i & 1)
			votes |= (uint64_t)(lane(r, t, i)->word.value != 0) << i;
	if (t->word.op == WARP_SYNC)
		r->warp_epoch[t->linear / EMU_WARP]++;
	for (unsigned i = 0; i < EMU_WARP; i++) {
		if ((mask >> i & 1) == 0)
			continue;
		struct thread *o = lane(r, t, i);
		o->word.result = answer(r, o, votes);
		o->state = THREAD_READY;
		emu_set_who(r, o);
	}
}

static uint64_t meet(struct run *r, struct warp_word word)
{
	struct thread *t = r->current;
	unsigned self = t->linear % EMU_WARP;
	if ((word.mask >> self & 1) == 0) {
		emu_fault(r, EMU_BARRIER, "the mask %#x leaves out the thread itself",
			word.mask);
		emu_stop(r);
	}
	if (word.op == WARP_SHUFFLE && (word.mask >> word.source & 1) == 0) {
		emu_fault(r, EMU_BARRIER,
			"shuffles from lane %d, which is not in the mask %#x",
			word.source, word.mask);
		emu_stop(r);
	}
	t->word = word;
	t->state = THREAD_WARP;
	if (all_there(r, t))
		finish(r, t);
	else
		emu_yield(r, THREAD_WARP);
	return t->word.result;
}

uint64_t emu_shuffle(unsigned mask, uint64_t value, int source)
{
	struct warp_word w = {WARP_SHUFFLE, mask, source, value, 0};
	return meet(emu_current_run, w);
}

unsigned emu_ballot(unsigned mask, int vote)
{
	struct warp_word w = {WARP_BALLOT, mask, 0, vote != 0, 0};
	return (unsigned)meet(emu_current_run, w);
}

void emu_syncwarp(unsigned mask)
{
	struct warp_word w = {WARP_SYNC, mask, 0, 0, 0};
	meet(emu_current_run, w);
}

void emu_syncthreads(void)
{
	emu_yield(emu_current_run, THREAD_BARRIER);
}

unsigned emu_lane(void)
{
	return emu_current_run->current->linear % EMU_WARP;
}

struct emu_uint3 emu_thread_index(void)
{
	const struct emu_dim *d = &emu_current_run->current->index;
	return (struct emu_uint3){d->x, d->y, d->z};
}

struct emu_uint3 emu_block_index(void)
{
	const struct emu_dim *d = &emu_current_run->block;
	return (struct emu_uint3){d->x, d->y, d->z};
}

struct emu_uint3 emu_block_dim(void)
{
	const struct emu_dim *d = &emu_current_run->launch->block;
	return (struct emu_uint3){d->x, d->y, d->z};
}

struct emu_uint3 emu_grid_dim(void)
{
	const struct emu_dim *d = &emu_current_run->launch->grid;
	return (struct emu_uint3){d->x, d->y, d->z};
}

void *emu_shared(const void *site, size_t bytes)
{
	struct run *r = emu_current_run;
	for (unsigned i = 0; i < r->site_count; i++)
		if (r->sites[i].key == site)
			return r->shared + r->sites[i].at;
	size_t at = (r->shared_used + GRANULE - 1) / GRANULE * GRANULE;
	r->shared_asked += bytes;
	if (r->site_count == SITES || r->shared_asked > EMU_STATIC_SHARED ||
		at + bytes > STATIC_ROOM) {
		emu_fault(r, EMU_LIMIT,
			"more than %d bytes or %d pieces of static shared memory",
			(int)EMU_STATIC_SHARED, (int)SITES);
		emu_stop(r);
	}
	r->sites[r->site_count++] = (struct site){site, at};
	r->shared_used = at + bytes + RED_ZONE;
	memset(r->shared_live + at / GRANULE, 1, (bytes + GRANULE - 1) / GRANULE);
	return r->shared + at;
}

void *emu_dynamic_shared(void)
{
	return emu_current_run->shared + STATIC_ROOM;
}

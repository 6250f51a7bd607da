/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the threads of a block in turns, from barrier to barrier. */
#include "cuda/emulate/emulate_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__thread struct run *emu_current_run;

void emu_fault(struct run *r, enum emu_fault fault, const char *format, ...)
{
	struct emu_result *out = r->result;
	/* Where a race is, which thread comes first decides whether the byte was written.
	 */
	if (out->fault != EMU_FINE &&
		(out->fault != EMU_UNWRITTEN || fault == EMU_UNWRITTEN))
		return;
	out->fault = fault;
	int n = snprintf(out->text, sizeof out->text, "%s: ", r->launch->entry->name);
	if (r->current != NULL)
		n += snprintf(out->text + n, sizeof out->text - (size_t)n,
			"block (%u,%u,%u) thread (%u,%u,%u): ", r->block.x, r->block.y,
			r->block.z, r->current->index.x, r->current->index.y,
			r->current->index.z);
	va_list args;
	va_start(args, format);
	vsnprintf(out->text + n, sizeof out->text - (size_t)n, format, args);
	va_end(args);
}

void emu_yield(struct run *r, enum thread_state state)
{
	struct thread *t = r->current;
	t->state = state;
	fiber_switch(&t->fiber, &r->scheduler);
}

void emu_stop(struct run *r)
{
	r->stopped = true;
	emu_yield(r, THREAD_DONE);
}

void emu_set_who(struct run *r, struct thread *t)
{
	t->who = UINT64_C(1) << 63 | (r->block_linear & 0x1fffff) << 42 |
		 (uint64_t)(r->epoch & 0xffff) << 26 |
		 (uint64_t)(r->warp_epoch[t->linear / EMU_WARP] & 0x7fff) << 11 |
		 t->linear;
}

static void thread_main(void)
{
	struct run *r = emu_current_run;
	r->launch->entry->call(r->launch->params);
	emu_yield(r, THREAD_DONE);
}

static void step(struct run *r, struct thread *t)
{
	if (t->state == THREAD_NEW) {
		t->stack = r->free_stack[--r->free_count];
		fiber_prepare(&t->fiber, t->stack + STACK, thread_main);
	}
	t->state = THREAD_READY;
	r->current = t;
	fiber_switch(&r->scheduler, &t->fiber);
	r->current = NULL;
	if (t->state == THREAD_DONE)
		r->free_stack[r->free_count++] = t->stack;
}

static unsigned count_state(const struct run *r, enum thread_state state)
{
	unsigned n = 0;
	for (unsigned i = 0; i < r->count; i++)
		n += r->threads[i].state == state;
	return n;
}

/* True if threads may go on; false at the block's end. */
static bool release(struct run *r)
{
	unsigned ready = count_state(r, THREAD_READY);
	unsigned barrier = count_state(r, THREAD_BARRIER);
	unsigned done = count_state(r, THREAD_DONE);
	if (ready > 0 || done == r->count)
		return ready > 0;
	if (barrier == r->count) {
		r->epoch++;
		for (unsigned i = 0; i < r->count; i++) {
			r->threads[i].state = THREAD_READY;
			emu_set_who(r, &r->threads[i]);
		}
		return true;
	}
	emu_fault(r, EMU_BARRIER,
		"in block (%u,%u,%u) %u threads wait at __syncthreads, %u for others of "
		"their warp, "
		"%u have left the kernel: they would wait for ever",
		r->block.x, r->block.y, r->block.z, barrier, count_state(r, THREAD_WARP),
		done);
	r->stopped = true;
	return false;
}

static void take_back_stacks(struct run *r)
{
	r->free_count = EMU_THREADS;
	for (unsigned i = 0; i < EMU_THREADS; i++)
		r->free_stack[i] = r->stacks + (size_t)(EMU_THREADS - 1 - i) * STACK;
}

static void start_block(struct run *r)
{
	const struct emu_dim *d = &r->launch->block;
	take_back_stacks(r);
	r->epoch = 0;
	memset(r->warp_epoch, 0, sizeof r->warp_epoch);
	r->site_count = 0;
	r->shared_used = r->shared_asked = 0;
	/* What a block before has left must not look like a value. */
	size_t dynamic = r->launch->dynamic_shared;
	memset(r->shared, 0xA5, STATIC_ROOM + dynamic);
	memset(r->shared_live, 0, STATIC_ROOM / GRANULE);
	memset(r->shared_live + STATIC_ROOM / GRANULE, 1,
		(dynamic + GRANULE - 1) / GRANULE);
	pages_forget_shared(r);
	for (unsigned i = 0; i < r->count; i++) {
		struct thread *t = &r->threads[i];
		t->state = THREAD_NEW;
		t->linear = i;
		t->index = (struct emu_dim){i % d->x, i / d->x % d->y, i / d->x / d->y};
		emu_set_who(r, t);
	}
}

static void run_block(struct run *r)
{
	start_block(r);
	unsigned first = (unsigned)(r->launch->seed * 7 % r->count);
	do {
		for (unsigned i = 0; i < r->count && !r->stopped; i++) {
			struct thread *t = &r->threads[(i + first) % r->count];
			if (t->state == THREAD_NEW || t->state == THREAD_READY)
				step(r, t);
		}
	} while (!r->stopped && release(r));
}

struct run *run_of_thread(void)
{
	if (emu_current_run != NULL)
		return emu_current_run;
	struct run *r = calloc(1, sizeof *r);
	size_t bytes = (size_t)EMU_THREADS * STACK + SHARED_ROOM;
	uint8_t *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r == NULL || mem == MAP_FAILED) {
		free(r);
		return NULL;
	}
	r->stacks = mem;
	r->shared = mem + (size_t)EMU_THREADS * STACK;
	emu_current_run = r;
	return r;
}

void emu_thread_ends(void)
{
	struct run *r = emu_current_run;
	if (r == NULL)
		return;
	emu_current_run = NULL;
	munmap(r->stacks, (size_t)EMU_THREADS * STACK + SHARED_ROOM);
	for (size_t i = 0; i < r->page_room; i++)
		free(r->pages[i]);
	free(r->pages);
	free(r->table);
	free(r);
}

static bool fits(struct run *r, const struct emu_launch *l)
{
	uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
	uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
	if (threads == 0 || threads > EMU_THREADS || blocks == 0 || blocks > 0x1fffff ||
		l->grid.y > 65535 || l->grid.z > 65535 || l->block.z > 64)
		emu_fault(r, EMU_LIMIT,
			"a grid of (%u,%u,%u) blocks of (%u,%u,%u) threads: no such "
			"launch",
			l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y,
			l->block.z);
	if (l->dynamic_shared > SHARED_ROOM - STATIC_ROOM - PAGE)
		emu_fault(r, EMU_LIMIT, "%zu bytes of shared memory: too many",
			l->dynamic_shared);
	r->count = (unsigned)threads;
	return r->result->fault == EMU_FINE;
}

void emu_run(const struct emu_launch *launch, struct emu_result *out)
{
	*out = (struct emu_result){0};
	struct run *r = run_of_thread();
	if (r == NULL) {
		out->fault = EMU_LIMIT;
		return;
	}
	r->launch = launch;
	r->result = out;
	r->stopped = false;
	if (!fits(r, launch))
		return;
	pages_reset(r);
	memset(r->shared_live, 0, sizeof r->shared_live);
	const struct emu_dim *g = &launch->grid;
	uint64_t blocks = (uint64_t)g->x * g->y * g->z;
	/* An order of the seed: blocks promise nothing to each other. */
	uint64_t first = launch->seed % blocks;
	bool backwards = launch->seed >> 8 & 1;
	for (uint64_t i = 0; i < blocks && !r->stopped; i++) {
		uint64_t b = (first + (backwards ? blocks - i : i)) % blocks;
		r->block_linear = b;
		r->block = (struct emu_dim){(unsigned)(b % g->x),
			(unsigned)(b / g->x % g->y), (unsigned)(b / g->x / g->y)};
		run_block(r);
	}
	pages_collect(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What streams do: copies, fills, functions of the host, kernels, calls of libraries. */
#include "cuda/driver/driver_int.h"

#include <stdlib.h>
#include <string.h>

static void lock(void)
{
	pthread_mutex_lock(&fake.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&fake.lock);
}

/* Where the bytes lie, NULL and a lost context if some are not live. */
static void *view_of(const struct item *i, uint64_t address, size_t bytes)
{
	lock();
	void *view = fake_live(address, bytes) ? fake_host_view(address) : NULL;
	if (view == NULL) {
		fake_complain("%s (stream %u, number %llu) wants %zu bytes at %#llx: not "
			      "live memory",
			i->name, (unsigned)i->who.slot, (unsigned long long)i->who.number,
			bytes, (unsigned long long)address);
		fake_lost(SL_CU_ERROR_ILLEGAL_ADDRESS);
	}
	unlock();
	return view;
}

static void run_copy(struct item *i)
{
	void *dst = view_of(i, i->u.move.dst, i->u.move.bytes);
	const void *src = view_of(i, i->u.move.src, i->u.move.bytes);
	if (dst == NULL || src == NULL)
		return;
	memmove(dst, src, i->u.move.bytes);
	lock();
	fake_touch(&i->who, &i->clock, i->u.move.src, i->u.move.bytes, false);
	fake_touch(&i->who, &i->clock, i->u.move.dst, i->u.move.bytes, true);
	unlock();
}

static void run_fill(struct item *i)
{
	void *dst = view_of(i, i->u.move.dst, i->u.move.bytes);
	if (dst == NULL)
		return;
	memset(dst, i->u.move.value, i->u.move.bytes);
	lock();
	fake_touch(&i->who, &i->clock, i->u.move.dst, i->u.move.bytes, true);
	unlock();
}

static void run_host(struct item *i)
{
	fake_in_host_function(true);
	i->u.host.fn(i->u.host.ctx);
	fake_in_host_function(false);
}

/* Copies that take their time need memory that the card can reach by itself. */
static bool reachable(const char *call, uint64_t address, size_t bytes)
{
	if (fake_live(address, bytes))
		return true;
	fake_complain("%s: %zu bytes at %#llx are neither the card's nor pinned", call,
		bytes, (unsigned long long)address);
	return false;
}

static sl_cu_result submit_move(sl_cu_stream s, const struct item *i)
{
	sl_cu_result r = fake_submit(s, i);
	if (r != SL_CU_SUCCESS)
		return r;
	struct access who = {s->slot, s->clock.at[s->slot], i->name};
	fake_pinned_expect(&who, &s->clock, i->u.move.dst, i->u.move.bytes, true);
	if (i->u.move.src != 0)
		fake_pinned_expect(
			&who, &s->clock, i->u.move.src, i->u.move.bytes, false);
	return r;
}

sl_cu_result cuMemcpyAsync(sl_cu_ptr dst, sl_cu_ptr src, size_t bytes, sl_cu_stream s)
{
	ENTER("cuMemcpyAsync");
	if (!reachable("cuMemcpyAsync", dst, bytes) ||
		!reachable("cuMemcpyAsync", src, bytes))
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	if (dst < src + bytes && src < dst + bytes && bytes > 0)
		fake_complain("cuMemcpyAsync: %zu bytes to %#llx from %#llx overlap",
			bytes, dst, src);
	struct item i = {.name = "a copy", .run = run_copy};
	i.u.move.dst = dst;
	i.u.move.src = src;
	i.u.move.bytes = bytes;
	return fake_leave(bytes == 0 ? SL_CU_SUCCESS : submit_move(s, &i));
}

sl_cu_result cuMemsetD8Async(
	sl_cu_ptr dst, unsigned char byte, size_t bytes, sl_cu_stream s)
{
	ENTER("cuMemsetD8Async");
	if (!reachable("cuMemsetD8Async", dst, bytes))
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	struct item i = {.name = "a fill", .run = run_fill};
	i.u.move.dst = dst;
	i.u.move.bytes = bytes;
	i.u.move.value = byte;
	return fake_leave(bytes == 0 ? SL_CU_SUCCESS : submit_move(s, &i));
}

sl_cu_result cuLaunchHostFunc(sl_cu_stream s, sl_cu_host_fn fn, void *ctx)
{
	ENTER("cuLaunchHostFunc");
	struct item i = {.name = "a host function", .run = run_host, .calls_host = true};
	i.u.host.fn = fn;
	i.u.host.ctx = ctx;
	return fake_leave(fake_submit(s, &i));
}

static bool live_page(void *ctx, uintptr_t address, struct emu_range *out)
{
	(void)ctx;
	lock();
	const struct mapping *m = fake_mapping_of(fake_card_view(address));
	bool live = m != NULL && m->usable && fake_host_view(m->start) != NULL;
	if (live) {
		out->start = (uintptr_t)fake_host_view(m->start);
		out->end = out->start + m->bytes;
	}
	unlock();
	/* An address of the card itself is not where its bytes lie. */
	return live && address >= out->start && address < out->end;
}

static sl_cu_result result_of(enum emu_fault f)
{
	static const sl_cu_result results[] = {
		[EMU_ADDRESS] = SL_CU_ERROR_ILLEGAL_ADDRESS,
		[EMU_MISALIGNED] = SL_CU_ERROR_MISALIGNED_ADDRESS,
		[EMU_BARRIER] = SL_CU_ERROR_LAUNCH_FAILED,
		[EMU_LIMIT] = SL_CU_ERROR_LAUNCH_FAILED,
	};
	return f < sizeof results / sizeof results[0] ? results[f] : SL_CU_SUCCESS;
}

static void run_kernel(struct item *i)
{
	struct emu_launch l = {i->u.kernel.entry, i->u.kernel.grid, i->u.kernel.block,
		i->u.kernel.dynamic, i->u.kernel.params,
		fake_random(i->who.slot, i->who.number), live_page, NULL};
	struct emu_result r;
	emu_run(&l, &r);
	lock();
	if (r.fault != EMU_FINE)
		fake_complain("stream %u, number %llu: %s", (unsigned)i->who.slot,
			(unsigned long long)i->who.number, r.text);
	if (result_of(r.fault) != SL_CU_SUCCESS)
		fake_lost(result_of(r.fault));
	fake_touch_kernel(i, &r.reads, false);
	fake_touch_kernel(i, &r.writes, true);
	unlock();
	emu_ranges_free(&r.reads);
	emu_ranges_free(&r.writes);
}

/* Pointers, alone or in a struct: no other value is one of the card's addresses. */
static void translate(uint64_t *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof *words; i++)
		if (fake_mapping_of(words[i]) != NULL)
			words[i] = (uintptr_t)fake_host_view(words[i]);
}

/* The arguments, with the card's addresses as the host's of the same bytes. */
static void **copy_params(const struct emu_entry *e, void **params)
{
	size_t bytes = e->count * sizeof(void *);
	for (unsigned i = 0; i < e->count; i++)
		bytes += (e->sizes[i] + 15) / 16 * 16 + 16;
	void **out = malloc(bytes + 16);
	if (out == NULL)
		return NULL;
	uintptr_t at = ((uintptr_t)(out + e->count) + 15) & ~(uintptr_t)15;
	for (unsigned i = 0; i < e->count; i++) {
		out[i] = (uint8_t *)out + (at - (uintptr_t)out);
		memcpy(out[i], params[i], e->sizes[i]);
		translate(out[i], e->sizes[i]);
		at += (e->sizes[i] + 15) / 16 * 16;
	}
	return out;
}

/* As many as the driver wants. */
#define LAUNCH_ARGUMENTS \
	sl_cu_function f, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
		unsigned block_x, unsigned block_y, unsigned block_z, \
		unsigned shared_bytes, sl_cu_stream s, void **params, void **extra
sl_cu_result cuLaunchKernel(LAUNCH_ARGUMENTS)
{
	ENTER("cuLaunchKernel");
	struct item i = {.name = f->entry->name, .run = run_kernel};
	i.u.kernel.grid = (struct emu_dim){grid_x, grid_y, grid_z};
	i.u.kernel.block = (struct emu_dim){block_x, block_y, block_z};
	i.u.kernel.dynamic = shared_bytes;
	i.u.kernel.entry = f->entry;
	uint64_t threads = (uint64_t)block_x * block_y * block_z;
	if (extra != NULL || shared_bytes > f->dynamic_most || threads == 0 ||
		threads > EMU_THREADS || grid_x == 0 || grid_y == 0 || grid_z == 0 ||
		grid_x > 0x7fffffff || grid_y > 65535 || grid_z > 65535)
		return fake_leave(SL_CU_ERROR_INVALID_VALUE);
	i.u.kernel.params = copy_params(f->entry, params);
	i.owned = i.u.kernel.params;
	return fake_leave(
		i.owned == NULL ? SL_CU_ERROR_OUT_OF_MEMORY : fake_submit(s, &i));
}

static void run_library(struct item *i)
{
	void *views[FAKE_RANGES] = {NULL};
	for (size_t k = 0; k < i->u.library.count; k++) {
		const struct fake_range *g = &i->u.library.ranges[k];
		views[k] =
			g->bytes == 0 ? NULL : view_of(i, (uintptr_t)g->card, g->bytes);
		if (g->bytes > 0 && views[k] == NULL)
			return;
	}
	i->u.library.fn(i->u.library.ctx, views);
	lock();
	for (int write = 0; write < 2; write++)
		for (size_t k = 0; k < i->u.library.count; k++)
			if (i->u.library.ranges[k].write == (write == 1))
				fake_touch(&i->who, &i->clock,
					(uintptr_t)i->u.library.ranges[k].card,
					i->u.library.ranges[k].bytes, write == 1);
	unlock();
}

unsigned fake_library_call(void *stream, const struct fake_library_call *call)
{
	ENTER(call->name);
	size_t head = (call->ctx_bytes + 15) / 16 * 16;
	uint8_t *copy = malloc(head + sizeof call->range);
	if (copy == NULL)
		return fake_leave(SL_CU_ERROR_OUT_OF_MEMORY);
	memcpy(copy, call->ctx, call->ctx_bytes);
	memcpy(copy + head, call->range, sizeof call->range);
	struct item i = {.name = call->name, .run = run_library, .owned = copy};
	i.u.library.fn = call->fn;
	i.u.library.ctx = copy;
	i.u.library.ranges = (const struct fake_range *)(const void *)(copy + head);
	i.u.library.count = call->ranges;
	return fake_leave(fake_submit(stream, &i));
}

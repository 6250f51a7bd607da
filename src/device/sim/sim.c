/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device: the CPU's, or addresses alone; its time is kept by the caller. */
#include "device/sim/sim.h"

#include <sys/mman.h>

#include "base/alloc.h"
#include "device/device_impl.h"

#define ADDRESSES ((uint64_t)1 << 46)

struct sim {
	struct sl_device base;
	struct sl_device *cpu;
};

static struct sl_device *cpu_of(struct sl_device *d)
{
	return ((struct sim *)d)->cpu;
}

static void destroy(struct sl_device *d)
{
	sl_device_destroy(cpu_of(d));
	sl_free(d);
}

static sl_status arena_create(
	struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	return sl_device_arena_create(cpu_of(d), bytes, out);
}

static void arena_destroy(struct sl_device *d, struct sl_device_arena *a)
{
	sl_device_arena_destroy(cpu_of(d), a);
}

static sl_status reserve(struct sl_device *d, uint64_t bytes, struct sl_device_arena *out)
{
	void *p = mmap(NULL, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)d;
	if (p == MAP_FAILED)
		return SL_FAIL(SL_E_NOMEM_DEVICE,
			"no %llu bytes of addresses for a simulated device; give a "
			"smaller --budget",
			(unsigned long long)bytes);
	*out = (struct sl_device_arena){.base = p, .bytes = bytes};
	return SL_OK;
}

static void unreserve(struct sl_device *d, struct sl_device_arena *a)
{
	(void)d;
	(void)munmap(a->base, a->bytes);
}

static sl_status stream_create(struct sl_device *d, struct sl_stream **out)
{
	return sl_device_stream_create(cpu_of(d), out);
}

static void stream_destroy(struct sl_device *d, struct sl_stream *s)
{
	sl_device_stream_destroy(cpu_of(d), s);
}

static sl_status submit(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	return sl_device_submit(cpu_of(d), s, fn, ctx);
}

static sl_status leave_undone(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	(void)d;
	(void)s;
	(void)fn;
	(void)ctx;
	return SL_OK;
}

static sl_status copy(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	return sl_device_copy(cpu_of(d), s, dst, src, bytes);
}

static sl_status leave_uncopied(struct sl_device *d, struct sl_stream *s, void *dst,
	const void *src, uint64_t bytes)
{
	(void)d;
	(void)s;
	(void)dst;
	(void)src;
	(void)bytes;
	return SL_OK;
}

static sl_status fill(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	return sl_device_fill(cpu_of(d), s, dst, byte, bytes);
}

static sl_status leave_unfilled(
	struct sl_device *d, struct sl_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	(void)byte;
	return leave_uncopied(d, s, dst, NULL, bytes);
}

static sl_status stream_wait(struct sl_device *d, struct sl_stream *s, struct sl_fence *f)
{
	return sl_device_stream_wait(cpu_of(d), s, f);
}

static sl_status pinned_create(struct sl_device *d, uint64_t bytes, void **out)
{
	return sl_device_pinned_create(cpu_of(d), bytes, out);
}

static void pinned_destroy(struct sl_device *d, void *p)
{
	sl_device_pinned_destroy(cpu_of(d), p);
}

static sl_status sync_stream(struct sl_device *d, struct sl_stream *s)
{
	return sl_device_sync(cpu_of(d), s);
}

static sl_status fence_create(struct sl_device *d, struct sl_fence **out)
{
	return sl_device_fence_create(cpu_of(d), out);
}

static void fence_destroy(struct sl_device *d, struct sl_fence *f)
{
	sl_device_fence_destroy(cpu_of(d), f);
}

static sl_status fence_record(
	struct sl_device *d, struct sl_fence *f, struct sl_stream *s)
{
	return sl_device_fence_record(cpu_of(d), f, s);
}

static sl_status fence_wait(struct sl_device *d, struct sl_fence *f)
{
	return sl_device_fence_wait(cpu_of(d), f);
}

static sl_status fence_query(struct sl_device *d, struct sl_fence *f, bool *out_passed)
{
	return sl_device_fence_query(cpu_of(d), f, out_passed);
}

#define COMMON \
	.name = "sim", .host_sees = true, .destroy = destroy, \
	.stream_create = stream_create, .stream_destroy = stream_destroy, \
	.sync = sync_stream, .fence_create = fence_create, \
	.fence_destroy = fence_destroy, .fence_record = fence_record, \
	.fence_wait = fence_wait, .fence_query = fence_query, \
	.stream_wait = stream_wait, .pinned_create = pinned_create, \
	.pinned_destroy = pinned_destroy

static const struct sl_device_impl with_data = {
	COMMON,
	.arena_create = arena_create,
	.arena_destroy = arena_destroy,
	.submit = submit,
	.copy = copy,
	.fill = fill,
};

static const struct sl_device_impl without_data = {
	COMMON,
	.arena_create = reserve,
	.arena_destroy = unreserve,
	.submit = leave_undone,
	.copy = leave_uncopied,
	.fill = leave_unfilled,
};

sl_status sl_device_sim_create_mode(bool timing_only, struct sl_device **out)
{
	struct sim *s = sl_calloc(1, sizeof(*s));
	sl_status st;

	if (s == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	SL_TRY_OUT(sl_device_create("cpu", &s->cpu));
	sl_device_init(&s->base, timing_only ? &without_data : &with_data,
		timing_only ? ADDRESSES : sl_device_bytes(s->cpu));
	*out = &s->base;
	return SL_OK;
out:
	sl_free(s);
	return st;
}

sl_status sl_device_create_sim(struct sl_device **out)
{
	return sl_device_sim_create_mode(false, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device: a decorator of the CPU's, whose time the caller keeps. */
#include "device/sim/sim.h"

#include <sys/mman.h>

#include "device/wrap/wrap_int.h"

static sl_status allow(struct sl_wrap *w, const char *call, uint64_t arg)
{
	(void)w;
	(void)call;
	(void)arg;
	return SL_OK;
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

static sl_status leave_undone(
	struct sl_device *d, struct sl_stream *s, sl_stream_fn fn, void *ctx)
{
	(void)d;
	(void)s;
	(void)fn;
	(void)ctx;
	return SL_OK;
}

sl_status sl_device_sim_create_mode(bool timing_only, struct sl_device **out)
{
	struct sl_device *cpu = NULL;
	struct sl_wrap *w;

	SL_TRY(sl_device_create("cpu", &cpu));
	w = sl_wrap_alloc(
		sizeof(*w), cpu, timing_only ? (uint64_t)1 << 46 : sl_device_bytes(cpu));
	if (w == NULL) {
		sl_device_destroy(cpu);
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	}
	w->ask = allow;
	w->impl.name = "sim";
	if (timing_only) {
		w->impl.arena_create = reserve;
		w->impl.arena_destroy = unreserve;
		w->impl.submit = leave_undone;
	}
	*out = &w->base;
	return SL_OK;
}

sl_status sl_device_create_sim(struct sl_device **out)
{
	return sl_device_sim_create_mode(false, out);
}

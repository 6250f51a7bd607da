/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA kernels on host memory, launched on the emulator. */
#include "cuda/kernel/rig.h"

#include <inttypes.h>

#include "cuda/emulate/launch.h"
#include "device/cuda/cuda.h"
#include "harness/harness.h"

static uint64_t note[8];
static sl_cuda_note_fn read_note;
static const struct sl_kernel *running;
static uint64_t seed;

static const char *const names[] = {
#define SL_CUDA_ENTRY(name) #name,
#include "kernel/cuda/entries.def"
#undef SL_CUDA_ENTRY
};

/* Guards beside each buffer tell what goes beyond. */
static bool live(void *ctx, uintptr_t address, struct emu_range *out)
{
	(void)ctx;
	*out = (struct emu_range){4096, UINTPTR_MAX / 2};
	return address >= out->start && address < out->end;
}

sl_status sl_cuda_launch(struct sl_stream *s, unsigned entry, struct sl_cuda_size grid,
	struct sl_cuda_size block, unsigned shared_bytes, void **params)
{
	struct emu_launch l = {.entry = emu_find(names[entry]),
		.grid = {grid.x, grid.y, grid.z},
		.block = {block.x, block.y, block.z},
		.dynamic_shared = shared_bytes,
		.params = params,
		.seed = seed++,
		.live = live};
	struct emu_result r = {0};

	(void)s;
	if (!l.entry)
		return SL_FAIL(SL_E_NOT_FOUND, "no .cu source has %s", names[entry]);
	emu_run(&l, &r);
	emu_ranges_free(&r.reads);
	emu_ranges_free(&r.writes);
	return r.fault == EMU_FINE ? SL_OK
				   : SL_FAIL(SL_E_NO, "%s: %s", names[entry], r.text);
}

void *sl_cuda_stream_note(struct sl_stream *s, sl_cuda_note_fn read)
{
	(void)s;
	read_note = read;
	return note;
}

static sl_status run(const struct sl_call *c)
{
	read_note = NULL;
	SL_TRY(running->run(c));
	return read_note ? read_note(note) : SL_OK;
}

const struct sl_kernel *rig_kernel(const struct sl_kernel *k)
{
	static struct sl_kernel own;

	running = k;
	own = *k;
	own.run = run;
	return &own;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_EMULATE_LAUNCH_H
#define SL_TESTS_CUDA_EMULATE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Runs a kernel's own source on the host: each thread of a block is a fiber, blocks run
 * one after the other in an order of the seed. Every byte read and written is known,
 * because the compiler calls __tsan_read4() and its kin, which access.c answers.
 */

#pragma GCC visibility push(default)
enum {
	EMU_WARP = 32,
	EMU_THREADS = 1024, /* most in a block */
	EMU_STATIC_SHARED = 48 << 10 /* most that SL_SHARED may take in a block */
};

/* A kernel, as wrap.cpp registers it. */
struct emu_entry {
	const char *name;
	void (*call)(void *const *params); /* with pointers to the arguments */
	unsigned count;
	const size_t *sizes; /* of each argument */
	const bool *is_pointer; /* of each argument */
	struct emu_entry *next;
};
void emu_register(struct emu_entry *e);
const struct emu_entry *emu_find(const char *name); /* NULL: no such kernel */

struct emu_range {
	uintptr_t start, end;
};
/* Sorted, disjoint, not touching. */
struct emu_ranges {
	struct emu_range *at;
	size_t count, room;
};
void emu_ranges_free(struct emu_ranges *r);
void emu_ranges_add(struct emu_ranges *r, uintptr_t start, uintptr_t end);

enum emu_fault {
	EMU_FINE,
	EMU_RACE, /* two threads touch a byte, one writes it, no barrier between */
	EMU_ADDRESS, /* outside of live memory */
	EMU_MISALIGNED, /* an address that is no multiple of the access's size */
	EMU_BARRIER, /* a barrier or shuffle that not all threads reach */
	EMU_UNWRITTEN, /* shared memory read before it was written */
	EMU_LIMIT /* a block larger than a device can run */
};

struct emu_dim {
	unsigned x, y, z;
};

struct emu_launch {
	const struct emu_entry *entry;
	struct emu_dim grid, block;
	size_t dynamic_shared;
	void *const *params;
	uint64_t seed;
	/* The piece of live memory that holds an address; false if none does. */
	bool (*live)(void *ctx, uintptr_t address, struct emu_range *out);
	void *ctx;
};

struct emu_result {
	enum emu_fault fault; /* the first */
	char text[400];
	struct emu_ranges reads, writes;
};

/* Never fails by itself: what went wrong is in the result. Any thread may call. */
void emu_run(const struct emu_launch *launch, struct emu_result *out);

/* A thread that ran kernels gives back what it kept for the next. */
void emu_thread_ends(void);

#pragma GCC visibility pop

#endif

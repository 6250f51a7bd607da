/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_EMULATE_BUILTINS_H
#define SL_TESTS_CUDA_EMULATE_BUILTINS_H

#include <stddef.h>
#include <stdint.h>

/* What emulate.h asks of warp.c: C and C++ read this. Called from kernel code only. */
#ifdef __cplusplus
extern "C" {
#endif

struct emu_uint3 {
	unsigned x, y, z;
};
/* The same at each call of a thread, so the compiler may keep the answer. */
struct emu_uint3 emu_thread_index(void) __attribute__((const));
struct emu_uint3 emu_block_index(void) __attribute__((const));
struct emu_uint3 emu_block_dim(void) __attribute__((const));
struct emu_uint3 emu_grid_dim(void) __attribute__((const));
unsigned emu_lane(void) __attribute__((const));

void emu_syncthreads(void);
void emu_syncwarp(unsigned mask);
uint64_t emu_shuffle(unsigned mask, uint64_t value, int source);
unsigned emu_ballot(unsigned mask, int vote);
/* The block's memory of a place in the source, and the launch's dynamic memory. */
void *emu_shared(const void *site, size_t bytes);
void *emu_dynamic_shared(void);

#ifdef __cplusplus
}
#endif
#endif

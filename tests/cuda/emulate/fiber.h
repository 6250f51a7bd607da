/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_EMULATE_FIBER_H
#define SL_TESTS_CUDA_EMULATE_FIBER_H

/* Stacks to switch between; a switch costs some nanoseconds. */
struct fiber {
	void *sp;
};

/* Leaves `from` and goes on where `to` was left. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* The first switch to f calls fn() on the stack that ends at `top`; fn never returns. */
void fiber_prepare(struct fiber *f, void *top, void (*fn)(void));

#endif

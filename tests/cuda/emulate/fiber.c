/* SPDX-License-Identifier: Apache-2.0 */
/* Switching stacks by hand: what the calling convention wants kept is pushed and popped.
 */
#include "cuda/emulate/fiber.h"

#include <stddef.h>
#include <stdint.h>

void emu_fiber_swap(void **save, void *load) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
enum { SAVED = 6 };
__asm__(".text\n"
	".globl emu_fiber_swap\n"
	".hidden emu_fiber_swap\n"
	".type emu_fiber_swap,@function\n"
	"emu_fiber_swap:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n"
	"	ret\n"
	".size emu_fiber_swap,.-emu_fiber_swap\n");

void fiber_prepare(struct fiber *f, void *top, void (*fn)(void))
{
	/* At a function's entry the stack is 8 off a multiple of 16. */
	uintptr_t at = ((uintptr_t)top & ~(uintptr_t)15) - 8;
	void **sp = (void **)at;
	*sp = NULL;
	*--sp = (void *)(uintptr_t)fn;
	for (int i = 0; i < SAVED; i++)
		*--sp = NULL;
	f->sp = sp;
}
#elif defined(__aarch64__)
enum { SAVED = 20 };
__asm__(".text\n"
	".globl emu_fiber_swap\n"
	".hidden emu_fiber_swap\n"
	".type emu_fiber_swap,%function\n"
	"emu_fiber_swap:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp]\n	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n	str x9, [x0]\n	mov sp, x1\n"
	"	ldp x19, x20, [sp]\n	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n	ret\n"
	".size emu_fiber_swap,.-emu_fiber_swap\n");

void fiber_prepare(struct fiber *f, void *top, void (*fn)(void))
{
	void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);
	for (int i = 0; i < SAVED; i++)
		*--sp = NULL;
	sp[11] = (void *)(uintptr_t)fn; /* the link register */
	f->sp = sp;
}
#else
#error "fiber.c has no switch for this processor"
#endif

void fiber_switch(struct fiber *from, struct fiber *to)
{
	emu_fiber_swap(&from->sp, to->sp);
}

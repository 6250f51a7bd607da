/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to the calls that the compiler puts before each load and store of a kernel
 * (-fsanitize=thread,alignment, without the libraries).
 */
#include "cuda/emulate/emulate_int.h"

enum { READ, WRITE };

static const char *const verb[] = {"reads", "writes"};

static void outside(struct run *r, uintptr_t at, size_t bytes, int kind)
{
	if (at - (uintptr_t)r->shared < SHARED_ROOM)
		emu_fault(r, EMU_ADDRESS,
			"%s %zu bytes of shared memory at %#zx: not the block's",
			verb[kind], bytes, (size_t)(at - (uintptr_t)r->shared));
	else
		emu_fault(r, EMU_ADDRESS, "%s %zu bytes at %#zx: no live memory",
			verb[kind], bytes, (size_t)at);
	emu_stop(r);
}

static void touch(struct run *r, uintptr_t at, unsigned bytes, int kind)
{
	struct page *p = page_of(r, at);
	if (p == NULL) {
		outside(r, at, bytes, kind);
		return;
	}
	unsigned offset = (unsigned)(at % PAGE);
	if (p->kind == PAGE_IGNORED)
		return;
	if (offset < p->lo || offset + bytes > p->hi ||
		(p->kind == PAGE_SHARED && !shared_is_live(r, at, bytes)))
		outside(r, at, bytes, kind);
	if (kind == READ)
		word_read(r, p, offset, bytes);
	else
		word_write(r, p, offset, bytes);
}

static void any(void *address, size_t bytes, int kind)
{
	struct run *r = emu_current_run;
	uintptr_t at = (uintptr_t)address;
	if (r == NULL || r->current == NULL ||
		at - (uintptr_t)r->stacks < (size_t)EMU_THREADS * STACK)
		return;
	while (bytes > 0) {
		size_t n = PAGE - at % PAGE < bytes ? PAGE - at % PAGE : bytes;
		touch(r, at, (unsigned)n, kind);
		at += n;
		bytes -= n;
	}
}

/*
 * Of -fsanitize=alignment: each access by an address that its type does not allow, which
 * a device refuses.
 */
void __ubsan_handle_type_mismatch_v1(const void *data, uintptr_t at);
void __ubsan_handle_type_mismatch_v1(const void *data, uintptr_t at)
{
	struct run *r = emu_current_run;
	(void)data;
	if (r == NULL || r->current == NULL)
		return;
	emu_fault(r, EMU_MISALIGNED, "uses an object at %#zx: misaligned", (size_t)at);
	emu_stop(r);
}

/* The compiler's names for its loads and stores. */
#define SIZED(bytes) \
	void __tsan_read##bytes(void *a); \
	void __tsan_read##bytes(void *a) \
	{ \
		any(a, bytes, READ); \
	} \
	void __tsan_write##bytes(void *a); \
	void __tsan_write##bytes(void *a) \
	{ \
		any(a, bytes, WRITE); \
	} \
	void __tsan_unaligned_read##bytes(void *a); \
	void __tsan_unaligned_read##bytes(void *a) \
	{ \
		any(a, bytes, READ); \
	} \
	void __tsan_unaligned_write##bytes(void *a); \
	void __tsan_unaligned_write##bytes(void *a) \
	{ \
		any(a, bytes, WRITE); \
	}
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)

void __tsan_read_range(void *a, size_t bytes);
void __tsan_read_range(void *a, size_t bytes)
{
	any(a, bytes, READ);
}

void __tsan_write_range(void *a, size_t bytes);
void __tsan_write_range(void *a, size_t bytes)
{
	any(a, bytes, WRITE);
}

void __tsan_func_entry(void *a);
void __tsan_func_entry(void *a)
{
	(void)a;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_init(void);
void __tsan_init(void)
{
}

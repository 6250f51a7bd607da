/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_EMULATE_INT_H
#define SL_TESTS_CUDA_EMULATE_INT_H

#include "cuda/emulate/fiber.h"
#include "cuda/emulate/launch.h"

enum {
	PAGE = 4096,
	WORDS = PAGE / 4,
	SITES = 32, /* SL_SHARED places in a kernel */
	CACHE = 256, /* pages found without a search */
	STACK = 64 << 10,
	STATIC_ROOM = 64 << 10, /* EMU_STATIC_SHARED and what lies between the pieces */
	RED_ZONE = 64, /* bytes after each piece that nobody may touch */
	SHARED_ROOM = 320 << 10,
	GRANULE = 16 /* shared memory is live or not in such pieces */
};

/*
 * Who touched a word last, in one number: block, barriers the block has passed, barriers
 * of the warp, thread; from above (bit 63 set, so that 0 is nobody). BLOCKS stands for
 * threads of more than one block.
 */
#define EMU_BLOCKS UINT64_MAX
enum { WHO_SEVERAL = 2046, WHO_WARP = 1024 }; /* in place of a thread */

enum page_kind { PAGE_GLOBAL, PAGE_SHARED, PAGE_IGNORED };

/* What a launch did to 4096 bytes. */
struct page {
	uintptr_t number;
	enum page_kind kind;
	unsigned lo, hi; /* the live bytes */
	uint64_t read[PAGE / 64], written[PAGE / 64]; /* a bit a byte */
	uint64_t writer[WORDS], reader[WORDS];
	uint8_t mask[WORDS]; /* bytes of writer, bytes of reader << 4 */
};

enum thread_state { THREAD_NEW, THREAD_READY, THREAD_BARRIER, THREAD_WARP, THREAD_DONE };

struct warp_word {
	enum emu_warp_op { WARP_SYNC, WARP_SHUFFLE, WARP_BALLOT } op;
	unsigned mask;
	int source; /* the lane a shuffle reads */
	uint64_t value, result;
};

struct thread {
	struct fiber fiber;
	uint8_t *stack;
	enum thread_state state;
	unsigned linear;
	struct emu_dim index;
	uint64_t who;
	struct warp_word word;
};

struct site {
	const void *key;
	size_t at;
};

/* One running launch; an executing thread keeps it for its next launch. */
struct run {
	const struct emu_launch *launch;
	struct emu_result *result;
	struct fiber scheduler;
	struct thread *current; /* NULL: no kernel code runs */
	struct thread threads[EMU_THREADS];
	unsigned count; /* threads of a block */
	struct emu_dim block;
	uint64_t block_linear;
	unsigned epoch; /* barriers passed by the block */
	unsigned warp_epoch[EMU_THREADS / EMU_WARP];
	bool stopped; /* the launch cannot go on */
	uint8_t *stacks, *free_stack[EMU_THREADS];
	unsigned free_count;
	uint8_t *shared;
	size_t shared_used, shared_asked;
	bool shared_live[SHARED_ROOM / GRANULE];
	struct site sites[SITES];
	unsigned site_count;
	struct page *cache[CACHE];
	struct page **table; /* by number, open addressing */
	struct page **pages; /* in order of their first touch */
	size_t table_size, page_count, page_room;
};

/* The run of this thread, made at its first launch; NULL when memory is out. */
struct run *run_of_thread(void);
extern __thread struct run *emu_current_run
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Notes the first fault of a launch. */
void emu_fault(struct run *r, enum emu_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the launch from within kernel code; does not return. */
void emu_stop(struct run *r);
/* Lets the other threads run until this one is ready again. */
void emu_yield(struct run *r, enum thread_state state);
void emu_set_who(struct run *r, struct thread *t);

void emu_warp_arrived(struct run *r, struct thread *t);
/* NULL if no live memory is there. */
struct page *page_of(struct run *r, uintptr_t address);
bool shared_is_live(const struct run *r, uintptr_t address, size_t bytes);
void pages_reset(struct run *r);
void pages_forget_shared(struct run *r);
void pages_collect(struct run *r);
/* One access of at most 16 bytes within a page. */
void word_read(struct run *r, struct page *p, unsigned offset, unsigned bytes);
void word_write(struct run *r, struct page *p, unsigned offset, unsigned bytes);

#endif

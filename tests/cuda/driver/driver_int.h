/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_DRIVER_INT_H
#define SL_TESTS_CUDA_DRIVER_INT_H

#include <pthread.h>

#include "cuda/driver/clock.h"
#include "cuda/driver/fake.h"
#include "cuda/emulate/launch.h"
#include "device/cuda/driver_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define SL_CU(name, args) EXPORT sl_cu_result name args;
#include "device/cuda/driver.def"
#undef SL_CU

enum { FAKE_GRANULE = 2 << 20, FAKE_MAPPINGS = 64, FAKE_STREAMS = CLOCK_SLOTS };

/*
 * Addresses of the card are those of a window that the host cannot touch; the bytes lie
 * in a second window, as far from it for all. The detector knows bytes by the memory they
 * lie in, so that one memory at two addresses is one.
 */
struct memory {
	int fd;
	size_t bytes;
	unsigned refs; /* handles and mappings */
	uint64_t physical;
	bool foreign; /* another process may have written it */
};
struct reservation {
	uint64_t start, bytes; /* 0 bytes: free */
};
struct mapping {
	uint64_t start, bytes; /* in the card's window */
	struct memory *memory; /* NULL: pinned memory of the host */
	uint64_t physical;
	bool usable; /* cuMemSetAccess was called */
	uint8_t *view; /* where the bytes lie for the driver */
	uint8_t *level; /* of pinned memory: what the host may do to each page */
};

/* Work on pinned memory that the host has not waited for. */
struct pending {
	uint64_t start, end;
	bool write;
	struct access who;
	struct clock clock;
};

struct CUevent_st {
	uint64_t recorded, done; /* numbers of its records */
	struct clock clock; /* what was before the last record */
	unsigned refs;
};

struct CUfunc_st {
	const struct emu_entry *entry;
	unsigned dynamic_most;
	struct CUfunc_st *next;
};
struct CUmod_st {
	struct CUfunc_st *functions;
};

/* A piece of work of a stream. */
struct item {
	struct item *next;
	const char *name;
	struct access who;
	struct clock clock; /* with itself */
	void (*run)(struct item *i); /* without the lock */
	void *owned; /* freed with the item */
	bool calls_host;
	struct CUevent_st *event; /* recorded or waited for */
	uint64_t record;
	bool waits;
	union {
		struct {
			uint64_t dst, src;
			size_t bytes;
			uint8_t value;
		} move;
		struct {
			sl_cu_host_fn fn;
			void *ctx;
		} host;
		struct {
			struct emu_dim grid, block;
			unsigned dynamic;
			const struct emu_entry *entry;
			void **params;
		} kernel;
		struct {
			void (*fn)(void *ctx, void *const *views);
			void *ctx;
			const struct fake_range *ranges;
			size_t count;
		} library;
	} u;
};

struct CUstream_st {
	pthread_t thread;
	struct item *first, **last;
	struct clock clock; /* of all that was put into it */
	unsigned slot;
	bool busy, ends;
	uint64_t pace; /* how slow its seed makes it */
};

struct fake {
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct fake_options options;
	bool initialised, options_read;
	uint64_t calls;
	unsigned running, paused; /* items that touch memory */
	sl_cu_result sticky;
	char complaint[1000];
	unsigned contexts, streams, events, modules, memories, reserved, pinned;
	uint64_t used; /* bytes of memories */
	uint64_t next_physical;
	uint8_t *window, *bytes_at; /* the card's addresses, and their bytes */
	struct mapping mapping[FAKE_MAPPINGS];
	struct reservation reservation[FAKE_MAPPINGS];
	struct CUstream_st *stream[FAKE_STREAMS]; /* by slot; 0 is the host's */
	uint64_t count[FAKE_STREAMS]; /* of items, by slot */
	uint64_t records;
	struct clock host;
	struct shadow shadow;
	uint64_t waits; /* that order something, since the last reset */
	struct pending *pending;
	size_t pending_count, pending_room;
	struct item *host_functions; /* that run */
};
extern struct fake fake __attribute__((visibility("hidden")));

/* A call begins, with the lock taken; other than success: it is to give that back. */
enum call_kind { CALL_ANY, CALL_BARE, CALL_ENDS };
#define ENTER(name) \
	do { \
		sl_cu_result r_ = fake_enter(name, CALL_ANY); \
		if (r_ != SL_CU_SUCCESS) \
			return r_; \
	} while (0)
sl_cu_result fake_enter(const char *name, enum call_kind kind);
sl_cu_result fake_leave(sl_cu_result r); /* lets the lock go, gives r */
void fake_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_lost(sl_cu_result code);
bool fake_has_context(void);
void fake_in_host_function(bool is);
uint64_t fake_random(uint64_t a, uint64_t b); /* of the seed */

/* Below here the lock is held. */
bool fake_open_window(void);
struct mapping *fake_free_mapping(void);
bool fake_is_reserved(uint64_t p, size_t bytes);
const struct mapping *fake_mapping_of(uint64_t address);
/* Whether all bytes are live. */
bool fake_live(uint64_t address, size_t bytes);
void *fake_host_view(uint64_t address); /* where the bytes of a live address lie */
uint64_t fake_card_view(uintptr_t host); /* the other way */
/* One piece of work touches bytes; complains about what has no order. */
void fake_touch(const struct access *who, const struct clock *clock, uint64_t address,
	size_t bytes, bool write);
void fake_touch_by_host(const char *name, uint64_t address, size_t bytes, bool write);
void fake_touch_kernel(const struct item *i, const struct emu_ranges *r, bool write);
/*
 * Pinned memory is shut to the host while work on it is under way that the host has not
 * waited for: it touches the page, and that is told.
 */
void fake_pinned_expect(const struct access *who, const struct clock *clock,
	uint64_t address, size_t bytes, bool write);
void fake_pinned_settle(void); /* the host's clock has moved */
/* A host function runs: what it is in order with is open meanwhile. */
void fake_pinned_begin_host(struct item *i);
void fake_pinned_end_host(struct item *i);
/* The host waits for what a clock has reached; not so if this wait is to be left out. */
void fake_host_reaches(const struct clock *clock);
bool fake_left_out(const struct clock *from, const struct clock *to);
/* Nothing that touches memory runs between the two. */
void fake_pause(void);
void fake_go_on(void);

/* Puts a copy of the item at the stream's end. */
sl_cu_result fake_submit(struct CUstream_st *s, const struct item *like);
void fake_wait_idle(struct CUstream_st *s);

#endif

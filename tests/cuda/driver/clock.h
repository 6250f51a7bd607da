/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_DRIVER_CLOCK_H
#define SL_TESTS_CUDA_DRIVER_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Vector clocks over streams: slot 0 is the host, each stream has a slot. A piece of work
 * is (slot, number); it comes before another whose clock has reached that number. Not
 * locked: the driver's lock is held.
 */
enum { CLOCK_SLOTS = 64, CLOCK_HOST = 0, CLOCK_READERS = 8 };

struct clock {
	uint64_t at[CLOCK_SLOTS];
};

static inline void clock_join(struct clock *c, const struct clock *with)
{
	for (int i = 0; i < CLOCK_SLOTS; i++)
		c->at[i] = c->at[i] > with->at[i] ? c->at[i] : with->at[i];
}

struct access {
	uint64_t slot;
	uint64_t number; /* 0: nobody */
	const char *name; /* outlives the shadow */
};

/* Who read and wrote which bytes last. */
struct segment {
	uint64_t start, end;
	struct access writer, reader[CLOCK_READERS];
};
struct shadow {
	struct segment *at;
	size_t count, room;
};

/* What two pieces of work did to a byte without an order between them. */
struct conflict {
	uint64_t byte;
	struct access first;
	bool first_writes;
};

/*
 * Notes that work which comes after what `clock` has reached reads or writes the bytes
 * [start, end). True if all others that this concerns come before; else the first
 * conflict.
 */
struct touch {
	uint64_t start, end;
	bool write;
	struct access who;
	const struct clock *clock;
	bool unwritten; /* out: a read of a byte that nobody wrote */
	struct conflict conflict; /* out */
};
bool shadow_touch(struct shadow *s, struct touch *t);
void shadow_forget(struct shadow *s, uint64_t start, uint64_t end);
void shadow_free(struct shadow *s);

#endif

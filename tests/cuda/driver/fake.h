/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_DRIVER_FAKE_H
#define SL_TESTS_CUDA_DRIVER_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What tests may ask of the driver made for them, beside the driver's own calls (which
 * driver.def lists). Programs set it up by the environment instead:
 *
 *	SL_FAKE_SEED=N          random delays of N; 0 (the default): none
 *	SL_FAKE_FAIL=N:CODE     call N (from 1) gives CODE; one that a context does not
 *get over is given by all later calls too SL_FAKE_BYTES=N         memory of the card (1
 *GiB) SL_FAKE_COMPLAINTS=FILE what is found wrong goes there; else the first ends the
 *program
 */
#pragma GCC visibility push(default)
struct fake_options {
	uint64_t seed;
	uint64_t fail_at; /* 0: none */
	unsigned code;
	uint64_t bytes; /* 0: 1 GiB */
	const char *file; /* of complaints */
	uint64_t leave_out; /* this wait orders nothing; 0: none */
	bool keep; /* the complaints, for fake_complaint() */
};
/* Between two uses of the driver: counts from 0 again, with no complaint. */
void fake_reset(const struct fake_options *o);
/* Waits of streams and of the host that ordered something; options.leave_out counts
 * these. */
uint64_t fake_waits(void);
uint64_t fake_calls(void); /* since the last reset */
const char *fake_complaint(void); /* the first, "" if none */
/* What lives, as "2 streams, 1 event"; "" if nothing does. */
size_t fake_alive(char *text, size_t size);

/*
 * For the libraries of the card's maker: a call of theirs goes into a stream. fn gets a
 * copy of the context, and where the bytes of the ranges lie.
 */
struct fake_range {
	const void *card;
	size_t bytes;
	bool write;
};
enum { FAKE_RANGES = 8 };
struct fake_library_call {
	const char *name; /* outlives the driver */
	void (*fn)(void *ctx, void *const *views);
	const void *ctx;
	size_t ctx_bytes;
	struct fake_range range[FAKE_RANGES];
	size_t ranges;
};
unsigned fake_library_call(void *stream, const struct fake_library_call *call);

#pragma GCC visibility pop

#endif

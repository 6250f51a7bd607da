/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_TIER_URING_H
#define SL_MEMORY_TIER_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A synchronous transfer with several pieces in flight; the only file that knows
 * io_uring. One caller at a time for each ring.
 */
struct sl_uring;

struct sl_uring_io {
	int fd;
	bool write;
	uint8_t *data; /* only read if write */
	size_t len;
	uint64_t offset;
	/* Called for each piece: before it is written, after it was read; the others go
	 * on meanwhile. */
	void (*piece)(void *ctx, const uint8_t *data, size_t len, uint64_t offset);
	void *ctx;
};

/* NULL if the kernel has no io_uring or refuses it. */
struct sl_uring *sl_uring_create(void);
void sl_uring_destroy(struct sl_uring *r); /* NULL is fine */
/*
 * Moves all of io and returns 0, or waits for what is in flight and returns the first
 * errno. Short transfers are continued. Reading past the end of the file is EIO.
 */
int sl_uring_run(struct sl_uring *r, const struct sl_uring_io *io);

#endif

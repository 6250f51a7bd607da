/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_WINDOW_H
#define SL_DEVICE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * One range of addresses [P | lane] made of two descriptors side by side (device/
 * shared.h): the arena that a job's engine sees. The range is reserved once, so its base
 * and the offsets of P stay when the memory behind it changes.
 *
 * Memory that was revoked gives SIGBUS when it is touched. A handler, installed by
 * sl_window_create and chained to the one that was there, then puts private zeroed
 * memory under that part of the window and marks it: what ran goes on to its end, over
 * rubbish; whoever runs it asks sl_window_lost before it believes anything. Calls of the
 * system on such memory fail with EFAULT instead, without the mark.
 *
 * One thread at a time changes a window, and nobody touches it meanwhile. A child of
 * fork does not have it.
 */
struct sl_window;

#define SL_WINDOWS_MAX 64 /* in a process */

/* Reserves addresses for most_bytes, a multiple of 4096 above 0; no memory. SL_E_INVALID,
 * SL_E_NOMEM, SL_E_LIMIT (too many windows). */
SL_NODISCARD sl_status sl_window_create(uint64_t most_bytes, struct sl_window **out);
void sl_window_destroy(struct sl_window *w); /* NULL is fine */

/*
 * Puts memory of p_bytes and, right behind, of lane_bytes there (multiples of 4096; 0:
 * none, the descriptor is then not looked at) in place of what was there, and clears the
 * mark. The descriptors may be closed afterwards. Shared memory that is smaller than that
 * is lost already: SL_E_LOST; SL_E_INVALID, SL_E_NOMEM. After a failure the window is
 * unmapped.
 */
SL_NODISCARD sl_status sl_window_map(struct sl_window *w, int fd_p, uint64_t p_bytes,
	int fd_lane, uint64_t lane_bytes);
/* Other memory for the lane part; P stays. After a failure the lane part is unmapped. */
SL_NODISCARD sl_status sl_window_map_lane(
	struct sl_window *w, int fd_lane, uint64_t lane_bytes);
/* The range stays reserved; touching it is SIGSEGV. The mark stays. */
void sl_window_unmap(struct sl_window *w);
/*
 * All pages are there when this returns; their bytes are as they were. It takes time. P:
 * outside turns; the lane: outside turns where all its jobs are one user's, else at the
 * start of the job's first turn, because it is not the job's before.
 * SL_E_NOMEM_DEVICE, SL_E_LOST.
 */
SL_NODISCARD sl_status sl_window_populate_p(struct sl_window *w);
SL_NODISCARD sl_status sl_window_populate_lane(struct sl_window *w);
SL_NODISCARD sl_status sl_window_populate(struct sl_window *w); /* both */

/* Whether memory of the window was found revoked since it was mapped; from any thread, no
 * system call. */
bool sl_window_lost(const struct sl_window *w);
uint8_t *sl_window_base(const struct sl_window *w);
uint64_t sl_window_most(const struct sl_window *w); /* reserved */
uint64_t sl_window_p_bytes(const struct sl_window *w); /* mapped */
uint64_t sl_window_lane_bytes(const struct sl_window *w);

#endif

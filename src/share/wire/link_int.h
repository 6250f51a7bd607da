/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_WIRE_LINK_INT_H
#define SL_SHARE_WIRE_LINK_INT_H

#include "share/wire/link.h"

/* Room for one frame's descriptors on the wire, and one that nobody should send. */
#define SL_LINK_RIGHTS (SL_WIRE_FDS + 1)
#define SL_LINK_WAITING (2 * SL_LINK_RIGHTS)

#define SL_LINK_SPARE ((size_t)64 << 10) /* an empty buffer above it is given up */

/* Descriptors that go with the byte at `at` of the stream. */
struct sl_link_rights {
	uint64_t at;
	int fds[SL_WIRE_FDS];
	uint32_t n;
};

struct sl_link {
	int fd;
	/* The sender's half. */
	struct sl_buf out;
	size_t sent; /* of out, within a flush */
	uint64_t flushed; /* bytes ever sent before out began */
	struct sl_link_rights
		*rights; /* ascending; those from first on are not yet sent */
	size_t first, n_rights, cap_rights;
	/* The receiver's half. */
	uint8_t *in;
	size_t cap, len, read; /* [read, len) is not yet decoded */
	size_t in_most;
	int waiting[SL_LINK_WAITING]; /* came, belong to frames that are to be decoded */
	uint32_t n_waiting;
	int held[SL_WIRE_FDS]; /* of the latest message, not yet taken */
	bool broken, closed;
};

void sl_link_close_fds(int *fds, uint32_t n); /* and sets them to -1 */

#endif

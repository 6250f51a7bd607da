/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_WIRE_LINK_INT_H
#define SL_SHARE_WIRE_LINK_INT_H

#include "share/wire/link.h"

/* Room for all that the system takes at once: what did not fit would be closed by it, in
 * the middle of a read. */
#define SL_LINK_RIGHTS 253
#define SL_LINK_WAITING (2 * (SL_WIRE_FDS + 1)) /* more of them end the stream */

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
	/* Came, belong to frames that are to be decoded; a read's surplus lies here too,
	 * until the link is destroyed. */
	int waiting[SL_LINK_WAITING + SL_LINK_RIGHTS];
	uint32_t n_waiting;
	int held[SL_WIRE_FDS]; /* of the latest message, not yet taken */
	bool broken, closed;
	bool drained; /* the peer hung up, and nothing of it is left to read */
	bool memory_only;
};

void sl_link_close_fds(int *fds, uint32_t n); /* and sets them to -1 */

#endif

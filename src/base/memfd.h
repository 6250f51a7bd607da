/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_MEMFD_H
#define SL_BASE_MEMFD_H

#include <stdint.h>

#include "sluice/status.h"

/*
 * Memory with a descriptor and no path, for handing to another process. Seals are those
 * of fcntl(2): SL_MEMFD_SHRINK and so on. What a peer hands over is only what its seals
 * prove: memory that may still shrink can be taken away under a reader.
 */
enum sl_memfd_seal {
	SL_MEMFD_SEAL = 1, /* no further seals */
	SL_MEMFD_SHRINK = 2,
	SL_MEMFD_GROW = 4,
	SL_MEMFD_WRITE = 8 /* neither size nor bytes change any more */
};

struct sl_memfd_info {
	uint64_t device, inode; /* the same for each descriptor of this memory */
	uint64_t bytes; /* its size */
	uint64_t held_bytes; /* memory behind it now */
};

/* Zeroed, closed on exec, without seals; name (under 200 characters) is for people who
 * look in /proc. SL_E_NOMEM, SL_E_IO (too many open files). */
SL_NODISCARD sl_status sl_memfd_create(const char *name, uint64_t bytes, int *out_fd);
SL_NODISCARD sl_status sl_memfd_seal(int fd, unsigned seals);
/*
 * SL_E_INVALID unless it is such memory with all of the seals `must` and none of `never`.
 */
SL_NODISCARD sl_status sl_memfd_check(
	int fd, unsigned must, unsigned never, struct sl_memfd_info *out);

#endif

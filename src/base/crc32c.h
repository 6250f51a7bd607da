/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_CRC32C_H
#define SL_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720), with the processor's instruction where it has one. */
uint32_t sl_crc32c(uint32_t crc, const void *data, size_t len);
/* Of each of n blocks that follow one another, block_len bytes each: four side by side,
 * since the instruction gives its result three cycles later and could begin each cycle.
 */
void sl_crc32c_blocks(const void *data, size_t block_len, size_t n, uint32_t *sums);
/* The same as sl_crc32c without the instruction. */
uint32_t sl_crc32c_plain(uint32_t crc, const void *data, size_t len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_CRC32C_H
#define SL_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, RFC 3720), with the processor's instruction where it has one. */
uint32_t sl_crc32c(uint32_t crc, const void *data, size_t len);
/* The same without the instruction. */
uint32_t sl_crc32c_plain(uint32_t crc, const void *data, size_t len);

#endif

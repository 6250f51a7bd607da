/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_SHA256_H
#define SL_BASE_SHA256_H

#include <stddef.h>

#include "sluice/status.h"

/* SHA-256 through libcrypto, the only file that includes OpenSSL. */
struct sl_sha256;
SL_NODISCARD sl_status sl_sha256_create(struct sl_sha256 **out);
SL_NODISCARD sl_status sl_sha256_add(struct sl_sha256 *h, const void *data, size_t len);
SL_NODISCARD sl_status sl_sha256_hex(
	struct sl_sha256 *h, char out[65]); /* ends the sum */
void sl_sha256_destroy(struct sl_sha256 *h);

#endif

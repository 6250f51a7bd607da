/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 through libcrypto. */
#include "base/sha256.h"

#include <stdbool.h>

#include <openssl/evp.h>

#include "base/alloc.h"

struct sl_sha256 {
	EVP_MD_CTX *ctx;
	bool ended; /* libcrypto itself does not refuse a second end */
};

sl_status sl_sha256_create(struct sl_sha256 **out)
{
	struct sl_sha256 *h = sl_calloc(1, sizeof(*h));

	if (!h)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a SHA-256 sum");
	h->ctx = EVP_MD_CTX_new();
	if (!h->ctx || !EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL)) {
		sl_sha256_destroy(h);
		return SL_FAIL(SL_E_UNSUPPORTED, "libcrypto offers no SHA-256 here");
	}
	*out = h;
	return SL_OK;
}

sl_status sl_sha256_add(struct sl_sha256 *h, const void *data, size_t len)
{
	if (h->ended || !EVP_DigestUpdate(h->ctx, data, len))
		return SL_FAIL(SL_E_INVALID,
			"libcrypto refused %zu bytes for SHA-256; "
			"the sum was ended already",
			len);
	return SL_OK;
}

sl_status sl_sha256_hex(struct sl_sha256 *h, char out[65])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (h->ended || !EVP_DigestFinal_ex(h->ctx, sum, &len) || len != 32)
		return SL_FAIL(SL_E_INVALID,
			"libcrypto could not end a SHA-256 sum; it was ended "
			"already");
	h->ended = true;
	for (unsigned int i = 0; i < len; i++) {
		out[2 * i] = digits[sum[i] >> 4];
		out[2 * i + 1] = digits[sum[i] & 15];
	}
	out[64] = '\0';
	return SL_OK;
}

void sl_sha256_destroy(struct sl_sha256 *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	sl_free(h);
}

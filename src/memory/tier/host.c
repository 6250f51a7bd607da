/* SPDX-License-Identifier: Apache-2.0 */
/* The host tier: a second arena in the same DRAM, the rehearsal of a GPU's pinned host
 * memory. */
#include "memory/tier/tier.h"

#include "base/alloc.h"
#include "base/copy.h"
#include "base/pages.h"

struct host_tier {
	struct sl_tier base;
	uint8_t *bytes;
	bool borrowed;
};

static sl_status host_put(
	struct sl_tier *t, uint64_t offset, const void *data, size_t len)
{
	struct host_tier *h = (struct host_tier *)t;

	sl_copy_stream(h->bytes + offset, data, len);
	return SL_OK;
}

static sl_status host_get(struct sl_tier *t, uint64_t offset, void *data, size_t len)
{
	struct host_tier *h = (struct host_tier *)t;

	sl_copy_stream(data, h->bytes + offset, len);
	return SL_OK;
}

static uint8_t *host_memory(struct sl_tier *t)
{
	return ((struct host_tier *)t)->bytes;
}

static void host_destroy(struct sl_tier *t)
{
	struct host_tier *h = (struct host_tier *)t;

	if (!h->borrowed)
		sl_pages_release(h->bytes, (size_t)t->bytes);
	sl_free(h);
}

static const struct sl_tier_impl host_impl = {
	.name = "host",
	.align = 1,
	.put = host_put,
	.get = host_get,
	.destroy = host_destroy,
	.memory = host_memory,
};

sl_status sl_tier_host_create(uint64_t bytes, struct sl_tier **out)
{
	struct host_tier *h = sl_calloc(1, sizeof(*h));

	if (!h)
		return SL_FAIL(SL_E_NOMEM, "host tier: no memory for its table");
	/* Fresh anonymous pages: never-put bytes are zeros, as the header promises. */
	if (bytes > 0) {
		h->bytes = bytes > SIZE_MAX / 2 ? NULL : sl_pages_reserve((size_t)bytes);
		if (!h->bytes) {
			sl_free(h);
			return SL_FAIL(SL_E_NOMEM,
				"host tier: the system has no %llu bytes; give a smaller "
				"--host",
				(unsigned long long)bytes);
		}
	}
	h->base = (struct sl_tier){.impl = &host_impl, .bytes = bytes};
	*out = &h->base;
	return SL_OK;
}

sl_status sl_tier_host_over(void *memory, uint64_t bytes, struct sl_tier **out)
{
	struct host_tier *h = sl_calloc(1, sizeof(*h));

	if (!h)
		return SL_FAIL(SL_E_NOMEM, "host tier: no memory for its table");
	*h = (struct host_tier){.base = {.impl = &host_impl, .bytes = bytes},
		.bytes = memory,
		.borrowed = true};
	*out = &h->base;
	return SL_OK;
}

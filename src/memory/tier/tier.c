/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers every caller goes through, so that no tier has to check a range or an
 * alignment; and the table of the kinds of tier.
 */
#include "memory/tier/tier.h"

#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"

/* The host needs no folder; every row of the table is called the same way. */
static sl_status create_host(const char *folder, uint64_t bytes, struct sl_tier **out)
{
	(void)folder;
	return sl_tier_host_create(bytes, out);
}

static sl_status create_disk(const char *folder, uint64_t bytes, struct sl_tier **out)
{
	return sl_tier_disk_create(folder, bytes, out);
}

static const struct sl_tier_kind kinds[] = {
#define SL_TIER(name, summary) {#name, summary, create_##name},
#include "memory/tier/tiers.def"
#undef SL_TIER
};

const struct sl_tier_kind *sl_tier_kind_at(size_t i)
{
	return i < SL_COUNT(kinds) ? &kinds[i] : NULL;
}

const struct sl_tier_kind *sl_tier_kind_find(const char *name)
{
	for (size_t i = 0; i < SL_COUNT(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return NULL;
}

size_t sl_tier_align(const struct sl_tier *t)
{
	return t->impl->align;
}

static sl_status check_range(
	const struct sl_tier *t, uint64_t offset, const void *data, size_t len)
{
	uint64_t mask = (uint64_t)t->impl->align - 1;

	SL_ASSERT(t->impl->put && t->impl->get && t->impl->destroy);
	SL_ASSERT(t->impl->align != 0 && (t->impl->align & mask) == 0);
	if (offset > t->bytes || len > t->bytes - offset)
		return SL_FAIL(SL_E_INVALID,
			"%s tier: %zu bytes at %llu end beyond its %llu bytes; give it "
			"more",
			t->impl->name, len, (unsigned long long)offset,
			(unsigned long long)t->bytes);
	if (((offset | (uint64_t)len | (uint64_t)(uintptr_t)data) & mask) != 0)
		return SL_FAIL(SL_E_INVALID,
			"%s tier: offset %llu, %zu bytes and data at %p must be "
			"multiples of %zu",
			t->impl->name, (unsigned long long)offset, len, data,
			t->impl->align);
	return SL_OK;
}

sl_status sl_tier_put(struct sl_tier *t, uint64_t offset, const void *data, size_t len)
{
	SL_TRY(check_range(t, offset, data, len));
	return len == 0 ? SL_OK : t->impl->put(t, offset, data, len);
}

sl_status sl_tier_get(struct sl_tier *t, uint64_t offset, void *data, size_t len)
{
	SL_TRY(check_range(t, offset, data, len));
	return len == 0 ? SL_OK : t->impl->get(t, offset, data, len);
}

uint8_t *sl_tier_memory(struct sl_tier *t)
{
	return t->impl->memory ? t->impl->memory(t) : NULL;
}

void sl_tier_destroy(struct sl_tier *t)
{
	if (t)
		t->impl->destroy(t);
}

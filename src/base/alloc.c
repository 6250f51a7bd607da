/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory: the one place that calls malloc, so that every allocation can be counted
 * and made to fail by a test.
 *
 * Mutable state: the live count and the test switch (docs/adr/0014-test-switches.md).
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"

#define ALIGN_MAX ((size_t)2 << 20)

static atomic_long live;
static atomic_long countdown;
static atomic_int delivered;

static bool must_fail(void)
{
	if (SL_LIKELY(atomic_load_explicit(&countdown, memory_order_relaxed) <= 0))
		return false;
	if (atomic_fetch_sub(&countdown, 1) != 1)
		return false;
	atomic_store(&delivered, 1);
	return true;
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
	return p;
}

void *sl_alloc(size_t size_bytes)
{
	if (must_fail() || size_bytes > PTRDIFF_MAX)
		return NULL;
	return counted(malloc(size_bytes ? size_bytes : 1));
}

void *sl_calloc(size_t count, size_t size_bytes)
{
	size_t total;

	if (must_fail() || !sl_mul_size(count, size_bytes, &total) || total > PTRDIFF_MAX)
		return NULL;
	return counted(calloc(1, total ? total : 1));
}

void *sl_realloc(void *p, size_t size_bytes)
{
	if (!p)
		return sl_alloc(size_bytes);
	if (must_fail() || size_bytes > PTRDIFF_MAX)
		return NULL;
	return realloc(p, size_bytes ? size_bytes : 1);
}

void sl_free(void *p)
{
	if (!p)
		return;
	atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
	free(p);
}

char *sl_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = sl_alloc(size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

void *sl_alloc_aligned(size_t align, size_t size_bytes)
{
	void *p = NULL;

	SL_ASSERT(align && !(align & (align - 1)) && align <= ALIGN_MAX);
	if (must_fail() || size_bytes > PTRDIFF_MAX)
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&p, align, size_bytes ? size_bytes : 1) != 0)
		return NULL;
	return counted(p);
}

void sl_free_aligned(void *p)
{
	sl_free(p);
}

int sl_grow(void **items, size_t *cap, size_t need, size_t item_bytes, size_t max)
{
	size_t next = *cap > max / 2 ? max : *cap * 2;
	size_t bytes;

	if (need <= *cap)
		return 0;
	if (need > max)
		return -1;
	if (next < 8)
		next = max < 8 ? max : 8;
	if (next < need)
		next = need;
	if (!sl_mul_size(next, item_bytes, &bytes))
		return -1;
	void *grown = sl_realloc(*items, bytes);
	if (!grown)
		return -1;
	*items = grown;
	*cap = next;
	return 0;
}

void sl_alloc_fail_at(long n)
{
	atomic_store(&delivered, 0);
	atomic_store(&countdown, n);
}

int sl_alloc_failed(void)
{
	return atomic_load(&delivered);
}

long sl_alloc_live(void)
{
	return atomic_load(&live);
}

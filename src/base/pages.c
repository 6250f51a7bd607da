/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in huge pages, and pages that change places. */
#include "base/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"

#if defined(MREMAP_DONTUNMAP)
/* The old addresses stay taken, without pages: nobody else's mapping can land there. */
static bool move_pages(void *to, void *from, size_t len)
{
	return mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		       to) != MAP_FAILED;
}
#else
static bool move_pages(void *to, void *from, size_t len)
{
	(void)to;
	(void)from;
	(void)len;
	return false;
}
#endif

bool sl_pages_exchange(void *a, void *b, void *spare, size_t len)
{
	if (!move_pages(spare, a, len))
		return false;
	if (!move_pages(a, b, len))
		memcpy(a, b, len);
	if (!move_pages(b, spare, len)) {
		memcpy(b, spare, len);
		(void)madvise(spare, len, MADV_DONTNEED);
	}
	return true;
}

uint8_t *sl_pages_reserve(size_t len)
{
	size_t whole, skip;
	uint8_t *p;

	if (len == 0 || len > SIZE_MAX / 2)
		return NULL;
	len = sl_align_up(len, 4096);
	whole = len + SL_PAGES_HUGE;
	p = mmap(NULL, whole, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	skip = sl_align_up((uintptr_t)p, SL_PAGES_HUGE) - (uintptr_t)p;
	if (skip > 0)
		(void)munmap(p, skip);
	(void)munmap(p + skip + len, whole - skip - len);
	/* Only a hint: a machine without huge pages is merely slower. */
	if (len >= SL_PAGES_HUGE)
		(void)madvise(p + skip, len & ~(SL_PAGES_HUGE - 1), MADV_HUGEPAGE);
	return p + skip;
}

void sl_pages_release(uint8_t *base, size_t len)
{
	if (base)
		(void)munmap(base, sl_align_up(len, 4096));
}

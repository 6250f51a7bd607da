/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_ALLOC_H
#define SL_BASE_ALLOC_H

#include <stddef.h>

/*
 * Host memory: the only file that calls malloc and free. NULL means the host is out of
 * memory; callers return SL_FAIL(SL_E_NOMEM, ...) or use SL_ALLOC_OR_FAIL. Zero bytes
 * give a unique pointer. Thread-safe.
 */
void *sl_alloc(size_t size_bytes);
void *sl_calloc(size_t count, size_t size_bytes); /* overflow-checked, zeroed */
void *sl_realloc(void *p, size_t size_bytes);
void sl_free(void *p); /* NULL is fine */
char *sl_strdup(const char *text);
/* Aligned host memory (a power of two up to 2 MiB); release with sl_free_aligned. */
void *sl_alloc_aligned(size_t align, size_t size_bytes);
void sl_free_aligned(void *p);

/*
 * Makes room for `need` items in a growing array: doubles *cap, never beyond max.
 * Returns 0, or -1 with array and cap as before.
 */
int sl_grow(void **items, size_t *cap, size_t need, size_t item_bytes, size_t max);

/* Test switch: the n-th allocation from now fails, once (1 = the next one; 0 = never). */
void sl_alloc_fail_at(long n);
/* Whether that failure was delivered since sl_alloc_fail_at. */
int sl_alloc_failed(void);
/* Live allocations, for leak checks. */
long sl_alloc_live(void);

#endif

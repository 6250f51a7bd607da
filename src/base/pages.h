/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_PAGES_H
#define SL_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private anonymous memory in huge pages, and pages that change places. */
#define SL_PAGES_HUGE ((size_t)2 << 20)

/*
 * Two ranges change their contents for one another by changing their page tables: nothing
 * is copied. Both are private anonymous memory, neither overlaps the other, and a, b and
 * len are multiples of 4096, of SL_PAGES_HUGE to keep huge pages whole; nobody else
 * touches either meanwhile. `spare` is len bytes of such memory that hold nothing, before
 * and after. False: the system cannot and nothing has changed. Once begun it ends, if
 * need be by copying.
 */
bool sl_pages_exchange(void *a, void *b, void *spare, size_t len);

/* Addresses at a multiple of SL_PAGES_HUGE whose pages are taken as they are touched;
 * NULL if the system has none. */
uint8_t *sl_pages_reserve(size_t len);
void sl_pages_release(uint8_t *base, size_t len); /* NULL is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_ARENA_H
#define SL_BASE_ARENA_H

#include <stddef.h>

/*
 * Bump allocation for things that die together (graph parts). Blocks double from 4 KiB to
 * 1 MiB; results are zeroed and aligned to 16. Zeroed struct = empty arena.
 */
struct sl_arena_block;
struct sl_arena {
	struct sl_arena_block *head;
};

void *sl_arena_alloc(
	struct sl_arena *a, size_t size_bytes); /* NULL: host out of memory */
void *sl_arena_copy(struct sl_arena *a, const void *data, size_t size_bytes);
char *sl_arena_strdup(struct sl_arena *a, const char *text);
void sl_arena_finish(struct sl_arena *a);

#endif

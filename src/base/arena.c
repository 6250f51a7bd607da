/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation: blocks in a list, the head is the one being filled. */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define ALIGN 16
#define BLOCK_MIN ((size_t)4 << 10)
#define BLOCK_MAX ((size_t)1 << 20)

struct sl_arena_block {
	struct sl_arena_block *next;
	size_t size;
	size_t used;
	alignas(ALIGN) unsigned char data[];
};

static struct sl_arena_block *block_create(size_t size)
{
	size_t total;

	if (!sl_add_size(size, sizeof(struct sl_arena_block), &total))
		return NULL;
	struct sl_arena_block *b = sl_calloc(1, total);
	if (b)
		b->size = size;
	return b;
}

static size_t next_size(const struct sl_arena *a)
{
	if (!a->head)
		return BLOCK_MIN;
	return a->head->size >= BLOCK_MAX / 2 ? BLOCK_MAX : a->head->size * 2;
}

/* A block of its own behind the head, so that the head's rest stays usable. */
static void *alloc_big(struct sl_arena *a, size_t size)
{
	struct sl_arena_block *b = block_create(size);

	if (!b)
		return NULL;
	b->used = size;
	b->next = a->head ? a->head->next : NULL;
	if (a->head)
		a->head->next = b;
	else
		a->head = b;
	return b->data;
}

void *sl_arena_alloc(struct sl_arena *a, size_t size_bytes)
{
	size_t size;

	if (!sl_add_size(size_bytes ? size_bytes : 1, ALIGN - 1, &size))
		return NULL;
	size &= ~(size_t)(ALIGN - 1);
	if (!a->head || size > a->head->size - a->head->used) {
		size_t fresh = next_size(a);
		if (size > fresh / 2)
			return alloc_big(a, size);
		struct sl_arena_block *b = block_create(fresh);
		if (!b)
			return NULL;
		b->next = a->head;
		a->head = b;
	}
	void *p = a->head->data + a->head->used;
	a->head->used += size;
	return p;
}

void *sl_arena_copy(struct sl_arena *a, const void *data, size_t size_bytes)
{
	void *p = sl_arena_alloc(a, size_bytes);

	if (p && size_bytes)
		memcpy(p, data, size_bytes);
	return p;
}

char *sl_arena_strdup(struct sl_arena *a, const char *text)
{
	return sl_arena_copy(a, text, strlen(text) + 1);
}

void sl_arena_finish(struct sl_arena *a)
{
	while (a->head) {
		struct sl_arena_block *b = a->head;
		a->head = b->next;
		sl_free(b);
	}
}

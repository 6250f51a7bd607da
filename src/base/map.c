/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to u32 by open addressing with linear probing, FNV-1a hash.
 *
 * 1. cap is zero or a power of two; count <= 3/4 cap, so that a probe always ends.
 * 2. A failed add leaves the map as before.
 */
#include "base/map.h"

#include <string.h>

#include "base/alloc.h"

struct sl_map_slot {
	char *key; /* NULL: free */
	uint32_t hash;
	uint32_t value;
};

static uint32_t hash_of(const char *key)
{
	uint32_t h = 2166136261u;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 16777619u;
	return h;
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t probe(const struct sl_map *m, const char *key, uint32_t hash)
{
	size_t i = hash & (m->cap - 1);

	while (m->slots[i].key &&
		(m->slots[i].hash != hash || strcmp(m->slots[i].key, key) != 0))
		i = (i + 1) & (m->cap - 1);
	return i;
}

static sl_status grow(struct sl_map *m)
{
	struct sl_map next = {.cap = m->cap ? m->cap * 2 : 16, .count = m->count};

	next.slots = sl_calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a map of %zu names",
			m->count + 1);
	for (size_t i = 0; i < m->cap; i++) {
		const struct sl_map_slot *s = &m->slots[i];
		if (s->key)
			next.slots[probe(&next, s->key, s->hash)] = *s;
	}
	sl_free(m->slots);
	*m = next;
	return SL_OK;
}

sl_status sl_map_add(struct sl_map *m, const char *key, uint32_t value)
{
	uint32_t hash = hash_of(key);

	if (m->count >= m->cap - m->cap / 4)
		SL_TRY(grow(m));
	struct sl_map_slot *s = &m->slots[probe(m, key, hash)];
	if (s->key)
		return SL_FAIL(SL_E_INVALID, "the name '%s' is taken already", key);
	char *copy = sl_strdup(key);
	if (!copy)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the name '%s'", key);
	*s = (struct sl_map_slot){.key = copy, .hash = hash, .value = value};
	m->count++;
	return SL_OK;
}

bool sl_map_find(const struct sl_map *m, const char *key, uint32_t *out)
{
	if (!m->count)
		return false;
	const struct sl_map_slot *s = &m->slots[probe(m, key, hash_of(key))];
	if (s->key && out)
		*out = s->value;
	return s->key != NULL;
}

void sl_map_finish(struct sl_map *m)
{
	for (size_t i = 0; i < m->cap; i++)
		sl_free(m->slots[i].key);
	sl_free(m->slots);
	*m = (struct sl_map){0};
}

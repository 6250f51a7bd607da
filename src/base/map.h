/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_MAP_H
#define SL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/* Text to u32, open addressing; keys are copied. Zeroed struct = empty map. */
struct sl_map_slot;
struct sl_map {
	struct sl_map_slot *slots;
	size_t cap;
	size_t count;
};

/* SL_E_INVALID if the key is there already. */
SL_NODISCARD sl_status sl_map_add(struct sl_map *m, const char *key, uint32_t value);
bool sl_map_find(const struct sl_map *m, const char *key, uint32_t *out);
void sl_map_finish(struct sl_map *m);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_FOREIGN_ROLES_INT_H
#define SL_MEMORY_FOREIGN_ROLES_INT_H

#include "memory/foreign/foreign.h"

/* What an op does to the storages that it touches, each once, for forms without views. */
enum sl_role {
	SL_ROLE_READ,
	SL_ROLE_CHANGED, /* in place */
	SL_ROLE_OVERWRITTEN, /* persists, and was not read */
	SL_ROLE_BORN,
	SL_ROLE_COUNT
};

struct sl_roles {
	uint32_t *ids; /* roots, by role */
	uint32_t
		n[SL_ROLE_COUNT + 1]; /* where each role's begin; the last: their count */
	/* Of all values. */
	uint32_t *stamps;
	uint8_t *roles, *born;
	uint32_t *touched;
	size_t cap_ids, cap_touched;
};

SL_NODISCARD sl_status sl_roles_init(const struct sl_trace *t, struct sl_roles *out);
void sl_roles_finish(struct sl_roles *r);
/* Of op o; ops are asked for in their order. */
SL_NODISCARD sl_status sl_roles_op(
	struct sl_roles *r, const struct sl_trace *t, uint32_t o);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_LINEAGE_H
#define SL_MEMORY_POLICY_LINEAGE_H

#include "memory/trace.h"

/*
 * From what a value can be rebuilt, and how long. A value is rebuilt by running the ops
 * that wrote it again, in order. That works as long as all they read can be had with the
 * content that it had then: a value that does not persist is there while it lives, and
 * can be rebuilt itself, or not; a write in place ends a content for good.
 *
 * Conservative: an op that changes a value rebuilds this value only, and nothing else
 * that it bears; the earliest end of all that a value was written from is its end.
 */
struct sl_lineage {
	const struct sl_trace *t;
	struct sl_trace_index x;
	/* [n_values] of roots that do not persist. */
	uint32_t *expires; /* may be rebuilt before this op, at the latest; 0: never;
			      n_ops: always */
	uint32_t *birth, *death; /* first and last use; SL_NO_ID: never used */
	/* [uses of x] the last op before this use, and the first one after, that writes
	 * the value; SL_NO_ID and n_ops: none. */
	uint32_t *before, *after;
};

/* SL_E_NOMEM; t is borrowed. */
SL_NODISCARD sl_status sl_lineage_init(struct sl_lineage *l, const struct sl_trace *t);
void sl_lineage_finish(struct sl_lineage *l); /* zeroed: fine */

/* The last op before `op` that writes v, or SL_NO_ID. */
uint32_t sl_lineage_writer(const struct sl_lineage *l, uint32_t v, uint32_t op);
/* Whether v persists: then it is always on the device. */
static inline bool sl_lineage_stays(const struct sl_lineage *l, uint32_t v)
{
	return sl_class_persistent(l->t->values[v].cls);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_EXEC_H
#define SL_EXEC_EXEC_H

#include "base/event.h"
#include "exec/program.h"

/*
 * Runs a sealed program once, op by op, on the calling thread. What happens around each
 * op is the hooks' business: they get op numbers, never pointers, and may fail, which
 * ends the step.
 */
typedef sl_status (*sl_hook_fn)(void *ctx, uint32_t op);
struct sl_hook {
	void *ctx;
	sl_hook_fn before; /* NULL: nothing */
	sl_hook_fn after;
};

struct sl_exec {
	const struct sl_program *program;
	uint8_t *arena;
	const uint64_t *
		storage_offset; /* where each storage lies now; changes under the hooks */
	const uint64_t *workspace_offset; /* by op */
	const struct sl_hook *hooks;
	uint32_t n_hooks;
	struct sl_event_ring *events; /* may be NULL */
	uint64_t *op_ns; /* by op: how long its kernel ran; NULL: not measured */
	struct sl_run run;
};

/* A failure names the op and its scope. */
SL_NODISCARD sl_status sl_exec_step(const struct sl_exec *x);

/*
 * Runs op once more from within a hook of that step: same kernel, same prepared state,
 * same arguments, hence the same bits. No hooks; its workspace lies at
 * workspace_at (unused if it has none).
 */
SL_NODISCARD sl_status sl_exec_again(
	const struct sl_exec *x, uint32_t op, uint64_t workspace_at);

#endif

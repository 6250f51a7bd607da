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

/*
 * Runs kernels in the order of a stream instead of at once: the call's arrays are gone
 * when it returns, its node, run and prepared state live until the stream is synced. `ns`
 * (may be NULL) gets how long the kernel ran.
 */
struct sl_launcher {
	void *ctx;
	sl_status (*launch)(void *ctx, const struct sl_program_op *op,
		const struct sl_call *call, uint64_t *ns);
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
	const struct sl_launcher *launcher; /* NULL: kernels run when they are called */
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

/* Puts the op's name and scope before the failure's message. */
sl_status sl_exec_blame(
	const struct sl_program *p, const struct sl_program_op *op, sl_status st);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The executor: one loop over the ops; all else is asked of hooks and kernels. */
#include "exec/exec.h"

#include "base/assert.h"

static sl_status run_hooks(const struct sl_exec *x, uint32_t op, bool after)
{
	for (uint32_t i = 0; i < x->n_hooks; i++) {
		sl_hook_fn fn = after ? x->hooks[i].after : x->hooks[i].before;

		if (fn != NULL)
			SL_TRY(fn(x->hooks[i].ctx, op));
	}
	return SL_OK;
}

static void *address(const struct sl_exec *x, const struct sl_program_arg *arg)
{
	if (arg->storage == SL_NO_ID)
		return NULL;
	SL_ASSERT(x->storage_offset[arg->storage] != SL_NO_OFFSET);
	return x->arena + x->storage_offset[arg->storage] + arg->offset;
}

static sl_status run_now(
	const struct sl_program_op *op, const struct sl_call *call, uint64_t *ns)
{
	sl_ns begin = ns != NULL ? sl_clock_now() : 0;

	SL_TRY(op->kernel->run(call));
	if (ns != NULL)
		*ns = (uint64_t)(sl_clock_now() - begin);
	return SL_OK;
}

static sl_status run_kernel(
	const struct sl_exec *x, uint32_t i, uint64_t workspace_at, uint64_t *ns)
{
	const struct sl_program_op *op = &x->program->ops[i];
	void *in[SL_OP_MAX_IN], *out[SL_OP_MAX_OUT];
	struct sl_call call = {
		.node = &op->info,
		.in = in,
		.out = out,
		.run = &x->run,
		.prepared = op->prepared.state,
	};

	for (int k = 0; k < op->info.n_in; k++)
		in[k] = address(x, &op->args[k]);
	for (int k = 0; k < op->info.n_out; k++)
		out[k] = address(x, &op->args[op->info.n_in + k]);
	if (op->prepared.workspace_bytes > 0)
		call.workspace = x->arena + workspace_at;
	if (x->launcher != NULL)
		return x->launcher->launch(x->launcher->ctx, op, &call, ns);
	return run_now(op, &call, ns);
}

static sl_status run_op(const struct sl_exec *x, uint32_t i)
{
	bool needs = x->program->ops[i].prepared.workspace_bytes > 0;

	SL_TRY(run_hooks(x, i, false));
	sl_event_emit(x->events, SL_EV_OP_BEGIN, i, 0);
	SL_TRY(run_kernel(x, i, needs ? x->workspace_offset[i] : SL_NO_OFFSET,
		x->op_ns != NULL ? &x->op_ns[i] : NULL));
	sl_event_emit(x->events, SL_EV_OP_END, i, 0);
	return run_hooks(x, i, true);
}

sl_status sl_exec_blame(
	const struct sl_program *p, const struct sl_program_op *op, sl_status st)
{
	return sl_fail_prefix(st, "op %u (%s%s%s)", (uint32_t)(op - p->ops),
		op->info.op->name, op->scope[0] != '\0' ? " in " : "", op->scope);
}

static sl_status name_op(const struct sl_exec *x, uint32_t i, sl_status st)
{
	return sl_exec_blame(x->program, &x->program->ops[i], st);
}

sl_status sl_exec_again(const struct sl_exec *x, uint32_t op, uint64_t workspace_at)
{
	sl_status st;

	sl_event_emit(x->events, SL_EV_OP_BEGIN, op, 1);
	st = run_kernel(x, op, workspace_at, NULL);
	sl_event_emit(x->events, SL_EV_OP_END, op, 1);
	return st != SL_OK ? name_op(x, op, st) : SL_OK;
}

sl_status sl_exec_step(const struct sl_exec *x)
{
	sl_status st = SL_OK;

	for (uint32_t i = 0; i < x->program->n_ops && st == SL_OK; i++) {
		st = run_op(x, i);
		if (st != SL_OK)
			st = name_op(x, i, st);
	}
	return st;
}

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

static sl_status run_kernel(const struct sl_exec *x, uint32_t i, uint64_t workspace_at)
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
	return op->kernel->run(&call);
}

static sl_status run_op(const struct sl_exec *x, uint32_t i)
{
	sl_ns begin;

	bool needs = x->program->ops[i].prepared.workspace_bytes > 0;

	SL_TRY(run_hooks(x, i, false));
	sl_event_emit(x->events, SL_EV_OP_BEGIN, i, 0);
	begin = x->op_ns != NULL ? sl_clock_now() : 0;
	SL_TRY(run_kernel(x, i, needs ? x->workspace_offset[i] : SL_NO_OFFSET));
	if (x->op_ns != NULL)
		x->op_ns[i] = (uint64_t)(sl_clock_now() - begin);
	sl_event_emit(x->events, SL_EV_OP_END, i, 0);
	return run_hooks(x, i, true);
}

static sl_status name_op(const struct sl_exec *x, uint32_t i, sl_status st)
{
	const struct sl_program_op *op = &x->program->ops[i];

	return sl_fail_prefix(st, "op %u (%s%s%s)", i, op->info.op->name,
		op->scope[0] != '\0' ? " in " : "", op->scope);
}

sl_status sl_exec_again(const struct sl_exec *x, uint32_t op, uint64_t workspace_at)
{
	sl_status st;

	sl_event_emit(x->events, SL_EV_OP_BEGIN, op, 1);
	st = run_kernel(x, op, workspace_at);
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

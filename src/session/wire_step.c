/* SPDX-License-Identifier: Apache-2.0 */
/* A step on streams: kernels are launched, samples and results pass through pinned
 * memory.
 */
#include "session/wire_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "graph/ir.h"

#define MAX_FETCHES ((size_t)1 << 20)
#define LINE 64u

/* A host kernel that waits for its turn. */
struct launch {
	const struct sl_program *program;
	const struct sl_program_op *op;
	struct sl_call call;
	uint64_t *ns;
	void *operands[]; /* inputs, then outputs */
};

static sl_status run_launch(void *ctx)
{
	const struct launch *l = ctx;
	sl_ns begin = sl_clock_now();
	sl_status st = l->op->kernel->run(&l->call);

	if (l->ns != NULL)
		*l->ns = (uint64_t)(sl_clock_now() - begin);
	return st == SL_OK ? st : sl_exec_blame(l->program, l->op, st);
}

static sl_status submit(struct sl_wire *w, const struct sl_program_op *op,
	const struct sl_call *call, uint64_t *ns)
{
	size_t n_in = (size_t)op->info.n_in, n_out = (size_t)op->info.n_out;
	struct launch *l = sl_arena_alloc(
		&w->parts, sizeof(*l) + (n_in + n_out) * sizeof(l->operands[0]));

	if (l == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory to launch a kernel");
	l->program = w->program;
	l->op = op;
	l->ns = ns;
	l->call = *call;
	l->call.run = &w->run;
	l->call.in = l->operands;
	l->call.out = l->operands + n_in;
	memcpy(l->operands, call->in, n_in * sizeof(l->operands[0]));
	memcpy(l->operands + n_in, call->out, n_out * sizeof(l->operands[0]));
	return sl_device_submit(w->opts.device, w->compute, run_launch, l);
}

/* What kernels take that only enqueue shows when the stream is waited for. */
static sl_status run_timed(struct sl_wire *w, const struct sl_program_op *op,
	const struct sl_call *call, uint64_t *ns)
{
	sl_ns begin;

	SL_TRY(sl_device_sync(w->opts.device, w->compute));
	begin = sl_clock_now();
	SL_TRY(op->kernel->run(call));
	SL_TRY(sl_device_sync(w->opts.device, w->compute));
	*ns = (uint64_t)(sl_clock_now() - begin);
	return SL_OK;
}

/* Feeding and fetching are the wire's own, when the node is come to. */
static sl_status launch(void *ctx, const struct sl_program_op *op,
	const struct sl_call *call, uint64_t *ns)
{
	struct sl_wire *w = ctx;
	bool is_io = op->info.op == &sl_op_feed || op->info.op == &sl_op_fetch;

	if (w->opts.launches && !is_io)
		return submit(w, op, call, ns);
	return ns != NULL ? run_timed(w, op, call, ns) : op->kernel->run(call);
}

static void *take(struct sl_wire *w, const struct sl_type *type)
{
	uint8_t *at = w->io + w->io_used;

	w->io_used += sl_align_up(sl_type_bytes(type), LINE);
	return at;
}

static sl_status feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	struct sl_wire *w = ctx;
	void *host = take(w, type);

	if (w->given.feed == NULL)
		return SL_FAIL(SL_E_INVALID, "nobody feeds the input '%s'", name);
	SL_TRY(w->given.feed(w->given.io_ctx, name, part, host, type));
	return sl_device_copy(
		w->opts.device, w->compute, data, host, sl_type_bytes(type));
}

static bool is_wanted(const struct sl_run *run, const char *name)
{
	return run->fetch != NULL &&
	       (run->wants == NULL || run->wants(run->io_ctx, name));
}

static sl_status fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	struct sl_wire *w = ctx;
	struct sl_wire_fetch *f;

	if (!is_wanted(&w->given, name))
		return SL_OK;
	if (sl_grow((void **)&w->fetches, &w->cap_fetches, w->n_fetches + 1, sizeof(*f),
		    MAX_FETCHES) != 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the results of a step");
	f = &w->fetches[w->n_fetches++];
	*f = (struct sl_wire_fetch){
		.name = name, .part = part, .data = take(w, type), .type = type};
	return sl_device_copy(
		w->opts.device, w->compute, f->data, data, sl_type_bytes(type));
}

static uint64_t io_bytes(const struct sl_wire *w, const struct sl_program *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->n_ops; i++) {
		const struct sl_node_info *n = &p->ops[i].info;
		const struct sl_io_attr *a = n->attr;
		bool in = n->op == &sl_op_feed;

		if (in || (n->op == &sl_op_fetch && is_wanted(&w->given, a->name)))
			bytes += sl_align_up(
				sl_type_bytes(in ? &n->out[0] : &n->in[0]), LINE);
	}
	return bytes;
}

static sl_status fit_io(struct sl_wire *w, uint64_t bytes)
{
	void *p;

	w->io_used = 0;
	if (bytes <= w->io_bytes)
		return SL_OK;
	sl_device_pinned_destroy(w->opts.device, w->io);
	w->io = NULL;
	w->io_bytes = 0;
	SL_TRY(sl_device_pinned_create(w->opts.device, bytes, &p));
	w->io = p;
	w->io_bytes = bytes;
	return SL_OK;
}

void sl_wire_step_init(struct sl_wire *w)
{
	w->launcher = (struct sl_launcher){.ctx = w, .launch = launch};
}

void sl_wire_step_finish(struct sl_wire *w)
{
	sl_device_pinned_destroy(w->opts.device, w->io);
	sl_free(w->fetches);
}

sl_status sl_wire_begin(struct sl_wire *w, const struct sl_program *p, struct sl_exec *x)
{
	w->program = p;
	w->given = x->run;
	w->n_fetches = 0;
	SL_TRY(fit_io(w, io_bytes(w, p)));
	x->run.stream = w->compute;
	x->run.feed = feed;
	x->run.fetch = fetch;
	x->run.io_ctx = w;
	x->launcher = &w->launcher;
	w->run = x->run;
	return SL_OK;
}

sl_status sl_wire_end(struct sl_wire *w, sl_status st)
{
	if (st != SL_OK)
		return st;
	st = sl_wire_settle(w);
	w->program = NULL;
	SL_TRY(st);
	for (size_t i = 0; i < w->n_fetches; i++) {
		const struct sl_wire_fetch *f = &w->fetches[i];

		SL_TRY(w->given.fetch(
			w->given.io_ctx, f->name, f->part, f->data, f->type));
	}
	return SL_OK;
}

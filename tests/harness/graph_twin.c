/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up inputs of programs, and a program run without any shared memory. */
#include "harness/graph_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "graph/dce.h"
#include "graph/order.h"

#define ALIGN 4096

static double first_number(
	const struct sl_init *init, const struct sl_rng_key *key, uint64_t i)
{
	if (init->kind == SL_INIT_CONST)
		return init->value;
	if (init->kind == SL_INIT_NORMAL)
		return init->value * sl_rng_normal(key, i);
	return 0;
}

void sl_graph_io_first(
	const struct sl_graph_io *io, const struct sl_storage_info *info, void *data)
{
	const struct sl_rng_key key = {
		.seed = io->seed, .stream = sl_crc32c(0, info->name, strlen(info->name))};

	memset(data, 0, (size_t)info->used_bytes);
	if (info->type.dtype != SL_F32)
		return;
	for (uint64_t i = 0; i < info->used_bytes / sizeof(float); i++)
		((float *)data)[i] = (float)first_number(&info->init, &key, i);
}

static void put(void *data, enum sl_dtype t, int64_t i, uint32_t dice, uint32_t bound)
{
	if (t == SL_F32)
		((float *)data)[i] = 2 * sl_rng_unit(dice) - 1;
	else if (t == SL_I32)
		((int32_t *)data)[i] = (int32_t)(dice % bound);
	else
		((int64_t *)data)[i] = dice % bound;
}

sl_status sl_graph_io_feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	const struct sl_graph_io *io = ctx;
	const struct sl_rng_key key = {
		.seed = io->seed,
		.stream = sl_crc32c(part, name, strlen(name)),
		.step = (uint32_t)io->step,
	};
	int64_t n = sl_shape_count(&type->shape);
	long bound = name[1] == '.' ? strtol(name + 2, NULL, 10) : 0;

	for (int64_t i = 0; i < n; i++)
		put(data, type->dtype, i, sl_rng_u32(&key, (uint64_t)i),
			bound > 0 ? (uint32_t)bound : 1);
	return SL_OK;
}

sl_status sl_graph_io_fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	struct sl_graph_io *io = ctx;
	int64_t n = sl_shape_count(&type->shape);

	for (int64_t i = 0; type->dtype == SL_F32 && i < n; i++)
		io->finite = io->finite && isfinite(((const float *)data)[i]);
	SL_TRY(sl_buf_printf(&io->fetched, "%s %u ", name, part));
	return sl_buf_append(&io->fetched, data, sl_type_bytes(type));
}

struct twin {
	const struct sl_graph *g;
	const struct sl_program *p;
	struct sl_graph_io *io;
	uint8_t **data; /* [n_values], of roots */
	bool *keep;
	uint32_t *order; /* node of each op, views left out */
	uint32_t *op_of; /* [n_nodes] */
};

/* Which of the program's ops a node became. */
static sl_status find_ops(struct twin *t)
{
	uint32_t n, ops = 0;

	t->order = sl_calloc((size_t)t->g->n_nodes + 1, sizeof(*t->order));
	t->op_of = sl_calloc((size_t)t->g->n_nodes + 1, sizeof(*t->op_of));
	if (t->order == NULL || t->op_of == NULL)
		return SL_FAIL(SL_E_NOMEM, "no twin");
	SL_TRY(sl_graph_dce(t->g, t->keep));
	SL_TRY(sl_graph_order(t->g, t->keep, t->order, &n));
	for (uint32_t k = 0; k < n; k++)
		if (!(t->g->nodes[t->order[k]].op->flags & SL_OP_VIEW))
			t->op_of[t->order[k]] = ops++;
	if (ops != t->p->n_ops)
		return SL_FAIL(SL_E_NO, "the program has %u ops, the graph %u",
			t->p->n_ops, ops);
	return SL_OK;
}

static sl_status twin_init(struct twin *t)
{
	uint32_t n = t->g->n_values;

	t->data = sl_calloc((size_t)n + 1, sizeof(*t->data));
	t->keep = sl_calloc((size_t)t->g->n_nodes + 1, sizeof(*t->keep));
	if (t->data == NULL || t->keep == NULL)
		return SL_FAIL(SL_E_NOMEM, "no twin");
	for (uint32_t v = 0; v < n; v++) {
		size_t bytes = sl_type_bytes(&t->g->values[v].type);

		if (t->g->values[v].root != v)
			continue;
		t->data[v] = sl_alloc_aligned(ALIGN, bytes + 1);
		if (t->data[v] == NULL)
			return SL_FAIL(SL_E_NOMEM, "no twin");
		memset(t->data[v], 0xab, bytes);
	}
	return find_ops(t);
}

static void twin_finish(struct twin *t)
{
	for (uint32_t v = 0; t->data != NULL && v < t->g->n_values; v++)
		sl_free_aligned(t->data[v]);
	sl_free(t->data);
	sl_free(t->keep);
	sl_free(t->order);
	sl_free(t->op_of);
}

static void *address(const struct twin *t, sl_val v)
{
	const struct sl_ir_value *value;

	if (sl_val_is_none(v))
		return NULL;
	value = &t->g->values[v.index];
	return t->data[value->root] + value->root_offset;
}

static sl_status run_op(
	const struct twin *t, const struct sl_ir_node *n, const struct sl_program_op *op)
{
	void *in[SL_OP_MAX_IN], *out[SL_OP_MAX_OUT];
	const struct sl_run run = {.seed = t->io->seed,
		.step = t->io->step,
		.feed = sl_graph_io_feed,
		.fetch = sl_graph_io_fetch,
		.io_ctx = t->io};
	struct sl_call call = {.node = &op->info,
		.in = in,
		.out = out,
		.run = &run,
		.prepared = op->prepared.state};
	sl_status st;

	if (n->op != op->info.op)
		return SL_FAIL(SL_E_NO, "the program has %s where the graph has %s",
			op->info.op->name, n->op->name);
	for (int i = 0; i < n->n_in; i++)
		in[i] = address(t, n->in[i]);
	for (int i = 0; i < n->n_out; i++)
		out[i] = address(t, n->out[i]);
	call.workspace = sl_alloc_aligned(ALIGN, op->prepared.workspace_bytes + 1);
	if (call.workspace == NULL)
		return SL_FAIL(SL_E_NOMEM, "no workspace");
	st = op->kernel->run(&call);
	sl_free_aligned(call.workspace);
	return st;
}

/* In the order the graph was built in, so that the program's own shows to be as good. */
static sl_status run_step(const struct twin *t)
{
	for (uint32_t k = 0; k < t->g->n_nodes; k++) {
		const struct sl_ir_node *n = &t->g->nodes[k];

		if (!t->keep[k] || (n->op->flags & SL_OP_VIEW))
			continue;
		SL_TRY(run_op(t, n, &t->p->ops[t->op_of[k]]));
	}
	t->io->step++;
	return SL_OK;
}

static sl_val persistent_at(const struct twin *t, uint32_t storage)
{
	return storage < t->p->n_params
		       ? sl_graph_param_at(t->g, storage)
		       : sl_graph_state_at(t->g, storage - t->p->n_params);
}

sl_status sl_graph_twin(const struct sl_graph *g, const struct sl_program *p, int steps,
	struct sl_graph_io *io, struct sl_buf *state)
{
	struct twin t = {.g = g, .p = p, .io = io};
	sl_status st;

	SL_TRY_OUT(twin_init(&t));
	for (uint32_t v = 0; v < p->n_persistent; v++)
		sl_graph_io_first(io, &p->storages[v], address(&t, persistent_at(&t, v)));
	sl_kernel_set_width(1);
	for (int i = 0; i < steps; i++)
		SL_TRY_OUT(run_step(&t));
	for (uint32_t v = 0; v < p->n_persistent; v++)
		SL_TRY_OUT(sl_buf_append(state, address(&t, persistent_at(&t, v)),
			(size_t)p->storages[v].used_bytes));
out:
	twin_finish(&t);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing: from a graph to a program. Passes over the nodes that matter: their order;
 * where each value's life ends; which storage it gets; which kernel runs each op.
 */
#include "exec/program.h"

#include "base/alloc.h"
#include "base/units.h"
#include "exec/layout.h"
#include "graph/dce.h"
#include "graph/order.h"

#define BLOCK_BYTES 4096u
#define LINE_BYTES 64u
#define MAX_OPS 4000000u

static const enum sl_class class_of_role[SL_ROLE_COUNT] = {
	[SL_ROLE_ACT] = SL_CLASS_ACT,
	[SL_ROLE_PARAM] = SL_CLASS_PARAM,
	[SL_ROLE_STATE] = SL_CLASS_STATE,
	[SL_ROLE_GRAD] = SL_CLASS_GRAD,
	[SL_ROLE_INPUT] = SL_CLASS_INPUT,
};

/* What sealing knows while it works; tables by graph id. */
struct sealer {
	const struct sl_graph *g;
	const struct sl_kernel_set *kernels;
	struct sl_program *p;
	bool *keep; /* [n_nodes] */
	uint32_t *order; /* [n_order] kept nodes */
	uint32_t n_order;
	uint32_t *last_use; /* [n_values], of roots: last in order that touches it */
	uint32_t *storage_of; /* [n_values], of roots */
	struct sl_node_types *types;
};

static bool runs(const struct sealer *s, uint32_t node)
{
	return !(s->g->nodes[node].op->flags & SL_OP_VIEW);
}

static uint64_t storage_bytes(uint64_t used)
{
	uint64_t padded = sl_align_up(used > 0 ? used : 1, LINE_BYTES);

	return padded < BLOCK_BYTES ? padded : sl_align_up(padded, BLOCK_BYTES);
}

static sl_status add_storage(struct sealer *s, uint32_t value, uint32_t *out)
{
	struct sl_program *p = s->p;
	const struct sl_ir_value *v = &s->g->values[value];
	struct sl_storage_info *info;
	uint64_t used = sl_type_bytes(&v->type);

	if (sl_grow((void **)&p->storages, &p->cap_storages, (size_t)p->n_storages + 1,
		    sizeof(*p->storages), SL_TRACE_MAX_VALUES) < 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the table of storages");
	info = &p->storages[p->n_storages];
	*info = (struct sl_storage_info){
		.bytes = storage_bytes(used),
		.used_bytes = used,
		.cls = class_of_role[v->role],
		.name = sl_arena_strdup(&p->arena, v->name),
		.type = v->type,
		.init = v->init,
	};
	if (info->name == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the name of a storage");
	s->storage_of[value] = p->n_storages;
	*out = p->n_storages++;
	return SL_OK;
}

/* Its bytes are the tiers' business, so the trace states them. */
static sl_status add_bounce(struct sl_program *p)
{
	if (sl_grow((void **)&p->storages, &p->cap_storages, (size_t)p->n_storages + 1,
		    sizeof(*p->storages), SL_TRACE_MAX_VALUES) < 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the table of storages");
	p->storages[p->n_storages++] =
		(struct sl_storage_info){.cls = SL_CLASS_CONST, .name = "bounce"};
	return SL_OK;
}

static sl_status add_persistent(struct sealer *s)
{
	uint32_t storage;

	for (size_t i = 0; i < s->g->n_params; i++)
		SL_TRY(add_storage(s, s->g->params[i].index, &storage));
	s->p->n_params = s->p->n_storages;
	for (size_t i = 0; i < s->g->n_states; i++)
		SL_TRY(add_storage(s, s->g->states[i].index, &storage));
	s->p->n_persistent = s->p->n_storages;
	return add_bounce(s->p);
}

static void find_last_uses(struct sealer *s)
{
	const struct sl_graph *g = s->g;

	for (uint32_t k = 0; k < s->n_order; k++) {
		uint32_t n = s->order[k];
		const struct sl_ir_node *node = &g->nodes[n];

		if (!runs(s, n))
			continue;
		for (int i = 0; i < node->n_in; i++)
			if (!sl_val_is_none(node->in[i]))
				s->last_use[g->values[node->in[i].index].root] = n;
		for (int i = 0; i < node->n_out; i++)
			s->last_use[g->values[node->out[i].index].root] = n;
	}
}

static bool used_once(
	const struct sealer *s, const struct sl_ir_node *node, uint32_t root)
{
	int uses = 0;

	for (int i = 0; i < node->n_in; i++)
		if (!sl_val_is_none(node->in[i]))
			uses += s->g->values[node->in[i].index].root == root;
	return uses == 1;
}

/* The input whose storage out[0] of node n may take over, as a root; UINT32_MAX if there
 * is none. */
static uint32_t inplace_root(const struct sealer *s, uint32_t n)
{
	const struct sl_graph *g = s->g;
	const struct sl_ir_node *node = &g->nodes[n];
	struct sl_node_info info = sl_ir_info(g, n, s->types);

	for (int i = 0; i < node->n_in && i < 32; i++) {
		uint32_t root;

		if (sl_val_is_none(node->in[i]) || !sl_node_inplace(&info, i))
			continue;
		root = g->values[node->in[i].index].root;
		if (g->values[root].producer != UINT32_MAX && s->last_use[root] == n &&
			used_once(s, node, root) &&
			sl_type_bytes(&g->values[root].type) ==
				sl_type_bytes(&g->values[node->out[0].index].type))
			return root;
	}
	return UINT32_MAX;
}

/* A storage in a list, once. */
static void add_once(uint32_t *list, uint32_t *n, uint32_t storage)
{
	for (uint32_t i = 0; i < *n; i++)
		if (list[i] == storage)
			return;
	list[(*n)++] = storage;
}

static void drop_from(uint32_t *list, uint32_t *n, uint32_t storage)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *n; i++)
		if (list[i] != storage)
			list[kept++] = list[i];
	*n = kept;
}

struct op_lists {
	uint32_t read[SL_OP_MAX_IN], changed[SL_OP_MAX_IN], born[SL_OP_MAX_OUT];
	uint32_t n_read, n_changed, n_born;
	struct sl_program_arg args[SL_OP_MAX_IN + SL_OP_MAX_OUT];
};

static struct sl_program_arg arg_of(const struct sealer *s, sl_val v)
{
	const struct sl_ir_value *value;

	if (sl_val_is_none(v))
		return (struct sl_program_arg){.storage = SL_NO_ID};
	value = &s->g->values[v.index];
	return (struct sl_program_arg){
		.storage = s->storage_of[value->root],
		.offset = (uint64_t)value->root_offset,
	};
}

static void list_inputs(
	const struct sealer *s, const struct sl_ir_node *node, struct op_lists *l)
{
	for (int i = 0; i < node->n_in; i++) {
		l->args[i] = arg_of(s, node->in[i]);
		if (l->args[i].storage == SL_NO_ID)
			continue;
		add_once(l->read, &l->n_read, l->args[i].storage);
		if (i < 32 && (node->op->mutates >> i & 1))
			add_once(l->changed, &l->n_changed, l->args[i].storage);
	}
}

static sl_status list_outputs(struct sealer *s, uint32_t n, struct op_lists *l)
{
	const struct sl_ir_node *node = &s->g->nodes[n];
	uint32_t taken = node->n_out > 0 ? inplace_root(s, n) : UINT32_MAX;

	for (int i = 0; i < node->n_out; i++) {
		uint32_t value = node->out[i].index;

		if (i == 0 && taken != UINT32_MAX) {
			s->storage_of[value] = s->storage_of[taken];
			add_once(l->changed, &l->n_changed, s->storage_of[value]);
		} else {
			SL_TRY(add_storage(s, value, &l->born[l->n_born]));
			l->n_born++;
		}
		l->args[node->n_in + i] = arg_of(s, node->out[i]);
	}
	for (uint32_t i = 0; i < l->n_changed; i++)
		drop_from(l->read, &l->n_read, l->changed[i]);
	return SL_OK;
}

static sl_status copy_info(struct sealer *s, uint32_t n, struct sl_program_op *op)
{
	struct sl_arena *a = &s->p->arena;
	struct sl_node_info info = sl_ir_info(s->g, n, s->types);

	info.attr = info.op->attr_bytes > 0
			    ? sl_arena_copy(a, info.attr, info.op->attr_bytes)
			    : NULL;
	info.in = sl_arena_copy(a, info.in, (size_t)info.n_in * sizeof(*info.in));
	info.out = sl_arena_copy(a, info.out, (size_t)info.n_out * sizeof(*info.out));
	op->scope = sl_arena_strdup(a, s->g->nodes[n].scope);
	op->info = info;
	if (info.in == NULL || info.out == NULL || op->scope == NULL ||
		(info.attr == NULL && info.op->attr_bytes > 0))
		return SL_FAIL(SL_E_NOMEM, "no host memory to seal op %u (%s)", n,
			info.op->name);
	return SL_OK;
}

static sl_status copy_lists(
	struct sealer *s, const struct op_lists *l, struct sl_program_op *op)
{
	struct sl_arena *a = &s->p->arena;
	size_t n_args = (size_t)(op->info.n_in + op->info.n_out);

	op->n_read = l->n_read;
	op->n_changed = l->n_changed;
	op->n_born = l->n_born;
	op->args = sl_arena_copy(a, l->args, n_args * sizeof(*l->args));
	op->read = sl_arena_copy(a, l->read, l->n_read * sizeof(*l->read));
	op->changed = sl_arena_copy(a, l->changed, l->n_changed * sizeof(*l->changed));
	op->born = sl_arena_copy(a, l->born, l->n_born * sizeof(*l->born));
	if (op->args == NULL || op->read == NULL || op->changed == NULL ||
		op->born == NULL)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory to seal %s", op->info.op->name);
	return SL_OK;
}

static sl_status seal_node(struct sealer *s, uint32_t n, struct op_lists *l)
{
	struct sl_program *p = s->p;
	struct sl_program_op *op;
	sl_status st;

	l->n_read = l->n_changed = l->n_born = 0;
	list_inputs(s, &s->g->nodes[n], l);
	SL_TRY(list_outputs(s, n, l));
	if (sl_grow((void **)&p->ops, &p->cap_ops, (size_t)p->n_ops + 1, sizeof(*p->ops),
		    MAX_OPS) < 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for the table of ops");
	op = &p->ops[p->n_ops];
	*op = (struct sl_program_op){0};
	SL_TRY(copy_info(s, n, op));
	SL_TRY(copy_lists(s, l, op));
	st = sl_kernel_choose(s->kernels, &op->info, &op->kernel);
	if (st != SL_OK)
		return op->scope[0] != '\0' ? sl_fail_prefix(st, "in %s", op->scope) : st;
	if (op->kernel->prepare != NULL)
		SL_TRY(op->kernel->prepare(&op->info,
			&(struct sl_kernel_env){.threads = p->seal_threads},
			&op->prepared));
	p->n_ops++;
	return SL_OK;
}

static sl_status seal_nodes(struct sealer *s)
{
	struct op_lists *lists = sl_calloc(1, sizeof(*lists));
	sl_status st = SL_OK;

	if (lists == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory to seal a graph");
	for (uint32_t k = 0; k < s->n_order && st == SL_OK; k++)
		if (runs(s, s->order[k]))
			st = seal_node(s, s->order[k], lists);
	sl_free(lists);
	return st;
}

sl_status sl_program_seal(const struct sl_graph *g, int threads, struct sl_program **out)
{
	return sl_program_seal_on(g, &sl_kernel_cpu, threads, out);
}

sl_status sl_program_seal_on(const struct sl_graph *g,
	const struct sl_kernel_set *kernels, int threads, struct sl_program **out)
{
	struct sl_graph own = {0}; /* g with layouts */
	struct sealer s = {.g = &own, .kernels = kernels};
	size_t n_values, n_nodes;
	sl_status st;

	SL_TRY(sl_graph_status(g));
	SL_TRY_OUT(sl_layout_assign(g, kernels, &own));
	n_values = (size_t)own.n_values + 1;
	n_nodes = (size_t)own.n_nodes + 1;
	s.p = sl_calloc(1, sizeof(*s.p));
	s.keep = sl_calloc(n_nodes, sizeof(*s.keep));
	s.order = sl_calloc(n_nodes, sizeof(*s.order));
	s.last_use = sl_calloc(n_values, sizeof(*s.last_use));
	s.storage_of = sl_calloc(n_values, sizeof(*s.storage_of));
	s.types = sl_calloc(1, sizeof(*s.types));
	if (!s.p || !s.keep || !s.order || !s.last_use || !s.storage_of || !s.types) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory to seal a graph of %u nodes",
			g->n_nodes);
		goto out;
	}
	s.p->seal_threads = threads;
	SL_TRY_OUT(sl_graph_dce(&own, s.keep));
	SL_TRY_OUT(sl_graph_order(&own, s.keep, s.order, &s.n_order));
	SL_TRY_OUT(add_persistent(&s));
	find_last_uses(&s);
	SL_TRY_OUT(seal_nodes(&s));
	*out = s.p;
	s.p = NULL;
out:
	sl_program_destroy(s.p);
	sl_free(s.keep);
	sl_free(s.order);
	sl_free(s.last_use);
	sl_free(s.storage_of);
	sl_free(s.types);
	sl_layout_finish(&own);
	return st;
}

void sl_program_destroy(struct sl_program *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->ops[i].kernel->release != NULL)
			p->ops[i].kernel->release(p->ops[i].prepared.state);
	sl_free(p->ops);
	sl_free(p->storages);
	sl_arena_finish(&p->arena);
	sl_free(p);
}

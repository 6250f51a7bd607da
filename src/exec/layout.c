/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes run channels last, by regions, and the changes of layout between them. */
#include "exec/layout.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/op_attr.h"
#include "kernel/kernel.h"

/* A convolution of fewer channels on either side gains nothing. */
#define CHANNELS_LEAST 16
/* A plain kernel of this rank is made for the shape and better than channels last. */
#define RANK_SPECIAL 40

struct pass {
	const struct sl_graph *g;
	const struct sl_kernel_set *kernels;
	struct sl_graph *to;
	const struct sl_op *relayout;
	bool *able; /* [n_nodes] */
	uint32_t *region; /* [n_values] union-find parents */
	double *gain; /* [n_values] bytes, of the region's representative */
	uint32_t *twin; /* [n_values] the value in the other layout; UINT32_MAX: none */
	bool *last; /* [values of `to`] lies channels last */
	struct sl_node_types *types;
};

static uint32_t find(struct pass *p, uint32_t v)
{
	while (p->region[v] != v) {
		p->region[v] = p->region[p->region[v]];
		v = p->region[v];
	}
	return v;
}

static bool bit(uint32_t mask, int i)
{
	return mask >> (i < 31 ? i : 31) & 1;
}

static bool names_in(const struct sl_ir_node *n, int i)
{
	return !sl_val_is_none(n->in[i]) && bit(n->op->nhwc_in, i);
}

static bool reads_shape_only(const struct sl_ir_node *n, int i)
{
	return bit(n->op->shape_in, i);
}

static bool has_layout(const struct pass *p, sl_val v)
{
	return sl_shape_has_layout(&p->g->values[v.index].type.shape);
}

/* Whether it can be born channels last: views and what comes from outside cannot. */
static bool is_free(const struct pass *p, sl_val v)
{
	const struct sl_ir_value *value = &p->g->values[v.index];

	return has_layout(p, v) && value->root == v.index &&
	       value->producer != UINT32_MAX && p->able[value->producer] &&
	       value->version == 0;
}

static bool is_able(struct pass *p, uint32_t k)
{
	const struct sl_ir_node *n = &p->g->nodes[k];
	bool any = false;

	if (n->op->mutates || !(n->op->nhwc_in | n->op->nhwc_out))
		return false;
	for (int i = 0; i < n->n_in; i++)
		any = any || (names_in(n, i) && has_layout(p, n->in[i]));
	for (int i = 0; i < n->n_out; i++)
		any = any || (bit(n->op->nhwc_out, i) && has_layout(p, n->out[i]));
	if (!any)
		return false;
	struct sl_node_info info = sl_ir_info(p->g, k, p->types);
	info.nhwc = true;
	return sl_kernel_is_fast(p->kernels, &info);
}

static void join(struct pass *p, uint32_t *first, sl_val v)
{
	uint32_t at = find(p, v.index);

	if (*first == UINT32_MAX)
		*first = at;
	else
		p->region[at] = *first = find(p, *first);
}

static void find_regions(struct pass *p)
{
	for (uint32_t k = 0; k < p->g->n_nodes; k++) {
		const struct sl_ir_node *n = &p->g->nodes[k];
		uint32_t first = UINT32_MAX;
		for (int i = 0; p->able[k] && i < n->n_in; i++)
			if (names_in(n, i) && is_free(p, n->in[i]))
				join(p, &first, n->in[i]);
		for (int i = 0; p->able[k] && i < n->n_out; i++)
			if (bit(n->op->nhwc_out, i) && is_free(p, n->out[i]))
				join(p, &first, n->out[i]);
	}
}

/* A value of the node's region; UINT32_MAX: it has none and stays plain. */
static uint32_t region_of(struct pass *p, uint32_t k)
{
	const struct sl_ir_node *n = &p->g->nodes[k];

	for (int i = 0; p->able[k] && i < n->n_in; i++)
		if (names_in(n, i) && is_free(p, n->in[i]))
			return find(p, n->in[i].index);
	for (int i = 0; p->able[k] && i < n->n_out; i++)
		if (bit(n->op->nhwc_out, i) && is_free(p, n->out[i]))
			return find(p, n->out[i].index);
	return UINT32_MAX;
}

static double bytes_of(const struct pass *p, sl_val v)
{
	return (double)sl_type_bytes(&p->g->values[v.index].type);
}

static bool is_special(const struct pass *p, const struct sl_node_info *n)
{
	const struct sl_kernel *k;

	return sl_kernel_choose(p->kernels, n, &k) == SL_OK && k->rank >= RANK_SPECIAL;
}

/* Bytes of images that a convolution need not move; 0 for other nodes. */
static double gain_of(struct pass *p, uint32_t k)
{
	const struct sl_ir_node *n = &p->g->nodes[k];
	double bytes = 0;

	if (!(n->op->flags & SL_OP_WANTS_NHWC))
		return 0;
	struct sl_node_info info = sl_ir_info(p->g, k, p->types);
	if (is_special(p, &info))
		return 0;
	for (int i = 0; i < n->n_in; i++) {
		if (!names_in(n, i))
			continue;
		if (info.in[i].shape.dim[1] < CHANNELS_LEAST)
			return 0;
		bytes += bytes_of(p, n->in[i]);
	}
	for (int i = 0; i < n->n_out; i++) {
		if (!bit(n->op->nhwc_out, i))
			continue;
		if (info.out[i].shape.dim[1] < CHANNELS_LEAST)
			return 0;
		bytes += bytes_of(p, n->out[i]);
	}
	return bytes;
}

/* What its operands cost that have another layout than its region. */
static void count_borders(struct pass *p, uint32_t k)
{
	const struct sl_ir_node *n = &p->g->nodes[k];
	uint32_t own = region_of(p, k);

	for (int i = 0; i < n->n_in; i++) {
		if (sl_val_is_none(n->in[i]) || reads_shape_only(n, i) ||
			!has_layout(p, n->in[i]))
			continue;
		bool free = is_free(p, n->in[i]);
		bool inside = own != UINT32_MAX && names_in(n, i);
		if (free && !inside)
			p->gain[find(p, n->in[i].index)] -= bytes_of(p, n->in[i]);
		else if (!free && inside)
			p->gain[own] -= bytes_of(p, n->in[i]);
	}
}

static void weigh(struct pass *p)
{
	for (uint32_t k = 0; k < p->g->n_nodes; k++) {
		uint32_t own = region_of(p, k);
		if (own != UINT32_MAX)
			p->gain[own] += gain_of(p, k);
		count_borders(p, k);
	}
}

static sl_status add_value(struct pass *p, uint32_t like, uint32_t *out)
{
	struct sl_graph *to = p->to;
	struct sl_ir_value v = p->g->values[like];

	if (to->n_values == to->cap_values)
		return SL_FAIL(SL_E_LIMIT, "too many values of changed layout");
	v.producer = to->n_nodes;
	v.root = to->n_values;
	v.root_offset = 0;
	v.version = 0;
	v.name = "";
	if (v.role == SL_ROLE_PARAM || v.role == SL_ROLE_STATE || v.role == SL_ROLE_INPUT)
		v.role = SL_ROLE_ACT;
	to->values[to->n_values] = v;
	*out = to->n_values++;
	return SL_OK;
}

static sl_status add_node(struct pass *p, const struct sl_ir_node *n)
{
	struct sl_graph *to = p->to;

	if (sl_grow((void **)&to->nodes, &to->cap_nodes, (size_t)to->n_nodes + 1,
		    sizeof(*to->nodes), SIZE_MAX) < 0)
		return SL_FAIL(SL_E_NOMEM, "no host memory for nodes of changed layout");
	to->nodes[to->n_nodes++] = *n;
	return SL_OK;
}

/* Value v in the other layout, from now on. */
static sl_status bring_over(struct pass *p, sl_val v, const char *scope, sl_val *out)
{
	static const struct sl_relayout_attr ways[2] = {{.to_nhwc = 1}, {.to_nhwc = 0}};
	static const uint32_t no_versions[1];
	struct sl_arena *a = &p->to->arena;
	struct sl_ir_node n = {.op = p->relayout,
		.attr = &ways[p->last[v.index]],
		.scope = scope,
		.n_in = 1,
		.n_out = 1,
		.in_version = no_versions};
	bool keeps = p->g->values[p->g->values[v.index].root].version == 0;
	uint32_t made = p->twin[v.index];

	if (made == UINT32_MAX || !keeps) {
		SL_TRY(add_value(p, v.index, &made));
		const sl_val to = {made};
		n.in = sl_arena_copy(a, &v, sizeof(v));
		n.out = sl_arena_copy(a, &to, sizeof(to));
		if (n.in == NULL || n.out == NULL)
			return SL_FAIL(SL_E_NOMEM, "no host memory to change a layout");
		SL_TRY(add_node(p, &n));
		p->twin[v.index] = made;
	}
	*out = (sl_val){made};
	return SL_OK;
}

/* Node k with its inputs in the layouts that it reads. */
static sl_status carry_over(struct pass *p, uint32_t k)
{
	struct sl_ir_node n = p->g->nodes[k];
	uint32_t own = region_of(p, k);
	size_t bytes = (size_t)n.n_in * sizeof(*n.in);
	sl_val *in = NULL;

	n.nhwc = own != UINT32_MAX && p->gain[own] > 0;
	for (int i = 0; i < n.n_in; i++) {
		sl_val v = n.in[i];
		bool want = n.nhwc && names_in(&n, i);
		if (sl_val_is_none(v) || !has_layout(p, v) || reads_shape_only(&n, i) ||
			p->last[v.index] == want)
			continue;
		if (in == NULL)
			in = sl_arena_copy(&p->to->arena, n.in, bytes);
		if (in == NULL)
			return SL_FAIL(SL_E_NOMEM, "no host memory to change a layout");
		SL_TRY(bring_over(p, v, n.scope, &in[i]));
	}
	if (in != NULL)
		n.in = in;
	for (int i = 0; i < n.n_out; i++) {
		struct sl_ir_value *made = &p->to->values[n.out[i].index];
		made->producer = p->to->n_nodes;
		p->last[n.out[i].index] = n.nhwc && bit(n.op->nhwc_out, i) &&
					  sl_shape_has_layout(&made->type.shape);
	}
	return add_node(p, &n);
}

static sl_status begin(struct pass *p)
{
	const struct sl_graph *g = p->g;
	size_t values = (size_t)g->n_values + 1, nodes = (size_t)g->n_nodes + 1;

	*p->to = *g;
	p->to->arena = (struct sl_arena){0};
	p->to->nodes = NULL;
	p->to->n_nodes = 0;
	p->to->cap_nodes = 0;
	/* Each input of a node is brought over at most once. */
	p->to->cap_values = values;
	for (uint32_t k = 0; k < g->n_nodes; k++)
		p->to->cap_values += (size_t)g->nodes[k].n_in;
	p->to->values = sl_calloc(p->to->cap_values, sizeof(*p->to->values));
	p->able = sl_calloc(nodes, sizeof(*p->able));
	p->region = sl_calloc(values, sizeof(*p->region));
	p->gain = sl_calloc(values, sizeof(*p->gain));
	p->twin = sl_calloc(values, sizeof(*p->twin));
	p->last = sl_calloc(values, sizeof(*p->last));
	p->types = sl_calloc(1, sizeof(*p->types));
	if (!p->to->values || !p->able || !p->region || !p->gain || !p->twin ||
		!p->last || !p->types)
		return SL_FAIL(SL_E_NOMEM, "no host memory for layouts of %u values",
			g->n_values);
	if (g->n_values > 0)
		memcpy(p->to->values, g->values, g->n_values * sizeof(*g->values));
	for (uint32_t v = 0; v < g->n_values; v++) {
		p->region[v] = v;
		p->twin[v] = UINT32_MAX;
	}
	return SL_OK;
}

sl_status sl_layout_assign(const struct sl_graph *g, const struct sl_kernel_set *kernels,
	struct sl_graph *out)
{
	struct pass p = {.g = g,
		.kernels = kernels,
		.to = out,
		.relayout = sl_op_find("relayout")};
	bool any = sl_kernel_has(kernels, "relayout");
	sl_status st;

	SL_TRY_OUT(begin(&p));
	for (uint32_t k = 0; k < g->n_nodes; k++)
		p.able[k] = any && is_able(&p, k);
	find_regions(&p);
	weigh(&p);
	for (uint32_t k = 0; k < g->n_nodes; k++)
		SL_TRY_OUT(carry_over(&p, k));
out:
	sl_free(p.able);
	sl_free(p.region);
	sl_free(p.gain);
	sl_free(p.twin);
	sl_free(p.last);
	sl_free(p.types);
	return st;
}

void sl_layout_finish(struct sl_graph *g)
{
	sl_free(g->values);
	sl_free(g->nodes);
	sl_arena_finish(&g->arena);
	*g = (struct sl_graph){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as an object: creation, the first failure, persistent values, what is asked
 * of values. */
#include "graph/ir.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "graph/ir_int.h"

sl_status sl_graph_create(struct sl_graph **out)
{
	struct sl_graph *g = sl_calloc(1, sizeof(*g));

	if (!g)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a graph");
	g->scope = "";
	*out = g;
	return SL_OK;
}

void sl_graph_destroy(struct sl_graph *g)
{
	if (!g)
		return;
	sl_free(g->values);
	sl_free(g->nodes);
	sl_free(g->params);
	sl_free(g->states);
	sl_map_finish(&g->persistent);
	sl_arena_finish(&g->arena);
	sl_free(g);
}

sl_status sl_graph_status(const struct sl_graph *g)
{
	if (g->failed == SL_OK)
		return SL_OK;
	return SL_FAIL(g->failed, "%s", g->failure);
}

sl_val sl_graph_poison(struct sl_graph *g, sl_status st)
{
	SL_ASSERT(st != SL_OK);
	if (g->failed == SL_OK) {
		g->failed = st;
		strncpy(g->failure, sl_last_error(), sizeof(g->failure) - 1);
	}
	return SL_VAL_POISON;
}

void sl_graph_scope(struct sl_graph *g, const char *scope)
{
	if (g->failed != SL_OK || strcmp(g->scope, scope) == 0)
		return;
	const char *copy = sl_arena_strdup(&g->arena, scope);
	if (copy)
		g->scope = copy;
	else
		sl_graph_poison(g,
			SL_FAIL(SL_E_NOMEM, "no host memory for the scope '%s'", scope));
}

uint32_t sl_graph_node_count(const struct sl_graph *g)
{
	return g->n_nodes;
}

const struct sl_type *sl_val_type(const struct sl_graph *g, sl_val v)
{
	SL_BUG(v.index >= g->n_values);
	return &g->values[v.index].type;
}

const char *sl_val_name(const struct sl_graph *g, sl_val v)
{
	SL_BUG(v.index >= g->n_values);
	return g->values[v.index].name;
}

enum sl_role sl_val_role(const struct sl_graph *g, sl_val v)
{
	SL_BUG(v.index >= g->n_values);
	return g->values[v.index].role;
}

sl_val sl_graph_param_at(const struct sl_graph *g, size_t i)
{
	return i < g->n_params ? g->params[i] : SL_VAL_NONE;
}

sl_val sl_graph_state_at(const struct sl_graph *g, size_t i)
{
	return i < g->n_states ? g->states[i] : SL_VAL_NONE;
}

uint64_t sl_graph_param_count(const struct sl_graph *g)
{
	uint64_t total = 0;

	for (size_t i = 0; i < g->n_params; i++)
		total += (uint64_t)sl_shape_count(&sl_val_type(g, g->params[i])->shape);
	return total;
}

static const char *role_word(enum sl_role role)
{
	return role == SL_ROLE_PARAM ? "parameter" : "state";
}

static sl_status check_again(const struct sl_graph *g, const struct sl_ir_value *old,
	const struct sl_ir_value *again)
{
	char text_old[SL_SHAPE_TEXT];
	char text_again[SL_SHAPE_TEXT];

	(void)g;
	if (old->role != again->role)
		return SL_FAIL(SL_E_INVALID,
			"'%s' is declared as a %s and again as a %s; give them two names",
			old->name, role_word(old->role), role_word(again->role));
	if (old->type.dtype == again->type.dtype &&
		sl_shape_equal(&old->type.shape, &again->type.shape))
		return SL_OK;
	return SL_FAIL(SL_E_SHAPE,
		"%s '%s' is declared as %s %s and again as %s %s; a shared one has one "
		"type",
		role_word(old->role), old->name, sl_dtype_name(old->type.dtype),
		sl_shape_print(&old->type.shape, text_old),
		sl_dtype_name(again->type.dtype),
		sl_shape_print(&again->type.shape, text_again));
}

static sl_status list_add(sl_val **list, size_t *n, size_t *cap, sl_val v)
{
	void *items = *list;

	if (sl_grow(&items, cap, *n + 1, sizeof(**list), SL_IR_MAX) != 0)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %zu persistent values", *n + 1);
	*list = items;
	(*list)[(*n)++] = v;
	return SL_OK;
}

static sl_status declare_new(
	struct sl_graph *g, const struct sl_ir_value *proto, sl_val *out)
{
	SL_TRY(sl_shape_check(&proto->type.shape, NULL));
	SL_TRY(sl_ir_new_value(g, proto, out));
	if (proto->role == SL_ROLE_PARAM)
		SL_TRY(list_add(&g->params, &g->n_params, &g->cap_params, *out));
	else
		SL_TRY(list_add(&g->states, &g->n_states, &g->cap_states, *out));
	return sl_map_add(&g->persistent, proto->name, out->index);
}

static sl_val declare(struct sl_graph *g, const struct sl_ir_value *proto)
{
	sl_val v = SL_VAL_NONE;
	sl_status st;

	if (g->failed != SL_OK)
		return SL_VAL_POISON;
	st = sl_ir_check_name(role_word(proto->role), proto->name, SL_IR_NAME_MAX);
	if (st == SL_OK && sl_map_find(&g->persistent, proto->name, &v.index))
		st = check_again(g, &g->values[v.index], proto);
	else if (st == SL_OK)
		st = declare_new(g, proto, &v);
	if (st == SL_OK)
		return v;
	return sl_graph_poison(
		g, sl_fail_prefix(st, "%s '%.64s'", role_word(proto->role), proto->name));
}

sl_val sl_param(struct sl_graph *g, const char *name, const struct sl_type *type,
	struct sl_init init)
{
	return declare(g, &(struct sl_ir_value){.type = *type,
				  .role = SL_ROLE_PARAM,
				  .name = name,
				  .producer = SL_IR_NO_NODE,
				  .init = init});
}

sl_val sl_state(struct sl_graph *g, const char *name, const struct sl_type *type,
	struct sl_init init)
{
	return declare(g, &(struct sl_ir_value){.type = *type,
				  .role = SL_ROLE_STATE,
				  .name = name,
				  .producer = SL_IR_NO_NODE,
				  .init = init});
}

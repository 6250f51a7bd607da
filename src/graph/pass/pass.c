/* SPDX-License-Identifier: Apache-2.0 */
/* The table of passes, and running them one after the other. */
#include "graph/pass/pass.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "graph/dce.h"
#include "graph/pass/rewrite.h"
#include "sluice/ops.h"

#define SL_PASS(variable) extern const struct sl_pass sl_pass_##variable;
#include "graph/pass/passes.def"
#undef SL_PASS

static const struct sl_pass *const table[] = {
#define SL_PASS(variable) &sl_pass_##variable,
#include "graph/pass/passes.def"
#undef SL_PASS
};

const char *sl_pass_name_at(size_t i, const char **help)
{
	if (i >= SL_COUNT(table))
		return NULL;
	*help = table[i]->help;
	return table[i]->name;
}

void sl_pass_declare(struct sl_graph *g, const struct sl_graph *from)
{
	for (size_t i = 0; i < from->n_params; i++) {
		const struct sl_ir_value *v = &from->values[from->params[i].index];
		(void)sl_param(g, v->name, &v->type, v->init);
	}
	for (size_t i = 0; i < from->n_states; i++) {
		const struct sl_ir_value *v = &from->values[from->states[i].index];
		(void)sl_state(g, v->name, &v->type, v->init);
	}
}

static bool changes_values(const struct sl_graph *g)
{
	for (uint32_t k = 0; k < g->n_nodes; k++)
		if (g->nodes[k].op->mutates != 0)
			return true;
	return false;
}

static void count_uses(struct sl_rewrite *r)
{
	for (uint32_t k = 0; k < r->from->n_nodes; k++) {
		const struct sl_ir_node *n = &r->from->nodes[k];
		for (int i = 0; r->keep[k] && i < n->n_in; i++) {
			if (sl_val_is_none(n->in[i]))
				continue;
			r->uses[n->in[i].index]++;
			r->user[n->in[i].index] = k;
		}
	}
}

static sl_status begin(
	struct sl_rewrite *r, const struct sl_graph *g, const struct sl_pass_env *env)
{
	size_t n = (size_t)g->n_values + 1;

	*r = (struct sl_rewrite){.from = g,
		.prologue = env->prologue,
		.env = env,
		.keep = sl_calloc((size_t)g->n_nodes + 1, sizeof(*r->keep)),
		.uses = sl_calloc(n, sizeof(*r->uses)),
		.user = sl_calloc(n, sizeof(*r->user)),
		.map = sl_calloc(n, sizeof(*r->map)),
		.other = sl_calloc(n, sizeof(*r->other))};
	if (!r->keep || !r->uses || !r->user || !r->map || !r->other)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a pass over %u nodes",
			g->n_nodes);
	for (size_t i = 0; i < n; i++)
		r->map[i] = r->other[i] = SL_VAL_NONE;
	SL_TRY(sl_graph_dce(g, r->keep));
	count_uses(r);
	return SL_OK;
}

static void finish(struct sl_rewrite *r)
{
	sl_graph_destroy(r->to);
	sl_free(r->keep);
	sl_free(r->uses);
	sl_free(r->user);
	sl_free(r->map);
	sl_free(r->other);
}

/* Persistent values have the same names. */
static void map_persistent(struct sl_rewrite *r)
{
	for (uint32_t i = 0; i < r->from->n_values; i++) {
		const struct sl_ir_value *v = &r->from->values[i];
		if (v->producer == UINT32_MAX)
			(void)sl_map_find(&r->to->persistent, v->name, &r->map[i].index);
	}
}

static sl_status sweep(struct sl_rewrite *r, const struct sl_pass *pass)
{
	SL_TRY(sl_graph_create(&r->to));
	sl_pass_declare(r->to, r->from);
	SL_TRY(sl_graph_status(r->to));
	map_persistent(r);
	for (uint32_t k = 0; k < r->from->n_nodes; k++) {
		if (!r->keep[k])
			continue;
		sl_graph_scope(r->to, r->from->nodes[k].scope);
		if (!pass->node(r, k))
			sl_rewrite_copy(r, k);
		SL_TRY(sl_graph_status(r->to));
	}
	return r->prologue ? sl_graph_status(r->prologue) : SL_OK;
}

static sl_status run(
	const struct sl_pass *pass, struct sl_graph **g, const struct sl_pass_env *env)
{
	struct sl_rewrite r = {0};
	struct sl_graph *old = *g;
	sl_status st = SL_OK;

	if ((pass->weights && env->prologue == NULL) || changes_values(old))
		return SL_OK;
	SL_TRY_OUT(begin(&r, old, env));
	if (pass->begin && !pass->begin(&r))
		goto out;
	SL_TRY_OUT(sweep(&r, pass));
	*g = r.to;
	r.to = old;
out:
	finish(&r);
	return st == SL_OK ? st : sl_fail_prefix(st, "pass %s", pass->name);
}

/* Other outputs go; what they alone need is dead then. */
static bool drop_outputs(struct sl_rewrite *r, uint32_t node)
{
	const struct sl_ir_node *n = sl_rewrite_node(r, node);
	const struct sl_io_attr *attr = n->attr;

	return n->op == &sl_op_fetch && strcmp(attr->name, r->env->output) != 0;
}

static const struct sl_pass one_output = {.name = "one_output", .node = drop_outputs};

sl_status sl_passes_run(struct sl_graph **g, const struct sl_pass_env *env)
{
	SL_TRY(sl_graph_status(*g));
	if (env->output != NULL)
		SL_TRY(run(&one_output, g, env));
	for (size_t i = 0; i < SL_COUNT(table); i++)
		SL_TRY(run(table[i], g, env));
	return SL_OK;
}

sl_status sl_pass_run(
	const char *name, struct sl_graph **g, const struct sl_pass_env *env)
{
	SL_TRY(sl_graph_status(*g));
	for (size_t i = 0; i < SL_COUNT(table); i++)
		if (strcmp(table[i]->name, name) == 0)
			return run(table[i], g, env);
	return SL_FAIL(SL_E_INVALID, "there is no pass '%s'", name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One row an optimizer: which states it keeps and which operator updates a slice with
 * them. */
#include "session/optimizer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/units.h"
#include "graph/ir.h"
#include "memory/trace.h"
#include "sluice/ops.h"

/* Sizes of a product that an update makes itself. */
#define LEAST_SIDE 128
#define LEAST_DEPTH 64
#define MOST_DEPTH 512

/* What a slice's update is made of. */
struct slice {
	sl_val param, grad, state[2], lr, step, coef;
	struct sl_optim_attr attr;
	sl_val product[2]; /* the gradient's factors, where the update makes it itself */
	struct sl_matmul_attr form;
	bool products; /* it may */
};

static void update_sgd(struct sl_graph *g, const struct slice *s)
{
	(void)sl_sgd(g, s->param, s->grad, s->lr, s->coef, &s->attr);
}

static void update_momentum(struct sl_graph *g, const struct slice *s)
{
	const sl_val pgb[3] = {s->param, s->grad, s->state[0]};

	(void)sl_momentum(g, pgb, s->lr, s->coef, &s->attr);
}

static void update_adam(struct sl_graph *g, const struct slice *s)
{
	const sl_val pgmv[4] = {s->param, s->grad, s->state[0], s->state[1]};

	(void)sl_adam(g, pgmv, s->lr, s->step, s->coef, &s->attr);
}

static void update_adamw(struct sl_graph *g, const struct slice *s)
{
	const sl_val pgmv[4] = {s->param, s->grad, s->state[0], s->state[1]};
	const sl_val pmvab[5] = {
		s->param, s->state[0], s->state[1], s->product[0], s->product[1]};

	if (!sl_val_is_none(s->product[0])) {
		(void)sl_matmul_adamw(g, pmvab, s->lr, s->step, &s->form, &s->attr);
		return;
	}
	(void)sl_adamw(g, pgmv, s->lr, s->step, s->coef, &s->attr);
}

struct optimizer {
	const char *name;
	int n_states;
	const char *state[2]; /* names as PyTorch's state dict has them */
	double weight_decay; /* default */
	void (*update)(struct sl_graph *g, const struct slice *s);
	bool takes_products;
};

static const struct optimizer optimizers[] = {
	{"adam", 2, {"exp_avg", "exp_avg_sq"}, 0, update_adam, false},
	{"adamw", 2, {"exp_avg", "exp_avg_sq"}, 0.01, update_adamw, true},
	{"momentum", 1, {"momentum_buffer", NULL}, 0, update_momentum, false},
	{"sgd", 0, {NULL, NULL}, 0, update_sgd, false},
};

static const struct optimizer *find(const char *name)
{
	for (size_t i = 0; i < SL_COUNT(optimizers); i++)
		if (strcmp(optimizers[i].name, name != NULL ? name : "adamw") == 0)
			return &optimizers[i];
	return NULL;
}

sl_status sl_optimizer_check(const struct sl_session_config *config)
{
	if (find(config->optim) == NULL)
		return SL_FAIL(SL_E_USAGE,
			"--optim %s is unknown; there are sgd, momentum, adam, adamw",
			config->optim);
	return SL_OK;
}

/* min(1, clip / norm of all gradients), or none. */
static sl_val clip_factor(struct sl_graph *g, double clip, const sl_val *grads, size_t n)
{
	sl_val coef = SL_VAL_NONE;
	sl_val *squares;
	int count = 0;

	if (!(clip > 0))
		return SL_VAL_NONE;
	squares = sl_calloc(n + 1, sizeof(*squares));
	if (squares == NULL)
		return sl_graph_poison(
			g, SL_FAIL(SL_E_NOMEM, "no host memory for gradient norms"));
	for (size_t i = 0; i < n; i++)
		if (!sl_val_is_none(grads[i]))
			squares[count++] = sl_sum_squares(g, grads[i]);
	if (count > 0)
		coef = sl_clip_coef(g, squares, count, clip);
	sl_free(squares);
	return coef;
}

/* The part of a tensor that slice `part` updates; count 0 means that it is not cut. */
static void cut(const struct sl_type *type, int64_t part, struct sl_optim_attr *attr)
{
	int64_t count = sl_shape_count(&type->shape);
	int64_t most = SL_OPTIM_SLICE_BYTES / (int64_t)sl_dtype_bytes(type->dtype);

	attr->begin = part * most;
	attr->count = count <= most		   ? 0
		      : count - attr->begin < most ? count - attr->begin
						   : most;
}

static void state_name(const char *param, const char *what, int64_t part, char name[256])
{
	if (part >= 0)
		snprintf(name, 256, "%s.%s.%lld", param, what, (long long)part);
	else
		snprintf(name, 256, "%s.%s", param, what);
}

/* The state of one slice; a whole tensor keeps its shape, a slice is flat. */
static sl_val declare_state(
	struct sl_graph *g, const struct slice *s, const char *what, int64_t part)
{
	struct sl_type type = *sl_val_type(g, s->param);
	char name[256];

	if (s->attr.count > 0)
		type.shape = SL_SHAPE(s->attr.count);
	state_name(sl_val_name(g, s->param), what, s->attr.count > 0 ? part : -1, name);
	return sl_state(g, name, &type, (struct sl_init){SL_INIT_ZERO, 0});
}

static bool is_read(const struct sl_graph *g, sl_val v)
{
	for (uint32_t k = g->values[v.index].producer; k < g->n_nodes; k++)
		for (int i = 0; i < g->nodes[k].n_in; i++)
			if (g->nodes[k].in[i].index == v.index)
				return true;
	return false;
}

/* Where the factors are small beside the gradient, so that holding them costs less memory
 * than the gradient did. */
static bool is_worth(const struct sl_type *p, int64_t k)
{
	int64_t m = p->shape.dim[0];
	int64_t n = p->shape.dim[1];

	return m >= LEAST_SIDE && n >= LEAST_SIDE && k >= LEAST_DEPTH &&
	       k <= MOST_DEPTH && 4 * k * (m + n) <= 3 * m * n;
}

static bool is_f32_matrix(const struct sl_graph *g, sl_val v)
{
	const struct sl_type *t = sl_val_type(g, v);

	return t->dtype == SL_F32 && t->shape.rank == 2;
}

/* The factors of a gradient that is one product and that nothing else reads: the update
 * can make it tile by tile. */
static void find_product(const struct sl_graph *g, struct slice *s)
{
	uint32_t producer = g->values[s->grad.index].producer;
	const struct sl_ir_node *n;

	if (producer == UINT32_MAX || !sl_val_is_none(s->coef) ||
		!is_f32_matrix(g, s->param) || is_read(g, s->grad))
		return;
	n = &g->nodes[producer];
	if (strcmp(n->op->name, "matmul") != 0 || !sl_val_is_none(n->in[2]) ||
		!is_f32_matrix(g, n->in[0]) || !is_f32_matrix(g, n->in[1]))
		return;
	s->form = *(const struct sl_matmul_attr *)n->attr;
	if (s->form.low || s->form.wide ||
		!is_worth(sl_val_type(g, s->param),
			sl_val_type(g, n->in[0])->shape.dim[s->form.trans_a ? 0 : 1]))
		return;
	s->product[0] = n->in[0];
	s->product[1] = n->in[1];
}

static void update_param(struct sl_graph *g, const struct optimizer *o, struct slice s)
{
	const struct sl_type type = *sl_val_type(g, s.param);
	int64_t count = sl_shape_count(&type.shape);
	int64_t part = 0;

	do {
		cut(&type, part, &s.attr);
		if (s.products && o->takes_products && s.attr.count == 0)
			find_product(g, &s);
		for (int i = 0; i < o->n_states; i++)
			s.state[i] = declare_state(g, &s, o->state[i], part);
		o->update(g, &s);
		part++;
	} while (s.attr.count > 0 && s.attr.begin + s.attr.count < count);
}

/* Whether `state` is slice `part` of a state of param; *part is read from the name's end.
 */
static bool names_slice_of(const char *param, const char *state, int64_t *part)
{
	const char *digits = strrchr(state, '.');
	size_t len = strlen(param);
	char name[256];

	if (digits == NULL || strncmp(state, param, len) != 0 || state[len] != '.' ||
		sl_i64_parse(digits + 1, part) != SL_OK)
		return false;
	for (size_t i = 0; i < SL_COUNT(optimizers); i++) {
		for (int k = 0; k < optimizers[i].n_states; k++) {
			state_name(param, optimizers[i].state[k], *part, name);
			if (strcmp(name, state) == 0)
				return true;
		}
	}
	return false;
}

bool sl_optimizer_slice_of(
	const struct sl_graph *g, const char *state, struct sl_optimizer_slice *out)
{
	struct sl_optim_attr attr = {0};
	int64_t part;
	sl_val v;

	for (size_t i = 0; !sl_val_is_none(v = sl_graph_param_at(g, i)); i++) {
		if (!names_slice_of(sl_val_name(g, v), state, &part))
			continue;
		cut(sl_val_type(g, v), part, &attr);
		*out = (struct sl_optimizer_slice){.global = sl_val_type(g, v)->shape,
			.begin = attr.begin,
			.count = attr.count};
		return attr.count > 0;
	}
	return false;
}

/* Each slice is an operator and states; a graph of many millions would only be refused
 * after minutes. */
static sl_status check_slices(
	const struct sl_graph *g, const sl_val *params, size_t n, int n_states)
{
	uint64_t slices = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sl_type *type = sl_val_type(g, params[i]);
		uint64_t size = (uint64_t)sl_shape_count(&type->shape) *
				sl_dtype_bytes(type->dtype);

		bytes += size;
		slices += size / SL_OPTIM_SLICE_BYTES + 1;
	}
	if (slices * (uint64_t)(n_states + 1) <= SL_TRACE_MAX_VALUES)
		return SL_OK;
	return SL_FAIL(SL_E_LIMIT,
		"the model's parameters take %.1f TiB, more than a step can be planned "
		"for; give a smaller model",
		(double)bytes / 0x1p40);
}

sl_status sl_optimizer_append(struct sl_graph *g, const struct sl_session_config *config,
	bool products, const sl_val *params, const sl_val *grads, size_t n)
{
	const struct optimizer *o = find(config->optim);
	const struct sl_type counter = {.dtype = SL_I64, .shape = SL_SCALAR};
	struct sl_schedule_attr schedule = config->schedule;
	struct slice s = {
		.products = products,
		.attr = {.momentum = 0.9,
			.beta1 = 0.9,
			.beta2 = 0.999,
			.eps = 1e-8,
			.weight_decay = config->weight_decay < 0 ? o->weight_decay
								 : config->weight_decay},
	};

	SL_TRY(check_slices(g, params, n, o->n_states));
	schedule.base = config->lr > 0 ? config->lr : 1e-3;
	sl_graph_scope(g, "optimizer");
	s.step = sl_state(
		g, "optimizer.step", &counter, (struct sl_init){SL_INIT_ZERO, 0});
	s.lr = sl_learning_rate(g, s.step, &schedule);
	s.coef = clip_factor(g, config->clip, grads, n);
	for (size_t i = 0; i < n; i++) {
		if (sl_val_is_none(grads[i]))
			continue;
		s.param = params[i];
		s.grad = grads[i];
		s.product[0] = SL_VAL_NONE;
		update_param(g, o, s);
	}
	(void)sl_step_next(g, s.step);
	sl_graph_scope(g, "");
	return sl_graph_status(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One row an optimizer: which states it keeps and which operator updates a slice with them. */
#include "session/optimizer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "graph/op.h"
#include "sluice/ops.h"

/* What a slice's update is made of. */
struct slice {
	sl_val param, grad, state[2], lr, step, coef;
	struct sl_optim_attr attr;
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

	(void)sl_adamw(g, pgmv, s->lr, s->step, s->coef, &s->attr);
}

struct optimizer {
	const char *name;
	int n_states;
	const char *state[2]; /* names as PyTorch's state dict has them */
	double weight_decay;  /* default */
	void (*update)(struct sl_graph *g, const struct slice *s);
};

static const struct optimizer optimizers[] = {
	{"adam", 2, {"exp_avg", "exp_avg_sq"}, 0, update_adam},
	{"adamw", 2, {"exp_avg", "exp_avg_sq"}, 0.01, update_adamw},
	{"momentum", 1, {"momentum_buffer", NULL}, 0, update_momentum},
	{"sgd", 0, {NULL, NULL}, 0, update_sgd},
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
		return SL_FAIL(SL_E_USAGE, "--optim %s is unknown; there are sgd, momentum, adam, adamw",
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
		return sl_graph_poison(g, SL_FAIL(SL_E_NOMEM, "no host memory for gradient norms"));
	for (size_t i = 0; i < n; i++)
		if (!sl_val_is_none(grads[i]))
			squares[count++] = sl_sum_squares(g, grads[i]);
	if (count > 0)
		coef = sl_clip_coef(g, squares, count, clip);
	sl_free(squares);
	return coef;
}

/* The state of one slice; a whole tensor keeps its shape, a slice is flat. */
static sl_val declare_state(struct sl_graph *g, const struct slice *s, const char *what, int64_t part)
{
	struct sl_type type = *sl_val_type(g, s->param);
	char name[256];

	if (s->attr.count > 0) {
		type.shape = SL_SHAPE(s->attr.count);
		snprintf(name, sizeof(name), "%s.%s.%lld", sl_val_name(g, s->param), what,
			(long long)part);
	} else {
		snprintf(name, sizeof(name), "%s.%s", sl_val_name(g, s->param), what);
	}
	return sl_state(g, name, &type, (struct sl_init){SL_INIT_ZERO, 0});
}

static void update_param(struct sl_graph *g, const struct optimizer *o, struct slice s)
{
	const struct sl_type *type = sl_val_type(g, s.param);
	int64_t count = sl_shape_count(&type->shape);
	int64_t most = SL_OPTIM_SLICE_BYTES / (int64_t)sl_dtype_bytes(type->dtype);
	int64_t part = 0;

	for (int64_t begin = 0; begin < count; begin += most, part++) {
		s.attr.begin = begin;
		s.attr.count = count <= most ? 0 : count - begin < most ? count - begin : most;
		for (int i = 0; i < o->n_states; i++)
			s.state[i] = declare_state(g, &s, o->state[i], part);
		o->update(g, &s);
	}
}

sl_status sl_optimizer_append(struct sl_graph *g, const struct sl_session_config *config,
	const sl_val *params, const sl_val *grads, size_t n)
{
	const struct optimizer *o = find(config->optim);
	const struct sl_type counter = {.dtype = SL_I64, .shape = SL_SCALAR};
	struct sl_schedule_attr schedule = config->schedule;
	struct slice s = {
		.attr = {.momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
			.weight_decay = config->weight_decay < 0 ? o->weight_decay
								 : config->weight_decay},
	};

	schedule.base = config->lr > 0 ? config->lr : 1e-3;
	sl_graph_scope(g, "optimizer");
	s.step = sl_state(g, "optimizer.step", &counter, (struct sl_init){SL_INIT_ZERO, 0});
	s.lr = sl_learning_rate(g, s.step, &schedule);
	s.coef = clip_factor(g, config->clip, grads, n);
	for (size_t i = 0; i < n; i++) {
		if (sl_val_is_none(grads[i]))
			continue;
		s.param = params[i];
		s.grad = grads[i];
		update_param(g, o, s);
	}
	(void)sl_step_next(g, s.step);
	sl_graph_scope(g, "");
	return sl_graph_status(g);
}

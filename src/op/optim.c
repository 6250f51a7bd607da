/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers, in place on a parameter (or a slice of it) and its states; the rules of
 * PyTorch 1.13.
 *
 * First g = coef grad, where a clipping factor is given, then
 *   sgd       g += wd p;  p -= lr g
 *   momentum  g += wd p;  buf = mu buf + g;  p -= lr (nesterov ? g + mu buf : buf)
 *   adam      g += wd p;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *             p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps), t = step + 1
 *   adamw     p *= 1 - lr wd, then as adam without decay of g
 * The momentum buffer starts at zero, so the first step gives buf = g as PyTorch's does.
 * Scalars are f64; p, m, v and buf are rounded where they are stored, and what is stored
 * is used. Sources: Kingma, Ba, arXiv 1412.6980; Loshchilov, Hutter, arXiv 1711.05101.
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_optim_attr, begin, I64, 1),
	SL_ATTR(struct sl_optim_attr, count, I64, 1),
	SL_ATTR(struct sl_optim_attr, momentum, F64, 1),
	SL_ATTR(struct sl_optim_attr, beta1, F64, 1),
	SL_ATTR(struct sl_optim_attr, beta2, F64, 1),
	SL_ATTR(struct sl_optim_attr, eps, F64, 1),
	SL_ATTR(struct sl_optim_attr, weight_decay, F64, 1),
	SL_ATTR(struct sl_optim_attr, nesterov, BOOL, 1),
};

/* Elements updated. */
static int64_t slice_count(const struct sl_node_info *n)
{
	const struct sl_optim_attr *a = n->attr;

	return a->count ? a->count : sl_shape_count(&n->in[0].shape) - a->begin;
}

static sl_status check_slice(const struct sl_node_info *n)
{
	const struct sl_optim_attr *a = n->attr;
	int64_t all = sl_shape_count(&n->in[0].shape);

	if (a->begin < 0 || a->count < 0 || a->begin > all || a->count > all - a->begin)
		return SL_FAIL(SL_E_INVALID,
			"slice of %" PRId64 " elements from %" PRId64
			" of a parameter with %" PRId64,
			a->count, a->begin, all);
	return SL_OK;
}

static sl_status check_scalar(const struct sl_node_info *n, int i)
{
	SL_TRY(sl_check_float(n, i));
	return sl_check_shape(n, i, &SL_SCALAR);
}

/* n_states states after p and grad, then lr; coef, where present, is the last input. */
static sl_status check_common(const struct sl_node_info *n, int n_states)
{
	int64_t count;
	int last = n->op->max_in - 1;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_type_as(n, 1, 0));
	SL_TRY(check_slice(n));
	count = slice_count(n);
	for (int i = 2; i < 2 + n_states; i++) {
		SL_TRY(sl_check_dtype_as(n, i, 0));
		if (sl_shape_count(&n->in[i].shape) != count)
			return SL_FAIL(SL_E_SHAPE,
				"state %d has %" PRId64
				" elements; the slice has %" PRId64,
				i - 2, sl_shape_count(&n->in[i].shape), count);
	}
	SL_TRY(check_scalar(n, 2 + n_states));
	return sl_node_has(n, last) ? check_scalar(n, last) : SL_OK;
}

/* A running update. */
struct update {
	const struct sl_call *c;
	const struct sl_optim_attr *a;
	enum sl_dtype t;
	double lr, coef;
	int64_t begin, count;
};

static struct update update_of(const struct sl_call *c, int lr_in)
{
	const struct sl_optim_attr *a = c->node->attr;
	int last = c->node->op->max_in - 1;

	return (struct update){.c = c,
		.a = a,
		.t = c->node->in[0].dtype,
		.lr = sl_in(c, lr_in, 0),
		.coef = sl_node_has(c->node, last) ? sl_in(c, last, 0) : 1,
		.begin = a->begin,
		.count = slice_count(c->node)};
}

/* Gradient of element i of the slice, clipped, with L2 decay. */
static double gradient(const struct update *u, int64_t i, double decay)
{
	double g = u->coef * sl_in(u->c, 1, u->begin + i);

	return decay != 0 ? g + decay * sl_in(u->c, 0, u->begin + i) : g;
}

static void set_param(const struct update *u, int64_t i, double p)
{
	sl_set(u->c->in[0], u->t, u->begin + i, p);
}

/* Stores a state and returns what its type kept of it. */
static double set_state(const struct update *u, int k, int64_t i, double v)
{
	sl_set(u->c->in[k], u->t, i, v);
	return sl_in(u->c, k, i);
}

static void cost(
	const struct sl_node_info *n, double flops, int n_states, struct sl_cost *out)
{
	double count = (double)slice_count(n);
	double element = (double)sl_dtype_bytes(n->in[0].dtype);

	/* grad is read; p and states are read and written. */
	*out = (struct sl_cost){.flops = flops * count,
		.bytes = count * element * (3 + 2 * (double)n_states)};
}

/*
 * An optimizer's operator. Inputs: p, grad, states, lr, `extra` more, and coef where the
 * gradient is clipped.
 */
#define OPTIM(op, states, extra, flops, check) \
	static sl_status op##_infer(const struct sl_node_info *n, struct sl_type *out) \
	{ \
		(void)out; \
		return check(n, states); \
	} \
	static void op##_cost(const struct sl_node_info *n, struct sl_cost *out) \
	{ \
		cost(n, flops, states, out); \
	} \
	const struct sl_op sl_op_##op = { \
		.name = #op, \
		.attr_bytes = sizeof(struct sl_optim_attr), \
		.fields = fields, \
		.n_fields = SL_COUNT(fields), \
		.min_in = 3 + (states) + (extra), \
		.max_in = 4 + (states) + (extra), \
		.optional_in = 1u << (3 + (states) + (extra)), \
		.mutates = 1 | ((1u << (states)) - 1) << 2, \
		.flags = SL_OP_IMPURE, \
		.infer = op##_infer, \
		.cost = op##_cost, \
		.ref = op##_ref, \
	};

static sl_status sgd_ref(const struct sl_call *c)
{
	struct update u = update_of(c, 2);

	for (int64_t i = 0; i < u.count; i++) {
		double g = gradient(&u, i, u.a->weight_decay);
		set_param(&u, i, sl_in(c, 0, u.begin + i) - u.lr * g);
	}
	return SL_OK;
}

OPTIM(sgd, 0, 0, 4, check_common)

sl_val sl_sgd(struct sl_graph *g, sl_val p, sl_val grad, sl_val lr, sl_val coef,
	const struct sl_optim_attr *attr)
{
	struct sl_optim_attr a = SL_ATTR_OR_ZERO(struct sl_optim_attr, attr);
	const sl_val in[] = {p, grad, lr, coef};

	return sl_graph_add(g, &sl_op_sgd, &a, in, SL_COUNT(in), NULL);
}

static sl_status momentum_ref(const struct sl_call *c)
{
	struct update u = update_of(c, 3);
	double mu = u.a->momentum;

	for (int64_t i = 0; i < u.count; i++) {
		double g = gradient(&u, i, u.a->weight_decay);
		double buf = set_state(&u, 2, i, mu * sl_in(c, 2, i) + g);
		double d = u.a->nesterov ? g + mu * buf : buf;
		set_param(&u, i, sl_in(c, 0, u.begin + i) - u.lr * d);
	}
	return SL_OK;
}

OPTIM(momentum, 1, 0, 8, check_common)

sl_val sl_momentum(struct sl_graph *g, const sl_val pgb[3], sl_val lr, sl_val coef,
	const struct sl_optim_attr *attr)
{
	struct sl_optim_attr a = SL_ATTR_OR_ZERO(struct sl_optim_attr, attr);
	const sl_val in[] = {pgb[0], pgb[1], pgb[2], lr, coef};

	return sl_graph_add(g, &sl_op_momentum, &a, in, SL_COUNT(in), NULL);
}

/* Inputs of adam and adamw. */
enum { ADAM_M = 2, ADAM_V, ADAM_LR, ADAM_STEP };

static sl_status check_adam(const struct sl_node_info *n, int n_states)
{
	const struct sl_optim_attr *a = n->attr;

	if (!(a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1 &&
		    a->eps >= 0))
		return SL_FAIL(SL_E_INVALID,
			"betas %g and %g must be in [0, 1), eps %g not negative",
			a->beta1, a->beta2, a->eps);
	if (n->in[ADAM_STEP].dtype != SL_I64)
		return SL_FAIL(SL_E_DTYPE, "the step count is %s; it must be i64",
			sl_dtype_name(n->in[ADAM_STEP].dtype));
	SL_TRY(sl_check_shape(n, ADAM_STEP, &SL_SCALAR));
	return check_common(n, n_states);
}

/* shrink: factor on p before; decay: of the gradient. */
static void adam_update(const struct sl_call *c, double shrink, double decay)
{
	struct update u = update_of(c, ADAM_LR);
	const struct sl_optim_attr *a = u.a;
	double t = (double)(*(const int64_t *)c->in[ADAM_STEP] + 1);
	double step_size = u.lr / (1 - pow(a->beta1, t));
	double root2 = sqrt(1 - pow(a->beta2, t));

	for (int64_t i = 0; i < u.count; i++) {
		double g = gradient(&u, i, decay);
		double p = sl_in(c, 0, u.begin + i) * shrink;
		double m = a->beta1 * sl_in(c, ADAM_M, i) + (1 - a->beta1) * g;
		double v = a->beta2 * sl_in(c, ADAM_V, i) + (1 - a->beta2) * g * g;
		m = set_state(&u, ADAM_M, i, m);
		v = set_state(&u, ADAM_V, i, v);
		set_param(&u, i, p - step_size * m / (sqrt(v) / root2 + a->eps));
	}
}

static sl_status adam_ref(const struct sl_call *c)
{
	const struct sl_optim_attr *a = c->node->attr;

	adam_update(c, 1, a->weight_decay);
	return SL_OK;
}

static sl_status adamw_ref(const struct sl_call *c)
{
	const struct sl_optim_attr *a = c->node->attr;

	adam_update(c, 1 - sl_in(c, ADAM_LR, 0) * a->weight_decay, 0);
	return SL_OK;
}

OPTIM(adam, 2, 1, 16, check_adam)
OPTIM(adamw, 2, 1, 16, check_adam)

sl_val sl_adam(struct sl_graph *g, const sl_val pgmv[4], sl_val lr, sl_val step,
	sl_val coef, const struct sl_optim_attr *attr)
{
	const sl_val in[] = {pgmv[0], pgmv[1], pgmv[2], pgmv[3], lr, step, coef};

	return sl_graph_add(g, &sl_op_adam, attr, in, SL_COUNT(in), NULL);
}

sl_val sl_adamw(struct sl_graph *g, const sl_val pgmv[4], sl_val lr, sl_val step,
	sl_val coef, const struct sl_optim_attr *attr)
{
	const sl_val in[] = {pgmv[0], pgmv[1], pgmv[2], pgmv[3], lr, step, coef};

	return sl_graph_add(g, &sl_op_adamw, attr, in, SL_COUNT(in), NULL);
}

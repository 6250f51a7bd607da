/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalars around optimizers: step count, learning rate, gradient norm and its
 * clipping factor.
 *
 * Sums of squares go over chunks of 65536 elements, each in f64, and the chunks' sums are
 * added in order, so that any kernel can split the work without changing the order.
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"

#define CHUNK 65536
#define PI 3.14159265358979323846

static sl_status check_step(const struct sl_node_info *n, int i)
{
	if (n->in[i].dtype != SL_I64)
		return SL_FAIL(SL_E_DTYPE, "input %d is %s; a step count is i64", i,
			sl_dtype_name(n->in[i].dtype));
	return sl_check_shape(n, i, &SL_SCALAR);
}

static sl_status step_next_infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)out;
	return check_step(n, 0);
}

static sl_status step_next_ref(const struct sl_call *c)
{
	*(int64_t *)c->in[0] += 1;
	return SL_OK;
}

static void scalar_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 1;
}

const struct sl_op sl_op_step_next = {
	.name = "step_next",
	.min_in = 1,
	.max_in = 1,
	.mutates = 1,
	.flags = SL_OP_IMPURE,
	.infer = step_next_infer,
	.cost = scalar_cost,
	.ref = step_next_ref,
};

sl_val sl_step_next(struct sl_graph *g, sl_val step)
{
	return sl_op_add1(g, &sl_op_step_next, NULL, step);
}

typedef double (*decay_fn)(const struct sl_schedule_attr *a, double t);

static double decay_constant(const struct sl_schedule_attr *a, double t)
{
	(void)t;
	return a->base;
}

static double decay_step(const struct sl_schedule_attr *a, double t)
{
	return a->base * pow(a->gamma, floor(t / (double)a->period));
}

static double decay_cosine(const struct sl_schedule_attr *a, double t)
{
	double done = fmin(t / (double)(a->total - a->warmup), 1);

	return a->floor + 0.5 * (a->base - a->floor) * (1 + cos(PI * done));
}

static const decay_fn decays[] = {
	[SL_SCHEDULE_CONSTANT] = decay_constant,
	[SL_SCHEDULE_STEP] = decay_step,
	[SL_SCHEDULE_COSINE] = decay_cosine,
};

static sl_status check_schedule(const struct sl_schedule_attr *a)
{
	if (a->kind < 0 || a->kind >= (int64_t)SL_COUNT(decays))
		return SL_FAIL(SL_E_INVALID, "schedule %" PRId64 " is unknown", a->kind);
	if (!(isfinite(a->base) && a->base >= 0 && isfinite(a->floor) &&
		    isfinite(a->gamma)))
		return SL_FAIL(SL_E_INVALID,
			"learning rate %g, floor %g, gamma %g; they must be finite and "
			"the rate "
			"not negative",
			a->base, a->floor, a->gamma);
	if (a->warmup < 0)
		return SL_FAIL(SL_E_INVALID, "warm-up of %" PRId64 " steps", a->warmup);
	if (a->kind == SL_SCHEDULE_STEP && a->period < 1)
		return SL_FAIL(SL_E_INVALID,
			"period %" PRId64 "; it must be at least 1 step", a->period);
	if (a->kind == SL_SCHEDULE_COSINE && a->total <= a->warmup)
		return SL_FAIL(SL_E_INVALID,
			"the cosine ends at step %" PRId64
			", within the warm-up of %" PRId64,
			a->total, a->warmup);
	return SL_OK;
}

static sl_status learning_rate_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check_step(n, 0));
	SL_TRY(check_schedule(n->attr));
	out[0] = (struct sl_type){SL_F32, SL_SCALAR};
	return SL_OK;
}

/* The decay counts from the end of the warm-up. */
static sl_status learning_rate_ref(const struct sl_call *c)
{
	const struct sl_schedule_attr *a = c->node->attr;
	int64_t t = *(const int64_t *)c->in[0];

	if (t < a->warmup)
		sl_put(c, 0, 0, a->base * (double)(t + 1) / (double)a->warmup);
	else
		sl_put(c, 0, 0, decays[a->kind](a, (double)(t - a->warmup)));
	return SL_OK;
}

static const struct sl_attr_field schedule_fields[] = {
	SL_ATTR(struct sl_schedule_attr, kind, I64, 1),
	SL_ATTR(struct sl_schedule_attr, base, F64, 1),
	SL_ATTR(struct sl_schedule_attr, floor, F64, 1),
	SL_ATTR(struct sl_schedule_attr, gamma, F64, 1),
	SL_ATTR(struct sl_schedule_attr, warmup, I64, 1),
	SL_ATTR(struct sl_schedule_attr, period, I64, 1),
	SL_ATTR(struct sl_schedule_attr, total, I64, 1),
};

const struct sl_op sl_op_learning_rate = {
	.name = "learning_rate",
	.attr_bytes = sizeof(struct sl_schedule_attr),
	.fields = schedule_fields,
	.n_fields = SL_COUNT(schedule_fields),
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = learning_rate_infer,
	.cost = scalar_cost,
	.ref = learning_rate_ref,
};

sl_val sl_learning_rate(
	struct sl_graph *g, sl_val step, const struct sl_schedule_attr *attr)
{
	return sl_op_add1(g, &sl_op_learning_rate, attr, step);
}

static sl_status sum_squares_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_check_float(n, 0));
	out[0] = (struct sl_type){SL_F32, SL_SCALAR};
	return SL_OK;
}

static sl_status sum_squares_ref(const struct sl_call *c)
{
	int64_t count = sl_shape_count(&c->node->in[0].shape);
	double sum = 0;

	for (int64_t begin = 0; begin < count; begin += CHUNK) {
		int64_t end = begin + CHUNK < count ? begin + CHUNK : count;
		double part = 0;
		for (int64_t i = begin; i < end; i++)
			part += sl_in(c, 0, i) * sl_in(c, 0, i);
		sum += part;
	}
	sl_put(c, 0, 0, sum);
	return SL_OK;
}

static void sum_squares_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	sl_cost_move(n, out);
	out->flops = 2 * (double)sl_shape_count(&n->in[0].shape);
}

const struct sl_op sl_op_sum_squares = {
	.name = "sum_squares",
	.min_in = 1,
	.max_in = 1,
	.n_out = 1,
	.infer = sum_squares_infer,
	.cost = sum_squares_cost,
	.ref = sum_squares_ref,
};

sl_val sl_sum_squares(struct sl_graph *g, sl_val x)
{
	return sl_op_add1(g, &sl_op_sum_squares, NULL, x);
}

static sl_status clip_coef_infer(const struct sl_node_info *n, struct sl_type *out)
{
	const struct sl_clip_attr *a = n->attr;

	if (!(a->max_norm > 0))
		return SL_FAIL(SL_E_INVALID, "largest norm %g; it must be positive",
			a->max_norm);
	for (int i = 0; i < n->n_in; i++) {
		SL_TRY(sl_check_float(n, i));
		SL_TRY(sl_check_shape(n, i, &SL_SCALAR));
	}
	out[0] = (struct sl_type){SL_F32, SL_SCALAR};
	return SL_OK;
}

static sl_status clip_coef_ref(const struct sl_call *c)
{
	const struct sl_clip_attr *a = c->node->attr;
	double sum = 0;

	for (int i = 0; i < c->node->n_in; i++)
		sum += sl_in(c, i, 0);
	double coef = a->max_norm / (sqrt(sum) + 1e-6);
	/* NaN passes, as in PyTorch: the failure must not be hidden. */
	sl_put(c, 0, 0, coef > 1 ? 1 : coef);
	return SL_OK;
}

static const struct sl_attr_field clip_fields[] = {
	SL_ATTR(struct sl_clip_attr, max_norm, F64, 1),
};

const struct sl_op sl_op_clip_coef = {
	.name = "clip_coef",
	.attr_bytes = sizeof(struct sl_clip_attr),
	.fields = clip_fields,
	.n_fields = SL_COUNT(clip_fields),
	.min_in = 1,
	.max_in = SL_OP_MAX_IN,
	.n_out = 1,
	.infer = clip_coef_infer,
	.cost = scalar_cost,
	.ref = clip_coef_ref,
};

sl_val sl_clip_coef(struct sl_graph *g, const sl_val *squares, int n, double max_norm)
{
	struct sl_clip_attr a = {.max_norm = max_norm};

	return sl_graph_add(g, &sl_op_clip_coef, &a, squares, n, NULL);
}

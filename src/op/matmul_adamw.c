/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AdamW of a matrix whose gradient is one matrix product: p, m and v are updated as
 * `adamw` does with the gradient `matmul` gives, but the gradient need not be stored, so
 * a kernel can update a tile while it is in registers and hide the states' way through
 * memory behind the arithmetic. Inputs p, m, v [M, N], a, b of rank 2, lr, step.
 */
#include "op/op_util.h"

#include <math.h>

#include "base/compiler.h"

enum { P, M, V, A, B, LR, STEP, INPUTS };

static const struct sl_attr_field fields[] = {
	SL_ATTR(struct sl_matmul_adamw_attr, trans_a, BOOL, 1),
	SL_ATTR(struct sl_matmul_adamw_attr, trans_b, BOOL, 1),
	SL_ATTR(struct sl_matmul_adamw_attr, beta1, F64, 1),
	SL_ATTR(struct sl_matmul_adamw_attr, beta2, F64, 1),
	SL_ATTR(struct sl_matmul_adamw_attr, eps, F64, 1),
	SL_ATTR(struct sl_matmul_adamw_attr, weight_decay, F64, 1),
};

/* Sizes, and steps of m, k and n in elements. */
struct product {
	int64_t m, n, k, b_k;
	int64_t a_row, a_col, b_row, b_col;
};

static struct product product_of(const struct sl_node_info *n)
{
	const struct sl_matmul_adamw_attr *attr = n->attr;
	const int64_t *a = n->in[A].shape.dim;
	const int64_t *b = n->in[B].shape.dim;

	return (struct product){
		.m = a[attr->trans_a ? 1 : 0],
		.k = a[attr->trans_a ? 0 : 1],
		.b_k = b[attr->trans_b ? 1 : 0],
		.n = b[attr->trans_b ? 0 : 1],
		.a_row = attr->trans_a ? 1 : a[1],
		.a_col = attr->trans_a ? a[1] : 1,
		.b_row = attr->trans_b ? 1 : b[1],
		.b_col = attr->trans_b ? b[1] : 1,
	};
}

static sl_status check_numbers(const struct sl_node_info *n)
{
	const struct sl_matmul_adamw_attr *a = n->attr;

	if (!(a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1 &&
		    a->eps >= 0))
		return SL_FAIL(SL_E_INVALID,
			"betas %g and %g must be in [0, 1), eps %g not negative",
			a->beta1, a->beta2, a->eps);
	if (n->in[STEP].dtype != SL_I64)
		return SL_FAIL(SL_E_DTYPE, "the step count is %s; it must be i64",
			sl_dtype_name(n->in[STEP].dtype));
	SL_TRY(sl_check_shape(n, STEP, &SL_SCALAR));
	SL_TRY(sl_check_float(n, LR));
	return sl_check_shape(n, LR, &SL_SCALAR);
}

static sl_status infer(const struct sl_node_info *n, struct sl_type *out)
{
	(void)out;
	SL_TRY(check_numbers(n));
	SL_TRY(sl_check_float(n, P));
	SL_TRY(sl_check_rank(n, P, 2));
	SL_TRY(sl_check_type_as(n, M, P));
	SL_TRY(sl_check_type_as(n, V, P));
	for (int i = A; i <= B; i++) {
		SL_TRY(sl_check_dtype_as(n, i, P));
		SL_TRY(sl_check_rank(n, i, 2));
	}
	struct product x = product_of(n);
	if (x.k != x.b_k)
		return SL_FAIL(SL_E_SHAPE,
			"inner sizes differ: %lld and %lld; set trans_a or trans_b if an "
			"operand is stored the other way round",
			(long long)x.k, (long long)x.b_k);
	return sl_check_shape(n, P, &SL_SHAPE(x.m, x.n));
}

static void cost(const struct sl_node_info *n, struct sl_cost *out)
{
	struct product x = product_of(n);
	double count = (double)x.m * (double)x.n;
	double operands = ((double)x.m + (double)x.n) * (double)x.k;

	out->flops = (2 * (double)x.k + 16) * count;
	out->bytes = (6 * count + operands) * (double)sl_dtype_bytes(n->in[P].dtype);
}

static double gradient(const struct sl_call *c, const struct product *x, int64_t i)
{
	int64_t a = i / x->n * x->a_row;
	int64_t b = i % x->n * x->b_col;
	double sum = 0;

	for (int64_t k = 0; k < x->k; k++)
		sum += sl_in(c, A, a + k * x->a_col) * sl_in(c, B, b + k * x->b_row);
	return sum;
}

/* Stores a state and returns what its type kept of it. */
static double set_state(const struct sl_call *c, int k, int64_t i, double v)
{
	sl_set(c->in[k], c->node->in[k].dtype, i, v);
	return sl_in(c, k, i);
}

static sl_status ref(const struct sl_call *c)
{
	const struct sl_matmul_adamw_attr *a = c->node->attr;
	struct product x = product_of(c->node);
	double lr = sl_in(c, LR, 0);
	double t = (double)(*(const int64_t *)c->in[STEP] + 1);
	double step_size = lr / (1 - pow(a->beta1, t));
	double root2 = sqrt(1 - pow(a->beta2, t));

	for (int64_t i = 0; i < x.m * x.n; i++) {
		double g = gradient(c, &x, i);
		double p = sl_in(c, P, i) * (1 - lr * a->weight_decay);
		double m = a->beta1 * sl_in(c, M, i) + (1 - a->beta1) * g;
		double v = a->beta2 * sl_in(c, V, i) + (1 - a->beta2) * g * g;
		m = set_state(c, M, i, m);
		v = set_state(c, V, i, v);
		(void)set_state(c, P, i, p - step_size * m / (sqrt(v) / root2 + a->eps));
	}
	return SL_OK;
}

const struct sl_op sl_op_matmul_adamw = {
	.name = "matmul_adamw",
	.attr_bytes = sizeof(struct sl_matmul_adamw_attr),
	.fields = fields,
	.n_fields = SL_COUNT(fields),
	.min_in = INPUTS,
	.max_in = INPUTS,
	.mutates = 1u << P | 1u << M | 1u << V,
	.flags = SL_OP_IMPURE,
	.infer = infer,
	.cost = cost,
	.ref = ref,
};

sl_val sl_matmul_adamw(struct sl_graph *g, const sl_val pmvab[5], sl_val lr, sl_val step,
	const struct sl_matmul_attr *form, const struct sl_optim_attr *attr)
{
	struct sl_matmul_adamw_attr own = {.trans_a = form->trans_a,
		.trans_b = form->trans_b,
		.beta1 = attr->beta1,
		.beta2 = attr->beta2,
		.eps = attr->eps,
		.weight_decay = attr->weight_decay};
	const sl_val in[] = {pmvab[0], pmvab[1], pmvab[2], pmvab[3], pmvab[4], lr, step};

	return sl_graph_add(g, &sl_op_matmul_adamw, &own, in, INPUTS, NULL);
}

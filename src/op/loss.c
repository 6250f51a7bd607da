/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses and what is counted beside them.
 *
 * cross_entropy: logits [..., C], labels [...]; the mean over counted rows of log(sum
 * exp(x)) - x[label], with the row's largest logit taken out first. Rows whose label is
 * the ignored one count for nothing and get a zero gradient whatever their logits are;
 * the ignored label may lie outside the classes or be one of them. No counted row: NaN,
 * as PyTorch. A label outside [0, C) is SL_E_INVALID. The gradient may overwrite the
 * logits, which often are the largest tensor of a language model. mse: the mean over all
 * elements. count_correct: rows whose first largest logit is the label; NaN is larger
 * than any number (PyTorch).
 */
#include "op/op_util.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"

static const struct sl_attr_field ce_fields[] = {
	SL_ATTR(struct sl_cross_entropy_attr, ignore_index, I64, 1),
	SL_ATTR(struct sl_cross_entropy_attr, has_ignore, BOOL, 1),
};

/* Logits [..., C] and labels [...]. */
static sl_status check_rows(const struct sl_node_info *n)
{
	struct sl_shape rows = n->in[0].shape;

	SL_TRY(sl_check_float(n, 0));
	SL_TRY(sl_check_min_rank(n, 0, 1));
	SL_TRY(sl_check_index(n, 1));
	rows.rank--;
	SL_TRY(sl_check_shape(n, 1, &rows));
	if (n->in[0].shape.dim[rows.rank] < 1)
		return SL_FAIL(SL_E_SHAPE, "the logits have no classes");
	return SL_OK;
}

static sl_status ce_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check_rows(n));
	out[0] = (struct sl_type){.dtype = n->in[0].dtype, .shape = SL_SCALAR};
	return SL_OK;
}

static sl_status ce_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_shape scalar = SL_SCALAR;

	SL_TRY(check_rows(n));
	SL_TRY(sl_check_dtype_as(n, 2, 0));
	SL_TRY(sl_check_shape(n, 2, &scalar));
	out[0] = n->in[0];
	return SL_OK;
}

static sl_status ce_grad(struct sl_grad *c)
{
	c->din[0] =
		sl_cross_entropy_dx(c->g, c->in[0], c->in[1], c->dout[0], c->node->attr);
	return SL_OK;
}

struct rows {
	int64_t n, classes;
};

static struct rows rows_of(const struct sl_call *c)
{
	const struct sl_shape *s = &c->node->in[0].shape;
	return (struct rows){
		.n = sl_shape_span(s, 0, s->rank - 1), .classes = s->dim[s->rank - 1]};
}

static int64_t label_at(const struct sl_call *c, int64_t row)
{
	return sl_get_i64(c->in[1], c->node->in[1].dtype, row);
}

static bool is_ignored(const struct sl_call *c, int64_t label)
{
	const struct sl_cross_entropy_attr *a = c->node->attr;
	return a->has_ignore && label == a->ignore_index;
}

/* Checks all labels; counts those that are not ignored. */
static sl_status count_rows(const struct sl_call *c, struct rows rows, int64_t *out)
{
	int64_t counted = 0;

	for (int64_t r = 0; r < rows.n; r++) {
		int64_t label = label_at(c, r);
		if (is_ignored(c, label))
			continue;
		if (label < 0 || label >= rows.classes)
			return SL_FAIL(SL_E_INVALID,
				"label %" PRId64 " at position %" PRId64
				" is not one of the classes 0 to %" PRId64
				"; check the data or set an ignored label",
				label, r, rows.classes - 1);
		counted++;
	}
	*out = counted;
	return SL_OK;
}

/* log(sum exp(row)); the largest logit is taken out, so that 1e4 does not overflow. */
static double row_lse(const struct sl_call *c, struct rows rows, int64_t row)
{
	double top = -HUGE_VAL;
	double sum = 0;

	for (int64_t j = 0; j < rows.classes; j++) {
		double v = sl_in(c, 0, row * rows.classes + j);
		top = v > top || isnan(v) ? v : top;
	}
	for (int64_t j = 0; j < rows.classes; j++)
		sum += exp(sl_in(c, 0, row * rows.classes + j) - top);
	return top + log(sum);
}

static sl_status ce_ref(const struct sl_call *c)
{
	struct rows rows = rows_of(c);
	int64_t counted = 0;
	double loss = 0;

	SL_TRY(count_rows(c, rows, &counted));
	for (int64_t r = 0; r < rows.n; r++) {
		int64_t label = label_at(c, r);
		if (!is_ignored(c, label))
			loss += row_lse(c, rows, r) -
				sl_in(c, 0, r * rows.classes + label);
	}
	sl_put(c, 0, 0, loss / (double)counted);
	return SL_OK;
}

static sl_status ce_dx_ref(const struct sl_call *c)
{
	struct rows rows = rows_of(c);
	int64_t counted = 0;

	SL_TRY(count_rows(c, rows, &counted));
	double scale = sl_in(c, 2, 0) / (double)counted;
	for (int64_t r = 0; r < rows.n; r++) {
		int64_t label = label_at(c, r);
		bool ignored = is_ignored(c, label);
		double lse = ignored ? 0 : row_lse(c, rows, r);
		for (int64_t j = 0; j < rows.classes; j++) {
			int64_t i = r * rows.classes + j;
			double p = ignored ? 0 : exp(sl_in(c, 0, i) - lse);
			sl_put(c, 0, i, ignored ? 0 : (p - (j == label)) * scale);
		}
	}
	return SL_OK;
}

static void ce_cost(const struct sl_node_info *n, struct sl_cost *out)
{
	double logits = (double)sl_type_bytes(&n->in[0]);

	/* An exponential is some ten operations. */
	out->flops = 13 * (double)sl_shape_count(&n->in[0].shape);
	out->bytes = logits + (double)sl_type_bytes(&n->in[1]) +
		     (double)sl_type_bytes(&n->out[0]);
}

const struct sl_op sl_op_cross_entropy = {
	.name = "cross_entropy",
	.attr_bytes = sizeof(struct sl_cross_entropy_attr),
	.fields = ce_fields,
	.n_fields = SL_COUNT(ce_fields),
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = ce_infer,
	.grad = ce_grad,
	.cost = ce_cost,
	.ref = ce_ref,
};

const struct sl_op sl_op_cross_entropy_dx = {
	.name = "cross_entropy_dx",
	.attr_bytes = sizeof(struct sl_cross_entropy_attr),
	.fields = ce_fields,
	.n_fields = SL_COUNT(ce_fields),
	.min_in = 3,
	.max_in = 3,
	.n_out = 1,
	.inplace_in = 1,
	.infer = ce_dx_infer,
	.cost = ce_cost,
	.ref = ce_dx_ref,
};

sl_val sl_cross_entropy(struct sl_graph *g, sl_val logits, sl_val labels,
	const struct sl_cross_entropy_attr *attr)
{
	struct sl_cross_entropy_attr a =
		SL_ATTR_OR_ZERO(struct sl_cross_entropy_attr, attr);
	return sl_op_add2(g, &sl_op_cross_entropy, &a, logits, labels);
}

sl_val sl_cross_entropy_dx(struct sl_graph *g, sl_val logits, sl_val labels, sl_val dloss,
	const struct sl_cross_entropy_attr *attr)
{
	struct sl_cross_entropy_attr a =
		SL_ATTR_OR_ZERO(struct sl_cross_entropy_attr, attr);
	return sl_op_add3(g, &sl_op_cross_entropy_dx, &a, logits, labels, dloss);
}

static sl_status mse_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(sl_infer_pair_float(n, out));
	out[0].shape = SL_SCALAR;
	return SL_OK;
}

static sl_status mse_dx_infer(const struct sl_node_info *n, struct sl_type *out)
{
	struct sl_shape scalar = SL_SCALAR;

	SL_TRY(sl_infer_pair_float(n, out));
	SL_TRY(sl_check_dtype_as(n, 2, 0));
	return sl_check_shape(n, 2, &scalar);
}

static sl_status mse_grad(struct sl_grad *c)
{
	sl_val d = sl_mse_dx(c->g, c->in[0], c->in[1], c->dout[0]);

	if (c->need[0])
		c->din[0] = d;
	if (c->need[1])
		c->din[1] = sl_affine(c->g, d, -1, 0);
	return SL_OK;
}

static sl_status mse_ref(const struct sl_call *c)
{
	int64_t count = sl_shape_count(&c->node->in[0].shape);
	double sum = 0;

	for (int64_t i = 0; i < count; i++) {
		double d = sl_in(c, 0, i) - sl_in(c, 1, i);
		sum += d * d;
	}
	sl_put(c, 0, 0, sum / (double)count);
	return SL_OK;
}

static sl_status mse_dx_ref(const struct sl_call *c)
{
	int64_t count = sl_shape_count(&c->node->in[0].shape);
	double scale = 2 * sl_in(c, 2, 0) / (double)count;

	for (int64_t i = 0; i < count; i++)
		sl_put(c, 0, i, scale * (sl_in(c, 0, i) - sl_in(c, 1, i)));
	return SL_OK;
}

const struct sl_op sl_op_mse = {
	.name = "mse",
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = mse_infer,
	.grad = mse_grad,
	.ref = mse_ref,
};

const struct sl_op sl_op_mse_dx = {
	.name = "mse_dx",
	.min_in = 3,
	.max_in = 3,
	.n_out = 1,
	.inplace_in = 1,
	.infer = mse_dx_infer,
	.ref = mse_dx_ref,
};

sl_val sl_mse(struct sl_graph *g, sl_val x, sl_val target)
{
	return sl_op_add2(g, &sl_op_mse, NULL, x, target);
}

sl_val sl_mse_dx(struct sl_graph *g, sl_val x, sl_val target, sl_val dloss)
{
	return sl_op_add3(g, &sl_op_mse_dx, NULL, x, target, dloss);
}

static sl_status correct_infer(const struct sl_node_info *n, struct sl_type *out)
{
	SL_TRY(check_rows(n));
	out[0] = (struct sl_type){.dtype = SL_F32, .shape = SL_SCALAR};
	return SL_OK;
}

static int64_t first_largest(const struct sl_call *c, struct rows rows, int64_t row)
{
	int64_t best = 0;
	double top = sl_in(c, 0, row * rows.classes);

	for (int64_t j = 1; j < rows.classes && !isnan(top); j++) {
		double v = sl_in(c, 0, row * rows.classes + j);
		if (v > top || isnan(v)) {
			best = j;
			top = v;
		}
	}
	return best;
}

static sl_status correct_ref(const struct sl_call *c)
{
	struct rows rows = rows_of(c);
	int64_t correct = 0;

	for (int64_t r = 0; r < rows.n; r++)
		correct += first_largest(c, rows, r) == label_at(c, r);
	sl_put(c, 0, 0, (double)correct);
	return SL_OK;
}

const struct sl_op sl_op_count_correct = {
	.name = "count_correct",
	.min_in = 2,
	.max_in = 2,
	.n_out = 1,
	.infer = correct_infer,
	.ref = correct_ref,
};

sl_val sl_count_correct(struct sl_graph *g, sl_val logits, sl_val labels)
{
	return sl_op_add2(g, &sl_op_count_correct, NULL, logits, labels);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy, its gradient, and the count of right rows, a row of logits at a time.
 * f32; the largest logit is taken out first. Row losses lie in the workspace and are
 * added in order, in double. The gradient reads its row three times and may overwrite it.
 */
#include "kernel/cpu/cpu.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sluice/attrs.h"

struct rows {
	int64_t n, classes;
	int64_t counted; /* rows that are not ignored */
};

static bool accepts(const struct sl_node_info *n)
{
	return sl_cpu_is_f32_but(n, 1);
}

static int64_t label_at(const struct sl_call *c, int64_t row)
{
	return sl_cpu_index(c->in[1], c->node->in[1].dtype, row);
}

static bool is_ignored(const struct sl_call *c, int64_t label)
{
	const struct sl_cross_entropy_attr *a = c->node->attr;
	return a->has_ignore && label == a->ignore_index;
}

static struct rows rows_of(const struct sl_node_info *n)
{
	const struct sl_shape *s = &n->in[0].shape;
	return (struct rows){
		.n = sl_shape_span(s, 0, s->rank - 1), .classes = s->dim[s->rank - 1]};
}

static sl_status check_labels(const struct sl_call *c, struct rows *rows)
{
	rows->counted = 0;
	for (int64_t r = 0; r < rows->n; r++) {
		int64_t label = label_at(c, r);
		if (is_ignored(c, label))
			continue;
		if (label < 0 || label >= rows->classes)
			return SL_FAIL(SL_E_INVALID,
				"label %" PRId64 " at position %" PRId64
				" is not one of the classes 0 to %" PRId64
				"; check the data or set an ignored label",
				label, r, rows->classes - 1);
		rows->counted++;
	}
	return SL_OK;
}

static void loss_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct rows *rows = arg;
	double *loss = c->workspace;

	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * rows->classes;
		int64_t label = label_at(c, r);
		loss[r] = 0;
		if (is_ignored(c, label))
			continue;
		float top = sl_cpu_max(x, rows->classes);
		double sum = sl_cpu_exp_sum(x, NULL, rows->classes, top);
		loss[r] = log(sum) + ((double)top - (double)x[label]);
	}
}

static sl_status loss_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	*out = (struct sl_prepared){
		.workspace_bytes = (size_t)rows_of(n).n * sizeof(double)};
	return SL_OK;
}

static sl_status loss_run(const struct sl_call *c)
{
	struct rows rows = rows_of(c->node);
	const double *loss = c->workspace;
	float *out = c->out[0];
	double sum = 0;

	SL_TRY(check_labels(c, &rows));
	sl_cpu_for(c, &rows, rows.n, sl_cpu_grain(rows.classes), loss_range);
	for (int64_t r = 0; r < rows.n; r++)
		sum += loss[r];
	out[0] = (float)(sum / (double)rows.counted);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_cross_entropy = {
	.name = "vec_cross_entropy",
	.op = "cross_entropy",
	.rank = 10,
	.accepts = accepts,
	.prepare = loss_prepare,
	.run = loss_run,
};

/* (softmax - one at the label) dloss / counted */
static void dx_range(const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct rows *rows = arg;
	int64_t n = rows->classes;
	double mean = (double)((const float *)c->in[2])[0] / (double)rows->counted;

	for (int64_t r = begin; r < end; r++) {
		const float *x = (const float *)c->in[0] + r * n;
		float *y = (float *)c->out[0] + r * n;
		int64_t label = label_at(c, r);
		if (is_ignored(c, label)) {
			memset(y, 0, (size_t)n * sizeof(float));
			continue;
		}
		double sum = sl_cpu_exp_sum(x, y, n, sl_cpu_max(x, n));
		float scale = (float)(mean / sum);
		double own = ((double)y[label] / sum - 1) * mean;
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			y[i] *= scale;
		y[label] = (float)own;
	}
}

static sl_status dx_run(const struct sl_call *c)
{
	struct rows rows = rows_of(c->node);

	SL_TRY(check_labels(c, &rows));
	sl_cpu_for(c, &rows, rows.n, sl_cpu_grain(rows.classes), dx_range);
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_cross_entropy_dx = {
	.name = "vec_cross_entropy_dx",
	.op = "cross_entropy_dx",
	.rank = 10,
	.accepts = accepts,
	.run = dx_run,
};

/* Whether the first largest element is the one at `label`; NaN is larger than numbers. */
static bool is_right(const float *x, int64_t n, int64_t label)
{
	if (label < 0 || label >= n)
		return false;
	float top = sl_cpu_max(x, n);
	bool nan = top != top;
	int64_t i = 0;

	if (nan ? x[label] == x[label] : x[label] != top)
		return false;
	while (nan ? x[i] == x[i] : x[i] != top)
		i++;
	return i == label;
}

static void correct_range(
	const struct sl_call *c, const void *arg, int64_t begin, int64_t end)
{
	const struct rows *rows = arg;
	uint8_t *right = c->workspace;

	for (int64_t r = begin; r < end; r++)
		right[r] = is_right((const float *)c->in[0] + r * rows->classes,
			rows->classes, label_at(c, r));
}

static sl_status correct_prepare(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	(void)env;
	*out = (struct sl_prepared){.workspace_bytes = (size_t)rows_of(n).n};
	return SL_OK;
}

static sl_status correct_run(const struct sl_call *c)
{
	struct rows rows = rows_of(c->node);
	const uint8_t *right = c->workspace;
	int64_t correct = 0;

	sl_cpu_for(c, &rows, rows.n, sl_cpu_grain(rows.classes), correct_range);
	for (int64_t r = 0; r < rows.n; r++)
		correct += right[r];
	*(float *)c->out[0] = (float)correct;
	return SL_OK;
}

const struct sl_kernel sl_kernel_vec_count_correct = {
	.name = "vec_count_correct",
	.op = "count_correct",
	.rank = 10,
	.accepts = accepts,
	.prepare = correct_prepare,
	.run = correct_run,
};

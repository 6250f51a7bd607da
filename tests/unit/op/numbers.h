/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_OP_NUMBERS_H
#define SL_TESTS_OP_NUMBERS_H

#include <math.h>

#include "harness/evaluate.h"
#include "harness/harness.h"
#include "sluice/ops.h"

/* Short words for tests of operators: f64 inputs, numbers in, numbers out, gradients. */

static inline struct sl_graph *new_graph(void)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	return g;
}

/* An f64 input of this shape. */
static inline sl_val input(struct sl_graph *g, const char *name, struct sl_shape shape)
{
	return sl_input(g, name, &(struct sl_type){SL_F64, shape}, NULL);
}

#define COUNT_OF(...) ((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
#define SET(e, v, ...) \
	sl_eval_set((e), (v), (double[]){__VA_ARGS__}, COUNT_OF(__VA_ARGS__))
#define NEAR(e, v, ...) \
	assert_true(sl_eval_near( \
		(e), (v), (double[]){__VA_ARGS__}, COUNT_OF(__VA_ARGS__), 1e-12))

/* Numbers without symmetry in [-1, 1], another sequence for each value. */
static inline void scatter(struct sl_eval *e, sl_val v)
{
	for (int64_t i = 0; i < sl_eval_count(e, v); i++) {
		double x = sin((double)(i + 1) * 1.7 + (double)v.index * 0.61);
		enum sl_dtype t = sl_val_type(e->g, v)->dtype;
		if (t == SL_F64)
			((double *)e->data[v.index])[i] = x;
		else
			((float *)e->data[v.index])[i] = (float)x;
	}
}

/* sum(y dy) and its gradients; dy is a new input. */
static inline sl_val backward(struct sl_graph *g, sl_val y, sl_val *dy, const sl_val *wrt,
	size_t n, sl_val *out)
{
	struct sl_type type = *sl_val_type(g, y);
	sl_val loss;

	*dy = sl_input(g, "dy", &type, NULL);
	loss = sl_sum(g, sl_mul(g, y, *dy), NULL);
	struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = wrt, .n_wrt = n};
	sl_assert_ok(sl_graph_grad(g, &r, out));
	return loss;
}

static inline void compare(
	struct sl_eval *e, sl_val loss, sl_val x, int64_t i, double analytic)
{
	const double h = 1e-5;
	double *at = (double *)e->data[x.index] + i;
	double before = *at;

	*at = before + h;
	sl_assert_ok(sl_eval_run(e));
	double up = sl_eval_get(e, loss, 0);
	*at = before - h;
	sl_assert_ok(sl_eval_run(e));
	double numeric = (up - sl_eval_get(e, loss, 0)) / (2 * h);
	*at = before;
	if (!(fabs(numeric - analytic) <= 1e-6 * fmax(1, fabs(numeric))))
		fail_msg("element %lld: gradient %.12g, central difference %.12g",
			(long long)i, analytic, numeric);
}

/* Central differences of sum(y dy) in each element of these n f64 inputs; destroys g. */
static inline void check_gradients(
	struct sl_graph *g, sl_val y, const sl_val *wrt, size_t n)
{
	struct sl_eval e;
	sl_val grad[8];
	sl_val dy;

	sl_assert_ok(sl_graph_status(g));
	sl_val loss = backward(g, y, &dy, wrt, n, grad);
	sl_assert_ok(sl_eval_init(&e, g));
	e.run.seed = 3;
	scatter(&e, dy);
	for (size_t k = 0; k < n; k++)
		scatter(&e, wrt[k]);
	for (size_t k = 0; k < n; k++) {
		for (int64_t i = 0; i < sl_eval_count(&e, wrt[k]); i++) {
			sl_assert_ok(sl_eval_run(&e));
			compare(&e, loss, wrt[k], i, sl_eval_get(&e, grad[k], i));
		}
	}
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every CUDA kernel must keep, over the table and over the cases of tests/cases/op
 * and tests/cases/cuda: the reference's results, the same bits each time and for whatever
 * order the blocks come in, in the bytes of an input where the operator allows it, with
 * empty shapes, with NaN and infinity, and the reference's words where data are wrong.
 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernel/rig.h"
#include "harness/node_run.h"
#include "kernel/cuda/kernels.h"
#include "op/op_util.h"

struct both {
	const struct sl_op_case *c;
	const struct sl_kernel *kernel;
	struct sl_node_run got, want;
};

typedef sl_status (*check_fn)(struct both *x);

static sl_status run_kernel(struct both *x, struct sl_node_run *r, int in_place)
{
	return sl_node_run_do(r, rig_kernel(x->kernel), NULL, in_place);
}

static sl_status check_case(const struct sl_op_case *c, const struct sl_kernel *kernel,
	check_fn check, int *ran)
{
	struct both x = {.c = c, .kernel = kernel};
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_node_run_init(&x.got, c));
	if (!sl_kernel_accepts(kernel, &x.got.info))
		goto out;
	SL_TRY_OUT(sl_node_run_init(&x.want, c));
	++*ran;
	st = check(&x);
out:
	sl_node_run_finish(&x.got);
	sl_node_run_finish(&x.want);
	return st;
}

/* ONLY=cuda_relu in the environment: that kernel alone. */
static bool is_left_out(const struct sl_kernel *k)
{
	const char *only = getenv("ONLY");

	return only && strcmp(only, k->name) != 0;
}

/* Runs a check for each kernel on each case that it accepts; the large ones have more
 * than one tile, chunk and block. */
static void each_kernel(check_fn check, bool large)
{
	struct sl_op_cases cases = {0};
	const struct sl_kernel *k;
	int failed = 0;

	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/op"));
	if (large)
		sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/cuda"));
	for (size_t n = 0; (k = sl_cuda_kernels.at(n)) != NULL; n++) {
		int ran = 0;
		for (size_t i = 0; i < cases.n && !is_left_out(k); i++) {
			const struct sl_op_case *c = &cases.items[i];
			if (c->error != SL_OK || strcmp(c->op->name, k->op) != 0 ||
				check_case(c, k, check, &ran) == SL_OK)
				continue;
			failed++;
			print_error("%s on %s: %s\n", k->name, c->where, sl_last_error());
		}
		if (!ran && !is_left_out(k)) {
			print_error("%s accepts no case\n", k->name);
			failed++;
		}
	}
	sl_op_cases_finish(&cases);
	assert_int_equal(failed, 0);
}

static sl_status check_reference(struct both *x)
{
	SL_TRY(sl_node_run_do(&x->want, &sl_kernel_ref, NULL, -1));
	SL_TRY(run_kernel(x, &x->got, -1));
	return sl_node_run_near(&x->got, &x->want, x->c->tol32);
}

static void each_kernel_gives_what_the_reference_gives(void **state)
{
	(void)state;
	each_kernel(check_reference, true);
}

/* Each run of the emulator takes blocks and warps in another order. */
static sl_status check_again(struct both *x)
{
	SL_TRY(run_kernel(x, &x->want, -1));
	SL_TRY(run_kernel(x, &x->got, -1));
	return sl_node_run_near(&x->got, &x->want, 0);
}

static void results_have_the_same_bits_in_any_order_of_blocks(void **state)
{
	(void)state;
	each_kernel(check_again, true);
}

static sl_status check_in_place(struct both *x)
{
	const struct sl_node_info *n = &x->got.info;

	for (int i = 0; i < n->n_in; i++) {
		if (!sl_node_has(n, i) || !sl_node_inplace(n, i) ||
			sl_type_bytes(&n->in[i]) != sl_type_bytes(&n->out[0]))
			continue;
		SL_TRY(run_kernel(x, &x->want, -1));
		SL_TRY(run_kernel(x, &x->got, i));
		SL_TRY(sl_node_run_near(&x->got, &x->want, 0));
	}
	return SL_OK;
}

static void a_result_may_take_the_bytes_of_an_allowed_input(void **state)
{
	(void)state;
	each_kernel(check_in_place, true);
}

/* Kernels that may answer to NaN and infinity otherwise than the reference. */
static const struct {
	const char *kernel, *why;
} strangers[] = {
	{"cuda_conv2d", "padding is multiplied as zeros, and so by a NaN in the weights"},
	{"cuda_conv2d_dw", "the same"},
	{"cuda_conv2d_dx", "the same"},
	{"cuda_group_norm_dx", "an infinite gamma meets single gradients, not their sum"},
	{"cuda_attention", "0 times a value that is not finite, within a tile"},
	{"cuda_attention_dx", "the same"},
	{"cuda_attention_packed", "the same"},
	{"cuda_attention_packed_dx", "the same"},
};

static bool is_stranger(const struct sl_kernel *k)
{
	for (size_t i = 0; i < SL_COUNT(strangers); i++)
		if (strcmp(strangers[i].kernel, k->name) == 0)
			return true;
	return false;
}

static sl_status check_value(struct both *x, int in, int64_t at, double v)
{
	enum sl_dtype t = x->got.info.in[in].dtype;
	void *got = x->got.e.data[x->got.b.in[in].index];
	void *want = x->want.e.data[x->want.b.in[in].index];
	double old = sl_get(got, t, at);

	sl_set(got, t, at, v);
	sl_set(want, t, at, v);
	sl_status st = check_reference(x);
	sl_set(got, t, at, old);
	sl_set(want, t, at, old);
	if (st == SL_OK)
		return st;
	return sl_fail_prefix(st, "with %g at %lld of input %d", v, (long long)at, in);
}

static sl_status check_values(struct both *x)
{
	static const double values[] = {NAN, INFINITY, -INFINITY};
	const struct sl_node_info *n = &x->got.info;

	for (int i = 0; i < n->n_in && !is_stranger(x->kernel); i++) {
		int64_t count = sl_node_has(n, i) ? sl_shape_count(&n->in[i].shape) : 0;
		if (!count || !sl_dtype_is_float(n->in[i].dtype))
			continue;
		for (size_t v = 0; v < SL_COUNT(values); v++) {
			SL_TRY(check_value(x, i, 0, values[v]));
			SL_TRY(check_value(x, i, count - 1, values[v]));
		}
	}
	return SL_OK;
}

static void nan_and_infinity_pass_as_in_the_reference(void **state)
{
	(void)state;
	each_kernel(check_values, false);
}

static void empty_size(struct sl_op_case *c, int64_t size)
{
	for (int k = 0; k < c->n_in; k++)
		for (int j = 0; j < c->in[k].shape.rank; j++)
			if (c->in[k].shape.dim[j] == size)
				c->in[k].shape.dim[j] = 0;
}

static sl_status check_empty_case(const struct sl_op_case *c, const struct sl_kernel *k)
{
	struct both x = {.c = c, .kernel = k};
	sl_status st = SL_OK;

	if (sl_node_run_init(&x.got, c) != SL_OK || !sl_kernel_accepts(k, &x.got.info))
		goto out;
	SL_TRY_OUT(sl_node_run_init(&x.want, c));
	sl_status want = sl_node_run_do(&x.want, &sl_kernel_ref, NULL, -1);
	sl_status got = run_kernel(&x, &x.got, -1);
	if (got != want)
		st = SL_FAIL(SL_E_NO, "empty: %s; the reference gives %s",
			sl_status_name(got), sl_status_name(want));
	else if (got == SL_OK)
		st = sl_node_run_near(&x.got, &x.want, c->tol32);
out:
	sl_node_run_finish(&x.got);
	sl_node_run_finish(&x.want);
	return st;
}

static sl_status check_empty(struct both *x)
{
	for (int i = 0; i < x->c->n_in; i++) {
		for (int axis = 0; axis < x->c->in[i].shape.rank; axis++) {
			struct sl_op_case c = *x->c;
			empty_size(&c, c.in[i].shape.dim[axis]);
			SL_TRY(check_empty_case(&c, x->kernel));
		}
	}
	return SL_OK;
}

static void empty_shapes_are_as_in_the_reference(void **state)
{
	(void)state;
	each_kernel(check_empty, false);
}

/* Nodes that build and then fail: a label or an index out of range. */
static sl_status check_failure(const struct sl_op_case *c, const struct sl_kernel *k)
{
	struct both x = {.c = c, .kernel = k};
	char want[512] = "";
	sl_status st = SL_OK;

	if (sl_node_run_init(&x.got, c) == SL_OK && sl_kernel_accepts(k, &x.got.info)) {
		sl_status code = sl_node_run_do(&x.got, &sl_kernel_ref, NULL, -1);
		snprintf(want, sizeof(want), "%s", sl_last_error());
		sl_status got = run_kernel(&x, &x.got, -1);
		if (code != SL_OK && (got != code || strcmp(want, sl_last_error()) != 0))
			st = SL_FAIL(SL_E_NO, "%s; the reference says %s",
				sl_status_name(got), want);
	}
	sl_node_run_finish(&x.got);
	return st;
}

static void failures_say_what_the_reference_says(void **state)
{
	struct sl_op_cases cases = {0};
	const struct sl_kernel *k;
	int failed = 0;

	(void)state;
	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/op"));
	for (size_t n = 0; (k = sl_cuda_kernels.at(n)) != NULL; n++) {
		for (size_t i = 0; i < cases.n && !is_left_out(k); i++) {
			const struct sl_op_case *c = &cases.items[i];
			if (c->error == SL_OK || strcmp(c->op->name, k->op) != 0 ||
				check_failure(c, k) == SL_OK)
				continue;
			failed++;
			print_error("%s on %s: %s\n", k->name, c->where, sl_last_error());
		}
	}
	sl_op_cases_finish(&cases);
	assert_int_equal(failed, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_kernel_gives_what_the_reference_gives),
		SL_TEST(results_have_the_same_bits_in_any_order_of_blocks),
		SL_TEST(a_result_may_take_the_bytes_of_an_allowed_input),
		SL_TEST(nan_and_infinity_pass_as_in_the_reference),
		SL_TEST(empty_shapes_are_as_in_the_reference),
		SL_TEST(failures_say_what_the_reference_says),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

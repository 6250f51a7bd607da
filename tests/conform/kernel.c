/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every CPU kernel must keep, over the table and over the cases of tests/cases/op
 * (small) and tests/cases/kernel (large enough for several chunks): the reference's
 * results, within bounds, with the same bits for any number of workers, in the bytes of
 * an input where the operator allows it, with empty shapes, and with NaN and infinity
 * among the inputs.
 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "harness/node_run.h"
#include "op/op_util.h"

/* A case, a kernel that accepts it, and the same node for the reference. */
struct both {
	const struct sl_op_case *c;
	const struct sl_kernel *kernel;
	struct sl_node_run got, want;
	bool last; /* channels */
};

typedef sl_status (*check_fn)(struct both *x);

static struct sl_op_cases read_cases(void)
{
	struct sl_op_cases cases = {0};

	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/op"));
	sl_assert_ok(sl_op_cases_read(&cases, "tests/cases/kernel"));
	return cases;
}

/* Checks that run a case many times leave out those with large inputs. */
static bool is_small(const struct sl_op_case *c)
{
	for (int i = 0; i < c->n_in; i++)
		if (sl_shape_count(&c->in[i].shape) > 4096)
			return false;
	return true;
}

static sl_status check_layout(const struct sl_op_case *c, const struct sl_kernel *kernel,
	bool channels_last, check_fn check, int *ran)
{
	struct both x = {.c = c, .kernel = kernel};
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_node_run_init(&x.got, c));
	if (channels_last && !sl_node_run_channels_last(&x.got))
		goto out;
	if (!sl_kernel_accepts(kernel, &x.got.info))
		goto out;
	SL_TRY_OUT(sl_node_run_init(&x.want, c));
	x.last = channels_last;
	++*ran;
	st = check(&x);
out:
	sl_node_run_finish(&x.got);
	sl_node_run_finish(&x.want);
	return st;
}

static sl_status check_case(const struct sl_op_case *c, const struct sl_kernel *kernel,
	check_fn check, int *ran)
{
	SL_TRY(check_layout(c, kernel, false, check, ran));
	sl_status st = check_layout(c, kernel, true, check, ran);
	return st == SL_OK ? st : sl_fail_prefix(st, "channels last");
}

/* Runs a check for each kernel on each case that it accepts, and fails with all that went
 * wrong. */
static void each_kernel(check_fn check, bool large)
{
	struct sl_op_cases cases = read_cases();
	const struct sl_kernel *k;
	int failed = 0;

	for (size_t n = 0; (k = sl_kernel_at(n)) != NULL; n++) {
		int ran = 0;
		for (size_t i = 0; i < cases.n; i++) {
			const struct sl_op_case *c = &cases.items[i];
			if (c->error != SL_OK || strcmp(c->op->name, k->op) != 0 ||
				(!large && !is_small(c)) ||
				check_case(c, k, check, &ran) == SL_OK)
				continue;
			failed++;
			print_error("%s on %s: %s\n", k->name, c->where, sl_last_error());
		}
		/* Without its library oneDNN accepts nothing. */
		if (!ran && strncmp(k->name, "dnnl", 4) != 0) {
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
	SL_TRY(sl_node_run_do(&x->got, x->kernel, NULL, -1));
	return sl_node_run_near(&x->got, &x->want, x->c->tol32);
}

static void each_kernel_gives_what_the_reference_gives(void **state)
{
	(void)state;
	each_kernel(check_reference, true);
}

static sl_status check_width(struct both *x, int width)
{
	struct sl_pool *pool = NULL;
	sl_status st;

	SL_TRY(sl_pool_create(width, &pool));
	sl_kernel_set_width(width);
	st = sl_node_run_do(&x->got, x->kernel, pool, -1);
	sl_kernel_set_width(0);
	sl_pool_destroy(pool);
	if (st == SL_OK)
		st = sl_node_run_near(&x->got, &x->want, 0);
	return st == SL_OK ? st : sl_fail_prefix(st, "%d threads", width);
}

static sl_status check_widths(struct both *x)
{
	x->want.info.nhwc = x->last;
	SL_TRY(sl_node_run_do(&x->want, x->kernel, NULL, -1));
	SL_TRY(check_width(x, 2));
	return check_width(x, 4);
}

static void results_have_the_same_bits_for_any_number_of_workers(void **state)
{
	(void)state;
	each_kernel(check_widths, true);
}

static sl_status check_in_place(struct both *x)
{
	const struct sl_node_info *n = &x->got.info;

	x->want.info.nhwc = x->last;
	for (int i = 0; i < n->n_in; i++) {
		if (!sl_node_has(n, i) || !sl_node_inplace(n, i) ||
			sl_type_bytes(&n->in[i]) != sl_type_bytes(&n->out[0]))
			continue;
		SL_TRY(sl_node_run_do(&x->want, x->kernel, NULL, -1));
		SL_TRY(sl_node_run_do(&x->got, x->kernel, NULL, i));
		SL_TRY(sl_node_run_near(&x->got, &x->want, 0));
	}
	return SL_OK;
}

static void a_result_may_take_the_bytes_of_an_allowed_input(void **state)
{
	(void)state;
	each_kernel(check_in_place, true);
}

/* Why a kernel may answer to NaN and infinity otherwise than the reference. */
static const struct {
	const char *kernel, *why;
} strangers[] = {
	{"dnnl_conv2d", "padding is multiplied as zeros, and so by a NaN in the weights"},
	{"dnnl_conv2d_dw", "the same"},
	{"dnnl_conv2d_dx", "the same"},
	{"depth_conv2d", "the same"},
	{"depth_conv2d_dw", "the same"},
	{"depth_conv2d_dx", "the same"},
	{"small_conv2d", "the same"},
	{"small_conv2d_dw", "the same"},
	{"small_conv2d_dx", "the same"},
	{"vec_attention", "0 times a value that is not finite, within a tile"},
	{"vec_attention_dx", "the same"},
	{"vec_attention_packed", "the same"},
	{"vec_attention_packed_dx", "the same"},
};

static bool is_stranger(const struct sl_kernel *k)
{
	for (size_t i = 0; i < SL_COUNT(strangers); i++)
		if (strcmp(strangers[i].kernel, k->name) == 0)
			return true;
	return false;
}

/* One element of an input replaced in both. */
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

/* Where the shape rule takes empty shapes, kernels do; a failure is the reference's
 * failure. */
static sl_status check_empty_case(
	const struct sl_op_case *c, const struct sl_kernel *kernel)
{
	struct both x = {.c = c, .kernel = kernel};
	sl_status st = SL_OK;

	if (sl_node_run_init(&x.got, c) != SL_OK ||
		!sl_kernel_accepts(kernel, &x.got.info))
		goto out;
	SL_TRY_OUT(sl_node_run_init(&x.want, c));
	sl_status want = sl_node_run_do(&x.want, &sl_kernel_ref, NULL, -1);
	sl_status got = sl_node_run_do(&x.got, kernel, NULL, -1);
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
static sl_status check_failure(const struct sl_op_case *c, const struct sl_kernel *kernel)
{
	struct both x = {.c = c, .kernel = kernel};
	char want[512] = "";
	sl_status st = SL_OK;

	if (sl_node_run_init(&x.got, c) == SL_OK &&
		sl_kernel_accepts(kernel, &x.got.info)) {
		sl_status code = sl_node_run_do(&x.got, &sl_kernel_ref, NULL, -1);
		snprintf(want, sizeof(want), "%s", sl_last_error());
		sl_status got = sl_node_run_do(&x.got, kernel, NULL, -1);
		/* Some are wrong in f64 only. */
		if (code != SL_OK && (got != code || strcmp(want, sl_last_error()) != 0))
			st = SL_FAIL(SL_E_NO, "%s; the reference says %s",
				sl_status_name(got), want);
	}
	sl_node_run_finish(&x.got);
	return st;
}

static void failures_say_what_the_reference_says(void **state)
{
	struct sl_op_cases cases = read_cases();
	const struct sl_kernel *k;
	int failed = 0;

	(void)state;
	for (size_t n = 0; (k = sl_kernel_at(n)) != NULL; n++) {
		for (size_t i = 0; i < cases.n; i++) {
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

static void the_best_kernel_is_chosen_and_the_reference_is_never_missing(void **state)
{
	struct sl_op_cases cases = read_cases();

	(void)state;
	for (size_t i = 0; i < cases.n; i++) {
		struct sl_node_run r;
		const struct sl_kernel *k;
		if (cases.items[i].error != SL_OK)
			continue;
		sl_assert_ok(sl_node_run_init(&r, &cases.items[i]));
		const struct sl_kernel *best = sl_kernel_select(&r.info);
		assert_true(best->op[0] == 0 || strcmp(best->op, r.info.op->name) == 0);
		for (size_t n = 0; (k = sl_kernel_at(n)) != NULL; n++)
			if (strcmp(k->op, r.info.op->name) == 0 &&
				sl_kernel_accepts(k, &r.info))
				assert_true(best->rank >= k->rank);
		sl_node_run_finish(&r);
	}
	sl_op_cases_finish(&cases);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_best_kernel_is_chosen_and_the_reference_is_never_missing),
		SL_TEST(each_kernel_gives_what_the_reference_gives),
		SL_TEST(results_have_the_same_bits_for_any_number_of_workers),
		SL_TEST(a_result_may_take_the_bytes_of_an_allowed_input),
		SL_TEST(nan_and_infinity_pass_as_in_the_reference),
		SL_TEST(empty_shapes_are_as_in_the_reference),
		SL_TEST(failures_say_what_the_reference_says),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

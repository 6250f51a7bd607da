/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every operator must keep, over the table and over the cases of tests/cases/op:
 * gradients against central differences, f32 against f64, results in the bytes of an
 * input, empty shapes, refusals.
 */
#include "harness/harness.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "harness/op_case.h"
#include "op/op_util.h"

#define CASES "tests/cases/op"
#define FILE_MAX ((size_t)1 << 20)

typedef sl_status (*check_fn)(const struct sl_op_case *c);

static struct sl_op_cases read_cases(void)
{
	struct sl_op_cases cases = {0};
	DIR *dir = opendir(CASES);
	struct dirent *entry;
	char path[300];

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		struct sl_buf text = SL_BUF_MAX(FILE_MAX);
		const char *dot = strrchr(entry->d_name, '.');
		if (!dot || strcmp(dot, ".txt") != 0)
			continue;
		snprintf(path, sizeof(path), CASES "/%s", entry->d_name);
		sl_assert_ok(sl_fs_read(path, FILE_MAX, &text));
		sl_assert_ok(sl_op_cases_parse(
			&cases, entry->d_name, sl_buf_text(&text), text.len));
		sl_buf_finish(&text);
	}
	closedir(dir);
	return cases;
}

/* Runs a check on each case that is (or is not) about an error, and fails with all that
 * went wrong. */
static void each_case(check_fn check, bool errors)
{
	struct sl_op_cases cases = read_cases();
	int ran = 0;
	int failed = 0;

	for (size_t i = 0; i < cases.n; i++) {
		const struct sl_op_case *c = &cases.items[i];
		if ((c->error != SL_OK) != errors)
			continue;
		ran++;
		if (check(c) == SL_OK)
			continue;
		failed++;
		print_error("%s (%s): %s\n", c->where, c->op->name, sl_last_error());
	}
	sl_op_cases_finish(&cases);
	assert_int_equal(failed, 0);
	assert_true(ran > 0);
}

/* Evaluates the case's node; out and e are to be finished in any case. */
static sl_status run_case(
	const struct sl_op_case *c, bool f32, struct sl_op_built *b, struct sl_eval *e)
{
	SL_TRY(sl_op_case_build(c, f32, b));
	SL_TRY(sl_eval_init(e, b->g));
	SL_TRY(sl_op_case_fill(c, b, e));
	return sl_eval_run(e);
}

static sl_status check_refusal(const struct sl_op_case *c)
{
	struct sl_op_built b = {0};
	struct sl_eval e = {0};
	sl_status got = run_case(c, false, &b, &e);

	sl_eval_finish(&e);
	sl_op_built_finish(&b);
	if (got == c->error)
		return SL_OK;
	return SL_FAIL(SL_E_NO, "gave %s; expected %s", sl_status_name(got),
		sl_status_name(c->error));
}

static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	each_case(check_refusal, true);
}

/* A case with its loss: the chosen outputs times fixed weights, added up. */
struct graded {
	struct sl_op_built b;
	struct sl_eval e;
	sl_val weight[SL_OP_MAX_OUT];
	sl_val loss;
	sl_val wrt[SL_CASE_MAX_IN];
	sl_val grad[SL_CASE_MAX_IN];
	size_t n_wrt;
	uint32_t forward; /* nodes up to the loss */
};

static void add_loss(const struct sl_op_case *c, struct graded *x)
{
	struct sl_graph *g = x->b.g;
	const struct sl_reduce_attr all = {0};
	char name[16];

	x->loss = SL_VAL_NONE;
	for (int k = 0; k < c->op->n_out; k++) {
		x->weight[k] = SL_VAL_NONE;
		if (!(c->outs >> k & 1))
			continue;
		snprintf(name, sizeof(name), "w%d", k);
		struct sl_type t = *sl_val_type(g, x->b.out[k]);
		x->weight[k] = sl_input(g, name, &t, NULL);
		sl_val part = sl_sum(g, sl_mul(g, x->b.out[k], x->weight[k]), &all);
		x->loss = sl_val_is_none(x->loss) ? part : sl_add(g, x->loss, part);
	}
	x->forward = sl_graph_node_count(g);
}

static sl_status add_grad(const struct sl_op_case *c, struct graded *x)
{
	for (int i = 0; i < c->n_in; i++)
		if (c->in[i].dtype == SL_F64 && !(c->skip >> i & 1))
			x->wrt[x->n_wrt++] = x->b.in[i];
	const struct sl_grad_request r = {
		.loss = x->loss, .seed = SL_VAL_NONE, .wrt = x->wrt, .n_wrt = x->n_wrt};
	return sl_graph_grad(x->b.g, &r, x->grad);
}

static void fill_weights(const struct sl_op_case *c, struct graded *x)
{
	for (int k = 0; k < c->op->n_out; k++) {
		if (sl_val_is_none(x->weight[k]))
			continue;
		for (int64_t i = 0; i < sl_eval_count(&x->e, x->weight[k]); i++) {
			double w = sin(1.3 * (double)(i + 1) + (double)k) + 0.3;
			sl_set(x->e.data[x->weight[k].index], SL_F64, i, w);
		}
	}
}

/* Differences of f32 or whole numbers say nothing about a gradient. */
static bool in_f64(const struct sl_op_case *c, const struct sl_op_built *b)
{
	for (int k = 0; k < c->op->n_out; k++)
		if ((c->outs >> k & 1) && sl_val_type(b->g, b->out[k])->dtype != SL_F64)
			return false;
	return true;
}

static sl_status grade(const struct sl_op_case *c, struct graded *x)
{
	SL_TRY(sl_op_case_build(c, false, &x->b));
	if (!in_f64(c, &x->b))
		return sl_eval_init(&x->e, x->b.g);
	add_loss(c, x);
	SL_TRY(sl_graph_status(x->b.g));
	SL_TRY(add_grad(c, x));
	SL_TRY(sl_eval_init(&x->e, x->b.g));
	SL_TRY(sl_op_case_fill(c, &x->b, &x->e));
	fill_weights(c, x);
	return sl_eval_run(&x->e);
}

static sl_status loss_at(struct graded *x, double *element, double v, double *out)
{
	*element = v;
	SL_TRY(sl_eval_run_part(&x->e, 0, x->forward));
	*out = sl_eval_get(&x->e, x->loss, 0);
	return SL_OK;
}

static sl_status check_element(
	const struct sl_op_case *c, struct graded *x, size_t k, int64_t i)
{
	double *element = (double *)x->e.data[x->wrt[k].index] + i;
	double v = *element;
	double h = c->h * fmax(1, fabs(v));
	double got = sl_val_is_none(x->grad[k]) ? 0 : sl_eval_get(&x->e, x->grad[k], i);
	double above, below;

	SL_TRY(loss_at(x, element, v + h, &above));
	SL_TRY(loss_at(x, element, v - h, &below));
	*element = v;
	double want = (above - below) / (2 * h);
	double scale = fmax(0.01, fmax(fabs(got), fabs(want)));
	if (fabs(got - want) <= c->tol * scale)
		return SL_OK;
	return SL_FAIL(SL_E_NO,
		"gradient of %s, element %lld: %.12g by reverse mode, %.12g by "
		"differences",
		sl_val_name(x->b.g, x->wrt[k]), (long long)i, got, want);
}

static sl_status check_gradient(const struct sl_op_case *c)
{
	struct graded x = {0};
	sl_status st = SL_OK;

	if (!c->op->grad)
		return SL_OK;
	SL_TRY_OUT(grade(c, &x));
	for (size_t k = 0; k < x.n_wrt; k++)
		for (int64_t i = 0; i < sl_eval_count(&x.e, x.wrt[k]); i++)
			SL_TRY_OUT(check_element(c, &x, k, i));
out:
	sl_eval_finish(&x.e);
	sl_op_built_finish(&x.b);
	return st;
}

static void gradients_agree_with_central_differences(void **state)
{
	(void)state;
	each_case(check_gradient, false);
}

static sl_status compare(const struct sl_op_case *c, const struct sl_eval *narrow,
	sl_val a, const struct sl_eval *wide, sl_val b)
{
	for (int64_t i = 0; i < sl_eval_count(wide, b); i++) {
		double got = sl_eval_get(narrow, a, i);
		double want = sl_eval_get(wide, b, i);
		bool same = isnan(want) ? isnan(got) : got == want;
		if (!same && !(fabs(got - want) <= c->tol32 * fmax(1, fabs(want))))
			return SL_FAIL(SL_E_NO, "element %lld: %.9g in f32, %.9g in f64",
				(long long)i, got, want);
	}
	return SL_OK;
}

static sl_status check_f32(const struct sl_op_case *c)
{
	struct sl_op_built b32 = {0};
	struct sl_op_built b64 = {0};
	struct sl_eval e32 = {0};
	struct sl_eval e64 = {0};
	sl_status st;

	SL_TRY_OUT(run_case(c, true, &b32, &e32));
	SL_TRY_OUT(run_case(c, false, &b64, &e64));
	for (int k = 0; k < c->op->n_out; k++)
		SL_TRY_OUT(compare(c, &e32, b32.out[k], &e64, b64.out[k]));
	for (int i = 0; i < c->n_in; i++)
		if (c->op->mutates >> i & 1 && c->in[i].dtype != SL_DTYPE_COUNT)
			SL_TRY_OUT(compare(c, &e32, b32.in[i], &e64, b64.in[i]));
out:
	sl_eval_finish(&e32);
	sl_eval_finish(&e64);
	sl_op_built_finish(&b32);
	sl_op_built_finish(&b64);
	return st;
}

static void f32_gives_what_f64_gives(void **state)
{
	(void)state;
	each_case(check_f32, false);
}

/* Runs the last node again with out[0] in the bytes of in[i], which are overwritten. */
static sl_status run_in_place(struct sl_eval *e, int i, const struct sl_op_built *b)
{
	const struct sl_ir_node *n = &e->g->nodes[e->g->n_nodes - 1];
	struct sl_node_types types;
	struct sl_node_info info = sl_ir_info(e->g, e->g->n_nodes - 1, &types);
	void *in[SL_CASE_MAX_IN];
	void *out[SL_OP_MAX_OUT];
	struct sl_call c = {.node = &info, .in = in, .out = out, .run = &e->run};
	size_t bytes = n->op->ref_workspace ? n->op->ref_workspace(&info) : 0;

	for (int k = 0; k < n->n_in; k++)
		in[k] = sl_val_is_none(n->in[k]) ? NULL : e->data[n->in[k].index];
	for (int k = 0; k < n->n_out; k++)
		out[k] = e->data[n->out[k].index];
	out[0] = e->data[b->in[i].index];
	c.workspace = sl_alloc_aligned(64, bytes);
	if (!c.workspace)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a workspace");
	sl_status st = n->op->ref(&c);
	sl_free_aligned(c.workspace);
	return st;
}

static sl_status check_in_place_of(const struct sl_op_case *c, int i)
{
	struct sl_op_built b = {0};
	struct sl_eval e = {0};
	struct sl_node_types types;
	sl_status st = SL_OK;
	size_t bytes;

	SL_TRY_OUT(run_case(c, true, &b, &e));
	struct sl_node_info info = sl_ir_info(b.g, b.g->n_nodes - 1, &types);
	if (!sl_node_inplace(&info, i))
		goto out;
	bytes = sl_type_bytes(sl_val_type(b.g, b.out[0]));
	if (sl_type_bytes(sl_val_type(b.g, b.in[i])) != bytes)
		goto out;
	SL_TRY_OUT(run_in_place(&e, i, &b));
	if (memcmp(e.data[b.out[0].index], e.data[b.in[i].index], bytes) != 0)
		st = SL_FAIL(SL_E_NO, "in the bytes of input %d it gives others", i);
out:
	sl_eval_finish(&e);
	sl_op_built_finish(&b);
	return st;
}

static sl_status check_in_place(const struct sl_op_case *c)
{
	for (int i = 0; i < c->n_in; i++)
		if ((c->op->inplace_in >> i & 1) && c->in[i].dtype != SL_DTYPE_COUNT)
			SL_TRY(check_in_place_of(c, i));
	return SL_OK;
}

static void a_result_may_take_the_bytes_of_an_allowed_input(void **state)
{
	(void)state;
	each_case(check_in_place, false);
}

/* Any status will do, as long as a failure says what is wrong. */
static sl_status try_case(const struct sl_op_case *c)
{
	struct graded x = {0};
	struct sl_op_built b = {0};
	struct sl_eval e = {0};
	sl_status st = run_case(c, false, &b, &e);

	if (st == SL_OK && c->op->grad)
		st = grade(c, &x);
	bool said = st == SL_OK || sl_last_error()[0];
	sl_eval_finish(&e);
	sl_op_built_finish(&b);
	sl_eval_finish(&x.e);
	sl_op_built_finish(&x.b);
	return said ? SL_OK
		    : SL_FAIL(SL_E_NO, "failed with %s, but no message",
			      sl_status_name(st));
}

static void empty_size(struct sl_op_case *c, int64_t size)
{
	for (int k = 0; k < c->n_in; k++)
		for (int j = 0; j < c->in[k].shape.rank; j++)
			if (c->in[k].shape.dim[j] == size)
				c->in[k].shape.dim[j] = 0;
}

/* Each size in turn becomes 0 wherever it comes up, then in one input only. */
static sl_status check_empty(const struct sl_op_case *c)
{
	for (int i = 0; i < c->n_in; i++) {
		for (int axis = 0; axis < c->in[i].shape.rank; axis++) {
			struct sl_op_case all = *c;
			struct sl_op_case one = *c;
			empty_size(&all, c->in[i].shape.dim[axis]);
			one.in[i].shape.dim[axis] = 0;
			SL_TRY(try_case(&all));
			SL_TRY(try_case(&one));
		}
	}
	return SL_OK;
}

static void empty_shapes_do_no_harm(void **state)
{
	(void)state;
	each_case(check_empty, false);
}

static sl_status grade_once(void *ctx)
{
	const struct sl_op_case *c = ctx;
	struct sl_op_built b = {0};
	struct graded x = {0};
	struct sl_eval e = {0};
	sl_status st = c->op->grad ? grade(c, &x) : run_case(c, false, &b, &e);

	sl_eval_finish(&x.e);
	sl_op_built_finish(&x.b);
	sl_eval_finish(&e);
	sl_op_built_finish(&b);
	return st;
}

static sl_status check_memory(const struct sl_op_case *c)
{
	struct sl_op_case own = *c;

	sl_torture(grade_once, &own);
	return SL_OK;
}

/* The harness checks each run: a status with a message, no leak. */
static void running_out_of_memory_does_no_harm(void **state)
{
	(void)state;
	each_case(check_memory, false);
}

static void each_operator_has_a_case(void **state)
{
	struct sl_op_cases cases = read_cases();
	int missing = 0;

	(void)state;
	for (size_t k = 0; sl_op_at(k); k++) {
		bool found = false;
		for (size_t i = 0; i < cases.n; i++)
			found = found || (cases.items[i].op == sl_op_at(k) &&
						 !cases.items[i].error);
		if (!found)
			print_error("no case for %s\n", sl_op_at(k)->name);
		missing += !found;
	}
	sl_op_cases_finish(&cases);
	assert_int_equal(missing, 0);
}

static size_t field_bytes(const struct sl_attr_field *f)
{
	static const size_t bytes[] = {[SL_ATTR_I64] = 8,
		[SL_ATTR_U64] = 8,
		[SL_ATTR_U32] = 4,
		[SL_ATTR_F64] = 8,
		[SL_ATTR_BOOL] = sizeof(bool),
		[SL_ATTR_NAME] = 1};

	return bytes[f->kind] * f->count;
}

static void check_descriptor(const struct sl_op *op)
{
	print_message("%s\n", op->name);
	assert_ptr_equal(sl_op_find(op->name), op);
	assert_non_null(op->infer);
	assert_true(op->n_out <= SL_OP_MAX_OUT && op->max_in <= SL_OP_MAX_IN);
	assert_true(op->min_in >= 0 && op->max_in >= op->min_in);
	assert_true((op->ref == NULL) == ((op->flags & SL_OP_VIEW) != 0));
	assert_true(!op->mutates || (op->flags & SL_OP_IMPURE));
	assert_true(op->n_out > 0 || op->cost);
	assert_true(
		op->max_in >= 32 ||
		((op->optional_in | op->mutates | op->inplace_in) >> op->max_in) == 0);
	assert_int_equal(op->inplace_in & op->mutates, 0);
	for (int i = 0; i < op->n_fields; i++)
		assert_true(op->fields[i].offset + field_bytes(&op->fields[i]) <=
			    op->attr_bytes);
}

static void each_descriptor_is_sound(void **state)
{
	(void)state;
	assert_null(sl_op_find("no such operator"));
	for (size_t k = 0; sl_op_at(k); k++)
		check_descriptor(sl_op_at(k));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_descriptor_is_sound),
		SL_TEST(each_operator_has_a_case),
		SL_TEST(what_does_not_fit_is_refused),
		SL_TEST(gradients_agree_with_central_differences),
		SL_TEST(f32_gives_what_f64_gives),
		SL_TEST(a_result_may_take_the_bytes_of_an_allowed_input),
		SL_TEST(empty_shapes_do_no_harm),
		SL_TEST(running_out_of_memory_does_no_harm),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

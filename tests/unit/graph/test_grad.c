/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/grad.c. */
#include "harness/evaluate.h"
#include "harness/harness.h"
#include "sluice/ops.h"

static const struct sl_type vec3 = {SL_F64, {.rank = 1, .dim = {3}}};
static const struct sl_reduce_attr all = {0};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

static struct sl_graph *new_graph(void)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	return g;
}

static sl_status grad_of(struct sl_graph *g, sl_val loss, sl_val wrt, sl_val *out)
{
	const struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = &wrt, .n_wrt = 1};

	return sl_graph_grad(g, &r, out);
}

static void a_value_used_twice_gets_the_sum(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val y = sl_add(g, sl_mul(g, x, x), x);
	sl_val loss = sl_sum(g, y, &all);
	sl_val dx;
	struct sl_eval e;

	(void)state;
	sl_assert_ok(grad_of(g, loss, x, &dx));
	assert_int_equal(sl_val_role(g, dx), SL_ROLE_GRAD);
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, (double[]){1, -2, 3}, 3);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, dx, (double[]){3, -3, 7}, 3, 1e-12));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void the_seed_scales_the_gradient(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val seed = sl_input(g, "seed", &(struct sl_type){SL_F64, SL_SCALAR}, NULL);
	sl_val loss = sl_sum(g, sl_mul(g, x, x), &all);
	sl_val dx;
	struct sl_eval e;

	(void)state;
	const struct sl_grad_request r = {
		.loss = loss, .seed = seed, .wrt = &x, .n_wrt = 1};
	sl_assert_ok(sl_graph_grad(g, &r, &dx));
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, (double[]){1, 2, 3}, 3);
	sl_eval_set(&e, seed, (double[]){0.5}, 1);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, dx, (double[]){1, 2, 3}, 3, 1e-12));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void what_the_loss_does_not_depend_on_has_none(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val other = sl_input(g, "other", &vec3, NULL);
	sl_val index = sl_input(g, "i", &(struct sl_type){SL_I64, SL_SHAPE(2)}, NULL);
	sl_val loss = sl_sum(g, sl_gather(g, x, index, 0), &all);
	const sl_val wrt[] = {other, index, x, loss};
	sl_val out[4];

	(void)state;
	const struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = wrt, .n_wrt = 4};
	sl_assert_ok(sl_graph_grad(g, &r, out));
	assert_true(sl_val_is_none(out[0]));
	assert_true(sl_val_is_none(out[1])); /* whole numbers have no gradient */
	assert_false(sl_val_is_none(out[2]));
	assert_false(sl_val_is_none(out[3]));
	sl_graph_destroy(g);
}

static void only_what_is_needed_is_built(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val loss = sl_sum(g, sl_mul(g, sl_exp(g, x), w), &all);
	sl_val dw;

	(void)state;
	sl_assert_ok(grad_of(g, loss, w, &dw));
	/* Nothing goes back through exp: its gradient would read exp's result again. */
	sl_val y = {g->nodes[2].in[0].index};
	int uses = 0;
	for (uint32_t k = 3; k < g->n_nodes; k++)
		for (int i = 0; i < g->nodes[k].n_in; i++)
			uses += g->nodes[k].in[i].index == y.index;
	assert_int_equal(uses, 1);
	sl_graph_destroy(g);
}

static void nodes_before_the_first_are_left_alone(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val y = sl_exp(g, x);
	uint32_t first = sl_graph_node_count(g);
	sl_val loss = sl_sum(g, y, &all);
	const sl_val wrt[] = {x, y};
	sl_val out[2];

	(void)state;
	const struct sl_grad_request r = {.loss = loss,
		.seed = SL_VAL_NONE,
		.wrt = wrt,
		.n_wrt = 2,
		.first_node = first};
	sl_assert_ok(sl_graph_grad(g, &r, out));
	assert_true(sl_val_is_none(out[0]));
	assert_false(sl_val_is_none(out[1]));
	sl_graph_destroy(g);
}

static void a_value_changed_in_place_since_is_refused_with_both_nodes(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val s = sl_state(g, "s", &vec3, zero);
	sl_val dw;

	(void)state;
	sl_graph_scope(g, "model");
	sl_val loss = sl_sum(g, sl_mul(g, w, s), &all);
	sl_graph_scope(g, "update");
	sl_assign(g, sl_reshape(g, s, &SL_SHAPE(3)), w);
	sl_assert_fails(
		grad_of(g, loss, w, &dw), SL_E_INVALID, "mul (node 0 in 'model')");
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "assign (node 3 in 'update')");
	sl_graph_destroy(g);
}

static void a_value_changed_in_place_before_may_be_read(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val s = sl_state(g, "s", &vec3, zero);
	sl_val x = sl_input(g, "x", &vec3, NULL);
	sl_val dw;
	struct sl_eval e;

	(void)state;
	sl_assign(g, s, x);
	sl_val loss = sl_sum(g, sl_mul(g, w, s), &all);
	sl_assert_ok(grad_of(g, loss, w, &dw));
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_set(&e, x, (double[]){1, 2, 3}, 3);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(sl_eval_near(&e, dw, (double[]){1, 2, 3}, 3, 0));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_loss_through_an_in_place_write_is_refused(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val copy = sl_affine(g, w, 1, 0);
	sl_val dw;

	(void)state;
	sl_accumulate(g, copy, w);
	sl_val loss = sl_sum(g, copy, &all);
	sl_assert_fails(grad_of(g, loss, w, &dw), SL_E_UNSUPPORTED, "in place");
	sl_graph_destroy(g);
}

static void an_operator_without_gradient_is_refused_when_reached(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val loss = sl_sum_squares(g, w);
	sl_val dw;

	(void)state;
	sl_assert_fails(grad_of(g, loss, w, &dw), SL_E_UNSUPPORTED, "sum_squares");
	sl_graph_destroy(g);
}

static void a_loss_must_be_one_number(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val dw;

	(void)state;
	sl_assert_fails(grad_of(g, sl_exp(g, w), w, &dw), SL_E_SHAPE, "f64 [3]");
	sl_assert_fails(grad_of(g, SL_VAL_NONE, w, &dw), SL_E_INVALID, "loss is none");
	sl_graph_destroy(g);
}

static void gradient_nodes_carry_the_scope_of_their_node(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val dw;

	(void)state;
	sl_graph_scope(g, "inner");
	sl_val y = sl_exp(g, w);
	sl_graph_scope(g, "outer");
	sl_assert_ok(grad_of(g, sl_sum(g, y, &all), w, &dw));
	assert_string_equal(g->nodes[g->values[dw.index].producer].scope, "inner");
	assert_string_equal(g->scope, "outer");
	sl_graph_destroy(g);
}

static sl_status build_grad(void *ctx)
{
	struct sl_graph *g = NULL;
	sl_val dw;

	(void)ctx;
	SL_TRY(sl_graph_create(&g));
	sl_val w = sl_param(g, "w", &vec3, zero);
	sl_val x = w;
	for (int i = 0; i < 10; i++)
		x = sl_mul(g, sl_exp(g, x), w);
	sl_val loss = sl_sum(g, x, &all);
	sl_status st = sl_graph_status(g);
	if (st == SL_OK)
		st = grad_of(g, loss, w, &dw);
	sl_graph_destroy(g);
	return st;
}

static void running_out_of_memory_is_a_failure(void **state)
{
	(void)state;
	assert_true(sl_torture(build_grad, NULL) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_value_used_twice_gets_the_sum),
		SL_TEST(the_seed_scales_the_gradient),
		SL_TEST(what_the_loss_does_not_depend_on_has_none),
		SL_TEST(only_what_is_needed_is_built),
		SL_TEST(nodes_before_the_first_are_left_alone),
		SL_TEST(a_value_changed_in_place_since_is_refused_with_both_nodes),
		SL_TEST(a_value_changed_in_place_before_may_be_read),
		SL_TEST(a_loss_through_an_in_place_write_is_refused),
		SL_TEST(an_operator_without_gradient_is_refused_when_reached),
		SL_TEST(a_loss_must_be_one_number),
		SL_TEST(gradient_nodes_carry_the_scope_of_their_node),
		SL_TEST(running_out_of_memory_is_a_failure),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

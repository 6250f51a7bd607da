/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/bind.c. */
#include "harness/evaluate.h"
#include "harness/harness.h"

#include "sluice/ops.h"

#define WIDTH 4

static const struct sl_init zero = {SL_INIT_ZERO, 0};
static const uint8_t batch_seq[] = {1 + SL_DIM_BATCH, 1 + SL_DIM_SEQ, 0};

/* x [B = 2, T = 3, WIDTH] -> reshape [0, -1] -> + w -> dropout -> "y" */
static sl_status build_template(struct sl_graph **out)
{
	struct sl_graph *g = NULL;
	const struct sl_dropout_attr drop = {.ratio = 0.5, .stream = 9};
	const struct sl_type x_type = {SL_F64, SL_SHAPE(2, 3, WIDTH)};

	SL_TRY(sl_graph_create(&g));
	*out = g;
	sl_graph_scope(g, "body");
	sl_val x = sl_input(g, "x", &x_type, batch_seq);
	sl_val w = sl_param(g, "w", &(struct sl_type){SL_F64, SL_SHAPE(WIDTH)}, zero);
	sl_val y = sl_dropout(g, sl_add(g, x, w), &drop);
	sl_output(g, "y", sl_reshape(g, y, &SL_SHAPE(0, -1)));
	return sl_graph_status(g);
}

static sl_status build_instance(struct sl_graph **tmpl, struct sl_graph **g)
{
	const struct sl_bind bind = {.size = {[SL_DIM_BATCH] = 5, [SL_DIM_SEQ] = 2},
		.batch_offset = 10,
		.part = 3};

	SL_TRY(build_template(tmpl));
	SL_TRY(sl_graph_create(g));
	return sl_graph_bind(*g, *tmpl, &bind);
}

static void an_instance_has_its_own_sizes(void **state)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;

	(void)state;
	sl_assert_ok(build_instance(&tmpl, &g));
	sl_val x = g->nodes[0].out[0];
	assert_true(sl_shape_equal(&sl_val_type(g, x)->shape, &SL_SHAPE(5, 2, WIDTH)));
	assert_int_equal(sl_val_role(g, x), SL_ROLE_INPUT);
	assert_string_equal(sl_val_name(g, x), "x");
	assert_string_equal(g->nodes[1].scope, "body");
	assert_string_equal(g->scope, "");
	sl_val y = sl_graph_output(g, "y");
	assert_true(sl_shape_equal(&sl_val_type(g, y)->shape, &SL_SHAPE(5, 2 * WIDTH)));
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void random_numbers_and_io_know_the_part(void **state)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;

	(void)state;
	sl_assert_ok(build_instance(&tmpl, &g));
	const struct sl_dropout_attr *drop = g->nodes[2].attr;
	assert_int_equal(drop->base, 10 * 2 * WIDTH);
	assert_int_equal(drop->stream, 9);
	assert_int_equal(((const struct sl_io_attr *)g->nodes[0].attr)->part, 3);
	assert_int_equal(((const struct sl_io_attr *)g->nodes[4].attr)->part, 3);
	assert_int_equal(((const struct sl_io_attr *)tmpl->nodes[0].attr)->part, 0);
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void instances_share_persistent_values_by_name(void **state)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;
	const struct sl_bind again = {.size = {1, 0}};

	(void)state;
	sl_assert_ok(build_instance(&tmpl, &g));
	uint32_t first = sl_graph_node_count(g);
	sl_assert_ok(sl_graph_bind(g, tmpl, &again));
	assert_true(sl_val_is_none(sl_graph_param_at(g, 1)));
	assert_int_equal(g->nodes[1].in[1].index, g->nodes[first + 1].in[1].index);
	/* Size 0: as in the template. */
	assert_true(sl_shape_equal(&sl_val_type(g, sl_graph_output(g, "y"))->shape,
		&SL_SHAPE(1, 3 * WIDTH)));
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

/* Dropout of a whole batch and of its two halves give the same numbers. */
static void splitting_a_batch_keeps_random_numbers(void **state)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;
	struct sl_eval e;
	const struct sl_bind binds[] = {
		{.size = {4, 0}}, {.size = {2, 0}}, {.size = {2, 0}, .batch_offset = 2}};
	sl_val y[3];

	(void)state;
	sl_assert_ok(build_template(&tmpl));
	sl_assert_ok(sl_graph_create(&g));
	for (int i = 0; i < 3; i++) {
		sl_assert_ok(sl_graph_bind(g, tmpl, &binds[i]));
		y[i] = sl_graph_output(g, "y");
	}
	sl_assert_ok(sl_eval_init(&e, g));
	for (uint32_t k = 0; k < g->n_nodes; k++)
		if (g->nodes[k].op == &sl_op_feed)
			sl_eval_fill(&e, g->nodes[k].out[0], 1);
	e.run.seed = 5;
	sl_assert_ok(sl_eval_run(&e));
	int kept = 0;
	int64_t half = sl_eval_count(&e, y[1]);
	for (int64_t i = 0; i < 2 * half; i++) {
		double whole = sl_eval_get(&e, y[0], i);
		double part = sl_eval_get(&e, y[1 + (i >= half)], i % half);
		assert_true(whole == part);
		kept += whole != 0;
	}
	assert_true(kept > 0 && kept < 2 * half);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void a_bad_size_or_template_is_refused(void **state)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;

	(void)state;
	sl_assert_ok(build_template(&tmpl));
	sl_assert_ok(sl_graph_create(&g));
	sl_assert_fails(sl_graph_bind(g, tmpl, &(struct sl_bind){.size = {-1, 0}}),
		SL_E_INVALID, "batch size -1");
	sl_assert_fails(sl_graph_bind(g, tmpl, &(struct sl_bind){.batch_offset = -2}),
		SL_E_INVALID, "offset -2");
	sl_assert_fails(sl_graph_bind(g, g, &(struct sl_bind){.part = 1}), SL_E_INVALID,
		"itself");
	sl_relu(tmpl, SL_VAL_NONE);
	sl_assert_fails(sl_graph_bind(g, tmpl, &(struct sl_bind){.part = 1}),
		SL_E_INVALID, "template failed: relu");
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static sl_status bind_once(void *ctx)
{
	struct sl_graph *tmpl = NULL;
	struct sl_graph *g = NULL;
	sl_status st = build_instance(&tmpl, &g);

	(void)ctx;
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
	return st;
}

static void running_out_of_memory_is_a_failure(void **state)
{
	(void)state;
	assert_true(sl_torture(bind_once, NULL) > 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_instance_has_its_own_sizes),
		SL_TEST(random_numbers_and_io_know_the_part),
		SL_TEST(instances_share_persistent_values_by_name),
		SL_TEST(splitting_a_batch_keeps_random_numbers),
		SL_TEST(a_bad_size_or_template_is_refused),
		SL_TEST(running_out_of_memory_is_a_failure),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/build.c and graph.c. */
#include "harness/harness.h"

#include <stdio.h>

#include "graph/ir.h"
#include "sluice/ops.h"

static const struct sl_type f32_2x3 = {SL_F32, {.rank = 2, .dim = {2, 3}}};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

static struct sl_graph *new_graph(void)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	return g;
}

static void a_view_of_a_view_points_to_the_root(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &f32_2x3, NULL);
	sl_val y = sl_relu(g, x);
	sl_val a = sl_reshape(g, y, &SL_SHAPE(6));
	sl_val b = sl_reshape(g, a, &SL_SHAPE(3, -1));

	(void)state;
	sl_assert_ok(sl_graph_status(g));
	assert_int_equal(g->values[y.index].root, y.index);
	assert_int_equal(g->values[a.index].root, y.index);
	assert_int_equal(g->values[b.index].root, y.index);
	assert_int_equal(g->values[b.index].root_offset, 0);
	assert_int_equal(sl_val_type(g, b)->shape.dim[1], 2);
	sl_graph_destroy(g);
}

static void an_in_place_node_ends_the_version_of_the_root(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val s = sl_state(g, "s", &f32_2x3, zero);
	sl_val view = sl_reshape(g, s, &SL_SHAPE(6));
	sl_val x = sl_input(g, "x", &(struct sl_type){SL_F32, SL_SHAPE(6)}, NULL);

	(void)state;
	sl_val before = sl_relu(g, s);
	sl_val none = sl_accumulate(g, view, x);
	sl_val after = sl_relu(g, s);
	sl_assert_ok(sl_graph_status(g));
	assert_true(sl_val_is_none(none));
	assert_int_equal(g->values[s.index].version, 1);
	assert_int_equal(g->nodes[g->values[before.index].producer].in_version[0], 0);
	assert_int_equal(g->nodes[g->values[after.index].producer].in_version[0], 1);
	sl_graph_destroy(g);
}

static void the_same_name_gives_the_same_parameter(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val a = sl_param(g, "w", &f32_2x3, zero);
	sl_val b = sl_param(g, "w", &f32_2x3, zero);
	sl_val s = sl_state(g, "s", &f32_2x3, zero);

	(void)state;
	assert_int_equal(a.index, b.index);
	assert_int_equal(sl_graph_param_at(g, 0).index, a.index);
	assert_true(sl_val_is_none(sl_graph_param_at(g, 1)));
	assert_int_equal(sl_graph_state_at(g, 0).index, s.index);
	assert_true(sl_val_is_none(sl_graph_state_at(g, 1)));
	assert_int_equal(sl_graph_param_count(g), 6);
	assert_string_equal(sl_val_name(g, a), "w");
	assert_int_equal(sl_val_role(g, a), SL_ROLE_PARAM);
	assert_int_equal(sl_val_role(g, s), SL_ROLE_STATE);
	sl_graph_destroy(g);
}

static void the_same_name_with_another_type_is_refused(void **state)
{
	struct sl_graph *g = new_graph();

	(void)state;
	sl_param(g, "w", &f32_2x3, zero);
	sl_param(g, "w", &(struct sl_type){SL_F32, SL_SHAPE(3, 2)}, zero);
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "f32 [3, 2]");
	sl_graph_destroy(g);

	g = new_graph();
	sl_param(g, "w", &f32_2x3, zero);
	sl_state(g, "w", &f32_2x3, zero);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "two names");
	sl_graph_destroy(g);
}

static void a_name_has_no_blanks_and_is_not_empty(void **state)
{
	static const char *const bad[] = {"", "a b", "a\nb", "a\x7f"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		struct sl_graph *g = new_graph();
		sl_param(g, bad[i], &f32_2x3, zero);
		sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "parameter");
		sl_graph_destroy(g);
	}
}

static void the_first_failure_is_kept_and_poisons_the_rest(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &f32_2x3, NULL);

	(void)state;
	sl_graph_scope(g, "block0");
	uint32_t nodes = sl_graph_node_count(g);
	sl_val bad = sl_reshape(g, x, &SL_SHAPE(4));
	assert_int_equal(bad.index, SL_VAL_POISON.index);
	sl_val out[3] = {x, x, x};
	sl_val worse = sl_split(g, bad, 0, 3, out);
	assert_int_equal(worse.index, SL_VAL_POISON.index);
	assert_int_equal(out[2].index, SL_VAL_POISON.index);
	assert_int_equal(sl_relu(g, x).index, SL_VAL_POISON.index);
	sl_output(g, "y", bad);
	assert_int_equal(sl_graph_node_count(g), nodes);
	/* Another failure in between does not change the message. */
	sl_assert_fails(SL_FAIL(SL_E_IO, "something else"), SL_E_IO, "else");
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "reshape in 'block0'");
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "[2, 3] with 6 elements");
	sl_graph_destroy(g);
}

static void an_input_that_is_none_or_poisoned_or_foreign_is_refused(void **state)
{
	static const sl_val bad[] = {{UINT32_MAX}, {UINT32_MAX - 1}, {77}};
	static const char *const text[] = {
		"input 1 is none", "failed builder", "value 77"};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(bad); i++) {
		struct sl_graph *g = new_graph();
		sl_val x = sl_input(g, "x", &f32_2x3, NULL);
		sl_add(g, x, bad[i]);
		sl_assert_fails(sl_graph_status(g), SL_E_INVALID, text[i]);
		sl_graph_destroy(g);
	}
}

static void a_shape_that_overflows_is_refused(void **state)
{
	struct sl_graph *g = new_graph();
	const int64_t big = (int64_t)1 << 40;
	sl_val x = sl_input(g, "x", &(struct sl_type){SL_F32, SL_SHAPE(1)}, NULL);

	(void)state;
	sl_expand(g, x, &SL_SHAPE(big, big));
	sl_assert_fails(sl_graph_status(g), SL_E_SHAPE, "2^48");
	sl_graph_destroy(g);
}

static void inputs_and_outputs_are_found_by_name(void **state)
{
	struct sl_graph *g = new_graph();
	const uint8_t symbol[] = {1 + SL_DIM_BATCH, 0};
	sl_val x = sl_input(g, "x", &f32_2x3, symbol);
	sl_val y = sl_relu(g, x);
	sl_val z = sl_relu(g, y);

	(void)state;
	assert_int_equal(sl_val_role(g, x), SL_ROLE_INPUT);
	assert_int_equal(sl_val_role(g, y), SL_ROLE_ACT);
	assert_string_equal(sl_val_name(g, x), "x");
	assert_string_equal(sl_val_name(g, y), "");
	assert_int_equal(g->values[x.index].symbol[0], 1 + SL_DIM_BATCH);
	sl_output(g, "out", y);
	assert_int_equal(sl_graph_output(g, "out").index, y.index);
	sl_output(g, "last", z);
	assert_int_equal(sl_graph_output(g, "last").index, z.index);
	assert_true(sl_val_is_none(sl_graph_output(g, "other")));
	sl_input(g, "a_name_that_is_longer_than_the_47_bytes_that_there_are", &f32_2x3,
		NULL);
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "1 to 47");
	sl_graph_destroy(g);
}

static void two_outputs_of_one_name_are_refused(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val x = sl_input(g, "x", &f32_2x3, NULL);

	(void)state;
	sl_output(g, "out", x);
	sl_assert_ok(sl_graph_status(g));
	sl_output(g, "out", sl_relu(g, x));
	sl_assert_fails(sl_graph_status(g), SL_E_INVALID, "output 'out': there is one");
	assert_int_equal(sl_graph_output(g, "out").index, x.index);
	sl_graph_destroy(g);
}

static sl_status build_all(void *ctx)
{
	struct sl_graph *g = NULL;
	char name[24];

	(void)ctx;
	SL_TRY(sl_graph_create(&g));
	sl_val x = sl_input(g, "x", &f32_2x3, NULL);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "layer%d", i);
		sl_graph_scope(g, name);
		sl_val w = sl_param(g, name, &f32_2x3, zero);
		x = sl_mul(g, sl_reshape(g, sl_add(g, x, w), &SL_SHAPE(2, 3)), x);
		snprintf(name, sizeof(name), "state%d", i);
		sl_assign(g, sl_state(g, name, &f32_2x3, zero), x);
	}
	sl_output(g, "y", x);
	sl_status st = sl_graph_status(g);
	sl_graph_destroy(g);
	return st;
}

static void running_out_of_memory_poisons_the_graph(void **state)
{
	(void)state;
	assert_true(sl_torture(build_all, NULL) > 50);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_view_of_a_view_points_to_the_root),
		SL_TEST(an_in_place_node_ends_the_version_of_the_root),
		SL_TEST(the_same_name_gives_the_same_parameter),
		SL_TEST(the_same_name_with_another_type_is_refused),
		SL_TEST(a_name_has_no_blanks_and_is_not_empty),
		SL_TEST(the_first_failure_is_kept_and_poisons_the_rest),
		SL_TEST(an_input_that_is_none_or_poisoned_or_foreign_is_refused),
		SL_TEST(a_shape_that_overflows_is_refused),
		SL_TEST(inputs_and_outputs_are_found_by_name),
		SL_TEST(two_outputs_of_one_name_are_refused),
		SL_TEST(running_out_of_memory_poisons_the_graph),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

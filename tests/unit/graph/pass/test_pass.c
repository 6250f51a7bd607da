/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/pass: what each pass makes of a graph. */
#include "harness/harness.h"

#include <string.h>

#include "graph/pass/pass.h"
#include "graph/text.h"
#include "sluice/ops.h"

static const struct sl_init zero = {SL_INIT_ZERO, 0};

static sl_val param(struct sl_graph *g, const char *name, struct sl_shape shape)
{
	return sl_param(g, name, &(struct sl_type){SL_F32, shape}, zero);
}

static sl_val norm(struct sl_graph *g, sl_val x, int64_t channels)
{
	const struct sl_type type = {SL_F32, SL_SHAPE(channels)};

	sl_val gamma = sl_param(g, "gamma", &type, zero);
	sl_val beta = sl_param(g, "beta", &type, zero);
	sl_val mean = sl_state(g, "mean", &type, zero);
	sl_val var = sl_state(g, "var", &type, zero);

	return sl_batch_norm_infer(g, x, gamma, beta, mean, var, 1e-3);
}

/* relu(x + conv(relu(norm(conv(x))))); `also`: the first one's weights are an output. */
static struct sl_graph *block(bool also)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	sl_val x =
		sl_input(g, "x", &(struct sl_type){SL_F32, SL_SHAPE(2, 16, 4, 5)}, NULL);
	sl_val w = param(g, "w", SL_SHAPE(16, 16, 1, 1));
	sl_graph_scope(g, "block");
	sl_val y = norm(g, sl_conv2d(g, x, w, SL_VAL_NONE, NULL), 16);
	y = sl_conv2d(g, sl_relu(g, y), param(g, "w2", SL_SHAPE(16, 16, 3, 3)),
		param(g, "b2", SL_SHAPE(16)),
		&(struct sl_conv_attr){.pad = {1, 1, 1, 1}});
	y = sl_relu(g, sl_add(g, x, y));
	sl_graph_scope(g, "");
	sl_relu(g, y); /* nobody uses it */
	sl_output(g, "out", y);
	if (also)
		sl_output(g, "weights", w);
	sl_assert_ok(sl_graph_status(g));
	return g;
}

static struct sl_graph *prologue_of(const struct sl_graph *g)
{
	struct sl_graph *p = NULL;

	sl_assert_ok(sl_graph_create(&p));
	sl_pass_declare(p, g);
	return p;
}

static void assert_text(const char *name, const struct sl_graph *g)
{
	struct sl_buf text = SL_BUF_INIT;

	sl_assert_ok(sl_graph_print(g, &text));
	sl_test_golden(name, sl_buf_text(&text));
	sl_buf_finish(&text);
}

static void batch_norm_goes_into_the_weights(void **state)
{
	struct sl_graph *g = block(false), *p = prologue_of(g);

	(void)state;
	assert_text("pass/block.txt", g);
	sl_assert_ok(sl_pass_run("fold_norm", &g, &(struct sl_pass_env){.prologue = p}));
	assert_text("pass/fold_norm.txt", g);
	assert_text("pass/fold_norm_prologue.txt", p);
	sl_graph_destroy(g);
	sl_graph_destroy(p);
}

static void weights_that_others_see_are_not_folded(void **state)
{
	struct sl_graph *g = block(true), *p = prologue_of(g);

	(void)state;
	sl_assert_ok(sl_pass_run("fold_norm", &g, &(struct sl_pass_env){.prologue = p}));
	assert_int_equal(sl_graph_node_count(p), 0);
	sl_graph_destroy(g);
	sl_graph_destroy(p);
}

static void images_lie_channels_last_between_convolutions(void **state)
{
	struct sl_graph *g = block(false), *p = prologue_of(g);

	(void)state;
	sl_assert_ok(sl_pass_run("fold_norm", &g, &(struct sl_pass_env){.prologue = p}));
	sl_assert_ok(
		sl_pass_run("channels_last", &g, &(struct sl_pass_env){.prologue = p}));
	assert_text("pass/channels_last.txt", g);
	sl_graph_destroy(g);
	sl_graph_destroy(p);
}

static void all_passes_leave_convolutions_alone(void **state)
{
	struct sl_graph *g = block(false), *p = prologue_of(g);

	(void)state;
	sl_assert_ok(sl_passes_run(&g, &(struct sl_pass_env){.prologue = p}));
	assert_text("pass/all.txt", g);
	assert_text("pass/all_prologue.txt", p);
	sl_graph_destroy(g);
	sl_graph_destroy(p);
}

static void without_a_prologue_weights_stay(void **state)
{
	struct sl_graph *g = block(false);

	(void)state;
	sl_assert_ok(sl_passes_run(&g, &(struct sl_pass_env){0}));
	assert_text("pass/no_prologue.txt", g);
	sl_graph_destroy(g);
}

static void graphs_that_change_values_are_left_alone(void **state)
{
	struct sl_graph *g = block(false), *before = g;

	(void)state;
	sl_step_next(g, sl_state(g, "step", &(struct sl_type){SL_I64, SL_SCALAR}, zero));
	sl_assert_ok(sl_passes_run(&g, &(struct sl_pass_env){0}));
	assert_ptr_equal(g, before);
	sl_graph_destroy(g);
}

static void an_unknown_pass_is_a_mistake(void **state)
{
	struct sl_graph *g = block(false);

	(void)state;
	assert_int_equal(sl_pass_run("none", &g, &(struct sl_pass_env){0}), SL_E_INVALID);
	sl_graph_destroy(g);
}

static void passes_are_listed(void **state)
{
	const char *help;
	size_t n = 0;

	(void)state;
	while (sl_pass_name_at(n, &help) != NULL) {
		assert_true(strlen(help) > 10);
		n++;
	}
	assert_true(n >= 4);
}

static sl_status run_all(void *ctx)
{
	struct sl_graph **graphs = ctx, *g = NULL;
	const struct sl_bind same = {0};
	struct sl_graph *p = NULL;
	sl_status st;

	SL_TRY_OUT(sl_graph_create(&g));
	SL_TRY_OUT(sl_graph_bind(g, graphs[0], &same));
	SL_TRY_OUT(sl_graph_create(&p));
	sl_pass_declare(p, g);
	SL_TRY_OUT(sl_graph_status(p));
	SL_TRY_OUT(sl_passes_run(&g, &(struct sl_pass_env){.prologue = p}));
out:
	sl_graph_destroy(g);
	sl_graph_destroy(p);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	struct sl_graph *g = block(false);

	(void)state;
	assert_true(sl_torture(run_all, &g) > 20);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(batch_norm_goes_into_the_weights),
		SL_TEST(weights_that_others_see_are_not_folded),
		SL_TEST(images_lie_channels_last_between_convolutions),
		SL_TEST(all_passes_leave_convolutions_alone),
		SL_TEST(without_a_prologue_weights_stay),
		SL_TEST(graphs_that_change_values_are_left_alone),
		SL_TEST(an_unknown_pass_is_a_mistake),
		SL_TEST(passes_are_listed),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/low.c: where bf16 begins and ends in an instance. */
#include "harness/harness.h"

#include <string.h>

#include "graph/ir.h"
#include "sluice/ops.h"

#define WIDTH 8
#define CLASSES 5

struct rig {
	struct sl_graph *tmpl, *g;
};

/* x -> matmul w1 + bias -> gelu -> sum with itself -> matmul w2 (logits) -> loss */
static void build(struct sl_graph *g)
{
	static const struct sl_init init = {SL_INIT_NORMAL, 0.1};
	static const uint8_t batch[SL_MAX_RANK] = {1 + SL_DIM_BATCH};
	const struct sl_type x_type = {SL_F32, SL_SHAPE(2, WIDTH)};
	const struct sl_type y_type = {SL_I64, SL_SHAPE(2)};
	const struct sl_type square = {SL_F32, SL_SHAPE(WIDTH, WIDTH)};
	const struct sl_type out = {SL_F32, SL_SHAPE(WIDTH, CLASSES)};
	const struct sl_type row = {SL_F32, SL_SHAPE(WIDTH)};

	sl_val x = sl_input(g, "x", &x_type, batch);
	sl_val y = sl_input(g, "y", &y_type, batch);
	sl_val h = sl_matmul(g, x, sl_param(g, "w1", &square, init),
		sl_param(g, "b1", &row, init), NULL);
	h = sl_add(g, sl_gelu(g, h, true), h);
	h = sl_mul(g, h, sl_param(g, "scale", &row, init));
	sl_val logits = sl_matmul(g, h, sl_param(g, "w2", &out, init), SL_VAL_NONE, NULL);
	sl_output(g, "logits", logits);
	sl_output(g, "loss", sl_cross_entropy(g, logits, y, NULL));
}

static sl_status bind_low(void *ctx)
{
	struct rig *r = ctx;
	const struct sl_bind bind = {.size = {[SL_DIM_BATCH] = 6}, .low = true};
	sl_val param[4];
	sl_val grad[4];
	sl_status st = SL_OK;

	SL_TRY_OUT(sl_graph_create(&r->tmpl));
	build(r->tmpl);
	SL_TRY_OUT(sl_graph_create(&r->g));
	SL_TRY_OUT(sl_graph_bind(r->g, r->tmpl, &bind));
	for (size_t i = 0; i < 4; i++)
		param[i] = sl_graph_param_at(r->g, i);
	const struct sl_grad_request request = {.loss = sl_graph_output(r->g, "loss"),
		.seed = SL_VAL_NONE,
		.wrt = param,
		.n_wrt = 4};
	SL_TRY_OUT(sl_graph_grad(r->g, &request, grad));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(sl_val_type(r->g, grad[i])->dtype, SL_F32);
out:
	return st;
}

static void finish(struct rig *r)
{
	sl_graph_destroy(r->g);
	sl_graph_destroy(r->tmpl);
	*r = (struct rig){0};
}

/* Nodes of that operator up to the loss; *type is the last one's first output's. */
static int find(const struct sl_graph *g, const char *op, enum sl_dtype *type)
{
	uint32_t end = g->values[sl_graph_output(g, "loss").index].producer;
	int n = 0;

	for (uint32_t k = 0; k <= end; k++) {
		const struct sl_ir_node *node = &g->nodes[k];
		if (strcmp(node->op->name, op) != 0)
			continue;
		*type = g->values[node->out[0].index].type.dtype;
		n++;
	}
	return n;
}

static void values_between_operators_are_bf16_and_the_loss_is_f32(void **state)
{
	struct rig r = {0};
	enum sl_dtype t = SL_DTYPE_COUNT;

	(void)state;
	sl_assert_ok(bind_low(&r));
	assert_int_equal(find(r.g, "gelu", &t), 1);
	assert_int_equal(t, SL_BF16);
	assert_int_equal(find(r.g, "add", &t), 1);
	assert_int_equal(t, SL_BF16);
	assert_int_equal(find(r.g, "cross_entropy", &t), 1);
	assert_int_equal(t, SL_F32);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			sl_val_type(r.g, sl_graph_param_at(r.g, i))->dtype, SL_F32);
	finish(&r);
}

/* x and the scale that meets bf16 in a product of elements; no weight of a matmul. */
static void only_what_has_to_is_cast(void **state)
{
	struct rig r = {0};
	enum sl_dtype t = SL_DTYPE_COUNT;

	(void)state;
	sl_assert_ok(bind_low(&r));
	assert_int_equal(find(r.g, "cast", &t), 2);
	assert_int_equal(t, SL_BF16);
	finish(&r);
}

static void logits_that_only_a_loss_reads_are_never_rounded(void **state)
{
	struct rig r = {0};
	enum sl_dtype t = SL_DTYPE_COUNT;

	(void)state;
	sl_assert_ok(bind_low(&r));
	assert_int_equal(find(r.g, "matmul", &t), 2);
	assert_int_equal(t, SL_F32);
	finish(&r);
}

static void without_it_types_are_those_of_the_template(void **state)
{
	struct rig r = {0};
	enum sl_dtype t = SL_DTYPE_COUNT;

	(void)state;
	sl_assert_ok(sl_graph_create(&r.tmpl));
	build(r.tmpl);
	sl_assert_ok(sl_graph_create(&r.g));
	sl_assert_ok(sl_graph_bind(r.g, r.tmpl, &(struct sl_bind){.size = {6}}));
	assert_int_equal(find(r.g, "cast", &t), 0);
	assert_int_equal(find(r.g, "gelu", &t), 1);
	assert_int_equal(t, SL_F32);
	finish(&r);
}

static sl_status bind_once(void *ctx)
{
	struct rig r = {0};
	sl_status st = bind_low(&r);

	(void)ctx;
	finish(&r);
	return st;
}

static void running_out_of_memory_does_no_harm(void **state)
{
	(void)state;
	sl_torture(bind_once, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(values_between_operators_are_bf16_and_the_loss_is_f32),
		SL_TEST(only_what_has_to_is_cast),
		SL_TEST(logits_that_only_a_loss_reads_are_never_rounded),
		SL_TEST(without_it_types_are_those_of_the_template),
		SL_TEST(running_out_of_memory_does_no_harm),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/text.c, io.c and dce.c. */
#include "harness/harness.h"

#include <string.h>

#include "graph/dce.h"
#include "graph/ir.h"
#include "graph/text.h"
#include "sluice/ops.h"

static const struct sl_type f32_2x3 = {SL_F32, {.rank = 2, .dim = {2, 3}}};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

static struct sl_graph *build(void)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	sl_val x = sl_input(g, "x", &f32_2x3, NULL);
	sl_val w = sl_param(g, "w", &(struct sl_type){SL_F32, SL_SHAPE(4, 3)}, zero);
	sl_graph_scope(g, "block0");
	sl_val y = sl_matmul(
		g, x, w, SL_VAL_NONE, &(struct sl_matmul_attr){.trans_b = true});
	sl_graph_scope(g, "");
	y = sl_reshape(g, y, &SL_SHAPE(-1));
	sl_relu(g, y); /* nobody uses it */
	sl_dropout(g, y, &(struct sl_dropout_attr){.ratio = 0.1, .stream = 7});
	sl_output(g, "out", y);
	sl_step_next(g, sl_state(g, "step", &(struct sl_type){SL_I64, SL_SCALAR}, zero));
	sl_assert_ok(sl_graph_status(g));
	return g;
}

static void a_graph_prints_one_line_a_node(void **state)
{
	struct sl_graph *g = build();
	struct sl_buf text = SL_BUF_INIT;

	(void)state;
	sl_assert_ok(sl_graph_print(g, &text));
	assert_string_equal(sl_buf_text(&text),
		"graph 1\n"
		"param v1 f32[4,3] name=w\n"
		"state v6 i64[] name=step\n"
		"node 0 feed out=v0:f32[2,3] name=x\n"
		"node 1 matmul in=v0,v1,- out=v2:f32[2,4] trans_b=1 scope=block0\n"
		"node 2 reshape in=v2 out=v3:f32[8] view=v2+0 rank=1 dim=-1\n"
		"node 3 relu in=v3 out=v4:f32[8]\n"
		"node 4 dropout in=v3 out=v5:f32[8] ratio=0.10000000000000001 stream=7\n"
		"node 5 fetch in=v3 name=out\n"
		"node 6 step_next in=v6\n");
	sl_buf_finish(&text);
	sl_graph_destroy(g);
}

static void a_text_that_grows_too_long_is_a_failure(void **state)
{
	struct sl_graph *g = build();

	(void)state;
	for (size_t max = 1; max < 100; max += 13) {
		struct sl_buf text = SL_BUF_MAX(max);
		assert_int_equal(sl_graph_print(g, &text), SL_E_LIMIT);
		sl_buf_finish(&text);
	}
	sl_graph_destroy(g);
}

static void nodes_without_effect_are_dead(void **state)
{
	struct sl_graph *g = build();
	static const bool want[] = {true, true, true, false, false, true, true};
	bool keep[SL_COUNT(want)];

	(void)state;
	assert_int_equal(sl_graph_node_count(g), SL_COUNT(want));
	sl_assert_ok(sl_graph_dce(g, keep));
	for (size_t i = 0; i < SL_COUNT(want); i++)
		assert_int_equal(keep[i], want[i]);
	sl_graph_destroy(g);
}

/* Remembers the last call of either side. */
struct wire {
	const char *name;
	uint32_t part;
	const void *data;
	int64_t count;
};

static sl_status on_feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	*(struct wire *)ctx =
		(struct wire){name, part, data, sl_shape_count(&type->shape)};
	return SL_OK;
}

static sl_status on_fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	*(struct wire *)ctx =
		(struct wire){name, part, data, sl_shape_count(&type->shape)};
	return SL_FAIL(SL_E_WRITE, "the outside is full");
}

static void feed_and_fetch_call_the_outside(void **state)
{
	struct sl_graph *g = build();
	struct sl_node_types types;
	struct sl_node_info info = sl_ir_info(g, 0, &types);
	float data[8] = {0};
	void *const slots[] = {data};
	struct wire wire = {0};
	struct sl_run run = {.feed = on_feed, .fetch = on_fetch, .io_ctx = &wire};
	const struct sl_run nobody = {0};
	struct sl_call c = {.node = &info, .in = slots, .out = slots, .run = &run};

	(void)state;
	sl_assert_ok(info.op->ref(&c));
	assert_string_equal(wire.name, "x");
	assert_ptr_equal(wire.data, data);
	assert_int_equal(wire.count, 6);
	c.run = &nobody;
	sl_assert_fails(info.op->ref(&c), SL_E_INVALID, "nobody feeds the input 'x'");

	info = sl_ir_info(g, 5, &types);
	sl_assert_ok(info.op->ref(&c));
	c.run = &run;
	sl_assert_fails(info.op->ref(&c), SL_E_WRITE, "full");
	assert_string_equal(wire.name, "out");
	assert_int_equal(wire.count, 8);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_graph_prints_one_line_a_node),
		SL_TEST(a_text_that_grows_too_long_is_a_failure),
		SL_TEST(nodes_without_effect_are_dead),
		SL_TEST(feed_and_fetch_call_the_outside),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

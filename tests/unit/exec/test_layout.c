/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/exec/layout.c: what runs channels last, and where layouts change. */
#include "harness/harness.h"

#include <string.h>

#include "base/alloc.h"
#include "exec/layout.h"
#include "kernel/kernel.h"
#include "sluice/ops.h"

static const struct sl_init normal = {SL_INIT_NORMAL, 0.1};

struct net {
	struct sl_graph *g;
	struct sl_graph laid;
};

static struct net begin(void)
{
	struct net n = {0};

	sl_assert_ok(sl_graph_create(&n.g));
	return n;
}

static void end(struct net *n)
{
	sl_layout_finish(&n->laid);
	sl_graph_destroy(n->g);
}

static sl_val image(struct net *n, int64_t channels)
{
	struct sl_type t = {.dtype = SL_F32, .shape = SL_SHAPE(4, channels, 20, 20)};

	return sl_input(n->g, "x", &t, NULL);
}

static sl_val conv(struct net *n, const char *name, sl_val x, int64_t out)
{
	const struct sl_conv_attr attr = {.stride = {1, 1}, .pad = {1, 1, 1, 1}};
	struct sl_type t = {.dtype = SL_F32};

	t.shape = SL_SHAPE(out, sl_val_type(n->g, x)->shape.dim[1], 3, 3);
	return sl_conv2d(n->g, x, sl_param(n->g, name, &t, normal), SL_VAL_NONE, &attr);
}

static void assign(struct net *n)
{
	struct sl_node_info conv2d;
	struct sl_node_types types;

	sl_assert_ok(sl_graph_status(n->g));
	for (uint32_t k = 0; k < n->g->n_nodes; k++) {
		conv2d = sl_ir_info(n->g, k, &types);
		conv2d.nhwc = true;
		if (strcmp(conv2d.op->name, "conv2d") == 0 &&
			sl_kernel_select(&conv2d) == &sl_kernel_ref)
			sl_test_skip("no kernel runs convolutions channels last");
	}
	sl_assert_ok(sl_layout_assign(n->g, &sl_kernel_cpu, &n->laid));
}

static int count(const struct net *n, const char *op, bool nhwc)
{
	int found = 0;

	for (uint32_t k = 0; k < n->laid.n_nodes; k++)
		found += strcmp(n->laid.nodes[k].op->name, op) == 0 &&
			 n->laid.nodes[k].nhwc == nhwc;
	return found;
}

static void convolutions_and_what_is_between_them_run_channels_last(void **state)
{
	struct net n = begin();
	sl_val x = sl_relu(n.g, conv(&n, "a", image(&n, 32), 64));

	(void)state;
	x = sl_relu(n.g, sl_add(n.g, conv(&n, "b", x, 64), x));
	sl_output(n.g, "y", x);
	assign(&n);
	assert_int_equal(count(&n, "conv2d", true), 2);
	assert_int_equal(count(&n, "relu", true), 2);
	assert_int_equal(count(&n, "add", true), 1);
	/* The image comes in, the result goes out. */
	assert_int_equal(count(&n, "relayout", false), 2);
	assert_int_equal(n.laid.n_nodes, n.g->n_nodes + 2);
	end(&n);
}

static void a_value_with_several_users_elsewhere_is_brought_over_once(void **state)
{
	struct net n = begin();
	sl_val x = image(&n, 32);

	(void)state;
	sl_output(n.g, "a", conv(&n, "a", x, 64));
	sl_output(n.g, "b", conv(&n, "b", conv(&n, "c", x, 64), 64));
	sl_output(n.g, "d", conv(&n, "d", x, 64));
	assign(&n);
	assert_int_equal(count(&n, "conv2d", true) + count(&n, "conv2d", false), 4);
	assert_true(count(&n, "conv2d", true) >= 2);
	assert_true(count(&n, "relayout", false) <= 1 + 3);
	end(&n);
}

static void a_view_reads_plain_values(void **state)
{
	struct net n = begin();
	sl_val x = conv(&n, "b", conv(&n, "a", image(&n, 32), 64), 32);

	(void)state;
	sl_output(n.g, "y", sl_reshape(n.g, x, &SL_SHAPE(4, -1)));
	assign(&n);
	for (uint32_t k = 0; k < n.laid.n_nodes; k++) {
		const struct sl_ir_node *node = &n.laid.nodes[k];
		if (strcmp(node->op->name, "reshape") != 0)
			continue;
		const struct sl_ir_value *in = &n.laid.values[node->in[0].index];
		assert_string_equal(n.laid.nodes[in->producer].op->name, "relayout");
	}
	end(&n);
}

static void nets_of_few_channels_stay_plain(void **state)
{
	struct net n = begin();
	sl_val x = sl_relu(n.g, conv(&n, "a", image(&n, 3), 8));

	(void)state;
	sl_output(n.g, "y", conv(&n, "b", x, 12));
	assign(&n);
	assert_int_equal(count(&n, "conv2d", true), 0);
	assert_int_equal(count(&n, "relayout", false), 0);
	assert_int_equal(n.laid.n_nodes, n.g->n_nodes);
	end(&n);
}

static void a_graph_without_images_stays_as_it_is(void **state)
{
	struct net n = begin();
	struct sl_type t = {.dtype = SL_F32, .shape = SL_SHAPE(4, 30)};

	(void)state;
	sl_output(n.g, "y", sl_relu(n.g, sl_input(n.g, "x", &t, NULL)));
	assign(&n);
	assert_int_equal(n.laid.n_nodes, n.g->n_nodes);
	assert_int_equal(n.laid.n_values, n.g->n_values);
	end(&n);
}

static void every_allocation_may_fail(void **state)
{
	struct net n = begin();
	sl_val x = sl_relu(n.g, conv(&n, "a", image(&n, 32), 64));
	bool failed = true;

	(void)state;
	sl_output(n.g, "y", conv(&n, "b", x, 64));
	assign(&n);
	for (long at = 1; failed; at++) {
		sl_layout_finish(&n.laid);
		sl_alloc_fail_at(at);
		sl_status st = sl_layout_assign(n.g, &sl_kernel_cpu, &n.laid);
		failed = sl_alloc_failed();
		sl_alloc_fail_at(0);
		assert_int_equal(st, failed ? SL_E_NOMEM : SL_OK);
	}
	end(&n);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(convolutions_and_what_is_between_them_run_channels_last),
		SL_TEST(a_value_with_several_users_elsewhere_is_brought_over_once),
		SL_TEST(a_view_reads_plain_values),
		SL_TEST(nets_of_few_channels_stay_plain),
		SL_TEST(a_graph_without_images_stays_as_it_is),
		SL_TEST(every_allocation_may_fail),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

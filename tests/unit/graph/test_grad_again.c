/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what src/graph/grad.c makes again beside gradients. */
#include <math.h>
#include <string.h>

#include "harness/evaluate.h"
#include "harness/harness.h"
#include "sluice/ops.h"

static const struct sl_type large = {SL_F64, {.rank = 2, .dim = {100, 100}}};
static const struct sl_reduce_attr all = {0};

/* loss = sum(f(x)^2), whose gradient reads f(x). */
struct net {
	struct sl_graph *g;
	sl_val x, y, dx;
	uint32_t end; /* of the forward pass */
};

static struct sl_graph *new_graph(void)
{
	struct sl_graph *g = NULL;

	sl_assert_ok(sl_graph_create(&g));
	return g;
}

static void finish(struct net *n, sl_val y)
{
	sl_val loss = sl_sum(n->g, sl_mul(n->g, y, y), &all);
	const struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = &n->x, .n_wrt = 1};

	n->end = n->g->n_nodes;
	sl_assert_ok(sl_graph_grad(n->g, &r, &n->dx));
}

static struct net gelu_net(const struct sl_type *type)
{
	struct net n = {.g = new_graph()};

	n.x = sl_input(n.g, "x", type, NULL);
	n.y = sl_gelu(n.g, n.x, false);
	finish(&n, n.y);
	return n;
}

/* Nodes behind the forward pass of that operator. */
static int count(const struct net *n, const char *op)
{
	int found = 0;

	for (uint32_t k = n->end; k < n->g->n_nodes; k++)
		found += strcmp(n->g->nodes[k].op->name, op) == 0;
	return found;
}

/* Whether a node behind the forward pass reads v. */
static bool is_read(const struct net *n, sl_val v)
{
	for (uint32_t k = n->end; k < n->g->n_nodes; k++)
		for (int i = 0; i < n->g->nodes[k].n_in; i++)
			if (n->g->nodes[k].in[i].index == v.index)
				return true;
	return false;
}

static void a_cheap_value_is_made_again_once_for_all_readers(void **state)
{
	struct net n = gelu_net(&large);

	(void)state;
	assert_false(is_read(&n, n.y));
	assert_int_equal(count(&n, "gelu"), 1);
	sl_graph_destroy(n.g);
}

static void the_gradient_is_that_of_the_first_one(void **state)
{
	struct net n = gelu_net(&large);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, n.g));
	sl_eval_fill(&e, n.x, 0.5);
	sl_assert_ok(sl_eval_run(&e));
	/* 2 gelu(x) gelu'(x); Phi(0.5) and the density there from a table. */
	double phi = 0.69146246127401311, density = 0.35206532676429952;
	double want = 2 * 0.5 * phi * (phi + 0.5 * density);
	for (int64_t i = 0; i < 10000; i += 3333)
		assert_true(fabs(sl_eval_get(&e, n.dx, i) - want) < 1e-12);
	sl_eval_finish(&e);
	sl_graph_destroy(n.g);
}

static void a_small_value_is_kept(void **state)
{
	struct net n = gelu_net(&(struct sl_type){SL_F64, SL_SHAPE(8, 8)});

	(void)state;
	assert_true(is_read(&n, n.y));
	assert_int_equal(count(&n, "gelu"), 0);
	sl_graph_destroy(n.g);
}

static void a_view_of_it_is_taken_of_the_second(void **state)
{
	struct net n = {.g = new_graph()};
	sl_val gamma, beta, norm[3];

	(void)state;
	n.x = sl_input(n.g, "x", &large, NULL);
	gamma = sl_input(n.g, "gamma", &(struct sl_type){SL_F64, SL_SHAPE(100)}, NULL);
	beta = sl_input(n.g, "beta", &(struct sl_type){SL_F64, SL_SHAPE(100)}, NULL);
	sl_layer_norm(n.g, n.x, gamma, beta, 1e-5, norm);
	n.y = sl_reshape(n.g, norm[0], &SL_SHAPE(10, 1000));
	finish(&n, n.y);
	assert_false(is_read(&n, n.y));
	assert_false(is_read(&n, norm[0]));
	assert_int_equal(count(&n, "layer_norm"), 1);
	sl_graph_destroy(n.g);
}

static void known_statistics_give_batch_norm_again(void **state)
{
	struct net n = {.g = new_graph()};
	const struct sl_type channels = {SL_F64, SL_SHAPE(100)};
	sl_val out[3];
	struct sl_eval e;

	(void)state;
	n.x = sl_input(n.g, "x", &large, NULL);
	sl_batch_norm_relu(n.g, n.x, sl_input(n.g, "gamma", &channels, NULL),
		sl_input(n.g, "beta", &channels, NULL), 1e-5, out);
	finish(&n, out[0]);
	assert_false(is_read(&n, out[0]));
	sl_assert_ok(sl_eval_init(&e, n.g));
	for (uint32_t k = 0; k < n.g->n_nodes; k++)
		if (n.g->nodes[k].op == &sl_op_feed)
			sl_eval_fill(&e, n.g->nodes[k].out[0], 1);
	double row[100];
	for (int i = 0; i < 10000; i++)
		((double *)e.data[n.x.index])[i] = (double)(i * i % 1013);
	sl_assert_ok(sl_eval_run(&e));
	for (int i = 0; i < 100; i++)
		row[i] = 0;
	for (uint32_t k = n.end; k < n.g->n_nodes; k++)
		if (strcmp(n.g->nodes[k].op->name, "batch_norm_relu") == 0)
			memcpy(row, e.data[n.g->nodes[k].out[0].index], sizeof(row));
	for (int i = 0; i < 100; i++)
		assert_true(fabs(row[i] - sl_eval_get(&e, out[0], i)) < 1e-12);
	sl_eval_finish(&e);
	sl_graph_destroy(n.g);
}

static void what_a_change_in_place_would_alter_is_kept(void **state)
{
	struct net n = {.g = new_graph()};
	const struct sl_type vector = {SL_F64, SL_SHAPE(100)};
	sl_val norm[3];

	(void)state;
	n.x = sl_input(n.g, "x", &large, NULL);
	sl_val gamma = sl_input(n.g, "gamma", &vector, NULL);
	sl_val beta = sl_state(n.g, "beta", &vector, (struct sl_init){SL_INIT_ZERO, 0});
	sl_layer_norm(n.g, n.x, gamma, beta, 1e-5, norm);
	sl_assign(n.g, beta, gamma);
	finish(&n, norm[0]);
	assert_true(is_read(&n, norm[0]));
	assert_int_equal(count(&n, "layer_norm"), 0);
	sl_graph_destroy(n.g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_cheap_value_is_made_again_once_for_all_readers),
		SL_TEST(the_gradient_is_that_of_the_first_one),
		SL_TEST(a_small_value_is_kept),
		SL_TEST(a_view_of_it_is_taken_of_the_second),
		SL_TEST(known_statistics_give_batch_norm_again),
		SL_TEST(what_a_change_in_place_would_alter_is_kept),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

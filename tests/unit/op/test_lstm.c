/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

#define T 4
#define N 3
#define I 2
#define H 5

struct net {
	struct sl_graph *g;
	sl_val in[6]; /* x, w_ih, w_hh, bias, h0, c0 */
	sl_val y, d[6], dy;
};

/* One step of operators; z [1, N, 4 H]. */
static sl_val step(struct sl_graph *g, sl_val z, sl_val *cell)
{
	sl_val gate[4];

	sl_split(g, z, 2, 4, gate);
	sl_val new = sl_mul(g, sl_sigmoid(g, gate[0]), sl_tanh(g, gate[2]));
	*cell = sl_add(g, sl_mul(g, sl_sigmoid(g, gate[1]), *cell), new);
	return sl_mul(g, sl_sigmoid(g, gate[3]), sl_tanh(g, *cell));
}

static sl_val unrolled(struct net *n)
{
	const struct sl_matmul_attr trans_b = {.trans_b = true};
	struct sl_graph *g = n->g;
	sl_val h = sl_reshape(g, n->in[4], &SL_SHAPE(1, N, H));
	sl_val cell = sl_reshape(g, n->in[5], &SL_SHAPE(1, N, H));
	sl_val z = sl_matmul(g, n->in[0], n->in[1], n->in[3], &trans_b);
	sl_val out[T];

	for (int64_t t = 0; t < T; t++) {
		const struct sl_slice_attr at = {
			.begin = {t}, .end = {t + 1, INT64_MAX, INT64_MAX}};
		sl_val own = sl_add(g, sl_slice(g, z, &at),
			sl_matmul(g, h, n->in[2], SL_VAL_NONE, &trans_b));
		h = out[t] = step(g, own, &cell);
	}
	return sl_concat(g, out, T, 0);
}

static struct net make(bool as_one)
{
	struct net n = {.g = new_graph()};
	const struct sl_shape shapes[6] = {SL_SHAPE(T, N, I), SL_SHAPE(4 * H, I),
		SL_SHAPE(4 * H, H), SL_SHAPE(4 * H), SL_SHAPE(N, H), SL_SHAPE(N, H)};
	const char *const names[6] = {"x", "w_ih", "w_hh", "bias", "h0", "c0"};

	for (int i = 0; i < 6; i++)
		n.in[i] = input(n.g, names[i], shapes[i]);
	n.y = as_one ? sl_lstm(n.g, n.in[0], n.in + 1, n.in + 4) : unrolled(&n);
	backward(n.g, n.y, &n.dy, n.in, 6, n.d);
	return n;
}

static void evaluate(struct net *n, struct sl_eval *e)
{
	sl_assert_ok(sl_graph_status(n->g));
	sl_assert_ok(sl_eval_init(e, n->g));
	for (int i = 0; i < 6; i++)
		scatter(e, n->in[i]);
	for (int64_t i = 0; i < T * N * H; i++)
		((double *)e->data[n->dy.index])[i] = cos((double)i * 0.7);
	sl_assert_ok(sl_eval_run(e));
}

static void expect_same(
	const struct sl_eval *a, sl_val x, const struct sl_eval *b, sl_val y)
{
	assert_int_equal(sl_eval_count(a, x), sl_eval_count(b, y));
	for (int64_t i = 0; i < sl_eval_count(a, x); i++)
		assert_true(fabs(sl_eval_get(a, x, i) - sl_eval_get(b, y, i)) < 1e-12);
}

static void the_operator_is_the_unrolled_network(void **state)
{
	struct net one = make(true);
	struct net many = make(false);
	struct sl_eval a, b;

	(void)state;
	evaluate(&one, &a);
	evaluate(&many, &b);
	expect_same(&a, one.y, &b, many.y);
	for (int i = 0; i < 6; i++)
		expect_same(&a, one.d[i], &b, many.d[i]);
	sl_eval_finish(&a);
	sl_eval_finish(&b);
	sl_graph_destroy(one.g);
	sl_graph_destroy(many.g);
}

static void no_first_state_is_zero(void **state)
{
	struct sl_graph *g = new_graph();
	struct sl_eval e;
	sl_val x = input(g, "x", SL_SHAPE(1, 1, 1));
	sl_val w[3] = {input(g, "w_ih", SL_SHAPE(4, 1)), input(g, "w_hh", SL_SHAPE(4, 1)),
		input(g, "bias", SL_SHAPE(4))};
	sl_val y = sl_lstm(g, x, w, NULL);

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	sl_eval_fill(&e, x, 1);
	SET(&e, w[0], 0.5, 7, 0.25, -0.5);
	sl_eval_fill(&e, w[1], 3);
	sl_eval_fill(&e, w[2], 0);
	sl_assert_ok(sl_eval_run(&e));
	double c = tanh(0.25) / (1 + exp(-0.5));
	NEAR(&e, y, tanh(c) / (1 + exp(0.5)));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_gradient_into_the_cells_is_refused(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val z = input(g, "z", SL_SHAPE(1, 1, 4));
	const sl_val in[4] = {z, input(g, "w", SL_SHAPE(4, 1)), SL_VAL_NONE, SL_VAL_NONE};
	sl_val out[3];
	sl_val d;

	(void)state;
	sl_lstm_steps(g, in, out);
	struct sl_grad_request r = {.loss = sl_sum(g, out[2], NULL),
		.seed = SL_VAL_NONE,
		.wrt = &z,
		.n_wrt = 1};
	sl_assert_fails(sl_graph_grad(g, &r, &d), SL_E_UNSUPPORTED, "only its y");
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_operator_is_the_unrolled_network),
		SL_TEST(no_first_state_is_zero),
		SL_TEST(a_gradient_into_the_cells_is_refused),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

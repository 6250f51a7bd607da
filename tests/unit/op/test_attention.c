/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/op/numbers.h"

#include "base/rng.h"

/* q, k, v and mask of one test; numbers from scatter. */
struct parts {
	struct sl_graph *g;
	sl_val in[4];
};

static struct parts new_parts(
	struct sl_shape q, int64_t keys, const struct sl_shape *mask)
{
	struct parts p = {.g = new_graph()};
	struct sl_shape k = q;

	k.dim[2] = keys;
	p.in[0] = input(p.g, "q", q);
	p.in[1] = input(p.g, "k", k);
	p.in[2] = input(p.g, "v", k);
	p.in[3] = mask ? input(p.g, "mask", *mask) : SL_VAL_NONE;
	return p;
}

static sl_val attend(struct parts *p, const struct sl_attention_attr *attr, sl_val out[2])
{
	return sl_attention(p->g, p->in[0], p->in[1], p->in[2], p->in[3], attr, out);
}

static void scatter_all(struct sl_eval *e, const struct parts *p)
{
	for (int i = 0; i < 4; i++)
		if (!sl_val_is_none(p->in[i]))
			scatter(e, p->in[i]);
}

static void two_keys_share_by_their_scores(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 1, 1, 1), 2, NULL);
	struct sl_eval e;
	sl_val out[2];

	attend(&p, NULL, out);
	sl_assert_ok(sl_eval_init(&e, p.g));
	SET(&e, p.in[0], 1);
	SET(&e, p.in[1], 0, log(3));
	SET(&e, p.in[2], 8, 16);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], 14);
	NEAR(&e, out[1], log(4));
	sl_eval_finish(&e);
	sl_graph_destroy(p.g);
}

static void it_equals_its_parts_built_one_by_one(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(2, 2, 3, 4), 5, &SL_SHAPE(2, 1, 3, 5));
	struct sl_eval e;
	sl_val out[2];
	struct sl_matmul_attr tb = {.trans_b = true};
	double want[48];

	attend(&p, NULL, out);
	sl_val scores = sl_matmul(p.g, p.in[0], p.in[1], SL_VAL_NONE, &tb);
	scores = sl_add(p.g, sl_affine(p.g, scores, 0.5, 0), p.in[3]);
	sl_val y =
		sl_matmul(p.g, sl_softmax(p.g, scores, -1), p.in[2], SL_VAL_NONE, NULL);
	sl_assert_ok(sl_eval_init(&e, p.g));
	scatter_all(&e, &p);
	sl_assert_ok(sl_eval_run(&e));
	for (int i = 0; i < 48; i++)
		want[i] = sl_eval_get(&e, y, i);
	assert_true(sl_eval_near(&e, out[0], want, 48, 1e-13));
	sl_eval_finish(&e);
	sl_graph_destroy(p.g);
}

static void the_last_causal_query_sees_all_keys(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 1, 2, 1), 3, NULL);
	struct sl_eval e;
	sl_val out[2];

	attend(&p, &(struct sl_attention_attr){.causal = true}, out);
	sl_assert_ok(sl_eval_init(&e, p.g));
	sl_eval_fill(&e, p.in[0], 0);
	sl_eval_fill(&e, p.in[1], 0);
	SET(&e, p.in[2], 2, 4, 9);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], 3, 5);
	NEAR(&e, out[1], log(2), log(3));
	sl_eval_finish(&e);
	sl_graph_destroy(p.g);
}

/* Three queries, one key: the first two see nothing; then a mask that hides all, with v
 * infinite. */
static void a_row_that_sees_nothing_gives_zeros(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 1, 3, 1), 1, &SL_SHAPE(3, 1));
	struct sl_eval e;
	sl_val out[2];
	sl_val d[3];
	sl_val dy;
	const double inf = INFINITY;

	attend(&p, &(struct sl_attention_attr){.causal = true}, out);
	backward(p.g, out[0], &dy, p.in, 3, d);
	sl_assert_ok(sl_eval_init(&e, p.g));
	sl_eval_fill(&e, p.in[0], 1);
	sl_eval_fill(&e, p.in[1], 1);
	SET(&e, p.in[2], 7);
	SET(&e, dy, 1, 2, 3);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], 0, 0, 7);
	NEAR(&e, out[1], -inf, -inf, 1);
	NEAR(&e, d[0], 0, 0, 0);
	NEAR(&e, d[2], 3);
	SET(&e, p.in[2], inf);
	sl_eval_fill(&e, p.in[3], -inf);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, out[0], 0, 0, 0);
	NEAR(&e, out[1], -inf, -inf, -inf);
	NEAR(&e, d[1], 0);
	NEAR(&e, d[2], 0);
	sl_eval_finish(&e);
	sl_graph_destroy(p.g);
}

static void dropout_keeps_by_the_element_s_own_number(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 1, 8, 1), 1, NULL);
	struct sl_attention_attr attr = {.dropout = 0.5, .stream = 7, .base = 100};
	struct sl_eval e;
	sl_val out[2];
	double want[8];
	int kept = 0;

	attend(&p, &attr, out);
	sl_assert_ok(sl_eval_init(&e, p.g));
	e.run.seed = 11;
	e.run.step = 3;
	scatter_all(&e, &p);
	SET(&e, p.in[2], 1);
	sl_assert_ok(sl_eval_run(&e));
	for (uint64_t i = 0; i < 8; i++) {
		struct sl_rng_key key = {.seed = 11, .stream = 7, .step = 3};
		bool keep = (double)sl_rng_unit(sl_rng_u32(&key, 100 + i)) >= 0.5;
		want[i] = keep ? 2 : 0;
		kept += keep;
	}
	assert_in_range(kept, 1, 7);
	assert_true(sl_eval_near(&e, out[0], want, 8, 1e-12));
	sl_eval_finish(&e);
	sl_graph_destroy(p.g);
}

static struct sl_graph *dropout_template(const struct sl_attention_attr *attr, sl_val *y)
{
	static const uint8_t symbol[] = {1 + SL_DIM_BATCH, 0, 0, 0};
	struct sl_type q = {SL_F64, SL_SHAPE(3, 2, 2, 1)};
	struct sl_type k = {SL_F64, SL_SHAPE(3, 2, 5, 1)};
	struct sl_graph *g = new_graph();
	sl_val in[2] = {sl_input(g, "q", &q, symbol), sl_input(g, "k", &k, symbol)};
	sl_val out[2];

	*y = sl_attention(g, in[0], in[1], in[1], SL_VAL_NONE, attr, out);
	return g;
}

static void a_part_of_the_batch_draws_the_numbers_of_the_whole(void **state)
{
	(void)state;
	struct sl_attention_attr attr = {.dropout = 0.5};
	struct sl_bind last = {.size = {[SL_DIM_BATCH] = 1}, .batch_offset = 2};
	struct sl_eval whole;
	struct sl_eval part;
	sl_val y;
	struct sl_graph *tmpl = dropout_template(&attr, &y);
	struct sl_graph *g = new_graph();
	double want[4];

	sl_assert_ok(sl_graph_bind(g, tmpl, &last));
	sl_assert_ok(sl_eval_init(&whole, tmpl));
	sl_assert_ok(sl_eval_init(&part, g));
	for (uint32_t i = 0; i < 2; i++) {
		const sl_val in = {i};
		int64_t n = sl_eval_count(&part, in);
		scatter(&whole, in);
		for (int64_t k = 0; k < n; k++)
			((double *)part.data[i])[k] = sl_eval_get(&whole, in, 2 * n + k);
	}
	sl_assert_ok(sl_eval_run(&whole));
	sl_assert_ok(sl_eval_run(&part));
	for (int64_t i = 0; i < 4; i++)
		want[i] = sl_eval_get(&whole, y, 8 + i);
	assert_true(sl_eval_near(&part, y, want, 4, 0));
	sl_eval_finish(&whole);
	sl_eval_finish(&part);
	sl_graph_destroy(g);
	sl_graph_destroy(tmpl);
}

static void check(int64_t t, int64_t s, const struct sl_attention_attr *attr)
{
	struct parts p = new_parts(SL_SHAPE(2, 2, t, 3), s, NULL);
	sl_val out[2];

	check_gradients(p.g, attend(&p, attr, out), p.in, 3);
}

static void gradients_hold_for_each_attribute(void **state)
{
	(void)state;
	struct sl_attention_attr causal = {.causal = true};
	struct sl_attention_attr scaled = {.scale = -0.3};
	struct sl_attention_attr dropped = {.dropout = 0.4, .stream = 2, .causal = true};
	struct sl_attention_attr all = {.dropout = 1};

	check(2, 3, NULL);
	check(2, 3, &causal);
	check(3, 2, &causal);
	check(2, 2, &scaled);
	check(3, 3, &dropped);
	check(2, 2, &all);
}

/* The same through a mask, which holds -inf in one place. */
static void gradients_hold_under_a_mask(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 2, 2, 2), 3, NULL);
	struct sl_type row = {SL_F32, SL_SHAPE(1)};
	sl_val part[] = {sl_full(p.g, &row, 0.5), sl_full(p.g, &row, -(double)INFINITY),
		sl_full(p.g, &row, -0.25)};
	sl_val out[2];

	p.in[3] = sl_concat(p.g, part, 3, 0);
	check_gradients(p.g, attend(&p, NULL, out), p.in, 3);
}

static void refuse_grad(int wrt, int from, const char *part)
{
	struct parts p = new_parts(SL_SHAPE(1, 1, 2, 2), 2, &SL_SHAPE(2, 2));
	sl_val out[2];
	sl_val d;

	attend(&p, NULL, out);
	struct sl_grad_request r = {.loss = sl_sum(p.g, out[from], NULL),
		.seed = SL_VAL_NONE,
		.wrt = &p.in[wrt],
		.n_wrt = 1};
	sl_assert_fails(sl_graph_grad(p.g, &r, &d), SL_E_UNSUPPORTED, part);
	sl_graph_destroy(p.g);
}

static void what_it_cannot_do_is_refused(void **state)
{
	(void)state;
	struct parts p = new_parts(SL_SHAPE(1, 1, 2, 2), 3, &SL_SHAPE(2, 2));
	sl_val out[2];

	attend(&p, NULL, out);
	sl_assert_fails(sl_graph_status(p.g), SL_E_SHAPE, "[2, 2]");
	sl_graph_destroy(p.g);
	p = new_parts(SL_SHAPE(1, 1, 2, 2), 2, NULL);
	attend(&p, &(struct sl_attention_attr){.dropout = 1.5}, out);
	sl_assert_fails(sl_graph_status(p.g), SL_E_INVALID, "dropout 1.5");
	sl_graph_destroy(p.g);
	refuse_grad(3, 0, "mask");
	refuse_grad(0, 1, "log-sum-exp");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(two_keys_share_by_their_scores),
		SL_TEST(it_equals_its_parts_built_one_by_one),
		SL_TEST(the_last_causal_query_sees_all_keys),
		SL_TEST(a_row_that_sees_nothing_gives_zeros),
		SL_TEST(dropout_keeps_by_the_element_s_own_number),
		SL_TEST(a_part_of_the_batch_draws_the_numbers_of_the_whole),
		SL_TEST(gradients_hold_for_each_attribute),
		SL_TEST(gradients_hold_under_a_mask),
		SL_TEST(what_it_cannot_do_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

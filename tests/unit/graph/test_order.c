/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/graph/order.c. */
#include "harness/harness.h"
#include "harness/random_graph.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/dce.h"
#include "graph/order.h"
#include "sluice/ops.h"

#define N 4
#define NODES 4096

static const struct sl_type vec = {SL_F32, {.rank = 1, .dim = {N}}};
static const struct sl_type counter = {SL_I64, {.rank = 0}};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

struct fixture {
	struct sl_graph *g;
	bool keep[NODES];
	uint32_t order[NODES], at[NODES];
	uint32_t n;
};

static int setup(void **state)
{
	int rc = sl_test_begin(state);
	struct fixture *f = sl_calloc(1, sizeof(*f));

	assert_non_null(f);
	sl_assert_ok(sl_graph_create(&f->g));
	*state = f;
	return rc;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sl_graph_destroy(f->g);
	sl_free(f);
	return sl_test_end(state);
}

static void make_order(struct fixture *f)
{
	sl_assert_ok(sl_graph_status(f->g));
	assert_true(f->g->n_nodes <= NODES);
	sl_assert_ok(sl_graph_dce(f->g, f->keep));
	sl_assert_ok(sl_graph_order(f->g, f->keep, f->order, &f->n));
	for (uint32_t k = 0; k < f->n; k++)
		f->at[f->order[k]] = k;
}

/* The order as letters, one a node of the program order. */
static void assert_order(struct fixture *f, const char *want)
{
	char got[64] = {0};

	make_order(f);
	assert_true(f->n < sizeof(got));
	for (uint32_t k = 0; k < f->n; k++)
		got[k] = (char)('a' + f->order[k]);
	assert_string_equal(got, want);
}

static sl_val var(struct sl_graph *g, const char *name)
{
	return sl_param(g, name, &vec, zero);
}

static void an_update_stands_behind_the_last_reader_of_its_weight(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val w = var(g, "w");
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */
	sl_val d = sl_relu(g, x); /* b */

	sl_output(g, "y", sl_mul(g, sl_reshape(g, w, &SL_SHAPE(N)), d)); /* c d e */
	sl_output(g, "z", sl_relu(g, x)); /* f g */
	(void)sl_accumulate(g, w, d); /* h */
	assert_order(f, "abcdhefg");
}

static void what_reads_a_changed_weight_keeps_behind_the_change(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val w = var(g, "w"), v = var(g, "v");
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */

	sl_output(g, "x", x); /* b */
	(void)sl_accumulate(g, w, x); /* c */
	sl_output(g, "w", w); /* d */
	(void)sl_accumulate(g, v, w); /* e: reads w, so not before c */
	sl_output(g, "x2", x); /* f */
	(void)sl_accumulate(g, w, x); /* g: writes what d and e read */
	assert_order(f, "acebdgf");
}

static void an_update_without_any_need_stays(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */

	sl_output(g, "x", x); /* b */
	(void)sl_assign(g, var(g, "w"), var(g, "v")); /* c */
	assert_order(f, "abc");
}

/* Two weights, each with its gradient, and all that an optimizer adds behind them. */
static void add_step(struct sl_graph *g, double clip)
{
	sl_val w[2] = {var(g, "w"), var(g, "v")};
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */
	sl_val d[2] = {sl_relu(g, x)}; /* b */
	sl_val step = sl_state(g, "step", &counter, zero);
	sl_val coef = SL_VAL_NONE, squares[2];

	d[1] = sl_relu(g, d[0]); /* c */
	sl_output(g, "x", x); /* d */
	sl_val lr = sl_learning_rate(g, step, NULL); /* e */
	for (int i = 0; i < 2 && clip > 0; i++)
		squares[i] = sl_sum_squares(g, d[i]); /* f g */
	if (clip > 0)
		coef = sl_clip_coef(g, squares, 2, clip); /* h */
	for (int i = 0; i < 2; i++)
		(void)sl_sgd(g, w[i], d[i], lr, coef, NULL); /* f g, or i j */
	(void)sl_step_next(g, step); /* h, or k */
}

static void the_learning_rate_goes_before_its_first_user(void **state)
{
	struct fixture *f = *state;

	add_step(f->g, 0);
	assert_order(f, "abefhcgd");
}

static void clipped_updates_wait_for_all_gradients(void **state)
{
	struct fixture *f = *state;

	add_step(f->g, 1);
	make_order(f);
	for (uint32_t k = f->at['h' - 'a'] + 1; k < f->n; k++)
		assert_int_not_equal(f->order[k], 'g' - 'a');
	assert_true(f->at['h' - 'a'] < f->at['i' - 'a']);
	assert_true(f->at['h' - 'a'] < f->at['j' - 'a']);
}

static void sums_into_a_gradient_move_too(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */
	sl_val first = sl_relu(g, x); /* b */
	sl_val second = sl_relu(g, x); /* c */

	g->values[first.index].role = g->values[second.index].role = SL_ROLE_GRAD;
	sl_output(g, "x", x); /* d */
	sl_val sum = sl_add(g, first, second); /* e */
	(void)sl_accumulate(g, var(g, "w"), sum); /* f */
	assert_order(f, "abcefd");
}

static void a_sum_passes_no_reader_of_what_it_overwrites(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */
	sl_val first = sl_relu(g, x); /* b */
	sl_val second = sl_relu(g, x); /* c */

	g->values[first.index].role = g->values[second.index].role = SL_ROLE_GRAD;
	sl_output(g, "x", x); /* d */
	sl_output(g, "first", first); /* e */
	sl_output(g, "x2", x); /* f */
	sl_val sum = sl_add(g, first, second); /* g */
	(void)sl_accumulate(g, var(g, "w"), sum); /* h */
	assert_order(f, "abcdeghf");
}

static void a_sum_that_needs_new_bytes_stays(void **state)
{
	struct fixture *f = *state;
	struct sl_graph *g = f->g;
	sl_val x = sl_input(g, "x", &vec, NULL); /* a */
	sl_val first = sl_relu(g, x); /* b */

	g->values[first.index].role = SL_ROLE_GRAD;
	(void)sl_input(g, "other", &vec, NULL); /* c */
	sl_val sum = sl_add(g, first, x); /* d */
	(void)sl_accumulate(g, var(g, "w"), sum); /* e */
	sl_output(g, "first", first); /* f */
	sl_output(g, "x", x); /* g */
	assert_order(f, "abcdefg");
}

static bool touches(
	const struct sl_graph *g, const struct sl_ir_node *n, uint32_t root, bool writes)
{
	for (int i = 0; i < n->n_in; i++)
		if (!sl_val_is_none(n->in[i]) && g->values[n->in[i].index].root == root &&
			(!writes || (i < 32 && (n->op->mutates >> i & 1))))
			return true;
	return false;
}

/* Whether node b must stay behind node a: by the definition, one pair at a time. */
static bool depends(const struct sl_graph *g, uint32_t b, uint32_t a)
{
	const struct sl_ir_node *nb = &g->nodes[b], *na = &g->nodes[a];

	for (int i = 0; i < nb->n_in; i++) {
		if (sl_val_is_none(nb->in[i]))
			continue;
		const struct sl_ir_value *v = &g->values[nb->in[i].index];
		if (v->producer == a || touches(g, na, v->root, true))
			return true;
		if (i < 32 && (nb->op->mutates >> i & 1) &&
			touches(g, na, v->root, false))
			return true;
	}
	return false;
}

static int random_order(struct fixture *f, uint64_t seed)
{
	const struct sl_random_graph_opts opts = {.seed = seed};
	int moved = 0;

	sl_graph_destroy(f->g);
	f->g = NULL;
	sl_assert_ok(sl_random_graph(&opts, &f->g));
	memset(f->at, 0xff, sizeof(f->at));
	make_order(f);
	for (uint32_t b = 0; b < f->g->n_nodes; b++) {
		assert_true(!f->keep[b] || f->at[b] < f->n);
		for (uint32_t a = 0; a < b; a++) {
			if (!f->keep[a] || !f->keep[b] || f->at[a] < f->at[b])
				continue;
			moved++;
			if (depends(f->g, b, a))
				fail_msg("seed %d: node %u passed node %u", (int)seed, b,
					a);
		}
	}
	return moved;
}

static void no_node_of_a_random_graph_passes_what_it_depends_on(void **state)
{
	int moved = 0;

	for (uint64_t seed = 1; seed <= 60; seed++)
		moved += random_order(*state, seed);
	assert_true(moved > 1000);
}

static sl_status order_once(void *ctx)
{
	struct fixture *f = ctx;

	return sl_graph_order(f->g, f->keep, f->order, &f->n);
}

static void ordering_survives_a_lack_of_memory(void **state)
{
	struct fixture *f = *state;

	add_step(f->g, 1);
	make_order(f);
	assert_int_equal(sl_torture(order_once, f), 3);
}

#define ORDER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		ORDER_TEST(an_update_stands_behind_the_last_reader_of_its_weight),
		ORDER_TEST(what_reads_a_changed_weight_keeps_behind_the_change),
		ORDER_TEST(an_update_without_any_need_stays),
		ORDER_TEST(the_learning_rate_goes_before_its_first_user),
		ORDER_TEST(clipped_updates_wait_for_all_gradients),
		ORDER_TEST(sums_into_a_gradient_move_too),
		ORDER_TEST(a_sum_passes_no_reader_of_what_it_overwrites),
		ORDER_TEST(a_sum_that_needs_new_bytes_stays),
		ORDER_TEST(no_node_of_a_random_graph_passes_what_it_depends_on),
		ORDER_TEST(ordering_survives_a_lack_of_memory),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

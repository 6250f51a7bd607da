/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of src/op/optim.c and optim_scalar.c; shape errors are in
 * tests/cases/op/optim.txt. */
#include "unit/op/numbers.h"

static const struct sl_type scalar = {SL_F64, {.rank = 0}};
static const struct sl_type counter = {SL_I64, {.rank = 0}};
static const struct sl_type vec3 = {SL_F64, {.rank = 1, .dim = {3}}};
static const struct sl_type one = {SL_F64, {.rank = 1, .dim = {1}}};
static const struct sl_init zero = {SL_INIT_ZERO, 0};

/* A parameter (1, -2, 0.5) with gradient (0.5, -1, 0.25), learning rate 0.1. */
struct rig {
	struct sl_graph *g;
	sl_val p, grad, lr, step, coef;
	struct sl_eval e;
};

static void rig_init(struct rig *r)
{
	r->g = new_graph();
	r->p = sl_param(r->g, "p", &vec3, zero);
	r->grad = sl_input(r->g, "grad", &vec3, NULL);
	r->lr = sl_input(r->g, "lr", &scalar, NULL);
	r->coef = sl_input(r->g, "coef", &scalar, NULL);
	r->step = sl_state(r->g, "step", &counter, zero);
}

static void rig_run(struct rig *r, int steps)
{
	sl_step_next(r->g, r->step);
	sl_assert_ok(sl_eval_init(&r->e, r->g));
	SET(&r->e, r->p, 1, -2, 0.5);
	SET(&r->e, r->grad, 0.5, -1, 0.25);
	SET(&r->e, r->lr, 0.1);
	SET(&r->e, r->coef, 0.5);
	for (int i = 0; i < steps; i++)
		sl_assert_ok(sl_eval_run(&r->e));
}

static void rig_finish(struct rig *r)
{
	sl_eval_finish(&r->e);
	sl_graph_destroy(r->g);
}

static void sgd_adds_decay_to_the_clipped_gradient(void **state)
{
	struct rig r;
	const struct sl_optim_attr a = {.weight_decay = 0.1};

	(void)state;
	rig_init(&r);
	sl_sgd(r.g, r.p, r.grad, r.lr, r.coef, &a);
	rig_run(&r, 1);
	NEAR(&r.e, r.p, 1 - 0.1 * 0.35, -2 + 0.1 * 0.7, 0.5 - 0.1 * 0.175);
	rig_finish(&r);
}

static void momentum_starts_with_the_gradient(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	const sl_val pgb[] = {r.p, r.grad, sl_state(r.g, "buf", &vec3, zero)};
	sl_momentum(
		r.g, pgb, r.lr, SL_VAL_NONE, &(struct sl_optim_attr){.momentum = 0.9});
	rig_run(&r, 2);
	NEAR(&r.e, pgb[2], 0.95, -1.9, 0.475);
	NEAR(&r.e, r.p, 1 - 0.05 - 0.095, -2 + 0.1 + 0.19, 0.5 - 0.025 - 0.0475);
	rig_finish(&r);
}

static void nesterov_looks_one_step_ahead(void **state)
{
	struct rig r;
	const struct sl_optim_attr a = {.momentum = 0.9, .nesterov = true};

	(void)state;
	rig_init(&r);
	const sl_val pgb[] = {r.p, r.grad, sl_state(r.g, "buf", &vec3, zero)};
	sl_momentum(r.g, pgb, r.lr, SL_VAL_NONE, &a);
	rig_run(&r, 1);
	NEAR(&r.e, r.p, 1 - 0.1 * 0.95, -2 + 0.1 * 1.9, 0.5 - 0.1 * 0.475);
	rig_finish(&r);
}

static const struct sl_optim_attr adam_attr = {
	.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};

/* Numbers of two steps by PyTorch's formula, computed aside. */
static void adam_decays_through_the_gradient(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	const sl_val pgmv[] = {r.p, r.grad, sl_state(r.g, "m", &vec3, zero),
		sl_state(r.g, "v", &vec3, zero)};
	sl_adam(r.g, pgmv, r.lr, r.step, SL_VAL_NONE, &adam_attr);
	rig_run(&r, 2);
	NEAR(&r.e, r.p, 0.8000435398917464, -1.8000207962704173, 0.30009505358088456);
	NEAR(&r.e, pgmv[2], 0.11300000001666663, -0.22700000000833326,
		0.056000000033333316);
	NEAR(&r.e, pgmv[3], 0.0070450000019666725, 0.028417000001983356,
		0.0017320000019333348);
	rig_finish(&r);
}

static void adamw_decays_the_parameter_itself(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	const sl_val pgmv[] = {r.p, r.grad, sl_state(r.g, "m", &vec3, zero),
		sl_state(r.g, "v", &vec3, zero)};
	sl_adamw(r.g, pgmv, r.lr, r.step, SL_VAL_NONE, &adam_attr);
	rig_run(&r, 2);
	NEAR(&r.e, r.p, 0.7811000039799999, -1.76120000199, 0.2910500079599996);
	NEAR(&r.e, pgmv[2], 0.095, -0.19, 0.0475);
	NEAR(&r.e, pgmv[3], 0.004975, 0.0199, 0.00124375);
	rig_finish(&r);
}

/* Three slices of one element give what one update of all gives. */
static void slices_update_their_elements_only(void **state)
{
	static const char *const names[3][2] = {{"m0", "v0"}, {"m1", "v1"}, {"m2", "v2"}};
	struct rig r;

	(void)state;
	rig_init(&r);
	for (int i = 0; i < 3; i++) {
		struct sl_optim_attr a = adam_attr;
		const sl_val pgmv[] = {r.p, r.grad,
			sl_state(r.g, names[i][0], &one, zero),
			sl_state(r.g, names[i][1], &one, zero)};
		a.begin = i;
		a.count = 1;
		sl_adamw(r.g, pgmv, r.lr, r.step, SL_VAL_NONE, &a);
	}
	rig_run(&r, 2);
	NEAR(&r.e, r.p, 0.7811000039799999, -1.76120000199, 0.2910500079599996);
	rig_finish(&r);
}

static void check_rate(struct sl_schedule_attr a, double step, double want)
{
	struct sl_graph *g = new_graph();
	sl_val s = sl_state(g, "step", &counter, (struct sl_init){SL_INIT_CONST, step});
	sl_val lr = sl_learning_rate(g, s, &a);
	struct sl_eval e;

	sl_assert_ok(sl_eval_init(&e, g));
	sl_assert_ok(sl_eval_run(&e));
	assert_int_equal(sl_val_type(g, lr)->dtype, SL_F32);
	assert_true(sl_eval_near(&e, lr, &want, 1, 1e-7));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void the_learning_rate_follows_its_schedule(void **state)
{
	const struct sl_schedule_attr flat = {.base = 0.5, .warmup = 4};
	const struct sl_schedule_attr stairs = {
		.kind = SL_SCHEDULE_STEP, .base = 1, .gamma = 0.5, .period = 10};
	const struct sl_schedule_attr cosine = {.kind = SL_SCHEDULE_COSINE,
		.base = 1,
		.floor = 0.2,
		.warmup = 10,
		.total = 110};

	(void)state;
	check_rate(flat, 0, 0.125);
	check_rate(flat, 3, 0.5);
	check_rate(flat, 1000, 0.5);
	check_rate(stairs, 9, 1);
	check_rate(stairs, 10, 0.5);
	check_rate(stairs, 35, 0.125);
	check_rate(cosine, 4, 0.5);
	check_rate(cosine, 10, 1);
	check_rate(cosine, 60, 0.6);
	check_rate(cosine, 110, 0.2);
	check_rate(cosine, 500, 0.2);
}

static void clipping_scales_to_the_largest_norm(void **state)
{
	struct sl_graph *g = new_graph();
	sl_val a = input(g, "a", SL_SHAPE(2));
	sl_val b = input(g, "b", SL_SHAPE(1));
	const sl_val squares[] = {sl_sum_squares(g, a), sl_sum_squares(g, b)};
	sl_val tight = sl_clip_coef(g, squares, 2, 6.5);
	sl_val loose = sl_clip_coef(g, squares, 2, 100);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	SET(&e, a, 3, 4);
	SET(&e, b, -12);
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, squares[0], 25);
	NEAR(&e, squares[1], 144);
	assert_true(sl_eval_near(&e, tight, (double[]){0.5}, 1, 1e-6));
	NEAR(&e, loose, 1);
	/* A broken gradient is not hidden by the clipping. */
	SET(&e, b, NAN);
	sl_assert_ok(sl_eval_run(&e));
	assert_true(isnan(sl_eval_get(&e, loose, 0)));
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

static void a_sum_of_squares_over_several_chunks_is_exact_in_f64(void **state)
{
	struct sl_graph *g = new_graph();
	const struct sl_type type = {SL_F32, SL_SHAPE(3, 65536)};
	sl_val x = sl_input(g, "x", &type, NULL);
	sl_val y = sl_sum_squares(g, x);
	struct sl_eval e;

	(void)state;
	sl_assert_ok(sl_eval_init(&e, g));
	/* In f32 the sum of ones after 2^24 would stay there. */
	sl_eval_fill(&e, x, 1);
	((float *)e.data[x.index])[0] = 4096;
	((float *)e.data[x.index])[1] = 0;
	sl_assert_ok(sl_eval_run(&e));
	NEAR(&e, y, 0x1p24 + 3 * 65536 - 2);
	sl_eval_finish(&e);
	sl_graph_destroy(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(sgd_adds_decay_to_the_clipped_gradient),
		SL_TEST(momentum_starts_with_the_gradient),
		SL_TEST(nesterov_looks_one_step_ahead),
		SL_TEST(adam_decays_through_the_gradient),
		SL_TEST(adamw_decays_the_parameter_itself),
		SL_TEST(slices_update_their_elements_only),
		SL_TEST(the_learning_rate_follows_its_schedule),
		SL_TEST(clipping_scales_to_the_largest_norm),
		SL_TEST(a_sum_of_squares_over_several_chunks_is_exact_in_f64),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

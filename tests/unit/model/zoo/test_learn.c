/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "graph/ir.h"
#include "harness/evaluate.h"
#include "harness/harness.h"
#include "sluice/model.h"
#include "sluice/ops.h"

/*
 * A model, its backward pass and plain gradient descent, run by the reference kernels:
 * the loss of one batch must begin at that of a guess and fall.
 */
struct run {
	struct sl_graph *g;
	struct sl_eval e;
	sl_val loss;
	struct sl_model_config c;
};

#define PARAMS_MAX 192

static void add_descent(struct sl_graph *g, sl_val loss, double rate)
{
	sl_val wrt[PARAMS_MAX];
	sl_val grad[PARAMS_MAX];
	size_t n = 0;
	struct sl_type scalar = {.dtype = SL_F32};

	for (sl_val v; !sl_val_is_none(v = sl_graph_param_at(g, n)); n++)
		wrt[n] = v;
	struct sl_grad_request r = {
		.loss = loss, .seed = SL_VAL_NONE, .wrt = wrt, .n_wrt = n};
	sl_assert_ok(sl_graph_grad(g, &r, grad));
	sl_val lr = sl_full(g, &scalar, rate);
	for (size_t i = 0; i < n; i++) {
		assert_false(sl_val_is_none(grad[i]));
		(void)sl_sgd(
			g, wrt[i], grad[i], lr, SL_VAL_NONE, &(struct sl_optim_attr){0});
	}
	sl_assert_ok(sl_graph_status(g));
}

/* First values as sl_init says; the harness does zeros and constants. */
static void init_param(struct run *r, sl_val v, uint32_t stream)
{
	const struct sl_init *init = &r->g->values[v.index].init;
	struct sl_rng_key key = {.seed = 11, .stream = stream};
	float *x = r->e.data[v.index];

	for (int64_t i = 0; i < sl_eval_count(&r->e, v); i++) {
		double unit = (double)sl_rng_unit(sl_rng_u32(&key, (uint64_t)i));
		if (init->kind == SL_INIT_NORMAL)
			x[i] = (float)(init->value * sl_rng_normal(&key, (uint64_t)i));
		if (init->kind == SL_INIT_UNIFORM)
			x[i] = (float)(init->value * (2 * unit - 1));
	}
}

static void feed(struct run *r)
{
	struct sl_rng random = {.key = {.seed = 3}};
	int64_t classes = sl_model_is_tokens(&r->c) ? r->c.vocab : r->c.classes;

	for (uint32_t k = 0; k < r->g->n_nodes; k++) {
		const struct sl_ir_node *n = &r->g->nodes[k];
		if (n->op != &sl_op_feed)
			continue;
		const char *name = ((const struct sl_io_attr *)n->attr)->name;
		sl_val v = n->out[0];
		enum sl_dtype t = sl_val_type(r->g, v)->dtype;
		for (int64_t i = 0; i < sl_eval_count(&r->e, v); i++) {
			uint64_t any = sl_rng_next(&random);
			if (strcmp(name, "pos") == 0)
				((int32_t *)r->e.data[v.index])[i] = (int32_t)i;
			else if (t == SL_F32)
				((float *)r->e.data[v.index])[i] =
					(float)(any % 2000) / 1000 - 1;
			else if (t == SL_I32)
				((int32_t *)r->e.data[v.index])[i] =
					(int32_t)(any % (uint64_t)classes);
			else
				((int64_t *)r->e.data[v.index])[i] =
					(int64_t)(any % (uint64_t)classes);
		}
	}
}

static void start(
	struct run *r, const char *spec, const struct sl_bind *bind, double rate)
{
	struct sl_graph *tmpl = NULL;
	sl_val v;

	memset(r, 0, sizeof(*r));
	sl_assert_ok(sl_model_parse(spec, &r->c));
	sl_assert_ok(sl_graph_create(&tmpl));
	sl_assert_ok(sl_graph_create(&r->g));
	sl_assert_ok(sl_model_build(&r->c, true, tmpl));
	sl_assert_ok(sl_graph_bind(r->g, tmpl, bind));
	sl_graph_destroy(tmpl);
	r->loss = sl_graph_output(r->g, "loss");
	add_descent(r->g, r->loss, rate);
	sl_assert_ok(sl_eval_init(&r->e, r->g));
	for (size_t i = 0; !sl_val_is_none(v = sl_graph_param_at(r->g, i)); i++)
		init_param(r, v, (uint32_t)i + 1);
	feed(r);
}

static void finish(struct run *r)
{
	sl_eval_finish(&r->e);
	sl_graph_destroy(r->g);
}

/* Fetches have nowhere to go. */
static sl_status take_nothing(void *ctx, const char *name, uint32_t part,
	const void *data, const struct sl_type *type)
{
	(void)ctx;
	(void)name;
	(void)part;
	(void)data;
	(void)type;
	return SL_OK;
}

static void expect_learning(
	const char *spec, const struct sl_bind *bind, double rate, int steps)
{
	struct run r;
	double first = 0, last = 0;

	start(&r, spec, bind, rate);
	r.e.run.fetch = take_nothing;
	int64_t classes = sl_model_is_tokens(&r.c) ? r.c.vocab : r.c.classes;
	for (int step = 0; step < steps; step++) {
		r.e.run.step = (uint64_t)step;
		sl_assert_ok(sl_eval_run(&r.e));
		last = sl_eval_get(&r.e, r.loss, 0);
		first = step ? first : last;
	}
	print_message("%s: loss %g to %g\n", spec, first, last);
	assert_true(fabs(first - log((double)classes)) < 0.6 * log((double)classes));
	assert_true(last < first - 0.03);
	finish(&r);
}

static void an_mlp_learns(void **state)
{
	(void)state;
	expect_learning(
		"mlp:sizes=12-16-4,dropout=0.1", &(struct sl_bind){.size = {6}}, 0.5, 6);
}

static void lenet_learns(void **state)
{
	(void)state;
	expect_learning(
		"lenet5:input=1x12x12,classes=4", &(struct sl_bind){.size = {4}}, 0.5, 6);
}

static void a_convnet_learns(void **state)
{
	(void)state;
	expect_learning(
		"convnet:input=1x8x8,classes=4", &(struct sl_bind){.size = {4}}, 0.02, 4);
}

static void gpt2_learns(void **state)
{
	(void)state;
	expect_learning("gpt2:layers=2,width=16,heads=2,vocab=11,context=6",
		&(struct sl_bind){.size = {2, 5}}, 0.5, 6);
}

static void bert_learns(void **state)
{
	(void)state;
	expect_learning("bert-base:layers=2,width=16,heads=2,vocab=11,context=6",
		&(struct sl_bind){.size = {2, 5}}, 0.5, 6);
}

static void a_vit_learns(void **state)
{
	(void)state;
	expect_learning("vit-b16:layers=2,width=16,heads=2,input=1x32x16,classes=4",
		&(struct sl_bind){.size = {4}}, 0.05, 6);
}

static void a_mobilenet_learns(void **state)
{
	(void)state;
	expect_learning("mobilenetv2:input=1x16x16,classes=4,dropout=0",
		&(struct sl_bind){.size = {4}}, 0.01, 3);
}

static void resnet_learns(void **state)
{
	(void)state;
	expect_learning("resnet18:input=1x16x16,classes=4",
		&(struct sl_bind){.size = {4}}, 0.001, 2);
}

static void a_unet_learns(void **state)
{
	(void)state;
	expect_learning("unet:width=2,input=2x18x17,classes=3",
		&(struct sl_bind){.size = {4}}, 0.5, 4);
}

static void an_lstm_learns(void **state)
{
	(void)state;
	expect_learning("lstm:layers=2,width=12,vocab=11,context=6",
		&(struct sl_bind){.size = {3, 6}}, 1, 8);
}

/* Loss after a step on sequences of four. */
static double loss_of_four(const char *spec)
{
	struct run r;

	start(&r, spec, &(struct sl_bind){.size = {2, 4}}, 0.5);
	r.e.run.fetch = take_nothing;
	sl_assert_ok(sl_eval_run(&r.e));
	sl_assert_ok(sl_eval_run(&r.e));
	double loss = sl_eval_get(&r.e, r.loss, 0);
	finish(&r);
	return loss;
}

static void an_lstm_of_fewer_steps_is_that_of_its_own_length(void **state)
{
	(void)state;
	double loss = loss_of_four("lstm:layers=2,width=5,vocab=7,context=4");

	assert_true(loss > 1);
	assert_true(loss == loss_of_four("lstm:layers=2,width=5,vocab=7,context=11"));
}

static void running_statistics_move_by_a_tenth(void **state)
{
	struct run r;
	sl_val v;

	(void)state;
	start(&r, "convnet:input=1x8x8,classes=4", &(struct sl_bind){.size = {3}}, 0);
	r.e.run.fetch = take_nothing;
	sl_assert_ok(sl_eval_run(&r.e));
	/* running_var: 0.9 + 0.1 x unbiased variance, from the bound batch of 3 x 64
	 * values. */
	for (uint32_t k = 0; k < r.g->n_nodes; k++) {
		const struct sl_ir_node *n = &r.g->nodes[k];
		if (strcmp(n->op->name, "stats_update") != 0)
			continue;
		v = n->in[1];
		double variance = sl_eval_get(&r.e, n->in[3], 0) * 192 / 191;
		assert_true(
			fabs(sl_eval_get(&r.e, v, 0) - (0.9 + 0.1 * variance)) < 1e-6);
		break;
	}
	finish(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_mlp_learns),
		SL_TEST(lenet_learns),
		SL_TEST(a_convnet_learns),
		SL_TEST(gpt2_learns),
		SL_TEST(bert_learns),
		SL_TEST(a_vit_learns),
		SL_TEST(a_mobilenet_learns),
		SL_TEST(resnet_learns),
		SL_TEST(a_unet_learns),
		SL_TEST(an_lstm_learns),
		SL_TEST(an_lstm_of_fewer_steps_is_that_of_its_own_length),
		SL_TEST(running_statistics_move_by_a_tenth),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

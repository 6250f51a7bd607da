/* SPDX-License-Identifier: Apache-2.0 */
/* Random training graphs: inputs, losses, parts and optimizers around a random forward
 * pass. */
#include "harness/random_graph.h"

#include <stdio.h>

#include "sluice/ops.h"

#define TEMPLATE_BATCH 2
#define CLASSES 5
#define TARGETS 4
#define MAX_PARAMS 80

static sl_val input(struct sl_random_maker *m, const char *name, enum sl_dtype dtype,
	const struct sl_shape *shape, bool batch)
{
	const struct sl_type type = {.dtype = dtype, .shape = *shape};
	const uint8_t symbol[SL_MAX_RANK] = {1 + SL_DIM_BATCH};

	return sl_input(m->g, name, &type, batch ? symbol : NULL);
}

static void begin(struct sl_random_maker *m)
{
	int64_t tokens = 4 + 2 * sl_random_die(m, 3);
	enum sl_dtype index = sl_random_die(m, 2) == 0 ? SL_I32 : SL_I64;
	sl_val x = input(m, "f.0.x", SL_F32,
		&SL_SHAPE(TEMPLATE_BATCH, 24 * m->scale * (1 + sl_random_die(m, 4))),
		true);
	sl_val t = input(m, "i.50.t", index, &SL_SHAPE(TEMPLATE_BATCH, tokens), true);
	sl_val table = sl_random_weight(m, &SL_SHAPE(50, 8 * m->scale), 0.5);

	m->values[m->n_values++] = x;
	m->values[m->n_values++] = sl_embedding(m->g, table, t);
}

/* Terms over several values, so that gradients reach most of the graph. */
static sl_val make_loss(struct sl_random_maker *m)
{
	struct sl_graph *g = m->g;
	const struct sl_cross_entropy_attr attr = {
		.ignore_index = 1, .has_ignore = sl_random_die(m, 12) == 0};
	sl_val labels = input(m, "i.5.y", SL_I64, &SL_SHAPE(TEMPLATE_BATCH), true);
	sl_val target =
		input(m, "f.0.z", SL_F32, &SL_SHAPE(TEMPLATE_BATCH, TARGETS), true);
	sl_val logits = sl_random_flat(m, CLASSES);
	sl_val loss = sl_cross_entropy(g, logits, labels, &attr);

	sl_output(g, "correct", sl_count_correct(g, logits, labels));
	loss = sl_add(g, loss, sl_mse(g, sl_random_flat(m, TARGETS), target));
	for (int i = 0; i < m->n_values; i++) {
		const struct sl_reduce_attr all = {0};
		sl_val mean = sl_mean(g, sl_tanh(g, m->values[i]), &all);

		if (sl_random_die(m, 3) != 0)
			loss = sl_add(g, loss, sl_affine(g, mean, 0.1, 0));
	}
	return loss;
}

static sl_status make_template(struct sl_random_maker *m, int moves)
{
	begin(m);
	for (int i = 0; i < moves; i++) {
		char scope[24];

		snprintf(scope, sizeof(scope), "move%d", i);
		sl_graph_scope(m->g, scope);
		sl_random_move(m);
	}
	sl_graph_scope(m->g, "loss");
	sl_output(m->g, "value", m->values[sl_random_die(m, m->n_values)]);
	sl_output(m->g, "loss", make_loss(m));
	return sl_graph_status(m->g);
}

struct trainer {
	struct sl_graph *g;
	sl_val params[MAX_PARAMS], grads[MAX_PARAMS];
	size_t n;
	sl_val step, lr, coef;
};

static sl_status add_part(struct trainer *t, uint32_t first_node, double share)
{
	const struct sl_type scalar = {.dtype = SL_F32, .shape = SL_SCALAR};
	sl_val grads[MAX_PARAMS];
	struct sl_grad_request request = {
		.loss = sl_graph_output(t->g, "loss"),
		.seed = share < 1 ? sl_full(t->g, &scalar, share) : SL_VAL_NONE,
		.wrt = t->params,
		.n_wrt = t->n,
		.first_node = first_node,
	};

	SL_TRY(sl_graph_grad(t->g, &request, grads));
	for (size_t i = 0; i < t->n; i++) {
		if (sl_val_is_none(t->grads[i]))
			t->grads[i] = grads[i];
		else if (!sl_val_is_none(grads[i]))
			t->grads[i] = sl_add(t->g, t->grads[i], grads[i]);
	}
	return sl_graph_status(t->g);
}

static sl_status bind_parts(
	struct sl_random_maker *m, const struct sl_graph *tmpl, struct trainer *t)
{
	int64_t parts = 1 + sl_random_die(m, 3);
	int64_t batch = parts * (1 + sl_random_die(m, 3)) * (m->scale > 1 ? 4 : 1) + 1;

	for (int64_t part = 0; part < parts; part++) {
		int64_t begin_at = part * batch / parts;
		int64_t count = (part + 1) * batch / parts - begin_at;
		const struct sl_bind bind = {.size = {[SL_DIM_BATCH] = count},
			.batch_offset = begin_at,
			.part = (uint32_t)part};
		uint32_t first = sl_graph_node_count(t->g);
		sl_val v;

		SL_TRY(sl_graph_bind(t->g, tmpl, &bind));
		for (size_t i = 0; part == 0 && i < MAX_PARAMS; i++) {
			v = sl_graph_param_at(t->g, i);
			if (sl_val_is_none(v))
				break;
			t->params[t->n] = v;
			t->grads[t->n++] = SL_VAL_NONE;
		}
		SL_TRY(add_part(t, first, (double)count / (double)batch));
	}
	return SL_OK;
}

static void schedule(struct sl_random_maker *m, struct trainer *t)
{
	const struct sl_type counter = {.dtype = SL_I64, .shape = SL_SCALAR};
	const struct sl_schedule_attr attr = {
		.kind = sl_random_die(m, 3),
		.base = 0.01,
		.floor = 0.001,
		.gamma = 0.5,
		.warmup = sl_random_die(m, 3),
		.period = 1,
		.total = 4,
	};
	sl_val squares[MAX_PARAMS];
	int n = 0;

	t->step = sl_state(t->g, "step", &counter, (struct sl_init){SL_INIT_ZERO, 0});
	t->lr = sl_learning_rate(t->g, t->step, &attr);
	t->coef = SL_VAL_NONE;
	if (sl_random_die(m, 2) == 0)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (!sl_val_is_none(t->grads[i]))
			squares[n++] = sl_sum_squares(t->g, t->grads[i]);
	if (n > 0)
		t->coef = sl_clip_coef(t->g, squares, n, 1);
}

static sl_val state_of(const struct trainer *t, sl_val p, const char *what,
	const struct sl_optim_attr *a)
{
	struct sl_type type = *sl_val_type(t->g, p);
	char name[96];

	if (a->count > 0)
		type.shape = SL_SHAPE(a->count);
	snprintf(name, sizeof(name), "%s.%s.%lld", sl_val_name(t->g, p), what,
		(long long)a->begin);
	return sl_state(t->g, name, &type, (struct sl_init){SL_INIT_ZERO, 0});
}

static void update(
	const struct trainer *t, size_t i, int kind, const struct sl_optim_attr *a)
{
	sl_val p = t->params[i], grad = t->grads[i];

	if (kind == 0) {
		(void)sl_sgd(t->g, p, grad, t->lr, t->coef, a);
		return;
	}
	if (kind == 1) {
		const sl_val pgb[3] = {p, grad, state_of(t, p, "b", a)};

		(void)sl_momentum(t->g, pgb, t->lr, t->coef, a);
		return;
	}
	const sl_val pgmv[4] = {p, grad, state_of(t, p, "m", a), state_of(t, p, "v", a)};
	if (kind == 2)
		(void)sl_adam(t->g, pgmv, t->lr, t->step, t->coef, a);
	else
		(void)sl_adamw(t->g, pgmv, t->lr, t->step, t->coef, a);
}

/* Whole tensors, or two slices with states of their own. */
static void optimize(struct sl_random_maker *m, const struct trainer *t, size_t i)
{
	struct sl_optim_attr attr = {.momentum = 0.9,
		.beta1 = 0.9,
		.beta2 = 0.99,
		.eps = 1e-6,
		.weight_decay = 0.01,
		.nesterov = sl_random_die(m, 2) == 0};
	int64_t count = sl_shape_count(&sl_val_type(t->g, t->params[i])->shape);
	int kind = (int)sl_random_die(m, 4);

	if (count < 16 || sl_random_die(m, 3) != 0) {
		update(t, i, kind, &attr);
		return;
	}
	attr.count = count / 2;
	update(t, i, kind, &attr);
	attr.begin = attr.count;
	attr.count = count - attr.begin;
	update(t, i, kind, &attr);
}

static sl_status train(
	struct sl_random_maker *m, const struct sl_graph *tmpl, struct sl_graph *g)
{
	struct trainer t = {.g = g};

	SL_TRY(bind_parts(m, tmpl, &t));
	sl_graph_scope(g, "optimizer");
	schedule(m, &t);
	for (size_t i = 0; i < t.n; i++)
		if (!sl_val_is_none(t.grads[i]))
			optimize(m, &t, i);
	(void)sl_step_next(g, t.step);
	return sl_graph_status(g);
}

sl_status sl_random_graph(const struct sl_random_graph_opts *o, struct sl_graph **out)
{
	struct sl_random_maker m = {.rng = {.key = {.seed = o->seed, .stream = 77}},
		.scale = o->scale > 0 ? o->scale : 1};
	struct sl_graph *g = NULL;
	sl_status st;

	SL_TRY(sl_graph_create(&m.g));
	SL_TRY_OUT(sl_graph_create(&g));
	SL_TRY_OUT(make_template(
		&m, o->moves > 0 ? o->moves : (int)(6 + sl_random_die(&m, 19))));
	SL_TRY_OUT(train(&m, m.g, g));
	*out = g;
	g = NULL;
out:
	sl_graph_destroy(g);
	sl_graph_destroy(m.g);
	return st;
}

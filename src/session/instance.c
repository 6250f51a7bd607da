/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training instances unroll gradient accumulation: each part of the batch is forward and
 * backward in turn, gradients add up, and one update ends the step, so that one plan
 * covers all of it.
 */
#include "session/instance.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/pass/pass.h"
#include "session/optimizer.h"
#include "sluice/ops.h"

struct trainer {
	struct sl_graph *g;
	sl_val *params, *grads, *part_grads;
	size_t n;
};

int64_t sl_instance_part_begin(const struct sl_instance *x, int64_t part)
{
	return part * x->batch / x->parts;
}

static bool is_frozen(const struct sl_session_config *config, const char *name)
{
	return config->freeze != NULL && config->freeze[0] != '\0' &&
	       strncmp(name, config->freeze, strlen(config->freeze)) == 0;
}

static sl_status trainer_init(
	struct trainer *t, struct sl_graph *g, const struct sl_session_config *config)
{
	size_t most = 0;
	sl_val v;

	while (!sl_val_is_none(sl_graph_param_at(g, most)))
		most++;
	*t = (struct trainer){
		.g = g,
		.params = sl_calloc(most + 1, sizeof(*t->params)),
		.grads = sl_calloc(most + 1, sizeof(*t->grads)),
		.part_grads = sl_calloc(most + 1, sizeof(*t->part_grads)),
	};
	if (t->params == NULL || t->grads == NULL || t->part_grads == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for %zu gradients", most);
	for (size_t i = 0; i < most; i++) {
		v = sl_graph_param_at(g, i);
		if (is_frozen(config, sl_val_name(g, v)))
			continue;
		t->params[t->n] = v;
		t->grads[t->n++] = SL_VAL_NONE;
	}
	if (t->n == 0)
		return SL_FAIL(SL_E_USAGE, "--freeze %s leaves no parameter to train",
			config->freeze != NULL ? config->freeze : "");
	return SL_OK;
}

static void trainer_finish(struct trainer *t)
{
	sl_free(t->params);
	sl_free(t->grads);
	sl_free(t->part_grads);
}

/* Backward of the part that was just bound, weighted by its share of the batch, added to
 * grads. */
static sl_status add_part(struct trainer *t, uint32_t first_node, double share)
{
	const struct sl_type scalar = {.dtype = SL_F32, .shape = SL_SCALAR};
	struct sl_grad_request request = {
		.loss = sl_graph_output(t->g, "loss"),
		.seed = share < 1 ? sl_full(t->g, &scalar, share) : SL_VAL_NONE,
		.wrt = t->params,
		.n_wrt = t->n,
		.first_node = first_node,
	};

	SL_TRY(sl_graph_grad(t->g, &request, t->part_grads));
	for (size_t i = 0; i < t->n; i++) {
		if (sl_val_is_none(t->part_grads[i]))
			continue;
		t->grads[i] = sl_val_is_none(t->grads[i])
				      ? t->part_grads[i]
				      : sl_add(t->g, t->grads[i], t->part_grads[i]);
	}
	return sl_graph_status(t->g);
}

static struct sl_bind bind_of(
	const struct sl_instance_request *r, const struct sl_instance *x, int64_t part)
{
	int64_t begin = sl_instance_part_begin(x, part);

	return (struct sl_bind){
		.size = {[SL_DIM_BATCH] = sl_instance_part_begin(x, part + 1) - begin,
			[SL_DIM_SEQ] = r->seq},
		.batch_offset = begin,
		.part = (uint32_t)part,
		.low = r->config->dtype == SL_BF16,
	};
}

static sl_status build_train(const struct sl_instance_request *r, struct sl_instance *x)
{
	struct trainer t = {0};
	sl_status st = SL_OK;

	for (int64_t part = 0; part < x->parts; part++) {
		struct sl_bind bind = bind_of(r, x, part);
		uint32_t first = sl_graph_node_count(x->graph);

		SL_TRY_OUT(sl_graph_bind(x->graph, r->tmpl, &bind));
		if (part == 0)
			SL_TRY_OUT(trainer_init(&t, x->graph, r->config));
		SL_TRY_OUT(add_part(
			&t, first, (double)bind.size[SL_DIM_BATCH] / (double)x->batch));
	}
	SL_TRY_OUT(sl_optimizer_append(x->graph, r->config,
		sl_kernel_has(r->kernels, "matmul_adamw"), t.params, t.grads, t.n));
out:
	trainer_finish(&t);
	return st;
}

static sl_status begin(const struct sl_instance_request *r, struct sl_instance *x)
{
	SL_TRY(sl_graph_create(&x->graph));
	if (r->persistent != NULL)
		sl_pass_declare(x->graph, r->persistent);
	return sl_graph_status(x->graph);
}

sl_status sl_instance_train(const struct sl_instance_request *r, struct sl_instance *out)
{
	int64_t parts = r->config->accumulate > 0 ? r->config->accumulate : 1;
	struct sl_instance x = {.batch = r->batch,
		.parts = parts < r->batch ? parts : r->batch,
		.training = true};
	sl_status st;

	SL_TRY_OUT(begin(r, &x));
	SL_TRY_OUT(build_train(r, &x));
	SL_TRY_OUT(sl_program_seal_on(x.graph, r->kernels, r->seal_threads, &x.program));
	*out = x;
	return SL_OK;
out:
	sl_instance_finish(&x);
	return st;
}

static bool runs_fast(const struct sl_node_info *n)
{
	return sl_kernel_is_fast(&sl_kernel_cpu, n);
}

/* The prologue is kept only where it does something. */
static sl_status run_passes(struct sl_instance *x, const char *output)
{
	SL_TRY(sl_graph_create(&x->prologue));
	sl_pass_declare(x->prologue, x->graph);
	SL_TRY(sl_graph_status(x->prologue));
	SL_TRY(sl_passes_run(&x->graph,
		&(struct sl_pass_env){
			.prologue = x->prologue, .output = output, .runs = runs_fast}));
	if (sl_graph_node_count(x->prologue) > 0)
		return SL_OK;
	sl_graph_destroy(x->prologue);
	x->prologue = NULL;
	return SL_OK;
}

sl_status sl_instance_eval(const struct sl_instance_request *r, struct sl_instance *out)
{
	struct sl_instance x = {.batch = r->batch, .parts = 1};
	struct sl_bind bind = bind_of(r, &x, 0);
	sl_status st;

	SL_TRY_OUT(begin(r, &x));
	SL_TRY_OUT(sl_graph_bind(x.graph, r->tmpl, &bind));
	/* What passes make has the CPU's kernels in mind. */
	if (r->fixed_weights && r->kernels->on_host)
		SL_TRY_OUT(run_passes(&x, r->output));
	SL_TRY_OUT(sl_program_seal_on(x.graph, r->kernels, r->seal_threads, &x.program));
	*out = x;
	return SL_OK;
out:
	sl_instance_finish(&x);
	return st;
}

sl_status sl_instance_prologue(struct sl_instance *of,
	const struct sl_kernel_set *kernels, int seal_threads, struct sl_instance *out)
{
	struct sl_instance x = {.batch = 1, .parts = 1};

	SL_TRY(sl_program_seal_on(of->prologue, kernels, seal_threads, &x.program));
	x.graph = of->prologue;
	of->prologue = NULL;
	*out = x;
	return SL_OK;
}

void sl_instance_finish(struct sl_instance *x)
{
	sl_plan_finish(&x->plan);
	sl_trace_finish(&x->trace);
	sl_program_destroy(x->program);
	sl_graph_destroy(x->graph);
	sl_graph_destroy(x->prologue);
	*x = (struct sl_instance){0};
}

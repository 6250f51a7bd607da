/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_last by oneDNN: images are [N, H, W, C], a layout that the library is fast on as
 * it is, so nothing is moved; bias, residual and relu are part of its store. The residual
 * is the result's own bytes (the plan saw to that, else they are copied first).
 *
 * Weights are wanted in conv_pack's blocks, which are tags of the library. Where they are
 * not yet in them, or where the library has no direct way for them, they are moved into
 * the workspace at each execution.
 */
#include "kernel/cpu/dnnl.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/op_attr.h"
#include "kernel/cpu/cpu.h"

enum slot { SLOT_X, SLOT_W, SLOT_Y, SLOT_BIAS, SLOT_OWN_W, SLOT_SCRATCH };

struct conv {
	struct sl_dnnl_plan plan;
	bool own_w; /* weights are moved into the workspace */
	size_t scratch; /* offset behind them */
};

struct mds {
	dnnl_memory_desc_t x, w, y, bias;
	dnnl_memory_desc_t want; /* of w */
};

/* The library's name of conv_pack's order, of [O, C, KH, KW] or of five dimensions. */
static dnnl_format_tag_t packed_tag(const struct sl_shape *w, bool grouped)
{
	if (w->dim[1] % SL_PACK_BLOCK == 0)
		return grouped ? dnnl_gOIhw16i16o : dnnl_OIhw16i16o;
	return grouped ? dnnl_Goihw16g : dnnl_Ohwi16o;
}

static dnnl_status_t describe_weights(const struct sl_node_info *n, struct mds *m)
{
	const struct sl_dnnl *lib = sl_dnnl();
	const struct sl_conv_last_attr *a = n->attr;
	const struct sl_shape *w = &n->in[1].shape;
	const int64_t *d = w->dim;
	bool grouped = a->conv.groups > 1;
	dnnl_dims_t plain = {d[0], d[1], d[2], d[3]};
	dnnl_dims_t five = {a->conv.groups, d[0] / a->conv.groups, d[1], d[2], d[3]};
	const int64_t *size = grouped ? five : plain;
	int rank = grouped ? 5 : 4;
	dnnl_format_tag_t tag = grouped ? dnnl_abcde : dnnl_abcd;
	dnnl_format_tag_t want = dnnl_format_tag_any;
	dnnl_status_t st;

	if (sl_conv_packs(&a->conv, w))
		want = packed_tag(w, grouped);
	st = lib->memory_desc_init_by_tag(
		&m->w, rank, size, dnnl_f32, a->packed ? want : tag);
	if (st != dnnl_success)
		return st;
	return lib->memory_desc_init_by_tag(&m->want, rank, size, dnnl_f32, want);
}

/* Dimensions are in the order N, C, H, W for the library, whatever the bytes' order. */
static dnnl_status_t describe_image(const struct sl_shape *s, dnnl_memory_desc_t *out)
{
	dnnl_dims_t dims = {s->dim[0], s->dim[3], s->dim[1], s->dim[2]};

	return sl_dnnl()->memory_desc_init_by_tag(out, 4, dims, dnnl_f32, dnnl_nhwc);
}

static dnnl_status_t describe(const struct sl_node_info *n, struct mds *m)
{
	dnnl_dims_t channels = {n->in[1].shape.dim[0]};
	dnnl_status_t st = describe_image(&n->in[0].shape, &m->x);

	if (st == dnnl_success)
		st = describe_image(&n->out[0].shape, &m->y);
	if (st == dnnl_success)
		st = describe_weights(n, m);
	if (st != dnnl_success)
		return st;
	return sl_dnnl()->memory_desc_init_by_tag(
		&m->bias, 1, channels, dnnl_f32, dnnl_a);
}

/* What is done to a result before it is stored. */
static dnnl_status_t add_post_ops(
	const struct sl_node_info *n, dnnl_primitive_attr_t attr)
{
	const struct sl_dnnl *lib = sl_dnnl();
	const struct sl_conv_last_attr *a = n->attr;
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t st = lib->post_ops_create(&ops);

	if (st == dnnl_success && sl_node_has(n, 3))
		st = lib->post_ops_append_sum(ops, 1.0f);
	if (st == dnnl_success && a->relu)
		st = lib->post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0, 0);
	if (st == dnnl_success)
		st = lib->primitive_attr_set_post_ops(attr, ops);
	if (ops)
		lib->post_ops_destroy(ops);
	return st;
}

static dnnl_status_t create_desc(const struct sl_node_info *n, const struct mds *m,
	const dnnl_memory_desc_t *w, dnnl_primitive_desc_t *out)
{
	const struct sl_dnnl *lib = sl_dnnl();
	const struct sl_conv_attr *a = &((const struct sl_conv_last_attr *)n->attr)->conv;
	dnnl_dims_t stride = {a->stride[0], a->stride[1]};
	dnnl_dims_t dilation = {a->dilation[0] - 1, a->dilation[1] - 1};
	dnnl_dims_t before = {a->pad[0], a->pad[1]}, after = {a->pad[2], a->pad[3]};
	dnnl_primitive_attr_t attr = NULL;
	dnnl_convolution_desc_t op;
	dnnl_status_t st = lib->dilated_convolution_forward_desc_init(&op,
		dnnl_forward_inference, dnnl_convolution_direct, &m->x, w,
		sl_node_has(n, 2) ? &m->bias : NULL, &m->y, stride, dilation, before,
		after);

	if (st == dnnl_success)
		st = lib->primitive_attr_create(&attr);
	if (st == dnnl_success)
		st = lib->primitive_attr_set_scratchpad_mode(
			attr, dnnl_scratchpad_mode_user);
	if (st == dnnl_success)
		st = add_post_ops(n, attr);
	if (st == dnnl_success)
		st = lib->primitive_desc_create(out, &op, attr, lib->engine, NULL);
	if (attr)
		lib->primitive_attr_destroy(attr);
	return st;
}

static bool is_slow(const_dnnl_primitive_desc_t pd)
{
	const char *impl = NULL;

	return sl_dnnl()->primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) !=
		       dnnl_success ||
	       !impl || strstr(impl, "ref") != NULL;
}

/* Conv_pack's order if the library has a direct way for it, else what it likes. */
static dnnl_status_t choose_desc(
	const struct sl_node_info *n, struct mds *m, dnnl_primitive_desc_t *out)
{
	const struct sl_dnnl *lib = sl_dnnl();
	dnnl_memory_desc_t any = m->w;
	dnnl_status_t st = create_desc(n, m, &m->want, out);

	if (st == dnnl_success && !is_slow(*out))
		return st;
	if (st == dnnl_success)
		lib->primitive_desc_destroy(*out);
	*out = NULL;
	st = lib->memory_desc_init_by_tag(
		&any, m->w.ndims, m->w.dims, dnnl_f32, dnnl_format_tag_any);
	return st == dnnl_success ? create_desc(n, m, &any, out) : st;
}

static sl_status fill(struct conv *c, const struct sl_node_info *n, struct mds *m,
	const_dnnl_primitive_desc_t pd)
{
	const dnnl_memory_desc_t *w = sl_dnnl_md(pd, dnnl_query_weights_md);
	struct sl_dnnl_arg args[SL_DNNL_ARGS] = {
		{DNNL_ARG_SRC, SLOT_X, &m->x},
		{DNNL_ARG_WEIGHTS, SLOT_W, w},
		{DNNL_ARG_DST, SLOT_Y, &m->y},
		{DNNL_ARG_SCRATCHPAD, SLOT_SCRATCH,
			sl_dnnl_md(pd, dnnl_query_scratchpad_md)},
		{DNNL_ARG_BIAS, SLOT_BIAS, &m->bias},
	};

	c->own_w = !sl_dnnl()->memory_desc_equal(w, &m->w);
	if (c->own_w) {
		args[1].slot = SLOT_OWN_W;
		c->scratch = sl_dnnl_bytes(w);
		SL_TRY(sl_dnnl_plan_reorder(&c->plan,
			&(struct sl_dnnl_arg){.slot = SLOT_W, .md = &m->w},
			&(struct sl_dnnl_arg){.slot = SLOT_OWN_W, .md = w}));
	}
	return sl_dnnl_plan_add(&c->plan, pd, args, sl_node_has(n, 2) ? 5 : 4);
}

static sl_status make(struct conv *c, const struct sl_node_info *n, size_t *workspace)
{
	dnnl_primitive_desc_t pd = NULL;
	struct mds m;
	sl_status st;

	SL_TRY(sl_dnnl_status(describe(n, &m), "describing memory"));
	SL_TRY(sl_dnnl_status(choose_desc(n, &m, &pd), "describing a convolution"));
	st = fill(c, n, &m, pd);
	*workspace = c->scratch + sl_dnnl_bytes(sl_dnnl_md(pd, dnnl_query_scratchpad_md));
	sl_dnnl()->primitive_desc_destroy(pd);
	return st;
}

static void release(void *state)
{
	struct conv *c = state;

	if (c)
		sl_dnnl_plan_finish(&c->plan);
	sl_free(c);
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	struct sl_prepared *out)
{
	struct conv *c = sl_calloc(1, sizeof(*c));
	size_t workspace = 0;

	if (!c)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	c->plan.threads = env->threads;
	int before = sl_dnnl_begin(env->threads);
	sl_status st = make(c, n, &workspace);
	sl_dnnl_end(before);
	if (st != SL_OK) {
		release(c);
		return st;
	}
	*out = (struct sl_prepared){
		.state = c,
		.workspace_bytes = workspace,
		.layout = "last",
	};
	return SL_OK;
}

static void copy_range(
	const struct sl_call *call, const void *arg, int64_t begin, int64_t end)
{
	(void)arg;
	memcpy((float *)call->out[0] + begin, (const float *)call->in[3] + begin,
		(size_t)(end - begin) * sizeof(float));
}

static sl_status run(const struct sl_call *call)
{
	const struct conv *c = call->prepared;
	char *ws = call->workspace;
	void *const slot[SL_DNNL_SLOTS] = {
		[SLOT_X] = call->in[0],
		[SLOT_W] = call->in[1],
		[SLOT_Y] = call->out[0],
		[SLOT_BIAS] = call->in[2],
		[SLOT_OWN_W] = ws,
		[SLOT_SCRATCH] = ws ? ws + c->scratch : NULL,
	};

	if (call->in[3] && call->in[3] != call->out[0])
		sl_cpu_for(
			call, NULL, sl_cpu_count_out(call, 0), SL_CPU_GRAIN, copy_range);
	return sl_dnnl_plan_run(&c->plan, slot);
}

const struct sl_kernel sl_kernel_dnnl_conv2d_last = {
	.name = "dnnl_conv2d_last",
	.op = "conv2d_last",
	.rank = 30,
	.accepts = sl_dnnl_conv_accepts,
	.prepare = prepare,
	.run = run,
	.release = release,
};

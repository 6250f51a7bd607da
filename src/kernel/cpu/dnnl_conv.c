/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d, conv2d_dx and conv2d_dw by oneDNN's direct convolutions.
 *
 * Values are plain [N, C, H, W]; oneDNN is fast on layouts of its own (channels in blocks
 * of 16). So a few images at a time are brought into those layouts in the workspace,
 * convolved there, and brought back: what is moved stays in the cache, and the workspace
 * holds CHUNK_BYTES a thread, however large the batch. Weights are brought over once an
 * execution.
 *
 * The layout is chosen from the shape alone (in_place below): 1 x 1 convolutions are
 * matrix products on the plain layout and gain nothing from moving. Elsewhere the library
 * is asked what it wants (dnnl_format_tag_any). Measured on the layers of ResNet-18:
 * plain 80-180 GFLOP/s with scratch up to 77 MB, moved 150-260 GFLOP/s with at most 14
 * MB.
 *
 * 1. Chunks divide the batch evenly and follow from the shape and the threads of the
 * seal.
 * 2. The weights' gradient is the sum of the chunks' gradients in order of the chunks.
 * 3. The direct convolutions keep the split of sums of their creation; what falls back to
 * a GEMM runs with the threads of its creation (dnnl.c).
 */
#include "kernel/cpu/dnnl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "kernel/cpu/cpu.h"
#include "sluice/attrs.h"

#define CHUNK_BYTES ((int64_t)2 << 20)

/* The three tensors, each in its plain layout (slot = role) or in the library's own (slot
 * OWN + role). */
enum role { X, W, Y, ROLES };
enum { OWN = ROLES, SLOT_OUT_W = 2 * ROLES, SLOT_BIAS, SLOT_SCRATCH };

struct direction {
	enum role in[2], out;
	dnnl_query_t query[ROLES];
	int arg[ROLES];
};

static const struct direction forward = {
	.in = {X, W},
	.out = Y,
	.query = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
	.arg = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
};

static const struct direction to_input = {
	.in = {Y, W},
	.out = X,
	.query = {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
	.arg = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
};

static const struct direction to_weights = {
	.in = {X, Y},
	.out = W,
	.query = {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
	.arg = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
};

struct conv {
	const struct direction *dir;
	int64_t chunks;
	size_t step_bytes[ROLES]; /* from chunk to chunk in the plain tensors; 0 for W */
	bool own[ROLES]; /* has a layout of its own in the workspace */
	size_t offset[ROLES]; /* of those */
	size_t partial; /* offset of one chunk's weight gradient */
	size_t scratch;
	int64_t w_floats; /* padding of the layout included */
	struct sl_dnnl_plan before, body, after;
};

/* What the library is told. */
struct geom {
	const struct direction *dir;
	struct sl_shape shape[ROLES]; /* of one chunk */
	int64_t groups;
	dnnl_dims_t stride, dilation, before, after;
	bool bias;
	bool nhwc; /* x and y */
};

static struct geom geom_of(const struct sl_node_info *n, const struct direction *dir)
{
	/* The attributes of the gradients begin with those of the convolution. */
	const struct sl_conv_attr *a = n->attr;
	struct geom g = {
		.dir = dir,
		.groups = a->groups,
		.bias = dir == &forward && sl_node_has(n, 2),
		.nhwc = n->nhwc,
	};

	g.shape[dir->in[0]] = n->in[0].shape;
	g.shape[dir->in[1]] = n->in[1].shape;
	g.shape[dir->out] = n->out[0].shape;
	for (int i = 0; i < 2; i++) {
		g.stride[i] = a->stride[i];
		g.dilation[i] = a->dilation[i] - 1;
		g.before[i] = a->pad[i];
		g.after[i] = a->pad[2 + i];
	}
	return g;
}

bool sl_dnnl_conv_accepts(const struct sl_node_info *n)
{
	if (!sl_cpu_is_f32(n) || sl_dnnl() == NULL)
		return false;
	for (int i = 0; i < 2; i++) {
		int64_t count = sl_shape_count(&n->in[i].shape);
		if (count < 1 || count > INT32_MAX)
			return false;
	}
	int64_t count = sl_shape_count(&n->out[0].shape);
	return count > 0 && count <= INT32_MAX;
}

/* Whether the plain layout is used as it is. */
static bool in_place(const struct geom *g)
{
	const int64_t *w = g->shape[W].dim;
	bool point = w[2] == 1 && w[3] == 1 && !g->before[0] && !g->before[1] &&
		     !g->after[0] && !g->after[1];
	bool strided = g->stride[0] != 1 || g->stride[1] != 1;

	if (g->nhwc)
		return true;
	if (point)
		return !strided || g->dir != &to_weights;
	/* Gradient to an image: the library's direct way pads 3 channels to 16. */
	return g->dir == &to_input && g->groups == 1 && w[1] < 4;
}

/* Images of one chunk: the largest divisor of the batch that stays in the limit. */
static int64_t chunk_images(const struct geom *g, int threads)
{
	int64_t images = g->shape[X].dim[0];
	int64_t floats =
		sl_shape_span(&g->shape[X], 1, 4) + sl_shape_span(&g->shape[Y], 1, 4);
	int64_t most = CHUNK_BYTES * threads / (floats * (int64_t)sizeof(float));

	if (most >= images)
		return images;
	if (most < 1)
		return 1;
	while (images % most)
		most--;
	return most;
}

struct mds {
	dnnl_memory_desc_t plain[ROLES];
	dnnl_memory_desc_t wish[ROLES]; /* given to the convolution */
	dnnl_memory_desc_t bias;
};

static dnnl_status_t describe(const struct geom *g, struct mds *m)
{
	const struct sl_dnnl *lib = sl_dnnl();
	bool plain = in_place(g);

	for (int r = 0; r < ROLES; r++) {
		const int64_t *d = g->shape[r].dim;
		dnnl_dims_t dims = {d[0], d[1], d[2], d[3]};
		dnnl_dims_t grouped = {g->groups, d[0] / g->groups, d[1], d[2], d[3]};
		bool five = r == W && g->groups > 1;
		const int64_t *size = five ? grouped : dims;
		int rank = five ? 5 : 4;
		dnnl_format_tag_t tag = five		    ? dnnl_abcde
					: g->nhwc && r != W ? dnnl_acdb
							    : dnnl_abcd;
		dnnl_status_t st = lib->memory_desc_init_by_tag(
			&m->plain[r], rank, size, dnnl_f32, tag);
		if (st != dnnl_success)
			return st;
		st = lib->memory_desc_init_by_tag(&m->wish[r], rank, size, dnnl_f32,
			plain && !(g->nhwc && r == W) ? tag : dnnl_format_tag_any);
		if (st != dnnl_success)
			return st;
	}
	dnnl_dims_t channels = {g->shape[Y].dim[1]};
	return lib->memory_desc_init_by_tag(&m->bias, 1, channels, dnnl_f32, dnnl_a);
}

static dnnl_status_t describe_forward(
	const struct geom *g, const struct mds *m, dnnl_primitive_desc_t *out)
{
	const struct sl_dnnl *lib = sl_dnnl();
	dnnl_convolution_desc_t op;
	dnnl_status_t st = lib->dilated_convolution_forward_desc_init(&op,
		dnnl_forward_training, dnnl_convolution_direct, &m->wish[X], &m->wish[W],
		g->bias ? &m->bias : NULL, &m->wish[Y], g->stride, g->dilation, g->before,
		g->after);

	if (st != dnnl_success)
		return st;
	return lib->primitive_desc_create(out, &op, lib->attr, lib->engine, NULL);
}

static dnnl_status_t describe_backward(const struct geom *g, const struct mds *m,
	const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
	const struct sl_dnnl *lib = sl_dnnl();
	dnnl_convolution_desc_t op;
	dnnl_status_t st;

	if (g->dir == &to_input)
		st = lib->dilated_convolution_backward_data_desc_init(&op,
			dnnl_convolution_direct, &m->wish[X], &m->wish[W], &m->wish[Y],
			g->stride, g->dilation, g->before, g->after);
	else
		st = lib->dilated_convolution_backward_weights_desc_init(&op,
			dnnl_convolution_direct, &m->wish[X], &m->wish[W], NULL,
			&m->wish[Y], g->stride, g->dilation, g->before, g->after);
	if (st != dnnl_success)
		return st;
	return lib->primitive_desc_create(out, &op, lib->attr, lib->engine, hint);
}

static sl_status create_desc(
	const struct geom *g, const struct mds *m, dnnl_primitive_desc_t *out)
{
	dnnl_primitive_desc_t hint = NULL;
	dnnl_status_t st = describe_forward(g, m, &hint);

	if (st != dnnl_success || g->dir == &forward) {
		*out = hint;
		return sl_dnnl_status(st, "describing a convolution");
	}
	st = describe_backward(g, m, hint, out);
	sl_dnnl()->primitive_desc_destroy(hint);
	return sl_dnnl_status(st, "describing a convolution's gradient");
}

/* Places for what the workspace holds; returns its size. */
static size_t lay_out(struct conv *c, const dnnl_memory_desc_t *const want[ROLES],
	const dnnl_memory_desc_t *scratch)
{
	size_t bytes = 0;

	for (int r = 0; r < ROLES; r++) {
		c->offset[r] = bytes;
		bytes += c->own[r] ? sl_dnnl_bytes(want[r]) : 0;
	}
	c->partial = bytes;
	if (c->dir == &to_weights && c->chunks > 1)
		bytes += sl_dnnl_bytes(want[W]);
	c->scratch = bytes;
	return bytes + sl_dnnl_bytes(scratch);
}

static sl_status add_move(struct sl_dnnl_plan *p, enum role r, const struct mds *m,
	const dnnl_memory_desc_t *own, bool back)
{
	const struct sl_dnnl_arg plain = {.slot = (int)r, .md = &m->plain[r]};
	const struct sl_dnnl_arg moved = {.slot = OWN + (int)r, .md = own};

	return back ? sl_dnnl_plan_reorder(p, &moved, &plain)
		    : sl_dnnl_plan_reorder(p, &plain, &moved);
}

static sl_status add_conv(struct conv *c, const struct geom *g, const struct mds *m,
	const_dnnl_primitive_desc_t pd, const dnnl_memory_desc_t *const want[ROLES])
{
	struct sl_dnnl_arg args[SL_DNNL_ARGS];
	int n = 0;

	for (int r = 0; r < ROLES; r++)
		args[n++] = (struct sl_dnnl_arg){
			c->dir->arg[r], c->own[r] ? OWN + r : r, want[r]};
	if (c->dir->out == W)
		args[W].slot = SLOT_OUT_W;
	args[n++] = (struct sl_dnnl_arg){DNNL_ARG_SCRATCHPAD, SLOT_SCRATCH,
		sl_dnnl_md(pd, dnnl_query_scratchpad_md)};
	if (g->bias)
		args[n++] = (struct sl_dnnl_arg){DNNL_ARG_BIAS, SLOT_BIAS, &m->bias};
	return sl_dnnl_plan_add(&c->body, pd, args, n);
}

/* Weights move outside the loop over the chunks, the rest inside. */
static sl_status fill_plans(struct conv *c, const struct geom *g, const struct mds *m,
	const_dnnl_primitive_desc_t pd, const dnnl_memory_desc_t *const want[ROLES])
{
	const struct direction *d = c->dir;

	for (int i = 0; i < 2; i++) {
		enum role r = d->in[i];
		if (c->own[r])
			SL_TRY(add_move(
				r == W ? &c->before : &c->body, r, m, want[r], false));
	}
	SL_TRY(add_conv(c, g, m, pd, want));
	if (c->own[d->out])
		SL_TRY(add_move(d->out == W ? &c->after : &c->body, d->out, m,
			want[d->out], true));
	return SL_OK;
}

static sl_status fill(struct conv *c, struct geom *g, size_t *workspace)
{
	const struct sl_dnnl *lib = sl_dnnl();
	const dnnl_memory_desc_t *want[ROLES];
	dnnl_primitive_desc_t pd = NULL;
	struct mds m;
	int64_t images = g->shape[X].dim[0];

	if (!in_place(g))
		images = chunk_images(g, c->body.threads);
	c->chunks = g->shape[X].dim[0] / images;
	g->shape[X].dim[0] = images;
	g->shape[Y].dim[0] = images;
	SL_TRY(sl_dnnl_status(describe(g, &m), "describing memory"));
	SL_TRY(create_desc(g, &m, &pd));
	for (int r = 0; r < ROLES; r++) {
		want[r] = sl_dnnl_md(pd, c->dir->query[r]);
		c->own[r] = !lib->memory_desc_equal(want[r], &m.plain[r]);
		c->step_bytes[r] = r == W ? 0 : lib->memory_desc_get_size(&m.plain[r]);
	}
	c->w_floats = (int64_t)(lib->memory_desc_get_size(want[W]) / sizeof(float));
	*workspace = lay_out(c, want, sl_dnnl_md(pd, dnnl_query_scratchpad_md));
	sl_status st = fill_plans(c, g, &m, pd, want);
	lib->primitive_desc_destroy(pd);
	return st;
}

static void release(void *state)
{
	struct conv *c = state;

	if (c) {
		sl_dnnl_plan_finish(&c->before);
		sl_dnnl_plan_finish(&c->body);
		sl_dnnl_plan_finish(&c->after);
	}
	sl_free(c);
}

static sl_status prepare(const struct sl_node_info *n, const struct sl_kernel_env *env,
	const struct direction *dir, struct sl_prepared *out)
{
	struct conv *c = sl_calloc(1, sizeof(*c));
	struct geom g = geom_of(n, dir);
	size_t workspace;

	if (!c)
		return SL_FAIL(SL_E_NOMEM, "no host memory to prepare a convolution");
	c->dir = dir;
	c->before.threads = c->body.threads = c->after.threads = env->threads;
	int before = sl_dnnl_begin(env->threads);
	sl_status st = fill(c, &g, &workspace);
	sl_dnnl_end(before);
	if (st != SL_OK) {
		release(c);
		return st;
	}
	bool moved = c->own[X] || c->own[W] || c->own[Y];
	*out = (struct sl_prepared){
		.state = c,
		.workspace_bytes = workspace,
		.layout = moved && !n->nhwc ? "blocked" : NULL,
		.split = dir == &to_weights ? (int)c->chunks : 0,
	};
	return SL_OK;
}

struct sum {
	float *to;
	const float *from;
};

static void add_range(
	const struct sl_call *call, const void *arg, int64_t begin, int64_t end)
{
	const struct sum *s = arg;

	(void)call;
#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		s->to[i] += s->from[i];
}

static sl_status run(const struct sl_call *call)
{
	const struct conv *c = call->prepared;
	const struct direction *d = c->dir;
	char *ws = call->workspace;
	void *slot[SL_DNNL_SLOTS] = {0};

	slot[d->in[0]] = call->in[0];
	slot[d->in[1]] = call->in[1];
	slot[d->out] = call->out[0];
	slot[SLOT_BIAS] = d == &forward ? call->in[2] : NULL;
	for (int r = 0; r < ROLES; r++)
		slot[OWN + r] = c->own[r] ? ws + c->offset[r] : NULL;
	slot[SLOT_SCRATCH] = ws ? ws + c->scratch : NULL;
	SL_TRY(sl_dnnl_plan_run(&c->before, slot));
	struct sum sum = {
		.to = slot[c->own[W] ? OWN + W : W],
		.from = ws ? (void *)(ws + c->partial) : NULL,
	};
	slot[SLOT_OUT_W] = sum.to;
	for (int64_t i = 0; i < c->chunks; i++) {
		SL_TRY(sl_dnnl_plan_run(&c->body, slot));
		if (d->out == W && i > 0)
			sl_cpu_for(call, &sum, c->w_floats, SL_CPU_GRAIN, add_range);
		slot[X] = (char *)slot[X] + c->step_bytes[X];
		slot[Y] = (char *)slot[Y] + c->step_bytes[Y];
		slot[SLOT_OUT_W] = d->out == W ? ws + c->partial : NULL;
	}
	return sl_dnnl_plan_run(&c->after, slot);
}

static sl_status prepare_forward(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	return prepare(n, env, &forward, out);
}

static sl_status prepare_to_input(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	return prepare(n, env, &to_input, out);
}

static sl_status prepare_to_weights(const struct sl_node_info *n,
	const struct sl_kernel_env *env, struct sl_prepared *out)
{
	return prepare(n, env, &to_weights, out);
}

#define KERNEL(op_name, prepare_fn) \
	const struct sl_kernel sl_kernel_dnnl_##op_name = { \
		.name = "dnnl_" #op_name, \
		.op = #op_name, \
		.rank = 30, \
		.layouts = SL_KERNEL_ANY, \
		.accepts = sl_dnnl_conv_accepts, \
		.prepare = prepare_fn, \
		.run = run, \
		.release = release, \
	};
KERNEL(conv2d, prepare_forward)
KERNEL(conv2d_dx, prepare_to_input)
KERNEL(conv2d_dw, prepare_to_weights)

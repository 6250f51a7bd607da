/* SPDX-License-Identifier: Apache-2.0 */
/* Any kernel on the node of a case: buffers with guards, comparison. */
#include "harness/node_run.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "op/op_util.h"

#define GUARD 64
#define GUARD_BYTE 0x5a
#define FILE_MAX ((size_t)1 << 20)

/* Bytes between two guards, 64-byte aligned, filled with 0xff. */
static sl_status make(size_t bytes, void **out)
{
	char *p = sl_alloc_aligned(64, bytes + 2 * GUARD);

	if (!p)
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for %zu bytes of a test", bytes);
	memset(p, GUARD_BYTE, bytes + 2 * GUARD);
	memset(p + GUARD, 0xff, bytes);
	*out = p + GUARD;
	return SL_OK;
}

static void unmake(void *data)
{
	if (data)
		sl_free_aligned((char *)data - GUARD);
}

static sl_status check_guards(const char *what, int i, const void *data, size_t bytes)
{
	const char *p = data;

	for (int k = 0; k < GUARD; k++)
		if (p[k - GUARD] != GUARD_BYTE || p[bytes + (size_t)k] != GUARD_BYTE)
			return SL_FAIL(
				SL_E_NO, "%s %d was written out of its bounds", what, i);
	return SL_OK;
}

static sl_status make_buffers(struct sl_node_run *r)
{
	for (int i = 0; i < r->info.n_in; i++)
		if (sl_node_has(&r->info, i))
			SL_TRY(make(sl_type_bytes(&r->info.in[i]), &r->in[i]));
	for (int i = 0; i < r->info.n_out; i++)
		SL_TRY(make(sl_type_bytes(&r->info.out[i]), &r->out[i]));
	return SL_OK;
}

sl_status sl_node_run_init(struct sl_node_run *r, const struct sl_op_case *c)
{
	*r = (struct sl_node_run){.c = c};
	SL_TRY(sl_op_case_build(c, true, &r->b));
	SL_TRY(sl_eval_init(&r->e, r->b.g));
	SL_TRY(sl_op_case_fill(c, &r->b, &r->e));
	r->info = sl_ir_info(r->b.g, r->b.g->n_nodes - 1, &r->types);
	return make_buffers(r);
}

void sl_node_run_finish(struct sl_node_run *r)
{
	for (int i = 0; i < SL_CASE_MAX_IN; i++)
		unmake(r->in[i]);
	for (int i = 0; i < SL_OP_MAX_OUT; i++)
		unmake(r->out[i]);
	sl_eval_finish(&r->e);
	sl_op_built_finish(&r->b);
	*r = (struct sl_node_run){0};
}

static bool is_last(uint32_t mask, int i, const struct sl_type *t)
{
	return (mask >> (i < 31 ? i : 31) & 1) && t->shape.rank == 4;
}

bool sl_node_run_channels_last(struct sl_node_run *r)
{
	const struct sl_op *op = r->info.op;

	for (int i = 0; i < r->info.n_in; i++)
		r->info.nhwc = r->info.nhwc || is_last(op->nhwc_in, i, &r->info.in[i]);
	for (int i = 0; i < r->info.n_out; i++)
		r->info.nhwc = r->info.nhwc || is_last(op->nhwc_out, i, &r->info.out[i]);
	return r->info.nhwc;
}

/* [N, C, H, W] to [N, H, W, C] in its bytes, or back. */
static sl_status permute(const struct sl_type *t, void *data, bool back)
{
	int64_t area = t->shape.dim[2] * t->shape.dim[3], channels = t->shape.dim[1];
	int64_t rows = back ? area : channels, columns = back ? channels : area;
	void *copy = sl_alloc(sl_type_bytes(t) + 1);

	if (!copy)
		return SL_FAIL(SL_E_NOMEM, "no host memory to permute a test's value");
	memcpy(copy, data, sl_type_bytes(t));
	for (int64_t i = 0; i < sl_shape_count(&t->shape); i++) {
		int64_t in = i % (rows * columns);
		sl_move(data, i - in + in % columns * rows + in / columns, copy, i,
			t->dtype);
	}
	sl_free(copy);
	return SL_OK;
}

static sl_status permute_inputs(struct sl_node_run *r, bool back)
{
	for (int i = 0; r->info.nhwc && i < r->info.n_in; i++)
		if (r->in[i] && is_last(r->info.op->nhwc_in, i, &r->info.in[i]))
			SL_TRY(permute(&r->info.in[i], r->in[i], back));
	return SL_OK;
}

static sl_status permute_outputs(struct sl_node_run *r)
{
	for (int i = 0; r->info.nhwc && i < r->info.n_out; i++)
		if (is_last(r->info.op->nhwc_out, i, &r->info.out[i]))
			SL_TRY(permute(&r->info.out[i], r->out[i], true));
	return SL_OK;
}

static void reset(struct sl_node_run *r)
{
	for (int i = 0; i < r->info.n_in; i++)
		if (r->in[i])
			memcpy(r->in[i], r->e.data[r->b.in[i].index],
				sl_type_bytes(&r->info.in[i]));
	for (int i = 0; i < r->info.n_out; i++)
		memset(r->out[i], 0xff, sl_type_bytes(&r->info.out[i]));
}

static sl_status call(struct sl_node_run *r, const struct sl_kernel *kernel,
	const struct sl_prepared *p, struct sl_pool *pool, int in_place)
{
	struct sl_run run = r->e.run;
	void *out[SL_OP_MAX_OUT];
	void *workspace = NULL;
	struct sl_call c = {.node = &r->info,
		.in = r->in,
		.out = out,
		.run = &run,
		.prepared = p->state};

	SL_TRY(make(p->workspace_bytes, &workspace));
	run.pool = pool;
	memcpy(out, r->out, sizeof(out));
	out[0] = in_place >= 0 ? r->in[in_place] : out[0];
	c.workspace = workspace;
	sl_status st = kernel->run(&c);
	if (st == SL_OK)
		st = check_guards("workspace", 0, workspace, p->workspace_bytes);
	unmake(workspace);
	if (st == SL_OK && in_place >= 0)
		memcpy(r->out[0], r->in[in_place], sl_type_bytes(&r->info.out[0]));
	return st;
}

static sl_status check_inputs(const struct sl_node_run *r, int in_place)
{
	for (int i = 0; i < r->info.n_in; i++) {
		size_t bytes = r->in[i] ? sl_type_bytes(&r->info.in[i]) : 0;
		if (!r->in[i])
			continue;
		SL_TRY(check_guards("input", i, r->in[i], bytes));
		if (i == in_place || (r->info.op->mutates >> i & 1))
			continue;
		if (memcmp(r->in[i], r->e.data[r->b.in[i].index], bytes) != 0)
			return SL_FAIL(SL_E_NO, "input %d was changed", i);
	}
	return SL_OK;
}

sl_status sl_node_run_do(struct sl_node_run *r, const struct sl_kernel *kernel,
	struct sl_pool *pool, int in_place)
{
	static const struct sl_kernel_env env = {.threads = 2};
	struct sl_prepared p = {0};

	reset(r);
	SL_TRY(permute_inputs(r, false));
	if (kernel->prepare)
		SL_TRY(kernel->prepare(&r->info, &env, &p));
	sl_status st = call(r, kernel, &p, pool, in_place);
	if (kernel->release)
		kernel->release(p.state);
	if (st != SL_OK)
		return st;
	for (int i = 0; i < r->info.n_out; i++)
		SL_TRY(check_guards(
			"output", i, r->out[i], sl_type_bytes(&r->info.out[i])));
	SL_TRY(permute_outputs(r));
	SL_TRY(permute_inputs(r, true));
	return check_inputs(r, in_place);
}

static sl_status near(
	const struct sl_type *t, const void *got, const void *want, double tol)
{
	int64_t count = sl_shape_count(&t->shape);

	if (tol == 0)
		return memcmp(got, want, sl_type_bytes(t)) == 0
			       ? SL_OK
			       : SL_FAIL(SL_E_NO, "other bits");
	for (int64_t i = 0; i < count; i++) {
		double a = sl_get(got, t->dtype, i);
		double b = sl_get(want, t->dtype, i);
		bool same = isnan(b) ? isnan(a) : a == b;
		if (!same && !(fabs(a - b) <= tol * fmax(1, fabs(b))))
			return SL_FAIL(SL_E_NO,
				"element %lld of %lld is %.9g; expected %.9g",
				(long long)i, (long long)count, a, b);
	}
	return SL_OK;
}

sl_status sl_node_run_near(
	const struct sl_node_run *got, const struct sl_node_run *want, double tol)
{
	for (int i = 0; i < got->info.n_out; i++) {
		sl_status st = near(&got->info.out[i], got->out[i], want->out[i], tol);
		if (st != SL_OK)
			return sl_fail_prefix(st, "output %d", i);
	}
	for (int i = 0; i < got->info.n_in; i++) {
		if (!(got->info.op->mutates >> i & 1) || !got->in[i])
			continue;
		sl_status st = near(&got->info.in[i], got->in[i], want->in[i], tol);
		if (st != SL_OK)
			return sl_fail_prefix(st, "input %d", i);
	}
	return SL_OK;
}

static sl_status read_file(
	struct sl_op_cases *cases, const char *folder, const char *name)
{
	struct sl_buf text = SL_BUF_MAX(FILE_MAX);
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	sl_status st = sl_fs_read(path, FILE_MAX, &text);
	if (st == SL_OK)
		st = sl_op_cases_parse(cases, name, sl_buf_text(&text), text.len);
	sl_buf_finish(&text);
	return st;
}

sl_status sl_op_cases_read(struct sl_op_cases *cases, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	sl_status st = SL_OK;

	if (!dir)
		return SL_FAIL(SL_E_NOT_FOUND, "no folder %s", folder);
	while (st == SL_OK && (entry = readdir(dir)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');
		if (dot && strcmp(dot, ".txt") == 0)
			st = read_file(cases, folder, entry->d_name);
	}
	closedir(dir);
	return st;
}

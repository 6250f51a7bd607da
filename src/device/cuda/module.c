/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels by their numbers: a unit's code is loaded and an entry looked up at the first
 * launch that needs it, and kept for as long as the device.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "device/cuda/cuda_int.h"

/* What a block may have without asking. */
#define SHARED_USUAL (48u << 10)

struct entry {
	sl_cu_function fn;
	unsigned shared_bytes; /* that were asked for */
};

struct sl_cuda_module {
	sl_cu_module *units; /* NULL: not loaded */
	struct entry *entries;
};

static void free_modules(struct sl_cuda_module *m)
{
	sl_free(m->units);
	sl_free(m->entries);
	sl_free(m);
}

void sl_cuda_modules_destroy(struct sl_cuda *c)
{
	struct sl_cuda_module *m = c->modules;

	if (m == NULL)
		return;
	for (size_t i = 0; i < sl_cuda_image.n_units; i++)
		if (m->units[i] != NULL)
			sl_cuda_release(c, c->cu.cuModuleUnload(m->units[i]));
	free_modules(m);
}

static sl_status make_modules(struct sl_cuda *c)
{
	struct sl_cuda_module *m = sl_calloc(1, sizeof(*m));

	if (m == NULL)
		return SL_FAIL(SL_E_NOMEM, "no memory for kernels");
	m->units = sl_calloc(sl_cuda_image.n_units, sizeof(sl_cu_module));
	m->entries = sl_calloc(sl_cuda_image.n_entries, sizeof(*m->entries));
	if (m->units == NULL || m->entries == NULL) {
		free_modules(m);
		return SL_FAIL(SL_E_NOMEM, "no memory for kernels");
	}
	c->modules = m;
	return SL_OK;
}

static bool is_no_code(sl_cu_result r)
{
	return r == SL_CU_ERROR_INVALID_IMAGE || r == SL_CU_ERROR_INVALID_PTX ||
	       r == SL_CU_ERROR_NO_BINARY_FOR_GPU ||
	       r == SL_CU_ERROR_UNSUPPORTED_PTX_VERSION;
}

static sl_status load_compiled(
	struct sl_cuda *c, const struct sl_cuda_unit *u, sl_cu_module *out)
{
	struct sl_cuda_code code = {0};
	sl_cu_result r = c->cu.cuModuleLoadData(out, u->source);
	sl_status st;

	/* A driver that takes sources, as that of the tests, needs no compiler. */
	if (!is_no_code(r))
		return sl_cuda_check(c, r, "cuModuleLoadData");
	SL_TRY(sl_cuda_code_take(c->arch, &sl_cuda_image, u, &code));
	st = SL_CUDA(c, cuModuleLoadData, out, code.data);
	sl_free(code.data);
	/* A file that was damaged shall not stand in the way for ever. */
	if (st == SL_E_UNSUPPORTED)
		sl_cuda_code_drop(c->arch, &sl_cuda_image, u);
	return st;
}

static sl_status load_unit(struct sl_cuda *c, unsigned i)
{
	const struct sl_cuda_unit *u = &sl_cuda_image.units[i];
	sl_status st;

	if (u->fatbin == NULL)
		st = load_compiled(c, u, &c->modules->units[i]);
	else
		st = SL_CUDA(c, cuModuleLoadData, &c->modules->units[i], u->fatbin);
	return st == SL_OK ? SL_OK : sl_fail_prefix(st, "%s for sm_%d", u->name, c->arch);
}

/* The lock is held. */
static sl_status find_entry(struct sl_cuda *c, unsigned i)
{
	const struct sl_cuda_entry *row = &sl_cuda_image.entries[i];

	if (c->modules == NULL)
		SL_TRY(make_modules(c));
	if (c->modules->units[row->unit] == NULL)
		SL_TRY(load_unit(c, row->unit));
	return SL_CUDA(c, cuModuleGetFunction, &c->modules->entries[i].fn,
		c->modules->units[row->unit], row->name);
}

static sl_status allow_shared(struct sl_cuda *c, struct entry *e, unsigned bytes)
{
	if (bytes <= SHARED_USUAL || bytes <= e->shared_bytes)
		return SL_OK;
	if (bytes > (unsigned)c->shared_most)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"%u bytes of shared memory a block; the card has %d", bytes,
			c->shared_most);
	SL_TRY(SL_CUDA(c, cuFuncSetAttribute, e->fn,
		SL_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes));
	e->shared_bytes = bytes;
	return SL_OK;
}

static sl_status prepare(
	struct sl_cuda *c, unsigned i, unsigned shared_bytes, sl_cu_function *out)
{
	sl_status st = SL_OK;

	pthread_mutex_lock(&c->lock);
	if (c->modules == NULL || c->modules->entries[i].fn == NULL)
		st = find_entry(c, i);
	if (st == SL_OK)
		st = allow_shared(c, &c->modules->entries[i], shared_bytes);
	if (st == SL_OK)
		*out = c->modules->entries[i].fn;
	pthread_mutex_unlock(&c->lock);
	return st;
}

sl_status sl_cuda_launch(struct sl_stream *s, unsigned entry, struct sl_cuda_size grid,
	struct sl_cuda_size block, unsigned shared_bytes, void **params)
{
	struct sl_cuda *c = s->c;
	sl_cu_function fn = NULL;
	sl_status st;

	SL_ASSERT(entry < sl_cuda_image.n_entries);
	SL_TRY(sl_cuda_enter(c));
	st = prepare(c, entry, shared_bytes, &fn);
	if (st == SL_OK)
		st = SL_CUDA(c, cuLaunchKernel, fn, grid.x, grid.y, grid.z, block.x,
			block.y, block.z, shared_bytes, s->handle, params, NULL);
	return st == SL_OK ? SL_OK
			   : sl_fail_prefix(st, "%s", sl_cuda_image.entries[entry].name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds oneDNN at run time and fills the table of its functions
 * (docs/adr/0005-onednn.md).
 *
 * Mutable state: the table, written once under pthread_once and constant afterwards, how
 * its threads are to wait, said before, and the width of running. The library stays
 * loaded until the process ends: its worker threads do not survive dlclose.
 */
#include "kernel/cpu/dnnl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/thread.h"
#include "base/units.h"

static struct sl_dnnl table;
static bool usable;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool keeps_awake;
static atomic_int run_width; /* 0: as many as the plan was made for */

/* A function pointer cannot be converted from an object pointer in ISO C; POSIX says its
 * bits can. */
static bool find(void *lib, const char *name, void *fn)
{
	void *sym = dlsym(lib, name);

	if (sym)
		memcpy(fn, &sym, sizeof(sym));
	return sym != NULL;
}

static bool find_all(void *lib)
{
	bool ok = true;

#define SL_DNNL_FN(name) ok = find(lib, "dnnl_" #name, &table.name) && ok;
#include "kernel/cpu/dnnl.def"
#undef SL_DNNL_FN
	/* Debian's build runs on libgomp, which it brings along. */
	ok = find(lib, "omp_set_num_threads", &table.omp_set_num_threads) && ok;
	ok = find(lib, "omp_get_max_threads", &table.omp_get_max_threads) && ok;
	ok = find(lib, "omp_get_thread_limit", &table.omp_get_thread_limit) && ok;
	ok = find(lib, "omp_set_dynamic", &table.omp_set_dynamic) && ok;
	return ok;
}

static dnnl_status_t make_attr(dnnl_primitive_attr_t *out)
{
	dnnl_status_t st = table.primitive_attr_create(out);

	if (st != dnnl_success)
		return st;
	return table.primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
}

static dnnl_status_t add_sum(dnnl_primitive_attr_t attr)
{
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t st = table.post_ops_create(&ops);

	if (st == dnnl_success)
		st = table.post_ops_append_sum(ops, 1.0f);
	if (st == dnnl_success)
		st = table.primitive_attr_set_post_ops(attr, ops);
	if (ops)
		table.post_ops_destroy(ops);
	return st;
}

static bool start(void)
{
	const dnnl_version_t *v = table.version();

	/* Fewer threads than it asks for give the library wrong results (dnnl_matmul.c).
	 */
	if (v->major != DNNL_VERSION_MAJOR ||
		table.omp_get_thread_limit() < sl_cpu_count())
		return false;
	snprintf(table.version_text, sizeof(table.version_text), "%d.%d.%d", v->major,
		v->minor, v->patch);
	/* Only ever the CPU engine: asking for GPU engines would load the OpenCL drivers.
	 */
	return table.engine_create(&table.engine, dnnl_cpu, 0) == dnnl_success &&
	       table.stream_create(&table.stream, table.engine,
		       dnnl_stream_default_flags) == dnnl_success &&
	       make_attr(&table.attr) == dnnl_success &&
	       make_attr(&table.attr_sum) == dnnl_success &&
	       add_sum(table.attr_sum) == dnnl_success;
}

static void load(void)
{
	void *lib;

	/*
	 * libgomp reads these when it is loaded. Its threads sleep between regions, so
	 * that they do not take the cores from ours; the short spin (some 10 us) bridges
	 * the gaps inside one operator, where a sleep and a wake would cost 50 us each.
	 * Where nearly all operators are the library's, a long one bridges all gaps.
	 */
	setenv("OMP_WAIT_POLICY", "passive", 0);
	setenv("GOMP_SPINCOUNT", atomic_load(&keeps_awake) ? "100000" : "1000", 0);
	lib = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	usable = find_all(lib) && start();
}

const struct sl_dnnl *sl_dnnl(void)
{
	pthread_once(&once, load);
	return usable ? &table : NULL;
}

const char *sl_dnnl_version(void)
{
	const struct sl_dnnl *d = sl_dnnl();

	return d ? d->version_text : "";
}

void sl_kernel_keep_awake(void)
{
	atomic_store(&keeps_awake, true);
}

void sl_kernel_set_width(int threads)
{
	atomic_store_explicit(&run_width, threads, memory_order_relaxed);
}

sl_status sl_dnnl_status(dnnl_status_t st, const char *what)
{
	if (st == dnnl_success)
		return SL_OK;
	if (st == dnnl_out_of_memory)
		return SL_FAIL(SL_E_NOMEM, "oneDNN %s: %s: out of memory",
			table.version_text, what);
	return SL_FAIL(SL_E_UNSUPPORTED,
		"oneDNN %s: %s failed with status %d; remove libdnnl2 to run without it",
		table.version_text, what, (int)st);
}

int sl_dnnl_begin(int threads)
{
	int before = table.omp_get_max_threads();

	table.omp_set_num_threads(threads);
	return before;
}

void sl_dnnl_end(int restore)
{
	table.omp_set_num_threads(restore);
}

/* Threads that the plan runs with now. */
static int width_of(const struct sl_dnnl_plan *p)
{
	int width = atomic_load_explicit(&run_width, memory_order_relaxed);

	return p->pin || width <= 0 || width > p->threads ? p->threads : width;
}

static sl_status run_step(const struct sl_dnnl_step *s, void *const *slot)
{
	dnnl_status_t st;

	for (int i = 0; i < s->n_args; i++) {
		st = table.memory_set_data_handle(s->arg[i].memory, slot[s->slot[i]]);
		if (st != dnnl_success)
			return sl_dnnl_status(st, "binding memory");
	}
	st = table.primitive_execute(s->primitive, table.stream, s->n_args, s->arg);
	return sl_dnnl_status(st, "executing a primitive");
}

sl_status sl_dnnl_plan_run(const struct sl_dnnl_plan *p, void *const slot[SL_DNNL_SLOTS])
{
	table.omp_set_dynamic(0); /* both belong to the calling thread */
	table.omp_set_num_threads(width_of(p));
	for (int i = 0; i < p->n_steps; i++)
		SL_TRY(run_step(&p->step[i], slot));
	return SL_OK;
}

static void step_finish(struct sl_dnnl_step *s)
{
	for (int i = 0; i < s->n_args; i++)
		table.memory_destroy(s->arg[i].memory);
	if (s->primitive)
		table.primitive_destroy(s->primitive);
	memset(s, 0, sizeof(*s));
}

void sl_dnnl_plan_finish(struct sl_dnnl_plan *p)
{
	for (int i = 0; i < p->n_steps; i++)
		step_finish(&p->step[i]);
	p->n_steps = 0;
}

/*
 * The GEMM inside oneDNN ("x64:gemm:jit") splits sums by the threads it runs with; the
 * direct convolutions and the batch-reduce kernels take the split from their creation.
 */
static bool splits_by_width(const_dnnl_primitive_desc_t pd)
{
	const char *impl = NULL;

	if (table.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) !=
		dnnl_success)
		return true;
	return !impl || strstr(impl, "gemm") || strstr(impl, "ref");
}

sl_status sl_dnnl_plan_add(struct sl_dnnl_plan *p, const_dnnl_primitive_desc_t pd,
	const struct sl_dnnl_arg *args, int n_args)
{
	struct sl_dnnl_step s = {0};
	dnnl_status_t st;

	SL_BUG(p->n_steps >= SL_DNNL_STEPS || n_args > SL_DNNL_ARGS);
	st = table.primitive_create(&s.primitive, pd);
	for (int i = 0; st == dnnl_success && i < n_args; i++) {
		s.arg[i].arg = args[i].arg;
		s.slot[i] = args[i].slot;
		st = table.memory_create(
			&s.arg[i].memory, args[i].md, table.engine, DNNL_MEMORY_NONE);
		s.n_args += st == dnnl_success;
	}
	if (st != dnnl_success) {
		step_finish(&s);
		return sl_dnnl_status(st, "creating a primitive");
	}
	p->pin = p->pin || splits_by_width(pd);
	p->step[p->n_steps++] = s;
	return SL_OK;
}

sl_status sl_dnnl_plan_reorder(struct sl_dnnl_plan *p, const struct sl_dnnl_arg *from,
	const struct sl_dnnl_arg *to)
{
	const struct sl_dnnl_arg args[2] = {
		{DNNL_ARG_FROM, from->slot, from->md}, {DNNL_ARG_TO, to->slot, to->md}};
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t ds = table.reorder_primitive_desc_create(
		&pd, from->md, table.engine, to->md, table.engine, table.attr);
	bool pin = p->pin;

	if (ds != dnnl_success)
		return sl_dnnl_status(ds, "describing a change of layout");
	sl_status st = sl_dnnl_plan_add(p, pd, args, 2);
	p->pin = pin; /* moves data only */
	table.primitive_desc_destroy(pd);
	return st;
}

const dnnl_memory_desc_t *sl_dnnl_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return table.primitive_desc_query_md(pd, what, 0);
}

size_t sl_dnnl_bytes(const dnnl_memory_desc_t *md)
{
	return md ? (size_t)sl_align_up(table.memory_desc_get_size(md), 64) : 0;
}

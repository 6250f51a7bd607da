/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_DNNL_H
#define SL_KERNEL_CPU_DNNL_H

#include <oneapi/dnnl/dnnl.h>

#include "kernel/kernel.h"

/*
 * oneDNN 2.x, found at run time. Only src/kernel/cpu/dnnl*.c include this header, and
 * only they know that the library exists.
 *
 * A plan is a short list of primitives with their memory objects, made once; running it
 * binds pointers and executes, and allocates nothing of ours. Arguments name slots, and
 * the caller gives one pointer a slot, so the same plan serves every address. Scratchpads
 * are the caller's (user mode), never the library's.
 *
 * 1. A plan is created for `threads` threads, and that is what its split of sums follows.
 * It runs with the width of sl_kernel_set_width, or with `threads` where pin says that
 * the width would show in the bits.
 * 2. Memory objects are bound at each run: one thread runs a plan at a time.
 */

struct sl_dnnl {
#define SL_DNNL_FN(name) __typeof__(dnnl_##name) *name;
#include "kernel/cpu/dnnl.def"
#undef SL_DNNL_FN
	void (*omp_set_num_threads)(int threads);
	int (*omp_get_max_threads)(void);
	int (*omp_get_thread_limit)(void);
	void (*omp_set_dynamic)(int on);
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_attr_t attr; /* scratchpad mode user */
	dnnl_primitive_attr_t attr_sum; /* and the result is added to what is there */
	char version_text[32];
};

/* The library, loaded by the first call from any thread; NULL where it is missing or not
 * a 2.x. */
const struct sl_dnnl *sl_dnnl(void);
/* "2.6.3"; "" where it is missing. */
const char *sl_dnnl_version(void);
/* Records and translates a failure of the library; SL_OK for dnnl_success. */
sl_status sl_dnnl_status(dnnl_status_t st, const char *what);

#define SL_DNNL_STEPS 4
#define SL_DNNL_ARGS 5
#define SL_DNNL_SLOTS 10

struct sl_dnnl_step {
	dnnl_primitive_t primitive;
	int n_args;
	dnnl_exec_arg_t arg[SL_DNNL_ARGS];
	int slot[SL_DNNL_ARGS];
};

struct sl_dnnl_plan {
	int threads;
	bool pin;
	int n_steps;
	struct sl_dnnl_step step[SL_DNNL_STEPS];
};

/* One argument of a primitive: DNNL_ARG_*, the slot its bytes come from, and their
 * layout. */
struct sl_dnnl_arg {
	int arg;
	int slot;
	const dnnl_memory_desc_t *md;
};

/* Primitives are created between begin and end, so that they are split for `threads`. */
int sl_dnnl_begin(int threads); /* returns what end is to restore */
void sl_dnnl_end(int restore);

/*
 * Appends the primitive of pd (borrowed). pin is set where its implementation splits sums
 * by the width of running. On failure the plan is as before.
 */
SL_NODISCARD sl_status sl_dnnl_plan_add(struct sl_dnnl_plan *p,
	const_dnnl_primitive_desc_t pd, const struct sl_dnnl_arg *args, int n_args);
/* Appends a change of layout between two slots. */
SL_NODISCARD sl_status sl_dnnl_plan_reorder(struct sl_dnnl_plan *p,
	const struct sl_dnnl_arg *from, const struct sl_dnnl_arg *to);
SL_NODISCARD sl_status sl_dnnl_plan_run(
	const struct sl_dnnl_plan *p, void *const slot[SL_DNNL_SLOTS]);
void sl_dnnl_plan_finish(struct sl_dnnl_plan *p); /* zeroed plans are fine */

/* Layout and bytes that a primitive wants for an argument. */
const dnnl_memory_desc_t *sl_dnnl_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what);
size_t sl_dnnl_bytes(const dnnl_memory_desc_t *md); /* rounded up to 64 */

/* f32, nothing empty, nothing that the library cannot count (dnnl_conv.c). */
bool sl_dnnl_conv_accepts(const struct sl_node_info *n);

#endif

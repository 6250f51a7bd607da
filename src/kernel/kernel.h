/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_KERNEL_H
#define SL_KERNEL_KERNEL_H

#include "graph/op.h"

/*
 * A kernel is one way to run one operator on one device. Selection happens at seal,
 * before any budget is known, and is frozen: the highest rank that accepts the node. Rank
 * 0 is the reference.
 *
 * Results must not depend on the number of workers (fixed chunks) nor on addresses (all
 * pointers are 64-byte aligned; values of 4096 bytes and more are 4096-aligned).
 */
struct sl_kernel_env {
	int threads; /* fixed at seal by the machine's cores; split counts follow it,
			never the run's width */
};

struct sl_prepared {
	void *state; /* given to run as c->prepared, released by release */
	size_t workspace_bytes;
	const char *layout; /* static text; NULL means "plain" */
	int split; /* 0 means 1 */
};

/* Which nodes a kernel is asked about: those on plain values unless it says more. */
enum sl_kernel_layouts { SL_KERNEL_PLAIN, SL_KERNEL_NHWC, SL_KERNEL_ANY };

struct sl_kernel {
	const char *name;
	const char *op;
	int rank;
	enum sl_kernel_layouts layouts;
	bool (*accepts)(const struct sl_node_info *n); /* NULL: always */
	sl_status (*prepare)(const struct sl_node_info *n,
		const struct sl_kernel_env *env,
		struct sl_prepared *out); /* NULL: nothing to prepare */
	sl_status (*run)(const struct sl_call *c);
	void (*release)(void *state);
};

/* The kernels of one kind of device. */
struct sl_kernel_set {
	const char *device;
	const struct sl_kernel *(*at)(size_t i); /* NULL past the end */
	/* Runs what no row accepts; may give NULL. NULL: nothing does. */
	const struct sl_kernel *(*last)(const struct sl_node_info *n);
	/* `run` computes when it is called, so on a device of streams it is called when
	 * the stream comes to it; else it enqueues on run->stream and returns. */
	bool on_host;
};
extern const struct sl_kernel_set sl_kernel_cpu;

/* Best kernel for the node; SL_E_UNSUPPORTED if the set has none. */
SL_NODISCARD sl_status sl_kernel_choose(const struct sl_kernel_set *set,
	const struct sl_node_info *n, const struct sl_kernel **out);
/* Whether the set runs the node by better than the reference. */
bool sl_kernel_is_fast(const struct sl_kernel_set *set, const struct sl_node_info *n);
/* Whether any row is of that operator: graphs take forms of their own where it is. */
bool sl_kernel_has(const struct sl_kernel_set *set, const char *op);
/* Best kernel for the node on the CPU; falls back to the op's reference, so it always
 * finds one. */
const struct sl_kernel *sl_kernel_select(const struct sl_node_info *n);
/* Whether the kernel runs the node, by its layout and its own word. */
bool sl_kernel_accepts(const struct sl_kernel *k, const struct sl_node_info *n);
const struct sl_kernel *sl_kernel_at(
	size_t i); /* rows of kernels.def; NULL past the end */

/* The kernel that runs any operator's reference (rank 0). */
extern const struct sl_kernel sl_kernel_ref;
/* The kernel that runs nodes with bf16 operands by the kernel of the same node in f32
 * (rank 1): taken where the table has none. */
extern const struct sl_kernel sl_kernel_widened;

/* Width of running for libraries that keep threads of their own (oneDNN); called at step
 * start. */
void sl_kernel_set_width(int threads);
/* Steps will run nearly all in such a library: its threads then look out for work for a
 * millisecond, not some tens of microseconds, before they sleep. To be said before the
 * process selects its first kernel; afterwards it changes nothing. */
void sl_kernel_keep_awake(void);

#endif

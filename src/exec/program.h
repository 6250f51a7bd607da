/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_PROGRAM_H
#define SL_EXEC_PROGRAM_H

#include "base/arena.h"
#include "graph/ir.h"
#include "kernel/kernel.h"
#include "memory/plan.h"
#include "sim/cost.h"

/*
 * A sealed instance: the graph's nodes in their one order (graph/order.h), each with its
 * kernel chosen and prepared, and every value assigned to a storage. Sealing knows no
 * budget (contracts 2), so results cannot depend on one.
 *
 * 1. Storages [0, n_persistent) are the graph's parameters, then its states, in order of
 * declaration; programs made from the same declarations agree on them.
 * 2. A storage's bytes are a multiple of 64 below 4096 and of 4096 from there on, so that
 * it can travel to a disk without its neighbours.
 * 3. An output takes the storage of an input over when the operator allows it, the
 * input's life ends there and the bytes agree; views never have a storage of their own.
 */
struct sl_program_arg {
	uint32_t storage; /* SL_NO_ID: absent optional input */
	uint64_t offset; /* bytes, of views */
};

struct sl_program_op {
	struct sl_node_info info; /* arrays live in the program's arena */
	const struct sl_kernel *kernel;
	struct sl_prepared prepared;
	const char *scope;
	const struct sl_program_arg *args; /* [n_in + n_out] */
	uint32_t n_read, n_born, n_changed;
	uint32_t *read, *born, *changed; /* storages, each once */
};

struct sl_storage_info {
	uint64_t bytes;
	uint64_t used_bytes; /* of the value, without padding */
	enum sl_class cls;
	const char *name;
	struct sl_type type; /* of persistent ones */
	struct sl_init init;
};

struct sl_program {
	struct sl_arena arena;
	struct sl_program_op *ops;
	struct sl_storage_info *storages;
	uint32_t n_ops, n_storages, n_persistent, n_params;
	size_t cap_ops, cap_storages;
	int seal_threads;
};

/* By the CPU's kernels. threads: split counts follow it; it must be the same for all
 * programs of a session. */
SL_NODISCARD sl_status sl_program_seal(
	const struct sl_graph *g, int threads, struct sl_program **out);
/* By those of a set. SL_E_UNSUPPORTED, with the op's scope: it has none for a node. */
SL_NODISCARD sl_status sl_program_seal_on(const struct sl_graph *g,
	const struct sl_kernel_set *kernels, int threads, struct sl_program **out);
void sl_program_destroy(struct sl_program *p);

/* A tier that the trace shall name, with its link both ways; the way back into the device
 * is as the way out where in_bytes_per_s is 0. */
struct sl_program_tier {
	const char *name;
	uint64_t bytes;
	uint64_t bytes_per_s, latency_ns;
	uint64_t in_bytes_per_s, in_latency_ns;
	bool half_duplex;
};

/* Adds tiers and their links to a trace that has none. */
SL_NODISCARD sl_status sl_program_add_tiers(
	struct sl_trace *t, const struct sl_program_tier *tiers, uint32_t n_tiers);

/*
 * The trace of one step, timed by a cost book (NULL: the default one); storage ids are
 * its value ids. Storage n_persistent is the bounce buffer of the tiers: immovable,
 * SL_BOUNCE_BYTES.
 */
#define SL_BOUNCE_BYTES 8192u
SL_NODISCARD sl_status sl_program_trace(const struct sl_program *p,
	const struct sl_program_tier *tiers, uint32_t n_tiers,
	const struct sl_cost_book *costs, struct sl_trace *out);
/* Adds a select line for every op. */
SL_NODISCARD sl_status sl_program_select_lines(
	const struct sl_program *p, struct sl_plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_GRAPH_RIG_H
#define SL_TESTS_GRAPH_RIG_H

#include "base/buf.h"
#include "base/thread.h"
#include "exec/exec.h"
#include "memory/engine.h"

/*
 * Runs a sealed program under a plan with made-up inputs (random_graph.h says how they
 * are named), and collects everything that comes out: two runs of one program must give
 * the same bytes, whatever plan, tiers, delays and threads.
 */
enum sl_rig_tier { SL_RIG_NONE, SL_RIG_HOST, SL_RIG_DISK };

struct sl_graph_rig_opts {
	const struct sl_program *program;
	const char *policy;
	const char *other; /* policy whose plan takes turns with the first one, step by
			    * step, in the same arena; NULL: none */
	uint64_t budget; /* UINT64_MAX: none */
	enum sl_rig_tier tier;
	uint64_t seed; /* of inputs and first values */
	int width; /* 0: no pool */
	bool delays; /* copies are late by random amounts */
	bool poison; /* freed bytes are overwritten */
	int again; /* attempts to weave runs again into the plan (again_plan.h), which may
		    * then use half as much again */
};

/* What feeding and fetching know. */
struct sl_graph_io {
	uint64_t seed, step;
	struct sl_buf fetched; /* all outputs of all steps, in the order they came */
	bool finite; /* so were all fetched numbers */
};
sl_status sl_graph_io_feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type);
sl_status sl_graph_io_fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type);
/* The first contents of a persistent value: bytes of it. */
void sl_graph_io_first(
	const struct sl_graph_io *io, const struct sl_storage_info *info, void *data);

struct sl_graph_rig {
	struct sl_graph_rig_opts opts;
	struct sl_trace trace;
	struct sl_plan plan;
	struct sl_plan other;
	const struct sl_plan *in_force;
	struct sl_tier *tiers[1];
	uint32_t n_tiers;
	uint8_t *arena;
	struct sl_engine *engine;
	struct sl_pool *pool;
	struct sl_graph_io io;
	const struct sl_exec *running; /* during a step */
};

/* The tier a budget implies here: large, so that plans use it freely, and slow, so that
 * running ops again is worth while. */
struct sl_program_tier sl_graph_rig_tier(enum sl_rig_tier tier);
/* Plans, takes memory, writes the first values. */
SL_NODISCARD sl_status sl_graph_rig_open(
	struct sl_graph_rig *r, const struct sl_graph_rig_opts *opts);
SL_NODISCARD sl_status sl_graph_rig_step(struct sl_graph_rig *r);
/* All persistent values, appended in order. */
SL_NODISCARD sl_status sl_graph_rig_state(struct sl_graph_rig *r, struct sl_buf *out);
void sl_graph_rig_close(struct sl_graph_rig *r); /* a zeroed one is fine */

/*
 * The same program with no memory shared at all: each value has a buffer of its own, so
 * that an op that overwrites what is still needed shows. Runs `steps` steps and leaves
 * outputs in io->fetched and persistent values in *state.
 */
SL_NODISCARD sl_status sl_graph_twin(const struct sl_graph *g, const struct sl_program *p,
	int steps, struct sl_graph_io *io, struct sl_buf *state);

#endif

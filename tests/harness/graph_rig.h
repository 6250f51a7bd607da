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
	uint64_t budget; /* UINT64_MAX: none */
	enum sl_rig_tier tier;
	uint64_t seed; /* of inputs and first values */
	int width; /* 0: no pool */
	bool delays; /* copies are late by random amounts */
	bool poison; /* freed bytes are overwritten */
};

struct sl_graph_rig {
	struct sl_graph_rig_opts opts;
	struct sl_trace trace;
	struct sl_plan plan;
	struct sl_tier *tiers[1];
	uint32_t n_tiers;
	uint8_t *arena;
	struct sl_engine *engine;
	struct sl_pool *pool;
	uint64_t step;
	struct sl_buf fetched; /* all outputs of all steps, in the order they came */
	bool finite; /* so were all fetched numbers */
};

/* The tier a budget implies here: large and fast, so that plans use it freely. */
struct sl_program_tier sl_graph_rig_tier(enum sl_rig_tier tier);
/* Plans, takes memory, writes the first values. */
SL_NODISCARD sl_status sl_graph_rig_open(
	struct sl_graph_rig *r, const struct sl_graph_rig_opts *opts);
SL_NODISCARD sl_status sl_graph_rig_step(struct sl_graph_rig *r);
/* All persistent values, appended in order. */
SL_NODISCARD sl_status sl_graph_rig_state(struct sl_graph_rig *r, struct sl_buf *out);
void sl_graph_rig_close(struct sl_graph_rig *r); /* a zeroed one is fine */

#endif

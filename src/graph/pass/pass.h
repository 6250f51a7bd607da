/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_PASS_PASS_H
#define SL_GRAPH_PASS_PASS_H

#include "graph/ir.h"

/*
 * Passes make a faster graph of a forward graph. Each is a row of passes.def and a file;
 * they run in the table's order, each from a whole graph to a new one.
 *
 * 1. A pass looks at nodes and shapes alone: never at a budget, a batch size or a
 * machine's load, so that all instances of a template are changed alike.
 * 2. The new graph declares the same persistent values in the same order, has the same
 * feeds and fetches, and no dead nodes.
 * 3. Graphs that change values in place (training) are left as they are.
 */

struct sl_pass_env {
	/*
	 * Gets what is to be run once for a set of weights, before the graph runs for the
	 * first time: it changes persistent values in place, so that they serve the new
	 * graph alone, and takes no memory beside them. NULL: weights stay as they are,
	 * and passes that need to change them do not run.
	 */
	struct sl_graph *prologue;
	/* The one output that is wanted; NULL: all. */
	const char *output;
	/* Whether a node can run fast here (a kernel that is not the reference); NULL:
	 * any can. */
	bool (*runs)(const struct sl_node_info *n);
};

/* *g is replaced; on failure it is as before (the prologue may be of no use then). */
SL_NODISCARD sl_status sl_passes_run(struct sl_graph **g, const struct sl_pass_env *env);

/* Runs the one pass of that name; for tests. SL_E_INVALID: there is none. */
SL_NODISCARD sl_status sl_pass_run(
	const char *name, struct sl_graph **g, const struct sl_pass_env *env);

/* Declares the persistent values of `from` in g, in their order. */
void sl_pass_declare(struct sl_graph *g, const struct sl_graph *from);

#endif

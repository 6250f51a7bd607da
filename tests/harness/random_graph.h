/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_RANDOM_GRAPH_H
#define SL_TESTS_RANDOM_GRAPH_H

#include "base/rng.h"
#include "sluice/graph.h"

/*
 * Random training graphs: a template of random operators over a batch (all that have a
 * gradient and some that work in place), bound once for each part of a batch, with the
 * gradients of all parts added up and an optimizer of its own for each parameter. The
 * same seed gives the same graph.
 *
 * Inputs are named KIND.BOUND: "f.0" is f32 in [-1, 1), "i.9" integers in [0, 9); a name
 * may go on behind a second dot.
 */
struct sl_random_graph_opts {
	uint64_t seed;
	int moves; /* operators that the dice choose; 0: 6 to 24 */
	int scale; /* sizes are so many times larger; 0: 1 */
};

SL_NODISCARD sl_status sl_random_graph(
	const struct sl_random_graph_opts *opts, struct sl_graph **out);

/* The generator's parts: making of a forward pass (random_forward.c). */
#define SL_RANDOM_VALUES 20
struct sl_random_maker {
	struct sl_graph *g;
	struct sl_rng rng;
	int scale;
	sl_val values[SL_RANDOM_VALUES]; /* f32, first axis the batch */
	int n_values;
	uint32_t stream;
	int names;
	sl_val weights[64];
	int n_weights;
};
int64_t sl_random_die(struct sl_random_maker *m, int64_t n); /* 0 to n - 1 */
/* A new weight, or now and then an old one of that shape. */
sl_val sl_random_weight(
	struct sl_random_maker *m, const struct sl_shape *shape, double deviation);
/* Any value as [batch, width]; width <= 0: as it is. */
sl_val sl_random_flat(struct sl_random_maker *m, int64_t width);
/* One random operator more; its results join the values. */
void sl_random_move(struct sl_random_maker *m);

#endif

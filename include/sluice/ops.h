/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_OPS_H
#define SLUICE_OPS_H

#include "sluice/attrs.h"
#include "sluice/graph.h"

/*
 * Builders of all operators, one row of ops.def each; each operator's file in src/op
 * documents shapes, gradient and numerics. Failures poison the result (graph.h).
 */
#define SL_OP(name, ...) sl_val sl_##name(struct sl_graph *g, __VA_ARGS__);
#define SL_COMPOSITE(name, ...) sl_val sl_##name(struct sl_graph *g, __VA_ARGS__);
#include "sluice/ops.def"
#undef SL_OP
#undef SL_COMPOSITE

/* Operators for listings; *help says whether one has a gradient. NULL past the end. */
const char *sl_op_name_at(size_t i, const char **help);
/* Passes over inference graphs, in the order they run. NULL past the end. */
const char *sl_pass_name_at(size_t i, const char **help);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_PASS_PASS_OPS_H
#define SL_GRAPH_PASS_PASS_OPS_H

#include "graph/op_attr.h"
#include "sluice/ops.h"

/* Operators that passes look for: the descriptors of ops.def. */
#define SL_COMPOSITE(name, ...)
#define SL_OP(name, ...) extern const struct sl_op sl_op_##name;
#include "sluice/ops.def"
#undef SL_OP
#undef SL_COMPOSITE

#endif

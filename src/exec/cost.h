/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_COST_H
#define SL_EXEC_COST_H

#include <stdint.h>

#include "graph/op.h"

/*
 * The cost book's first page: how long an op takes, from its flops and bytes alone. Good
 * enough to order decisions; measuring refines it later.
 */
uint64_t sl_cost_ns(const struct sl_node_info *n);

#endif

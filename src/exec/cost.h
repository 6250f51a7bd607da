/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_EXEC_COST_H
#define SL_EXEC_COST_H

#include <stdint.h>

#include "graph/op.h"
#include "sim/cost.h"

/* What an op computes and moves, from its shapes alone. */
void sl_cost_work(const struct sl_node_info *n, struct sl_cost *out);
/* How long it takes by a cost book (NULL: the default one) on an idle device; 1 or more.
 */
uint64_t sl_cost_ns(const struct sl_cost_book *book, const struct sl_node_info *n);

#endif

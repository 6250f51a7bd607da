/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_GRAPH_DCE_H
#define SL_GRAPH_DCE_H

#include "graph/ir.h"

/* keep[i] (n_nodes of them): whether node i is impure or something kept needs one of its
 * outputs. */
SL_NODISCARD sl_status sl_graph_dce(const struct sl_graph *g, bool *keep);

#endif

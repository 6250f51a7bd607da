/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_OPTIMIZER_H
#define SL_SESSION_OPTIMIZER_H

#include "sluice/graph.h"
#include "sluice/session.h"

/*
 * Optimizers as ordinary nodes, one small group a tensor, appended after the gradients:
 * the step counter, the schedule, the clipping factor, the updates; sealing moves them up
 * to where their gradients are ready (graph/order.h). A tensor over 16 MiB is updated in
 * slices whose states are values of their own, so that no op needs all of a large state
 * at once.
 */
#define SL_OPTIM_SLICE_BYTES ((int64_t)16 << 20)

/* grads[i] belongs to params[i] and may be NONE. States are declared as NAME.exp_avg and
 * so on. products: updates may make gradients of small factors themselves, where the
 * device has a kernel for that (matmul_adamw). */
SL_NODISCARD sl_status sl_optimizer_append(struct sl_graph *g,
	const struct sl_session_config *config, bool products, const sl_val *params,
	const sl_val *grads, size_t n);
/* Which elements of its parameter a state holds, from its name; false for a state of a
 * whole tensor. */
struct sl_optimizer_slice {
	struct sl_shape global;
	int64_t begin, count;
};
bool sl_optimizer_slice_of(
	const struct sl_graph *g, const char *state, struct sl_optimizer_slice *out);
/* SL_E_USAGE naming those that exist. */
SL_NODISCARD sl_status sl_optimizer_check(const struct sl_session_config *config);

#endif

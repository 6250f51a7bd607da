/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_VIRTUAL_H
#define SL_SESSION_VIRTUAL_H

#include "memory/engine.h"
#include "sim/account.h"

/*
 * Virtual time of the simulated device: what the engine and the executor really do, at
 * the durations and rates of the trace in force. Deterministic.
 */
struct sl_virtual {
	const struct sl_trace *trace;
	struct sl_account account;
	struct sl_engine_watch watch;
};

SL_NODISCARD sl_status sl_virtual_create(struct sl_virtual **out);
void sl_virtual_destroy(struct sl_virtual *v); /* NULL is fine */
/* The links and ops from now on; between steps. */
void sl_virtual_adopt(struct sl_virtual *v, const struct sl_trace *t);
void sl_virtual_op(struct sl_virtual *v, uint32_t op);

#endif

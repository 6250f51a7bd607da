/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_AGAIN_PLAN_H
#define SL_TESTS_AGAIN_PLAN_H

#include "base/rng.h"
#include "memory/plan.h"

/*
 * Weaves runs again into a sound plan: values are dropped between two accesses, or come
 * back after their last one, and are rebuilt by chains of ops, whose own inputs are
 * rebuilt too where they are missing. Nobody would choose such plans. Each of `tries`
 * attempts is kept if the checker finds the plan sound within `budget`; p->budget becomes
 * it.
 */
SL_NODISCARD sl_status sl_again_plan(struct sl_rng *rng, const struct sl_trace *t,
	uint64_t budget, int tries, struct sl_plan *p);
/* Runs again in p of ops of a kind; NULL: of all. */
uint32_t sl_again_count(
	const struct sl_trace *t, const struct sl_plan *p, const char *kind);

#endif

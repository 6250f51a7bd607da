/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MEMORY_POLICY_DTR_H
#define SL_MEMORY_POLICY_DTR_H

#include "memory/policy/lineage.h"
#include "memory/policy/runs.h"

/*
 * DTR's run time over a trace: ops come one by one, nothing of the future is known, and
 * where an op's outputs do not fit, the value of the lowest score leaves: the time to
 * have it again over its bytes times the time since its last use. What an op reads and is
 * gone is rebuilt first, by the same rules. Source: Kirisame et al., Dynamic tensor
 * rematerialization, ICLR 2021.
 */
enum sl_dtr_score {
	SL_DTR_EXACT, /* with all that is gone around it, both ways */
	SL_DTR_CLASSES, /* with the classes of what is gone next to it (union-find) */
	SL_DTR_LOCAL, /* its own time */
	/* Ours, with the future known: with what is gone that it comes from; over its
	 * bytes and the time until it, or what is gone and comes from it, is used. */
	SL_DTR_AHEAD
};

struct sl_dtr_rules {
	uint64_t budget; /* with the persistent values */
	uint64_t most_again_ns; /* more, and it has failed */
	enum sl_dtr_score score;
	/* As the paper's simulator counts: plain bytes, no workspace; an op that runs
	 * again needs room for all it bears, even what is there. */
	bool bytes;
	/* Of SL_DTR_AHEAD. */
	double far; /* exponent of the time */
	bool fit; /* no bytes count beyond those that are missing */
	const double *weight; /* [n_values] factors of scores; NULL: 1 */
	/* [n_ops] what an op reads is brought before that op, at most itself, and stays;
	 * NULL: itself. */
	const uint32_t *early;
};

struct sl_dtr_result {
	bool fits;
	uint64_t peak; /* of what is counted */
	uint64_t again_ns;
	uint32_t again_ops, evictions;
	uint32_t failed_at; /* op, where it does not fit */
	uint64_t work; /* steps from value to value */
};

/* runs: NULL, or takes the steps. SL_E_NOMEM. */
SL_NODISCARD sl_status sl_dtr_simulate(const struct sl_lineage *l,
	const struct sl_dtr_rules *rules, struct sl_runs *runs,
	struct sl_dtr_result *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_INSTANCE_H
#define SL_SESSION_INSTANCE_H

#include "exec/program.h"
#include "sluice/session.h"

/*
 * An instance of the model for one shape class (contracts 3): a graph with concrete
 * sizes, sealed. All instances of a session declare the same persistent values in the
 * same order, so that parameters, states and the arena are shared.
 */
struct sl_instance {
	struct sl_graph *graph;
	struct sl_graph *prologue; /* of an evaluation with fixed weights: changes them in
				      place for it, once; or NULL */
	struct sl_program *program;
	struct sl_trace trace; /* with the session's tiers */
	struct sl_plan plan;
	int64_t batch;
	int64_t parts; /* the batch is fed in so many parts */
	bool training;
	bool prepared; /* trace and plan are set */
};

/* First sample and number of samples of a part: parts differ by one sample at most. */
int64_t sl_instance_part_begin(const struct sl_instance *x, int64_t part);

struct sl_instance_request {
	const struct sl_graph *tmpl;
	const struct sl_session_config *config;
	const struct sl_graph *persistent; /* declares the persistent values; NULL: the
					      instance itself does */
	int64_t batch, seq;
	const struct sl_kernel_set *kernels;
	int seal_threads;
	const char *output; /* with fixed weights: the one that is wanted; NULL: all */
	bool fixed_weights; /* they never change: passes may put them in other forms */
};
/* Forward, backward and update of one step. */
SL_NODISCARD sl_status sl_instance_train(
	const struct sl_instance_request *r, struct sl_instance *out);
/* Forward only; tmpl was built for evaluation. */
SL_NODISCARD sl_status sl_instance_eval(
	const struct sl_instance_request *r, struct sl_instance *out);
/* What is run once before any of the evaluations: the prologue of one, which moves to
 * out. */
SL_NODISCARD sl_status sl_instance_prologue(struct sl_instance *of,
	const struct sl_kernel_set *kernels, int seal_threads, struct sl_instance *out);
void sl_instance_finish(struct sl_instance *x);

#endif

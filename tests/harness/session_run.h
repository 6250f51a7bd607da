/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SESSION_RUN_H
#define SL_TESTS_SESSION_RUN_H

#include "sluice/session.h"

/* Sessions from open to close, and small versions of all built-in models. */
#define SL_RUN_LOSSES 64

struct sl_session_run {
	struct sl_summary summary;
	double losses[SL_RUN_LOSSES], accuracy[SL_RUN_LOSSES];
	int64_t epochs[SL_RUN_LOSSES];
	int n, evals, notes;
	char note[512]; /* the last one */
};

/* Opens, prepares, trains, closes. */
SL_NODISCARD sl_status sl_session_run_all(
	const struct sl_session_config *config, struct sl_session_run *out);

/*
 * Configuration of small model i, false past the end: mlp, lenet5, convnet, gpt2, and
 * then resnet18, which takes most of the time, as its 11 million parameters cannot be
 * fewer.
 */
#define SL_SMALL_MODELS 4 /* without it */
bool sl_session_small(int i, struct sl_session_config *out);
/* The unbudgeted peak and the least budget of belady. */
SL_NODISCARD sl_status sl_session_bounds(
	const struct sl_session_config *config, uint64_t *peak, uint64_t *least);

#endif

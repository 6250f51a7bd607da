/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_TRAIN_H
#define SL_TESTS_CUDA_TRAIN_H

#include "cuda/driver/fake.h"
#include "harness/harness.h"
#include "harness/session_run.h"

/* Training on the CUDA device over the test driver. */

/* Model i, as small as it can be: the host runs each thread of each block. */
#define TRAIN_MODELS 4
struct sl_session_config train_config(int i);
/* On the CUDA device with a budget, so that there are copies in both directions. */
void train_tighten(struct sl_session_config *c);

sl_status train_try(const struct sl_session_config *c, struct fake_options o,
	struct sl_session_run *out);
/* The same; it must go well, leave nothing and give the detector nothing to tell. */
void train_well(const struct sl_session_config *c, struct fake_options o,
	struct sl_session_run *out);
/* Nothing lives, nothing was told. */
void train_want_clean(const char *what, uint64_t n);
/* Ends the test as skipped in a tree without kernels. */
void train_want_kernels(void);

#endif

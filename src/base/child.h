/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_CHILD_H
#define SL_BASE_CHILD_H

#include "sluice/status.h"

/*
 * Runs a program, found along PATH, to its end: argv ends with NULL, the three standard
 * streams are /dev/null, the environment is ours. *out_code is its exit status.
 * SL_E_NOT_FOUND: there is no such program; SL_E_LIMIT: it took longer than so many
 * seconds, and was killed; SL_E_IO: a signal ended it, or none could be made.
 */
SL_NODISCARD sl_status sl_child_run(
	const char *const *argv, unsigned seconds, int *out_code);

#endif

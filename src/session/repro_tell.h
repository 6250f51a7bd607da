/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_REPRO_TELL_H
#define SL_SESSION_REPRO_TELL_H

#include "sluice/repro.h"

/* What every reproduction says to whoever listens. A figure; values: the paper's, ours,
 * and what ours is compared with; NaN is none. */
SL_NODISCARD sl_status sl_repro_tell(const struct sl_repro_opts *opts,
	const struct sl_repro_shape *shape, const char *subject, const char *figure,
	const double values[3]);
/* What is at work now, of `total` parts; counts it as done. SL_E_INTERRUPTED after a
 * stop. */
SL_NODISCARD sl_status sl_repro_advance(const struct sl_repro_opts *opts,
	const char *what, uint32_t *done, uint32_t total);

#endif

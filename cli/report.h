/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_REPORT_H
#define SL_CLI_REPORT_H

#include "cli.h"

/* The summary of a training run, as JSON's last line or as a table for people. */
SL_NODISCARD sl_status cli_report_summary(const struct sl_summary *s, bool json);
/* Opens, prepares, trains and ends the progress; the summary is filled also when
 * interrupted. */
SL_NODISCARD sl_status cli_train(const struct sl_session_config *config,
	const struct sl_session_events *events, struct cli_progress *p,
	struct sl_summary *out);

#endif

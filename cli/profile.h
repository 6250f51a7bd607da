/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_PROFILE_H
#define SL_CLI_PROFILE_H

#include "sluice/profile.h"

/* A profile as people and programs read it. */
struct cli_profile {
	const char *model;
	const struct sl_profile_summary *sum;
	const struct sl_profile_row *rows; /* longest first */
	size_t n;
	size_t shown; /* of them */
	enum sl_profile_by by;
};

/* An object a row, a channel, then the summary. */
SL_NODISCARD sl_status cli_profile_json(const struct cli_profile *p);
void cli_profile_text(const struct cli_profile *p);

#endif

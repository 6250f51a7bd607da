/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CLI_PREVIEW_H
#define SL_CLI_PREVIEW_H

#include "sluice/memory.h"

/* Previews of plans as people and programs read them. */
struct cli_preview {
	struct sl_plan_report rows[SL_FRONT_MAX];
	size_t n;
	bool front; /* rows are budgets, ascending; else policies */
};

/* Feasible ones first, the quickest first. */
void cli_preview_sort(struct cli_preview *p);
/* An object a line. */
SL_NODISCARD sl_status cli_preview_json(const struct cli_preview *p);
/* Columns without anything in them are left out. */
void cli_preview_table(const struct cli_preview *p);
/* What the plan that matters does, in a sentence. */
void cli_preview_sentence(const struct cli_preview *p);
/* Step time against budget. */
void cli_preview_chart(const struct cli_preview *p);

#endif

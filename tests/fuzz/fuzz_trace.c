/* SPDX-License-Identifier: Apache-2.0 */
/* The trace parser: what it accepts prints, parses again to the same text, and can be
 * planned for. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "memory/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plan_for(const struct sl_trace *t)
{
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t least = 0;

	if (t->n_ops > 500 || t->n_values > 500)
		return;
	if (sl_policy_least(&sl_mem_policy_belady, t, &least) != SL_OK)
		return; /* tiers may be too small */
	SL_BUG(sl_policy_plan(&sl_mem_policy_belady, t, least, &p) != SL_OK);
	sl_plan_finish(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_trace t = SL_TRACE_INIT, back = SL_TRACE_INIT;
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;

	if (sl_trace_parse("fuzz", (const char *)data, size, &t) != SL_OK)
		return 0;
	if (sl_trace_print(&t, &first) == SL_OK) {
		SL_BUG(sl_trace_parse("again", first.data, first.len, &back) != SL_OK);
		SL_BUG(sl_trace_print(&back, &second) != SL_OK);
		SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	}
	plan_for(&t);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
	sl_trace_finish(&back);
	sl_trace_finish(&t);
	return 0;
}

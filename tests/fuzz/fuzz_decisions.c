/* SPDX-License-Identifier: Apache-2.0 */
/* decisions: what is read prints to a text that reads the same, and is decided again
 * without harm, whatever its events are. */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "share/decision_check.h"
#include "share/policy/policy.h"
#include "share/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct sl_log *l)
{
	struct sl_buf first = SL_BUF_INIT, second = SL_BUF_INIT;
	struct sl_log back = {0};

	SL_BUG(sl_log_print(l, &first) != SL_OK);
	SL_BUG(sl_log_parse("again", first.data, first.len, &back) != SL_OK);
	SL_BUG(sl_log_print(&back, &second) != SL_OK);
	SL_BUG(strcmp(sl_buf_text(&first), sl_buf_text(&second)) != 0);
	sl_log_finish(&back);
	sl_buf_finish(&first);
	sl_buf_finish(&second);
}

/* Events alone, decided afresh: always sound. */
static void decide(const struct sl_log *l, const struct sl_job_policy *policy)
{
	struct sl_share s;
	struct sl_log made = {0};

	sl_share_init(&s, policy, &l->rules);
	made.rules = s.rules;
	for (size_t i = 0; i < l->n; i++) {
		if (!sl_step_is_event(&l->steps[i]) ||
			sl_share_apply(&s, &l->steps[i]) != SL_OK)
			continue;
		SL_BUG(sl_log_add(&made, &l->steps[i]) != SL_OK);
		SL_BUG(sl_share_decide(&s, &made) != SL_OK);
		SL_BUG(sl_share_check(&s) != SL_OK);
	}
	SL_BUG(sl_decision_check_log(&made) != SL_OK);
	sl_log_finish(&made);
	sl_share_finish(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_log l = {0};
	sl_status st = sl_log_parse("fuzz", (const char *)data, size, &l);

	SL_BUG(st != SL_OK && st != SL_E_FORMAT);
	if (st != SL_OK)
		return 0;
	round_trip(&l);
	for (size_t i = 0; sl_job_policy_at(i); i++) {
		st = sl_log_replay(&l, sl_job_policy_at(i));
		SL_BUG(st != SL_OK && st != SL_E_NO && st != SL_E_FORMAT);
		decide(&l, sl_job_policy_at(i));
	}
	sl_log_finish(&l);
	return 0;
}

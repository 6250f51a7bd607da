/* SPDX-License-Identifier: Apache-2.0 */
/* Words that rule. */
#include "share/look/look_int.h"

#include <string.h>

sl_status sl_daemon_pause(struct sl_daemon *d, uint32_t job)
{
	return sl_look_do(
		d, &(struct sl_msg){.number = SL_MSG_PAUSE, .u.pause = {.job = job}});
}

sl_status sl_daemon_resume(struct sl_daemon *d, uint32_t job)
{
	return sl_look_do(
		d, &(struct sl_msg){.number = SL_MSG_RESUME, .u.resume = {.job = job}});
}

sl_status sl_daemon_cancel(struct sl_daemon *d, uint32_t job)
{
	return sl_look_do(
		d, &(struct sl_msg){.number = SL_MSG_CANCEL, .u.cancel = {.job = job}});
}

sl_status sl_daemon_priority(struct sl_daemon *d, uint32_t job, int32_t priority)
{
	return sl_look_do(d, &(struct sl_msg){.number = SL_MSG_PRIORITY,
				     .u.priority = {.job = job, .priority = priority}});
}

sl_status sl_daemon_limit(struct sl_daemon *d, uint32_t user, uint64_t bytes)
{
	return sl_look_do(d, &(struct sl_msg){.number = SL_MSG_LIMIT,
				     .u.limit = {.user = user, .bytes = bytes}});
}

sl_status sl_daemon_policy(struct sl_daemon *d, const char *name)
{
	struct sl_msg m = {.number = SL_MSG_POLICY};

	if (name[0] == '\0' || strlen(name) >= sizeof(m.u.policy.name))
		return SL_FAIL(SL_E_USAGE,
			"there is no job policy '%.80s'; `sluice list job-policies` "
			"lists them",
			name);
	sl_wire_text(m.u.policy.name, sizeof(m.u.policy.name), name);
	SL_TRY(sl_look_ask(d, &m));
	SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS));
	/* Either says that it was done; the words are the policy's name. */
	return m.number == SL_MSG_DONE || m.number == SL_MSG_WORDS ? SL_OK
								   : sl_look_odd(&m);
}

sl_status sl_daemon_ask(struct sl_daemon *d, const char *service, double within_s,
	const void *input, uint32_t input_bytes, struct sl_daemon_answer *out)
{
	struct sl_msg m = {.number = SL_MSG_ASK,
		.u.ask = {.within_ns = (int64_t)(within_s * 1e9),
			.input = {input, input_bytes}}};

	if (!(within_s >= 0) || within_s > 1e6)
		return SL_FAIL(
			SL_E_USAGE, "a request waits 0 to 1e6 seconds, not %g", within_s);
	sl_wire_text(m.u.ask.service, sizeof(m.u.ask.service), service);
	SL_TRY(sl_look_ask(d, &m));
	SL_TRY(sl_look_answer(d, &m, SL_LOOK_NS + (sl_ns)(within_s * 1e9)));
	if (m.number != SL_MSG_ANSWER)
		return sl_look_odd(&m);
	if (m.u.answer.code == SL_E_INVALID)
		return SL_FAIL(SL_E_INVALID,
			"a sample of %u values is not what the service %s takes; give it "
			"samples of its model's shape",
			(unsigned)(input_bytes / sizeof(float)), service);
	if (m.u.answer.code != SL_OK)
		return SL_FAIL(m.u.answer.code < SL_STATUS_COUNT
				       ? (sl_status)m.u.answer.code
				       : SL_E_LOST,
			"the service %s did not do it: %s", service,
			sl_status_text((sl_status)(m.u.answer.code < SL_STATUS_COUNT
							   ? m.u.answer.code
							   : SL_E_LOST)));
	*out = (struct sl_daemon_answer){.waited_s = (double)m.u.answer.waited_ns / 1e9,
		.ran_s = (double)m.u.answer.ran_ns / 1e9,
		.batch = m.u.answer.batch,
		.output = m.u.answer.output.data,
		.output_bytes = m.u.answer.output.size};
	return SL_OK;
}

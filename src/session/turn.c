/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on a device that others use too; without a gate all of this is nothing. */
#include "session/machine.h"

#include "base/compiler.h"

static sl_status fail_lost(const struct sl_machine *m)
{
	if (m->gate->reason != NULL)
		return m->gate->reason(m->gate->ctx);
	return SL_FAIL(SL_E_LOST, "the device's memory was taken from this job");
}

sl_status sl_machine_look(const struct sl_machine *m)
{
	if (SL_UNLIKELY(m->gate != NULL && m->gate->lost(m->gate->ctx)))
		return fail_lost(m);
	return SL_OK;
}

sl_status sl_machine_enter(struct sl_machine *m)
{
	sl_ns begin;

	if (m->gate == NULL || m->in_turn)
		return SL_OK;
	begin = sl_clock_now();
	SL_TRY(m->gate->enter(m->gate->ctx));
	m->turn_began = sl_clock_now();
	m->waited_ns += m->turn_began - begin;
	m->in_turn = true;
	return SL_OK;
}

/* Whoever gets the lane next must not find copies in it. */
static sl_status settle(struct sl_machine *m)
{
	return m->engine != NULL ? sl_engine_settle(m->engine) : SL_OK;
}

sl_status sl_machine_leave(struct sl_machine *m)
{
	bool wanted, rests;

	if (m->gate == NULL || !m->in_turn)
		return SL_OK;
	wanted = m->gate->wanted(m->gate->ctx);
	rests = m->rests || (wanted && m->waits_next);
	if (wanted || rests)
		SL_TRY(settle(m));
	/* What was computed on pages that were no longer there is worth nothing. */
	SL_TRY(sl_machine_look(m));
	m->in_turn = false;
	return m->gate->leave(m->gate->ctx, sl_clock_now() - m->turn_began, rests);
}

sl_status sl_machine_idle(struct sl_machine *m)
{
	if (m->gate == NULL)
		return SL_OK;
	SL_TRY(settle(m));
	return m->gate->idle(m->gate->ctx);
}

void sl_machine_channel(struct sl_machine *m, uint32_t ppm)
{
	if (m->replan != NULL)
		sl_replan_channel(m->replan, ppm);
}

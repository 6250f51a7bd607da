/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of memory and time that a shared job could run with, and becoming one of them. */
#include "session/menu.h"

#include <stdio.h>

#include "base/units.h"

#define PAGE ((uint64_t)4096)

/* Shares of the unbudgeted peak; the least budget comes after them. */
static const double shares[] = {0.85, 0.70, 0.55, 0.40};

static const struct sl_instance *instance_at(const struct sl_session *s, int id)
{
	const struct sl_instance *x = &s->instances[id];

	return sl_instance_is_built(x) ? x : NULL;
}

static void note_plan(struct sl_menu_row *row, const struct sl_plan *p)
{
	uint64_t stay = sl_align_up(p->p_bytes, PAGE), peak = sl_align_up(p->peak, PAGE);
	uint64_t most = row->persistent_bytes + row->ephemeral_bytes;

	if (stay > row->persistent_bytes)
		row->persistent_bytes = stay;
	most = peak > most ? peak : most;
	most = row->persistent_bytes > most ? row->persistent_bytes : most;
	row->ephemeral_bytes = most - row->persistent_bytes;
}

static const struct sl_instance *main_instance(const struct sl_session *s)
{
	return &s->instances[s->config.infer_only ? SL_EVAL : SL_TRAIN];
}

static void note_first(const struct sl_session *s, struct sl_menu *menu)
{
	struct sl_menu_row *row = &menu->rows[0];

	for (int id = 0; id < SL_INSTANCE_COUNT; id++)
		if (instance_at(s, id) != NULL)
			note_plan(row, &s->instances[id].plan);
	row->turn_ns = main_instance(s)->plan.price_ns;
	menu->swaps = main_instance(s)->plan.n_actions > 0;
	menu->n = 1;
}

/* The policy that makes plans for less: the one asked for, or the default. */
static sl_status lesser_policy(
	const struct sl_session *s, bool quick, struct sl_policy_choice *out)
{
	const char *name = s->config.policy;

	SL_TRY(sl_policy_parse_auto(name, true, out));
	if (quick)
		*out = sl_policy_quick(out);
	return SL_OK;
}

static void row_finish(struct sl_menu_row *row)
{
	for (int id = 0; id < SL_INSTANCE_COUNT; id++)
		sl_plan_finish(&row->plans[id]);
	*row = (struct sl_menu_row){0};
}

static sl_status fill_row(
	const struct sl_session *s, uint64_t budget, struct sl_menu_row *row)
{
	struct sl_policy_choice policy;

	SL_TRY(lesser_policy(s, true, &policy));
	for (int id = 0; id < SL_INSTANCE_COUNT; id++) {
		const struct sl_instance *x = instance_at(s, id);

		if (x == NULL)
			continue;
		SL_TRY(sl_policy_apply(&policy, &x->trace, budget, &row->plans[id]));
		SL_TRY(sl_program_select_lines(x->program, &row->plans[id]));
		note_plan(row, &row->plans[id]);
		if (x == main_instance(s))
			row->turn_ns = row->plans[id].price_ns;
	}
	return SL_OK;
}

static bool allowed(const struct sl_session *s, const struct sl_menu *menu,
	const struct sl_menu_row *row)
{
	const struct sl_menu_row *first = &menu->rows[0],
				 *last = &menu->rows[menu->n - 1];
	double most = (double)first->turn_ns * (1 + s->config.allow_slowdown);

	return row->persistent_bytes + row->ephemeral_bytes <
		       last->persistent_bytes + last->ephemeral_bytes &&
	       (double)row->turn_ns <= most;
}

static sl_status try_row(
	const struct sl_session *s, uint64_t budget, struct sl_menu *menu)
{
	struct sl_menu_row *row = &menu->rows[menu->n];
	const struct sl_menu_row *last = row - 1;
	sl_status st;

	if (menu->n == SL_MENU_ROWS ||
		budget >= last->persistent_bytes + last->ephemeral_bytes)
		return SL_OK;
	st = fill_row(s, budget, row);
	if (st == SL_OK && allowed(s, menu, row)) {
		menu->n++;
		return SL_OK;
	}
	row_finish(row);
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

/* The least in which every instance has a plan, and the most that one of them takes. */
static sl_status extremes(const struct sl_session *s, uint64_t *least, uint64_t *peak)
{
	*least = *peak = 0;
	for (int id = 0; id < SL_INSTANCE_COUNT; id++) {
		const struct sl_instance *x = instance_at(s, id);
		struct sl_least_budget bound = {0};
		uint64_t keep;

		if (x == NULL)
			continue;
		SL_TRY(sl_trace_least_budget(&x->trace, &bound));
		SL_TRY(sl_policy_least(sl_policy_find("keep"), &x->trace, &keep));
		*least = bound.bytes > *least ? bound.bytes : *least;
		*peak = keep > *peak ? keep : *peak;
	}
	return SL_OK;
}

/* Planning for less costs time: only where it may be of use. */
static bool wants_less(const struct sl_session *s)
{
	const struct sl_session_config *c = &s->config;

	return c->plan_path == NULL && s->machine.n_tiers > 0 &&
	       (c->allow_slowdown > 0 || c->host_bytes > 0 || c->disk_folder != NULL ||
		       c->budget_bytes > 0);
}

sl_status sl_menu_make(const struct sl_session *s, struct sl_menu *out)
{
	uint64_t least, peak;

	note_first(s, out);
	if (!wants_less(s))
		return SL_OK;
	SL_TRY(extremes(s, &least, &peak));
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		SL_TRY(try_row(s, sl_machine_share(peak, shares[i]), out));
	return try_row(s, least, out);
}

/* The quick plan is kept where the better one would leave more at the boundary. */
static sl_status improve(
	struct sl_session *s, struct sl_instance *x, const struct sl_menu_row *row)
{
	struct sl_policy_choice policy;
	struct sl_plan better = SL_PLAN_INIT;
	sl_status st;

	if (x->training && sl_machine_plans_quickly(&s->config, x))
		return SL_OK; /* measured times will give a better one */
	SL_TRY(lesser_policy(s, false, &policy));
	SL_TRY_OUT(sl_policy_apply(&policy, &x->trace,
		row->persistent_bytes + row->ephemeral_bytes, &better));
	SL_TRY_OUT(sl_program_select_lines(x->program, &better));
	if (better.p_bytes <= row->persistent_bytes &&
		better.price_ns < x->plan.price_ns) {
		sl_plan_finish(&x->plan);
		sl_plan_move(&x->plan, &better);
	}
out:
	sl_plan_finish(&better);
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

sl_status sl_menu_take(struct sl_session *s, struct sl_menu *menu, uint32_t row)
{
	struct sl_menu_row *r = &menu->rows[row];
	struct sl_machine *m = &s->machine;

	m->most_p_bytes = r->persistent_bytes;
	if (row == 0)
		return SL_OK;
	m->planned_peak = 0;
	for (int id = 0; id < SL_INSTANCE_COUNT; id++) {
		struct sl_instance *x = &s->instances[id];

		if (instance_at(s, id) == NULL)
			continue;
		sl_plan_finish(&x->plan);
		sl_plan_move(&x->plan, &r->plans[id]);
		SL_TRY(improve(s, x, r));
		if (x->plan.peak > m->planned_peak)
			m->planned_peak = x->plan.peak;
	}
	s->config.budget_bytes = r->persistent_bytes + r->ephemeral_bytes;
	(void)snprintf(m->policy, sizeof(m->policy), "%s", main_instance(s)->plan.policy);
	return SL_OK;
}

void sl_menu_finish(struct sl_menu *menu)
{
	for (uint32_t i = 0; i < menu->n; i++)
		row_finish(&menu->rows[i]);
	*menu = (struct sl_menu){0};
}

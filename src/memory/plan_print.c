/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as text: printing. Lines come in a fixed order, so that equal plans print
 * equal texts. */
#include "memory/plan.h"

static const char *const action_text[SL_ACTION_COUNT] = {
#define X(name, text) [SL_ACTION_##name] = (text),
	SL_ACTION_TABLE(X)
#undef X
};

static const char *tier_name(const struct sl_trace *t, uint32_t tier)
{
	return tier == SL_TIER_DEVICE ? "device" : t->tiers[tier - 1].name;
}

static const char *or_dash(const char *text)
{
	return text && text[0] ? text : "-";
}

static sl_status print_selects(const struct sl_plan *p, struct sl_buf *out)
{
	for (uint32_t i = 0; i < p->n_selects; i++) {
		const struct sl_plan_select *s = &p->selects[i];

		SL_TRY(sl_buf_printf(out,
			"select %u kernel=%s layout=%s split=%u threads=%u "
			"workspace=%llu\n",
			s->op, or_dash(s->kernel), or_dash(s->layout), s->split,
			s->threads, (unsigned long long)s->workspace_bytes));
	}
	return SL_OK;
}

static sl_status print_place(
	const struct sl_plan *p, char letter, uint32_t id, struct sl_buf *out)
{
	uint64_t offset = letter == 'v' ? p->value_offset[id] : p->workspace_offset[id];

	if (offset == SL_NO_OFFSET)
		return SL_OK;
	return sl_buf_printf(out, "place %c%u region=%s offset=%llu\n", letter, id,
		offset < p->p_bytes ? "P" : "lane", (unsigned long long)offset);
}

static sl_status print_start(
	const struct sl_plan_start *s, const struct sl_trace *t, struct sl_buf *out)
{
	return sl_buf_printf(out, "start v%u tier=%s offset=%llu\n", s->value,
		tier_name(t, s->tier), (unsigned long long)s->offset);
}

/* A number, or '-' for SL_NO_OFFSET. */
static sl_status print_offset(const char *key, uint64_t offset, struct sl_buf *out)
{
	if (offset == SL_NO_OFFSET)
		return sl_buf_printf(out, " %s=-", key);
	return sl_buf_printf(out, " %s=%llu", key, (unsigned long long)offset);
}

static sl_status print_again(const struct sl_action *a, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, " again=%u", a->again));
	SL_TRY(print_offset("offset", a->offset, out));
	return print_offset("workspace", a->workspace_offset, out);
}

static sl_status print_action(
	const struct sl_action *a, const struct sl_trace *t, struct sl_buf *out)
{
	bool copies = sl_action_copies(a->kind);
	bool again = a->kind == SL_ACTION_RECOMPUTE;

	SL_TRY(sl_buf_printf(out, "%s %u delay_ns=%llu %s v%u",
		a->phase == SL_BEFORE ? "before" : "after", a->op,
		(unsigned long long)a->delay_ns, action_text[a->kind], a->value));
	if (copies || a->tier != SL_TIER_DEVICE)
		SL_TRY(sl_buf_printf(
			out, " tier=%s channel=%u", tier_name(t, a->tier), a->channel));
	if (again)
		SL_TRY(print_again(a, out));
	else if (copies || a->kind == SL_ACTION_MOVE || a->offset != 0)
		SL_TRY(sl_buf_printf(out, " offset=%llu", (unsigned long long)a->offset));
	if (a->iter != 0)
		SL_TRY(sl_buf_printf(out, " iter=+%u", a->iter));
	return sl_buf_puts(out, "\n");
}

sl_status sl_plan_print(
	const struct sl_plan *p, const struct sl_trace *t, struct sl_buf *out)
{
	SL_TRY(sl_buf_printf(out, "plan %d budget=%llu policy=%s order=%s\n",
		SL_PLAN_VERSION, (unsigned long long)p->budget, or_dash(p->policy),
		or_dash(p->order)));
	SL_TRY(print_selects(p, out));
	for (uint32_t v = 0; v < p->n_values; v++)
		SL_TRY(print_place(p, 'v', v, out));
	for (uint32_t i = 0; i < p->n_ops; i++)
		SL_TRY(print_place(p, 'w', i, out));
	for (uint32_t i = 0; i < p->n_starts; i++)
		SL_TRY(print_start(&p->starts[i], t, out));
	for (uint32_t i = 0; i < p->n_actions; i++)
		SL_TRY(print_action(&p->actions[i], t, out));
	return sl_buf_printf(out, "peak %llu\nprice %llu\nstall %llu\n",
		(unsigned long long)p->peak, (unsigned long long)p->price_ns,
		(unsigned long long)p->stall_ns);
}

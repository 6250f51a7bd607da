/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a page for a browser: numbers, drawings, nothing fetched from elsewhere. */
#include "session/page_int.h"

#include <stdio.h>

#include "base/units.h"

#define WAITS 10u

static const char *const style =
	"<style>\n"
	":root{color-scheme:light dark;--ink:#222;--line:#8886;--page:#fff}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#ddd;--page:#16181b}}\n"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:1340px;margin:2em auto;"
	"padding:0 1em;color:var(--ink);background:var(--page)}\n"
	"svg{width:100%;height:auto;font-size:11px;fill:var(--ink)}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.2em .8em;border-bottom:1px solid var(--line);text-align:right}\n"
	"th:first-child,td:first-child{text-align:left}\n"
	"path{fill:none}.tick{stroke:var(--line)}\n"
	".held{stroke:#4c78a8;stroke-width:1.5}.live{stroke:#999;stroke-dasharray:4 3}\n"
	"path.budget{stroke:#c33;stroke-dasharray:6 4}text.budget{fill:#c33}\n"
	"rect{stroke:#0003;stroke-width:.4}rect.o2{stroke:#e45756;stroke-width:1.2}\n"
	"rect.op{fill:#4c78a8}rect.again{fill:#e45756}rect.move{fill:#b279a2}\n"
	"rect.out{fill:#f2a541}rect.in{fill:#54a24b}rect.wait{fill:#e4575633}\n"
	".point{fill:#4c78a8}.mark{fill:#c33}\n"
	"</style>\n";

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static sl_status heading(
	const struct sl_planner *p, const struct sl_plan_report *r, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\"><title>"));
	SL_TRY(sl_buf_xml(out, p->trace.job_name));
	SL_TRY(sl_buf_puts(out, ": a plan</title>\n"));
	SL_TRY(sl_buf_puts(out, style));
	SL_TRY(sl_buf_puts(out, "</head><body>\n<h1>"));
	SL_TRY(sl_buf_xml(out, p->trace.job_name));
	return sl_buf_printf(
		out, ", planned by %s</h1>\n", r->policy[0] ? r->policy : "-");
}

/* What it holds, costs and moves, and how far that is from what cannot be had cheaper. */
static sl_status summary(const struct sl_plan_report *r, struct sl_buf *out)
{
	char a[SL_SIZE_TEXT], b[SL_SIZE_TEXT], c[SL_SIZE_TEXT], d[SL_SIZE_TEXT];

	SL_TRY(sl_buf_printf(out,
		"<p>The step holds %s of the %s that it would take without a budget, and "
		"takes %.3f ms instead of %.3f (%+.1f %%): %.3f ms of waits, %llu ops "
		"run again in %.3f ms.",
		sl_size_print(r->peak_bytes, a),
		sl_size_print(r->unbudgeted_peak_bytes, b), ms(r->iter_ns),
		ms(r->base_iter_ns), 100 * (sl_times(r->iter_ns, r->base_iter_ns) - 1),
		ms(r->stall_ns), (unsigned long long)r->recompute_ops,
		ms(r->recompute_ns)));
	SL_TRY(sl_buf_printf(out, " %s leave the device and %s come back.",
		sl_size_print(r->swap_out_bytes, c), sl_size_print(r->swap_in_bytes, d)));
	if (r->bound_bytes > 0)
		SL_TRY(sl_buf_printf(out,
			" Swapping alone cannot do it with less than %s both ways, or in "
			"less than %.3f ms.",
			sl_size_print(r->bound_bytes, a), ms(r->bound_ns)));
	return sl_buf_puts(out, "</p>\n");
}

static sl_status policy_row(const struct sl_plan_report *r, struct sl_buf *out)
{
	char peak[SL_SIZE_TEXT], away[SL_SIZE_TEXT], in[SL_SIZE_TEXT];

	SL_TRY(sl_buf_puts(out, "<tr><td>"));
	SL_TRY(sl_buf_xml(out, r->policy));
	if (!r->feasible)
		return sl_buf_printf(out,
			"</td><td colspan=\"6\">does not fit; needs %s</td></tr>\n",
			sl_size_print(r->least_budget_bytes, peak));
	return sl_buf_printf(out,
		"</td><td>%s</td><td>%.3f</td><td>%+.1f %%</td><td>%.3f</td><td>%.3f</td>"
		"<td>%s out, %s in</td></tr>\n",
		sl_size_print(r->peak_bytes, peak), ms(r->iter_ns),
		100 * (sl_times(r->iter_ns, r->base_iter_ns) - 1), ms(r->stall_ns),
		ms(r->recompute_ns), sl_size_print(r->swap_out_bytes, away),
		sl_size_print(r->swap_in_bytes, in));
}

static sl_status policies(const struct sl_plan_report *rows, size_t n, struct sl_buf *out)
{
	if (n == 0)
		return SL_OK;
	SL_TRY(sl_buf_puts(out,
		"<h2>Every policy in this budget</h2>\n<table><tr><th>policy</th>"
		"<th>peak</th><th>step ms</th><th>slowdown</th><th>waits ms</th>"
		"<th>again ms</th><th>moved</th></tr>\n"));
	for (size_t i = 0; i < n; i++)
		SL_TRY(policy_row(&rows[i], out));
	return sl_buf_puts(out, "</table>\n");
}

/* The longest wait that is not told yet; n_ops + 1: there is none. */
static uint32_t next_wait(const struct sl_page *g, const uint32_t *told, uint32_t n)
{
	uint32_t end = g->planner->trace.n_ops + 1, best = end;

	for (uint32_t i = 0; i < end; i++) {
		bool old = g->waits[i].ns == 0 || g->waits[i].value == SL_NO_ID;

		for (uint32_t k = 0; k < n; k++)
			old = old || told[k] == i;
		if (!old && (best == end || g->waits[i].ns > g->waits[best].ns))
			best = i;
	}
	return best;
}

static sl_status wait_row(const struct sl_page *g, uint32_t i, struct sl_buf *out)
{
	const struct sl_trace *t = &g->planner->trace;
	const struct sl_plan_wait *w = &g->waits[i];
	const struct sl_trace_value *v = &t->values[w->value];
	char size[SL_SIZE_TEXT];

	SL_TRY(sl_buf_printf(out, "<tr><td>op %u ", i));
	SL_TRY(sl_buf_xml(out, i < t->n_ops ? t->ops[i].kind : "(end)"));
	SL_TRY(sl_buf_printf(out, "</td><td>%.3f ms</td><td>for %s ", ms(w->ns),
		w->leaving ? "the bytes of" : "the arrival of"));
	SL_TRY(sl_buf_xml(out, v->name[0] ? v->name : sl_class_name(v->cls)));
	return sl_buf_printf(
		out, " (v%u, %s)</td></tr>\n", w->value, sl_size_print(v->bytes, size));
}

static sl_status waits(const struct sl_page *g, struct sl_buf *out)
{
	uint32_t told[WAITS], end = g->planner->trace.n_ops + 1;

	for (uint32_t n = 0; n < WAITS; n++) {
		told[n] = next_wait(g, told, n);
		if (told[n] == end)
			return n > 0 ? sl_buf_puts(out, "</table>\n") : SL_OK;
		if (n == 0)
			SL_TRY(sl_buf_puts(out, "<h2>The longest waits</h2>\n<table>\n"));
		SL_TRY(wait_row(g, told[n], out));
	}
	return sl_buf_puts(out, "</table>\n");
}

static sl_status drawings(const struct sl_page *g, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out,
		"<h2>Bytes on the device</h2>\n<p>Blue: as planned. Dashed: if nothing "
		"ever left.</p>\n"));
	SL_TRY(sl_page_draw_bytes(g, out));
	SL_TRY(sl_buf_puts(out,
		"<h2>What the device and the links do</h2>\n<p>On the device: ops blue, "
		"ops run again red, waits pale.</p>\n"));
	SL_TRY(sl_page_draw_lanes(g, out));
	SL_TRY(sl_buf_puts(out,
		"<h2>Where values lie, and for how long</h2>\n<p>Addresses upwards, time "
		"to the right; red edges: made by running an op again. Point at a box "
		"for its name.</p>\n"));
	SL_TRY(sl_page_draw_places(g, out));
	return waits(g, out);
}

static sl_status curve(const struct sl_page_config *c, const struct sl_plan_report *r,
	struct sl_buf *out)
{
	if (c->n_front < 2)
		return SL_OK;
	SL_TRY(sl_buf_puts(out, "<h2>Step time against budget</h2>\n"));
	return sl_page_draw_front(c->front, c->n_front, r, out);
}

sl_status sl_planner_page(
	struct sl_planner *p, const struct sl_page_config *c, struct sl_buf *out)
{
	struct sl_buf text = SL_BUF_INIT;
	struct sl_plan plan = SL_PLAN_INIT;
	struct sl_plan_report r;
	struct sl_page g = {0};
	sl_status st;

	SL_TRY_OUT(sl_planner_plan(p, c->policy, c->budget_bytes, &r, &text));
	if (!r.feasible) {
		st = sl_planner_infeasible(p);
		goto out;
	}
	SL_TRY_OUT(sl_plan_parse("plan", text.data, text.len, &p->trace, &plan));
	SL_TRY_OUT(sl_page_gather(p, &plan, &g));
	SL_TRY_OUT(heading(p, &r, out));
	SL_TRY_OUT(summary(&r, out));
	SL_TRY_OUT(policies(c->policies, c->n_policies, out));
	SL_TRY_OUT(drawings(&g, out));
	SL_TRY_OUT(curve(c, &r, out));
	SL_TRY_OUT(sl_buf_puts(out, "</body></html>\n"));
out:
	sl_page_finish(&g);
	sl_plan_finish(&plan);
	sl_buf_finish(&text);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The drawings of a page: time to the right in all but the curve of budgets. */
#include "session/page_int.h"

#include "base/units.h"

#define WIDTH 1200.0
#define MARGIN 64.0
#define CURVE_HEIGHT 220.0
#define PLACES_HEIGHT 420.0
#define LANE_HEIGHT 26.0
#define FRONT_HEIGHT 260.0
#define TICKS 6
#define THIN 0.15 /* pixels; lower boxes are not drawn */

static const char *const class_fill[SL_CLASS_COUNT] = {[SL_CLASS_PARAM] = "#4c78a8",
	[SL_CLASS_STATE] = "#8c6bb1",
	[SL_CLASS_GRAD] = "#e0883c",
	[SL_CLASS_ACT] = "#54a24b",
	[SL_CLASS_INPUT] = "#9d9d9d",
	[SL_CLASS_CONST] = "#5f7f9f",
	[SL_CLASS_SCRATCH] = "#c9b458"};

struct frame {
	struct sl_buf *out;
	double height, x, y; /* pixels; pixels a unit */
};

static unsigned long long u(uint64_t v)
{
	return v;
}

static double at_x(const struct frame *f, uint64_t ns)
{
	return MARGIN + (double)ns * f->x;
}

static double at_y(const struct frame *f, uint64_t bytes)
{
	return f->height - (double)bytes * f->y;
}

static struct frame frame_of(
	struct sl_buf *out, double height, uint64_t width, uint64_t top)
{
	return (struct frame){.out = out,
		.height = height,
		.x = WIDTH / (width > 0 ? (double)width : 1),
		.y = (height - 12) / (top > 0 ? (double)top : 1)};
}

static sl_status begin(const struct frame *f, const char *title)
{
	return sl_buf_printf(f->out,
		"<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
		WIDTH + 2 * MARGIN, f->height + 28, title);
}

/* Times below, milliseconds. */
static sl_status end(const struct frame *f, uint64_t ns)
{
	for (int i = 0; i <= TICKS; i++) {
		double x = MARGIN + WIDTH * i / TICKS;

		SL_TRY(sl_buf_printf(f->out,
			"<path d=\"M%.1f 0V%.1f\" class=\"tick\"/><text x=\"%.1f\" "
			"y=\"%.1f\" text-anchor=\"middle\">%.4g ms</text>\n",
			x, f->height, x, f->height + 18, (double)ns / 1e6 * i / TICKS));
	}
	return sl_buf_puts(f->out, "</svg>\n");
}

static sl_status level_line(
	const struct frame *f, uint64_t bytes, const char *class, const char *what)
{
	char size[SL_SIZE_TEXT];
	double y = at_y(f, bytes);

	return sl_buf_printf(f->out,
		"<path d=\"M%.0f %.2fH%.0f\" class=\"%s\"/><text x=\"%.0f\" y=\"%.2f\" "
		"class=\"%s\">%s %s</text>\n",
		MARGIN, y, MARGIN + WIDTH, class, MARGIN + 6, y > 16 ? y - 4 : y + 13,
		class, what, sl_size_print(bytes, size));
}

/* A path of steps: "x y" pairs as H and V. */
static sl_status step_to(const struct frame *f, bool first, uint64_t ns, uint64_t bytes)
{
	return first ? sl_buf_printf(f->out, "M%.1f %.1f", at_x(f, ns), at_y(f, bytes))
		     : sl_buf_printf(f->out, "H%.1fV%.1f", at_x(f, ns), at_y(f, bytes));
}

/* Bytes of values on the device as replayed. */
static sl_status held_steps(const struct sl_page *g, const struct frame *f)
{
	SL_TRY(sl_buf_puts(f->out, "<path class=\"held\" d=\""));
	for (uint32_t i = 0; i < g->n_spans; i++)
		SL_TRY(step_to(f, i == 0, g->spans[i].end_ns, g->spans[i].held_bytes));
	return sl_buf_puts(f->out, "\"/>\n");
}

static sl_status live_steps(const struct sl_page *g, const struct frame *f)
{
	bool first = true;

	SL_TRY(sl_buf_puts(f->out, "<path class=\"live\" d=\""));
	for (uint32_t i = 0; i < g->n_spans; i++) {
		if (g->spans[i].kind != SL_REPLAY_OP)
			continue;
		SL_TRY(step_to(f, first, g->spans[i].begin_ns, g->live[g->spans[i].id]));
		first = false;
	}
	return sl_buf_puts(f->out, "\"/>\n");
}

static uint64_t most_live(const struct sl_page *g)
{
	uint64_t most = g->plan->peak;

	for (uint32_t i = 0; i < g->planner->trace.n_ops; i++)
		most = g->live[i] > most ? g->live[i] : most;
	return most;
}

sl_status sl_page_draw_bytes(const struct sl_page *g, struct sl_buf *out)
{
	struct frame f = frame_of(out, CURVE_HEIGHT, g->iter_ns, most_live(g));

	SL_TRY(begin(&f, "bytes on the device by time"));
	SL_TRY(live_steps(g, &f));
	SL_TRY(held_steps(g, &f));
	if (g->plan->budget != UINT64_MAX)
		SL_TRY(level_line(&f, g->plan->budget, "budget", "budget"));
	return end(&f, g->iter_ns);
}

static const char *const origins[] = {[SL_PAGE_BORN] = "born",
	[SL_PAGE_CAME_IN] = "came in",
	[SL_PAGE_AGAIN] = "run again",
	[SL_PAGE_WORK] = "workspace"};

static sl_status box_title(
	const struct sl_page *g, const struct sl_page_box *b, struct sl_buf *out)
{
	const struct sl_trace *t = &g->planner->trace;
	char size[SL_SIZE_TEXT];

	SL_TRY(sl_buf_printf(
		out, "<title>%c%u ", b->origin == SL_PAGE_WORK ? 'w' : 'v', b->id));
	SL_TRY(sl_buf_xml(out,
		b->origin == SL_PAGE_WORK ? t->ops[b->id].kind : t->values[b->id].name));
	return sl_buf_printf(out, ": %s at %llu, %s, %.3f to %.3f ms</title>",
		sl_size_print(b->bytes, size), u(b->offset), origins[b->origin],
		(double)b->from_ns / 1e6, (double)b->to_ns / 1e6);
}

static sl_status draw_box(
	const struct sl_page *g, const struct frame *f, const struct sl_page_box *b)
{
	const struct sl_trace *t = &g->planner->trace;
	const char *fill =
		b->origin == SL_PAGE_WORK ? "#d8d8d8" : class_fill[t->values[b->id].cls];

	if ((double)b->bytes * f->y < THIN)
		return SL_OK;
	SL_TRY(sl_buf_printf(f->out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
		"class=\"o%d\">",
		at_x(f, b->from_ns), at_y(f, b->offset + b->bytes),
		(double)(b->to_ns - b->from_ns) * f->x, (double)b->bytes * f->y, fill,
		(int)b->origin));
	SL_TRY(box_title(g, b, f->out));
	return sl_buf_puts(f->out, "</rect>\n");
}

static sl_status legend(const struct frame *f)
{
	for (int c = 0; c < SL_CLASS_COUNT; c++) {
		double x = MARGIN + 90 * c;

		SL_TRY(sl_buf_printf(f->out,
			"<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"10\" "
			"fill=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
			x, f->height + 28, class_fill[c], x + 14, f->height + 37,
			sl_class_name((enum sl_class)c)));
	}
	return SL_OK;
}

sl_status sl_page_draw_places(const struct sl_page *g, struct sl_buf *out)
{
	struct frame f = frame_of(out, PLACES_HEIGHT, g->iter_ns, g->plan->peak);

	SL_TRY(sl_buf_printf(out,
		"<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"addresses by "
		"time\">\n",
		WIDTH + 2 * MARGIN, f.height + 48));
	for (uint32_t i = 0; i < g->n_boxes; i++)
		SL_TRY(draw_box(g, &f, &g->boxes[i]));
	SL_TRY(legend(&f));
	return end(&f, g->iter_ns);
}

static sl_status lane_box(const struct frame *f, double top, const char *class,
	uint64_t from_ns, uint64_t to_ns)
{
	return sl_buf_printf(f->out,
		"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" "
		"class=\"%s\">",
		at_x(f, from_ns), top, (double)(to_ns - from_ns) * f->x, LANE_HEIGHT - 6,
		class);
}

static const char *const kind_class[] = {[SL_REPLAY_OP] = "op",
	[SL_REPLAY_AGAIN] = "again",
	[SL_REPLAY_MOVE] = "move",
	[SL_REPLAY_OUT] = "out",
	[SL_REPLAY_IN] = "in"};

static bool is_copy(const struct sl_replay_span *s)
{
	return s->kind == SL_REPLAY_IN || s->kind == SL_REPLAY_OUT;
}

static sl_status draw_span(const struct sl_page *g, const struct frame *f, double top,
	const struct sl_replay_span *s)
{
	const struct sl_trace *t = &g->planner->trace;
	bool value = is_copy(s) || s->kind == SL_REPLAY_MOVE;
	char size[SL_SIZE_TEXT];

	SL_TRY(lane_box(f, top, kind_class[s->kind], s->begin_ns, s->end_ns));
	SL_TRY(sl_buf_printf(f->out, "<title>%s %c%u ", kind_class[s->kind],
		value ? 'v' : 'o', s->id));
	SL_TRY(sl_buf_xml(f->out, value ? t->values[s->id].name : t->ops[s->id].kind));
	if (value)
		SL_TRY(sl_buf_printf(f->out, ", %s", sl_size_print(s->bytes, size)));
	return sl_buf_printf(f->out, ", %.3f to %.3f ms</title></rect>\n",
		(double)s->begin_ns / 1e6, (double)s->end_ns / 1e6);
}

/* Where the device stood still: between what it ran. */
static sl_status draw_waits(const struct sl_page *g, const struct frame *f)
{
	uint64_t until = 0;

	for (uint32_t i = 0; i <= g->n_spans; i++) {
		uint64_t from = g->iter_ns;

		if (i < g->n_spans && is_copy(&g->spans[i]))
			continue;
		if (i < g->n_spans)
			from = g->spans[i].begin_ns;
		if (from > until)
			SL_TRY(lane_box(f, 0, "wait", until, from));
		if (from > until)
			SL_TRY(sl_buf_printf(f->out,
				"<title>waits %.3f ms</title></rect>\n",
				(double)(from - until) / 1e6));
		if (i < g->n_spans)
			until = g->spans[i].end_ns;
	}
	return SL_OK;
}

static sl_status lane_name(const struct sl_page *g, const struct frame *f, uint32_t link,
	bool in, double top)
{
	const struct sl_trace *t = &g->planner->trace;
	uint32_t below = t->links[link].from == SL_TIER_DEVICE ? t->links[link].to
							       : t->links[link].from;

	SL_TRY(sl_buf_printf(f->out, "<text x=\"2\" y=\"%.1f\">%s ",
		top + LANE_HEIGHT - 11, in ? "from" : "to"));
	SL_TRY(sl_buf_xml(f->out, t->tiers[below - 1].name));
	return sl_buf_puts(f->out, "</text>\n");
}

/* One direction of a link, if anything went over it. */
static sl_status draw_channel(const struct sl_page *g, const struct frame *f,
	uint32_t link, bool in, double *top)
{
	bool used = false;

	for (uint32_t i = 0; i < g->n_spans; i++) {
		const struct sl_replay_span *s = &g->spans[i];

		if (!is_copy(s) || s->channel != link || in != (s->kind == SL_REPLAY_IN))
			continue;
		if (!used)
			SL_TRY(lane_name(g, f, link, in, *top));
		used = true;
		SL_TRY(draw_span(g, f, *top, s));
	}
	*top += used ? LANE_HEIGHT : 0;
	return SL_OK;
}

static uint32_t used_channels(const struct sl_page *g)
{
	uint32_t n = 0;

	for (uint32_t link = 0; link < g->planner->trace.n_links; link++) {
		bool out = false, in = false;

		for (uint32_t i = 0; i < g->n_spans; i++) {
			const struct sl_replay_span *s = &g->spans[i];

			out |= s->kind == SL_REPLAY_OUT && s->channel == link;
			in |= s->kind == SL_REPLAY_IN && s->channel == link;
		}
		n += out + (uint32_t)in;
	}
	return n;
}

sl_status sl_page_draw_lanes(const struct sl_page *g, struct sl_buf *out)
{
	double height = LANE_HEIGHT * (1 + used_channels(g)), top = LANE_HEIGHT;
	struct frame f = frame_of(out, height, g->iter_ns, 1);

	SL_TRY(begin(&f, "what the device and the links do"));
	SL_TRY(sl_buf_printf(
		out, "<text x=\"2\" y=\"%.1f\">device</text>\n", LANE_HEIGHT - 11));
	for (uint32_t i = 0; i < g->n_spans; i++)
		if (!is_copy(&g->spans[i]))
			SL_TRY(draw_span(g, &f, 0, &g->spans[i]));
	SL_TRY(draw_waits(g, &f));
	for (uint32_t link = 0; link < g->planner->trace.n_links; link++) {
		SL_TRY(draw_channel(g, &f, link, false, &top));
		SL_TRY(draw_channel(g, &f, link, true, &top));
	}
	return end(&f, g->iter_ns);
}

/* Of the curve of budgets: what its axes begin with. */
struct origin {
	uint64_t bytes, ns;
};

static struct origin origin_of(const struct sl_plan_report *rows)
{
	uint64_t base = rows[0].base_iter_ns, most = rows[0].iter_ns;
	uint64_t below = most > base ? (most - base) / 8 : base / 8;

	return (struct origin){rows[0].budget_bytes, below < base ? base - below : 0};
}

static sl_status front_mark(const struct frame *f, const struct sl_plan_report *r,
	const struct origin *o, const char *class)
{
	char size[SL_SIZE_TEXT];

	return sl_buf_printf(f->out,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"><title>%s: %.3f "
		"ms</title></circle>\n",
		at_x(f, r->budget_bytes - o->bytes), at_y(f, r->iter_ns - o->ns), class,
		sl_size_print(r->budget_bytes, size), (double)r->iter_ns / 1e6);
}

static sl_status front_axes(const struct frame *f, const struct sl_plan_report *rows,
	size_t n, const struct origin *o)
{
	uint64_t span = rows[n - 1].budget_bytes - o->bytes;
	double y = at_y(f, rows[0].base_iter_ns - o->ns);
	char size[SL_SIZE_TEXT];

	for (int i = 0; i <= TICKS; i++) {
		double x = MARGIN + WIDTH * i / TICKS;

		SL_TRY(sl_buf_printf(f->out,
			"<path d=\"M%.1f 0V%.1f\" class=\"tick\"/><text x=\"%.1f\" "
			"y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x, f->height, x, f->height + 18,
			sl_size_print(o->bytes + span / TICKS * (uint64_t)i, size)));
	}
	return sl_buf_printf(f->out,
		"<path d=\"M%.0f %.2fH%.0f\" class=\"live\"/><text x=\"%.0f\" "
		"y=\"%.2f\">all ops once: %.3f ms</text>\n",
		MARGIN, y, MARGIN + WIDTH, MARGIN + 6, y - 4,
		(double)rows[0].base_iter_ns / 1e6);
}

static bool is_inside(
	const struct sl_plan_report *rows, size_t n, const struct sl_plan_report *at)
{
	return at != NULL && at->feasible && at->iter_ns <= rows[0].iter_ns &&
	       at->budget_bytes >= rows[0].budget_bytes &&
	       at->budget_bytes <= rows[n - 1].budget_bytes;
}

sl_status sl_page_draw_front(const struct sl_plan_report *rows, size_t n,
	const struct sl_plan_report *at, struct sl_buf *out)
{
	struct origin o;
	struct frame f;

	if (n < 2)
		return SL_OK;
	o = origin_of(rows);
	f = frame_of(out, FRONT_HEIGHT, rows[n - 1].budget_bytes - o.bytes,
		rows[0].iter_ns - o.ns);
	SL_TRY(begin(&f, "step time against budget"));
	SL_TRY(front_axes(&f, rows, n, &o));
	SL_TRY(sl_buf_puts(out, "<path class=\"held\" d=\""));
	for (size_t i = 0; i < n; i++)
		SL_TRY(step_to(&f, i == 0, rows[i].budget_bytes - o.bytes,
			rows[i].iter_ns - o.ns));
	SL_TRY(sl_buf_puts(out, "\"/>\n"));
	for (size_t i = 0; i < n; i++)
		SL_TRY(front_mark(&f, &rows[i], &o, "point"));
	if (is_inside(rows, n, at))
		SL_TRY(front_mark(&f, at, &o, "mark"));
	return sl_buf_puts(out, "</svg>\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation as a picture: lanes over time above, each job's wait and run below. */
#include "share/sim.h"

#include <math.h>
#include <string.h>

#define WIDTH 1200.0
#define MARGIN 56.0
#define LANES_HEIGHT 320.0
#define JOBS_HEIGHT 480.0
#define TITLE 34.0
#define GAP 40.0
#define THINNEST 0.02 /* pixels; what is thinner is not drawn */
#define TICKS 10
#define STACKED 64 /* lanes */

struct view {
	sl_ns from;
	double x; /* pixels a nanosecond */
	double lane, row; /* heights */
	double jobs_y;
};

static double x_of(const struct view *v, sl_ns at)
{
	return MARGIN + (double)(at - v->from) * v->x;
}

/* Neighbours differ most: steps of the golden angle. */
static unsigned hue_of(size_t job)
{
	return (unsigned)(job * 137 % 360);
}

static sl_status put_axis(
	struct sl_buf *out, const struct view *v, sl_ns to, double bottom)
{
	double hours = (double)(to - v->from) / 3.6e12;
	bool minutes = hours < 10;

	for (int i = 0; i <= TICKS; i++) {
		double x = MARGIN + WIDTH * i / TICKS;

		SL_TRY(sl_buf_printf(out,
			"<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" "
			"y=\"%.1f\" text-anchor=\"middle\">%.4g%s</text>\n",
			x, TITLE, bottom, x, bottom + 14,
			(minutes ? hours * 60 : hours) * i / TICKS,
			minutes ? " min" : " h"));
	}
	return SL_OK;
}

/* Those who share a lane for an interval are stacked in it; `below` is what the earlier
 * ones of the interval take of each lane. */
static sl_status put_spans(struct sl_buf *out, const struct sl_jobsim *m,
	const struct sl_jobsim_table *t, const struct view *v)
{
	double below[STACKED] = {0};

	for (size_t i = 0; i < m->n_spans; i++) {
		const struct sl_jobsim_span *p = &m->spans[i];
		double x = x_of(v, p->from_ns), w = x_of(v, p->to_ns) - x;
		double height = v->lane, y = TITLE + v->lane * p->lane;

		if (i > 0 && p[-1].to_ns != p->to_ns)
			memset(below, 0, sizeof(below));
		if (m->policy->turns && p->lane < STACKED) {
			height *= p->share;
			y += below[p->lane];
			below[p->lane] += height;
		}
		if (w < THINNEST)
			continue;
		SL_TRY(sl_buf_printf(out,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
			"fill=\"hsl(%u,60%%,60%%)\"><title>",
			x, y, w, height > 1 ? height - 0.4 : height, hue_of(p->job)));
		SL_TRY(sl_buf_xml(out, t->jobs[p->job].name));
		SL_TRY(sl_buf_printf(out,
			": lane %u, %.3f s to %.3f s, %.1f %%</title></rect>\n", p->lane,
			(double)p->from_ns * 1e-9, (double)p->to_ns * 1e-9,
			p->share * 100));
	}
	return SL_OK;
}

static sl_status put_jobs(
	struct sl_buf *out, const struct sl_jobsim_table *t, const struct view *v)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_jobsim_job *j = &t->jobs[i];
		double y = v->jobs_y + v->row * (double)i, h = fmax(v->row * 0.8, 0.05);
		double x = x_of(v, j->submit_ns), f = x_of(v, j->first_ns);
		double e = x_of(v, j->end_ns);

		SL_TRY(sl_buf_printf(out,
			"<g class=\"job\"><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
			"height=\"%.2f\" fill=\"#bbb\"/><rect x=\"%.2f\" y=\"%.2f\" "
			"width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u,60%%,60%%)\"/>"
			"<title>",
			x, y, f - x, h, f, y, fmax(e - f, 0.3), h, hue_of(i)));
		SL_TRY(sl_buf_xml(out, j->name));
		SL_TRY(sl_buf_printf(out,
			": waits %.3f s, ends %.3f s after it came, %.3f s of "
			"service</title></g>\n",
			(double)(j->first_ns - j->submit_ns) * 1e-9,
			(double)(j->end_ns - j->submit_ns) * 1e-9,
			(double)j->length_ns * 1e-9));
	}
	return SL_OK;
}

sl_status sl_jobsim_svg(
	const struct sl_jobsim *m, const struct sl_jobsim_table *t, struct sl_buf *out)
{
	struct view v = {.jobs_y = TITLE + LANES_HEIGHT + GAP};
	double bottom = v.jobs_y + JOBS_HEIGHT;
	sl_ns to = 0;
	uint32_t lanes = 1;

	for (size_t i = 0; i < t->n; i++)
		to = t->jobs[i].end_ns > to ? t->jobs[i].end_ns : to;
	for (size_t i = 0; i < m->n_spans; i++)
		lanes = m->spans[i].lane >= lanes ? m->spans[i].lane + 1 : lanes;
	v.from = t->n > 0 ? t->jobs[0].submit_ns : 0;
	v.x = WIDTH / (to > v.from ? (double)(to - v.from) : 1);
	v.lane = LANES_HEIGHT / lanes;
	v.row = JOBS_HEIGHT / (double)(t->n > 0 ? t->n : 1);
	SL_TRY(sl_buf_printf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%.0f\" y=\"20\" font-size=\"14\">%s: %zu jobs, mean wait "
		"%.2f min, mean completion %.2f min, all done after %.2f min</text>\n",
		WIDTH + 2 * MARGIN, bottom + 28, MARGIN, m->policy->name, t->n,
		m->sum.queue_s / 60, m->sum.jct_s / 60, m->sum.makespan_s / 60));
	SL_TRY(put_axis(out, &v, to, bottom));
	for (uint32_t i = 0; i < lanes && lanes <= 32; i++)
		SL_TRY(sl_buf_printf(out,
			"<text x=\"4\" y=\"%.1f\">lane %u</text><path d=\"M%.0f "
			"%.1fH%.0f\" stroke=\"#000\"/>\n",
			TITLE + v.lane * (i + 0.5) + 4, i, MARGIN,
			TITLE + v.lane * (i + 1), MARGIN + WIDTH));
	SL_TRY(put_spans(out, m, t, &v));
	SL_TRY(sl_buf_printf(out,
		"<text x=\"4\" y=\"%.1f\">jobs</text><text x=\"%.0f\" y=\"%.1f\">grey: "
		"waiting for its first turn; colour: from there to its end, as in its "
		"lane above</text>\n",
		v.jobs_y + 10, MARGIN, v.jobs_y - 8));
	SL_TRY(put_jobs(out, t, &v));
	return sl_buf_puts(out, "</svg>\n");
}

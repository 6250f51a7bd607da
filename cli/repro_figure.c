/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of `sluice repro`: a table a shape, the paper's beside ours. */
#include "repro_figure.h"

#include <math.h>

#include "output.h"

static const char *number(char text[16], double x)
{
	snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
	return text;
}

static sl_status figure_json(const struct sl_repro_figure *f)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "shape", f->shape->name);
	sl_json_str(j, "subject", f->subject);
	sl_json_str(j, "figure", f->figure);
	sl_json_f64(j, "paper", f->paper);
	sl_json_f64(j, "ours", f->ours);
	sl_json_f64(j, "beside", f->beside);
	return cli_line_end(&line);
}

sl_status cli_repro_figure(struct cli_repro *s, const struct sl_repro_figure *f)
{
	char n[3][16];

	if (s->shape != f->shape)
		SL_TRY(sl_buf_printf(&s->text,
			"\n## %s\n\n"
			"| %-38s | %-38s |  paper |   ours |   last |\n"
			"|%.40s|%.40s|-------:|-------:|-------:|\n",
			f->shape->title, "", "figure",
			"----------------------------------------",
			"----------------------------------------"));
	s->shape = f->shape;
	s->rows++;
	SL_TRY(sl_buf_printf(&s->text, "| %-38s | %-38s | %6s | %6s | %6s |\n",
		f->subject, f->figure, number(n[0], f->paper), number(n[1], f->ours),
		number(n[2], f->beside)));
	return s->args->json ? figure_json(f) : SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of `sluice repro`: a table a shape, the paper's beside ours. */
#include "repro_salus.h"

#include <math.h>

#include "output.h"

static const char *const names[SL_REPRO_SHAPES] = {[SL_REPRO_TRACE] = "trace",
	[SL_REPRO_SWEEP] = "sweep",
	[SL_REPRO_PACKING] = "packing",
	[SL_REPRO_RATE] = "rate",
	[SL_REPRO_BESIDE] = "beside",
	[SL_REPRO_JOINT] = "joint"};
static const char *const titles[SL_REPRO_SHAPES] = {
	[SL_REPRO_TRACE] = "A hundred training jobs (last: where memory is no limit)",
	[SL_REPRO_SWEEP] = "Three hundred short jobs of a sweep",
	[SL_REPRO_PACKING] = "Models that serve, in one device",
	[SL_REPRO_RATE] = "Latency by the rate of requests",
	[SL_REPRO_BESIDE] = "Inference beside training",
	[SL_REPRO_JOINT] = "Different jobs, planned together (last: each for its share)"};

static const char *const intro =
	"# Salus's experiments, in virtual time\n\n"
	"Cost book `gpu` (14 TFLOP/s, 800 GB/s), a device of 14 GiB. The paper's figures "
	"are of\none P100 with TensorFlow; what has to agree is the shapes.\n";

static const char *number(char text[16], double x)
{
	snprintf(text, 16, isfinite(x) ? "%.3f" : "-", x);
	return text;
}

static sl_status figure_json(const struct sl_repro_figure *f)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "shape", names[f->shape]);
	sl_json_str(j, "subject", f->subject);
	sl_json_str(j, "figure", f->figure);
	sl_json_f64(j, "paper", f->paper);
	sl_json_f64(j, "ours", f->ours);
	sl_json_f64(j, "beside", f->ideal);
	return cli_line_end(&line);
}

sl_status cli_repro_figure(struct cli_repro *s, const struct sl_repro_figure *f)
{
	char n[3][16];

	if (s->table < 0 && f->shape != SL_REPRO_JOINT)
		SL_TRY(sl_buf_puts(&s->text, intro));
	if (s->table != (int)f->shape)
		SL_TRY(sl_buf_printf(&s->text,
			"\n## %s\n\n"
			"| %-38s | %-38s |  paper |   ours |   last |\n"
			"|%.40s|%.40s|-------:|-------:|-------:|\n",
			titles[f->shape], "", "figure",
			"----------------------------------------",
			"----------------------------------------"));
	s->table = (int)f->shape;
	s->rows++;
	SL_TRY(sl_buf_printf(&s->text, "| %-38s | %-38s | %6s | %6s | %6s |\n",
		f->subject, f->figure, number(n[0], f->paper), number(n[1], f->ours),
		number(n[2], f->ideal)));
	return s->args->json ? figure_json(f) : SL_OK;
}

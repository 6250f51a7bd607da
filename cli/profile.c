/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's rows and sums, as a table and as JSON. */
#include "profile.h"

#include <stdio.h>

#include "daemon.h"
#include "output.h"
#include "base/units.h"

#define OP_WIDTH 22
#define KERNEL_WIDTH 24
#define SCOPE_WIDTH 30

static double rate(double work, double ms)
{
	return ms > 0 ? work / ms / 1e6 : 0;
}

/* Time of the row's runs in their turn. */
static double own_ms(const struct sl_profile_row *r)
{
	return r->ms - r->again_ms;
}

static sl_status json_row(const struct cli_profile *p, const struct sl_profile_row *r)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "by", sl_profile_by_name(p->by));
	if (p->by == SL_PROFILE_BY_NODE)
		sl_json_u64(j, "node", r->node);
	sl_json_str(j, "op", r->op);
	sl_json_str(j, "kernel", r->kernel);
	sl_json_str(j, "scope", r->scope);
	sl_json_str(j, "shapes", r->shapes);
	sl_json_u64(j, "ops", r->ops);
	sl_json_f64(j, "ms", r->ms);
	sl_json_f64(j, "share", r->share);
	sl_json_f64(j, "again_ms", r->again_ms);
	sl_json_f64(j, "flops", r->flops);
	sl_json_f64(j, "bytes", r->bytes);
	sl_json_f64(j, "gflop_per_s", rate(r->flops, own_ms(r)));
	sl_json_f64(j, "gb_per_s", rate(r->bytes, own_ms(r)));
	sl_json_f64(j, "roofline", r->roofline);
	sl_json_u64(j, "schema", CLI_SCHEMA);
	return cli_line_end(&line);
}

static sl_status json_channel(const struct sl_profile_channel *c)
{
	struct cli_line line;
	struct sl_json *j = cli_line_begin(&line, NULL);

	sl_json_str(j, "from", c->from);
	sl_json_str(j, "to", c->to);
	sl_json_f64(j, "copies", c->copies);
	sl_json_f64(j, "bytes", c->bytes);
	sl_json_f64(j, "ms", c->ms);
	sl_json_f64(j, "wait_ms", c->wait_ms);
	sl_json_f64(j, "gb_per_s", rate(c->bytes, c->ms));
	sl_json_u64(j, "schema", CLI_SCHEMA);
	return cli_line_end(&line);
}

static sl_status json_summary(const struct cli_profile *p)
{
	const struct sl_profile_summary *s = p->sum;
	struct cli_line line;
	struct sl_json *j = cli_schema_line(&line, "summary");

	sl_json_str(j, "model", p->model);
	sl_json_str(j, "mode", s->infer ? "infer" : "train");
	sl_json_i64(j, "batch", s->batch);
	sl_json_i64(j, "threads", s->threads);
	sl_json_i64(j, "steps", s->steps);
	sl_json_u64(j, "ops", s->ops);
	sl_json_f64(j, "step_ms", s->step_ms);
	sl_json_f64(j, "step_ms_min", s->step_ms_min);
	sl_json_f64(j, "op_ms", s->op_ms);
	sl_json_f64(j, "again_ms", s->again_ms);
	sl_json_f64(j, "wait_ms", s->wait_ms);
	sl_json_f64(j, "gap_ms", s->gap_ms);
	sl_json_f64(j, "again_ops", s->again_ops);
	sl_json_f64(j, "flops", s->flops);
	sl_json_f64(j, "bytes", s->bytes);
	sl_json_f64(j, "peak_flops_per_s", s->peak_flops_per_s);
	sl_json_f64(j, "peak_bytes_per_s", s->peak_bytes_per_s);
	sl_json_f64(j, "peak_fraction", s->peak_fraction);
	sl_json_f64(j, "roofline", s->roofline);
	sl_json_f64(j, "moved_bytes", s->moved_bytes);
	sl_json_u64(j, "budget_bytes", s->budget_bytes);
	sl_json_u64(j, "peak_device_bytes", s->peak_device_bytes);
	return cli_line_end(&line);
}

sl_status cli_profile_json(const struct cli_profile *p)
{
	for (size_t i = 0; i < p->shown; i++)
		SL_TRY(json_row(p, &p->rows[i]));
	for (uint32_t i = 0; i < p->sum->n_channels; i++)
		SL_TRY(json_channel(&p->sum->channels[i]));
	return json_summary(p);
}

static void head(const struct cli_profile *p)
{
	const struct sl_profile_summary *s = p->sum;
	char peak[SL_SIZE_TEXT], budget[SL_SIZE_TEXT];

	printf("%s, %s, batch %lld, %d thread%s: %.3f ms a %s, the best %.3f; median of "
	       "%lld\n",
		p->model, s->infer ? "inference" : "training", (long long)s->batch,
		s->threads, s->threads == 1 ? "" : "s", s->step_ms,
		s->infer ? "batch" : "step", s->step_ms_min, (long long)s->steps);
	printf("%.1f GFLOP: %.1f GFLOP/s, %.0f %% of the multiply-add peak of %.1f; "
	       "streams read and write %.1f GB/s\n",
		s->flops / 1e9, rate(s->flops, s->step_ms), 100 * s->peak_fraction,
		s->peak_flops_per_s / 1e9, s->peak_bytes_per_s / 1e9);
	printf("%.3f ms in %u ops (%.0f %% of their roofline), %.3f in none", s->op_ms,
		s->ops, 100 * s->roofline, s->gap_ms);
	if (s->budget_bytes > 0)
		printf(", %.3f waiting for copies, %.3f in %.1f ops run again",
			s->wait_ms, s->again_ms, s->again_ops);
	printf("\nmemory: peak %s%s%s\n", sl_size_print(s->peak_device_bytes, peak),
		s->budget_bytes > 0 ? " of " : "",
		s->budget_bytes > 0 ? sl_size_print(s->budget_bytes, budget) : "");
}

static void channels(const struct sl_profile_summary *s)
{
	char size[SL_SIZE_TEXT];

	for (uint32_t i = 0; i < s->n_channels; i++) {
		const struct sl_profile_channel *c = &s->channels[i];

		if (c->copies > 0)
			printf("%s to %s: %.1f copies a step, %s in %.3f ms, %.2f GB/s; "
			       "waited for %.3f ms\n",
				c->from, c->to, c->copies,
				sl_size_print((uint64_t)c->bytes, size), c->ms,
				rate(c->bytes, c->ms), c->wait_ms);
	}
}

static const char *text(const char *value)
{
	return value != NULL && value[0] != '\0' ? value : "-";
}

/* What a row is known by; the columns that its kind of table has. */
static void names(const struct cli_profile *p, const struct sl_profile_row *r)
{
	if (p->by == SL_PROFILE_BY_NODE)
		printf("%6u ", r->node);
	if (p->by != SL_PROFILE_BY_SCOPE)
		printf("%-*s ", OP_WIDTH, text(r->op));
	if (p->by == SL_PROFILE_BY_KERNEL || p->by == SL_PROFILE_BY_NODE)
		printf("%-*s ", KERNEL_WIDTH, text(r->kernel));
	if (p->by == SL_PROFILE_BY_SCOPE)
		printf("%-*s ", SCOPE_WIDTH, text(r->scope));
}

static void titles(const struct cli_profile *p)
{
	const struct sl_profile_row r = {
		.op = "op", .kernel = "kernel", .scope = "scope"};

	if (p->by == SL_PROFILE_BY_NODE)
		printf("%6s %-*s %-*s ", "node", OP_WIDTH, r.op, KERNEL_WIDTH, r.kernel);
	else
		names(p, &r);
	printf("%5s %10s %6s %9s %8s %9s %8s %6s", "ops", "ms", "share", "GFLOP", "GB",
		"GFLOP/s", "GB/s", "roof");
	if (p->sum->again_ops > 0)
		printf(" %9s", "again ms");
	puts(p->by == SL_PROFILE_BY_NODE ? "  scope, shapes" : "");
}

static void row(const struct cli_profile *p, const struct sl_profile_row *r)
{
	names(p, r);
	printf("%5u %10.3f %4.1f %% %9.3f %8.4f %9.1f %8.1f %4.0f %%", r->ops, r->ms,
		100 * r->share, r->flops / 1e9, r->bytes / 1e9, rate(r->flops, own_ms(r)),
		rate(r->bytes, own_ms(r)), 100 * r->roofline);
	if (p->sum->again_ops > 0)
		printf(" %9.3f", r->again_ms);
	if (p->by == SL_PROFILE_BY_NODE)
		printf("  %s %s", text(r->scope), text(r->shapes));
	putchar('\n');
}

void cli_profile_text(const struct cli_profile *p)
{
	double rest = 0;

	head(p);
	channels(p->sum);
	putchar('\n');
	titles(p);
	for (size_t i = 0; i < p->shown; i++)
		row(p, &p->rows[i]);
	for (size_t i = p->shown; i < p->n; i++)
		rest += p->rows[i].ms;
	if (p->shown < p->n)
		printf("and %zu more rows, %.3f ms (--top %zu shows them)\n",
			p->n - p->shown, rest, p->n);
}

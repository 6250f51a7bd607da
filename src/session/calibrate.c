/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring a cost book: models run, rows are fitted, and the book is held against steps
 * that it has not seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "session/calibrate_int.h"
#include "session/machine.h"

#define QUICK_SECONDS 13.0
#define FULL_SECONDS 90.0
#define LOADED 0.5 /* time under load, against that without */
#define MOVES_ONLY 16.0 /* flops a byte, below which an op is bound by memory */
#define HOLD_OUT 3 /* one size of so many, */
#define LEAST_SIZES 4 /* where there are as many */

static const struct sl_calibrate_case cases[] = {
	{"lenet5", "adamw", 8, true, false},
	{"lenet5", "sgd", 96, true, false},
	{"convnet:input=3x32x32", "momentum", 8, true, false},
	{"convnet:input=3x32x32", "adamw", 48, false, false},
	{"resnet18:classes=10,input=3x64x64", "adamw", 4, true, false},
	{"resnet18:classes=10,input=3x64x64", "momentum", 12, false, false},
	{"gpt2:layers=2,width=128,context=64,vocab=256", "adamw", 4, true, false},
	{"gpt2:layers=2,width=256,context=128,vocab=256", "adamw", 8, true, false},
	{"mlp:sizes=784-512-10,dropout=0.2", "adam", 32, true, false},
	{"mlp:sizes=784-1024-1024-10,dropout=0.2", "adam", 128, false, false},
	{"lstm:layers=1,width=128,vocab=256", "adamw", 8, true, false},
	{"unet:input=3x64x64,width=16", "adamw", 2, false, false},
	{"densenet121:classes=10,input=3x64x64", "momentum", 4, false, false},
	{"lenet5", "adamw", 32, true, true},
	{"convnet:input=3x32x32", "adamw", 16, true, true},
	{"resnet18:classes=10,input=3x64x64", "adamw", 8, true, true},
	{"gpt2:layers=4,width=256,context=128,vocab=256", "adamw", 4, true, true},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

struct calibration {
	const struct sl_calibrate_opts *opts;
	struct sl_calibrate_report *report;
	struct sl_calibrate_samples samples;
	struct sl_calibrate_run checks[SL_CALIBRATE_CHECKS];
	const struct sl_calibrate_case *checked[SL_CALIBRATE_CHECKS];
	struct sl_cost_book book;
	sl_ns begin, end; /* of running models */
	double left; /* weight of what is still to be run */
};

static sl_status go_on(const struct calibration *c, const char *what)
{
	double done = (double)(sl_clock_now() - c->begin) / (double)(c->end - c->begin);

	if (c->opts->stop != NULL && *c->opts->stop != 0)
		return SL_FAIL(SL_E_INTERRUPTED, "interrupted; no book was made");
	if (c->opts->progress != NULL)
		c->opts->progress(c->opts->ctx, what, done < 1 ? done : 1);
	return SL_OK;
}

/* Half a load says little that a full one does not. */
static void weigh(const struct calibration *c, const struct sl_calibrate_case *x,
	double weight[SL_CALIBRATE_LOADS])
{
	weight[0] = 1;
	weight[1] = x->check || c->opts->quick ? 0 : LOADED;
	weight[2] = x->check ? 0 : LOADED;
}

static bool takes_part(const struct calibration *c, const struct sl_calibrate_case *x)
{
	return x->quick || !c->opts->quick;
}

static sl_status run_case(struct calibration *c, const struct sl_calibrate_case *x)
{
	double weight[SL_CALIBRATE_LOADS], left = (double)(c->end - sl_clock_now());
	struct sl_calibrate_run run = {0};
	sl_ns ns[SL_CALIBRATE_LOADS];
	sl_status st;

	weigh(c, x, weight);
	for (int i = 0; i < SL_CALIBRATE_LOADS; i++) {
		/* Late: loads are left out, and a few steps must do. */
		bool wanted = weight[i] > 0 && (left > 0 || i == 0);
		double share = left > 0 ? left * weight[i] / c->left : 0;

		ns[i] = wanted ? (sl_ns)share + 1 : 0;
	}
	for (int i = 0; i < SL_CALIBRATE_LOADS; i++)
		c->left -= weight[i];
	st = sl_calibrate_case_run(x, ns, x->check ? NULL : &c->samples, &run);
	if (st == SL_OK && x->check) {
		c->checked[c->report->n_checks] = x;
		c->checks[c->report->n_checks++] = run;
		return SL_OK;
	}
	sl_free(run.ops);
	return st;
}

static sl_status run_cases(struct calibration *c)
{
	double weight[SL_CALIBRATE_LOADS];

	for (size_t i = 0; i < N_CASES; i++) {
		weigh(c, &cases[i], weight);
		for (int k = 0; k < SL_CALIBRATE_LOADS && takes_part(c, &cases[i]); k++)
			c->left += weight[k];
	}
	for (size_t i = 0; i < N_CASES; i++) {
		if (!takes_part(c, &cases[i]))
			continue;
		SL_TRY(go_on(c, cases[i].model));
		SL_TRY(run_case(c, &cases[i]));
	}
	return SL_OK;
}

static int by_double(double a, double b)
{
	return (a > b) - (a < b);
}

static int by_kind_and_size(const void *a, const void *b)
{
	const struct sl_calibrate_sample *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (order == 0)
		order = by_double(x->s.bytes, y->s.bytes);
	if (order == 0)
		order = by_double(x->s.flops, y->s.flops);
	return order != 0 ? order : by_double(x->s.load, y->s.load);
}

/* Scratch of one fit: the samples of a kind, those held out at the end. */
struct group {
	struct sl_cost_sample *s; /* [n] */
	size_t n, held_out;
};

static bool same_size(const struct sl_cost_sample *a, const struct sl_cost_sample *b)
{
	return a->bytes == b->bytes && a->flops == b->flops;
}

/* Every third size goes to the end, for the error. */
static void hold_out(const struct sl_calibrate_sample *from, struct group *g)
{
	size_t sizes = 0, front = 0, back = g->n;

	for (size_t i = 0; i < g->n; i++)
		sizes += i == 0 || !same_size(&from[i].s, &from[i - 1].s);
	for (size_t i = 0, size = 0; i < g->n; i++) {
		size += i > 0 && !same_size(&from[i].s, &from[i - 1].s);
		if (sizes >= LEAST_SIZES && size % HOLD_OUT == 1)
			g->s[--back] = from[i].s;
		else
			g->s[front++] = from[i].s;
	}
	g->held_out = g->n - front;
}

static sl_status fit_kind(
	struct calibration *c, const struct sl_calibrate_sample *from, struct group *g)
{
	struct sl_calibrate_row *r = &c->report->rows[c->report->n_rows];
	struct sl_cost_op row = {0};
	size_t train;
	double error;

	if (c->report->n_rows == SL_CALIBRATE_ROWS)
		return SL_FAIL(SL_E_LIMIT, "more kinds of ops than a book has rows");
	hold_out(from, g);
	train = g->n - g->held_out;
	snprintf(row.kind, sizeof(row.kind), "%s", from->kind);
	SL_TRY(sl_cost_fit(g->s, train, &row));
	SL_TRY(g->held_out > 0
			? sl_cost_fit_error(g->s + train, g->held_out, &row, &error)
			: sl_cost_fit_error(g->s, g->n, &row, &error));
	SL_TRY(sl_cost_fit(g->s, g->n, &row));
	*r = (struct sl_calibrate_row){
		.samples = (uint32_t)g->n,
		.held_out = (uint32_t)g->held_out,
		.error = error,
		.start_ns = row.start_ns,
		.flops_per_s = row.flops_per_s,
		.bytes_per_s = row.bytes_per_s,
		.load = row.load,
	};
	memcpy(r->kind, row.kind, sizeof(r->kind));
	c->report->n_rows++;
	return sl_cost_set_op(&c->book, &row);
}

/* For kinds that no model here has: what all ops do that mostly move bytes. */
static sl_status fit_default(struct calibration *c, struct group *g)
{
	struct sl_cost_op row = {.kind = "*"};

	g->n = 0;
	for (size_t i = 0; i < c->samples.n; i++) {
		const struct sl_cost_sample *s = &c->samples.items[i].s;

		if (s->flops <= MOVES_ONLY * s->bytes)
			g->s[g->n++] = *s;
	}
	SL_TRY(sl_cost_fit(g->s, g->n, &row));
	return sl_cost_set_op(&c->book, &row);
}

static sl_status fit_all(struct calibration *c)
{
	const struct sl_calibrate_samples *all = &c->samples;
	struct group g = {.s = sl_alloc(all->n * sizeof(*g.s))};
	sl_status st;

	if (g.s == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory to fit %zu samples", all->n);
	qsort(all->items, all->n, sizeof(*all->items), by_kind_and_size);
	SL_TRY_OUT(fit_default(c, &g));
	for (size_t i = 0; i < all->n; i += g.n) {
		g.n = 1;
		while (i + g.n < all->n &&
			strcmp(all->items[i + g.n].kind, all->items[i].kind) == 0)
			g.n++;
		SL_TRY_OUT(fit_kind(c, &all->items[i], &g));
	}
out:
	sl_free(g.s);
	return st;
}

static void report_checks(struct calibration *c)
{
	for (uint32_t i = 0; i < c->report->n_checks; i++) {
		const struct sl_calibrate_run *run = &c->checks[i];
		struct sl_calibrate_check *r = &c->report->checks[i];

		snprintf(r->model, sizeof(r->model), "%s", c->checked[i]->model);
		r->batch = c->checked[i]->batch;
		r->iter_ms = run->iter_ms;
		for (uint32_t k = 0; k < run->n_ops; k++) {
			const struct sl_calibrate_op *o = &run->ops[k];

			r->measured_ms += o->ns[0] / 1e6;
			r->predicted_ms += (double)sl_cost_predict(&c->book, o->kind,
						   o->flops, o->bytes, 0) /
					   1e6;
		}
	}
}

static void report_links(struct calibration *c)
{
	struct sl_calibrate_report *r = c->report;

	for (uint32_t i = 0; i < c->book.n_links && i < SL_CALIBRATE_LINKS; i++) {
		const struct sl_cost_link *from = &c->book.links[i];
		struct sl_calibrate_link *to = &r->links[r->n_links++];

		memcpy(to->from, from->from, sizeof(to->from));
		memcpy(to->to, from->to, sizeof(to->to));
		to->bytes_per_s = from->bytes_per_s;
		to->latency_ns = from->latency_ns;
	}
}

static sl_status calibrate(struct calibration *c, struct sl_buf *text)
{
	SL_TRY(run_cases(c));
	SL_TRY(go_on(c, "copies"));
	SL_TRY(sl_calibrate_copies(c->opts, &c->book));
	SL_TRY(fit_all(c));
	report_checks(c);
	report_links(c);
	c->report->cores = c->book.cores;
	c->report->seconds = (double)(sl_clock_now() - c->begin) / 1e9;
	return sl_cost_print(&c->book, text);
}

sl_status sl_calibrate(const struct sl_calibrate_opts *opts,
	struct sl_calibrate_report *out, struct sl_buf *text)
{
	double seconds = opts->quick ? QUICK_SECONDS : FULL_SECONDS;
	struct calibration *c = sl_calloc(1, sizeof(*c));
	sl_status st;

	*out = (struct sl_calibrate_report){0};
	if (c == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory to calibrate");
	c->opts = opts;
	c->report = out;
	c->begin = sl_clock_now();
	c->end = c->begin + (sl_ns)(seconds * 1e9);
	c->book = (struct sl_cost_book){
		.device = "cpu", .cores = (uint32_t)sl_machine_cores()};
	st = calibrate(c, text);
	for (uint32_t i = 0; i < SL_CALIBRATE_CHECKS; i++)
		sl_free(c->checks[i].ops);
	sl_free(c->samples.items);
	sl_free(c);
	return st;
}

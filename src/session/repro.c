/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro tensile`: the paper's tables, cell by cell, and what they are said to
 * show. Figures of the paper: its authors' result files (GIS-PuppetMaster/tinyflow). */
#include "sluice/repro.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "session/repro_int.h"
#include "session/repro_tell.h"

#define MODELS 5u
#define BATCHES 5u
#define COPIES 3u
#define AT_16 3u /* index of batch 16 */
#define MAX_ROWS (MODELS * (1 + BATCHES + 2 * COPIES))
#define TOLERANCE 0.005

struct figures {
	double msr[COPIES], eor[COPIES];
};

struct paper {
	const char *model;
	double msr, eor; /* batch 16 */
	struct figures warm, cold; /* batch 2, by copies */
	double batch_msr[BATCHES];
};

static const int64_t batches[BATCHES] = {2, 4, 8, 16, 32};
static const struct paper paper[MODELS] = {
	{"vgg16", .326, .263, {{.153, .174, .242}, {.257, .468, .565}},
		{{.146, .119, .167}, {.260, .453, .546}}, {.153, .213, .332, .326, .360}},
	{"inceptionv3", .590, .296, {{.297, .312, .272}, {.606, .351, .193}},
		{{.075, .189, .188}, {.304, .261, .142}}, {.297, .432, .531, .590, .623}},
	{"inceptionv4", .647, .159, {{.502, .415, .422}, {.620, .081, .070}},
		{{.353, .341, .349}, {.575, .051, .041}}, {.502, .612, .620, .647}},
	{"resnet50", .671, .609, {{.257, .329, .297}, {.554, .480, .435}},
		{{.042, .153, .183}, {.505, .455, .409}}, {.257, .484, .629, .671, .707}},
	{"densenet121", .760, .164, {{.386, .276, .212}, {.081, .110, .070}},
		{{.158, .147, .125}, {.079, .107, .071}}, {.386, .618, .739, .760}},
};

/* What was found for a model; NaN: not asked for. */
struct found {
	double batch_msr[BATCHES], batch_next[BATCHES]; /* and with a step less budget */
	struct sl_repro_point warm[COPIES], cold[COPIES], cold_all[COPIES];
	double eor[COPIES]; /* of the same plan, by copies */
	double cross_msr, stay_msr; /* the most, with and without crossing iterations */
};

struct repro {
	const struct sl_repro_opts *opts;
	struct sl_repro_job jobs[BATCHES]; /* of one model */
	struct found found[MODELS];
	struct sl_repro_row rows[MAX_ROWS];
	uint32_t n_rows, done, total;
};

static bool in_quick(const char *model)
{
	return strcmp(model, "vgg16") == 0 || strcmp(model, "resnet50") == 0;
}

static bool has_batch(const struct repro *r, const struct paper *p, uint32_t i)
{
	if (r->opts->quick)
		return in_quick(p->model) && (batches[i] == 2 || batches[i] == 16);
	return p->batch_msr[i] > 0;
}

static uint32_t max_copies(const struct repro *r)
{
	return r->opts->quick ? 2 : COPIES;
}

static sl_status advance(struct repro *r, const struct paper *p, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s, %s", p->model, what);
	return sl_repro_advance(r->opts, text, &r->done, r->total);
}

static struct sl_repro_row *add_row(
	struct repro *r, const struct paper *p, enum sl_repro_table table, uint32_t batch)
{
	struct sl_repro_row *row = &r->rows[r->n_rows++];

	*row = (struct sl_repro_row){.table = table,
		.batch = batches[batch],
		.copies = 1,
		.paper_eor = (double)NAN,
		.greedy_msr = (double)NAN,
		.greedy_eor = (double)NAN};
	snprintf(row->model, sizeof(row->model), "%s", p->model);
	return row;
}

static sl_status fill_greedy(
	struct sl_repro_job *j, uint32_t copies, struct sl_repro_row *row)
{
	struct sl_repro_point greedy;

	SL_TRY(sl_repro_greedy(j, copies, &greedy));
	row->greedy_msr = greedy.msr;
	row->greedy_eor = greedy.eor;
	return SL_OK;
}

/* Batch sizes, each at the EOR that the paper has for 16; and that cell alone. */
static sl_status sweep(struct repro *r, const struct paper *p, struct found *f)
{
	for (uint32_t i = 0; i < BATCHES; i++) {
		struct sl_repro_row *row;
		struct sl_repro_point at;

		if (!has_batch(r, p, i))
			continue;
		SL_TRY(advance(r, p, "batches"));
		SL_TRY(sl_repro_open(p->model, batches[i], &r->jobs[i]));
		SL_TRY(sl_repro_search(&r->jobs[i],
			&(struct sl_repro_ask){SL_REPRO_WARM, 1, p->eor, false}, &at));
		row = add_row(r, p, SL_REPRO_BATCH, i);
		row->paper_msr = p->batch_msr[i];
		row->eor_limit = p->eor;
		row->msr = f->batch_msr[i] = at.msr;
		row->eor = at.eor;
		f->batch_next[i] = at.next_msr;
		SL_TRY(fill_greedy(&r->jobs[i], 1, row));
		if (i != AT_16)
			continue;
		r->rows[r->n_rows] = *row;
		row = &r->rows[r->n_rows++];
		row->table = SL_REPRO_SINGLE;
		row->paper_eor = p->eor;
	}
	return SL_OK;
}

static sl_status copies_cell(struct repro *r, const struct paper *p, uint32_t copies,
	bool cold, struct sl_repro_point *out)
{
	const struct figures *figures = cold ? &p->cold : &p->warm;
	struct sl_repro_row *row = add_row(r, p, SL_REPRO_COPIES, 0);
	struct sl_repro_ask ask = {.copies = copies,
		.kind = cold ? SL_REPRO_COLD : SL_REPRO_WARM + copies - 1,
		.every = !r->opts->quick};

	row->copies = copies;
	row->cold = cold;
	row->paper_msr = figures->msr[copies - 1];
	row->paper_eor = figures->eor[copies - 1];
	/* Warm and cold are asked for the same time, so that what is saved compares. */
	ask.eor_limit = row->eor_limit = p->warm.eor[copies - 1];
	SL_TRY(sl_repro_search(&r->jobs[0], &ask, out));
	row->msr = out->msr;
	row->eor = out->eor;
	return cold ? SL_OK : fill_greedy(&r->jobs[0], copies, row);
}

/* Batch 2: copies of the job, warm and cold, and what crossing iterations is good for. */
static sl_status several(struct repro *r, const struct paper *p, struct found *f)
{
	struct sl_repro_point at;

	for (uint32_t n = 1; n <= max_copies(r); n++) {
		struct sl_repro_ask all = {.kind = SL_REPRO_COLD_ALL,
			.copies = n,
			.eor_limit = p->warm.eor[n - 1],
			.every = !r->opts->quick};

		SL_TRY(advance(r, p, "copies"));
		SL_TRY(copies_cell(r, p, n, false, &f->warm[n - 1]));
		SL_TRY(copies_cell(r, p, n, true, &f->cold[n - 1]));
		SL_TRY(sl_repro_search(&r->jobs[0], &all, &f->cold_all[n - 1]));
		SL_TRY(sl_repro_measure(
			&r->jobs[0], SL_REPRO_WARM, n, f->warm[0].level, &at));
		f->eor[n - 1] = at.eor;
	}
	SL_TRY(sl_repro_most(&r->jobs[0], true, &f->cross_msr));
	return sl_repro_most(&r->jobs[0], false, &f->stay_msr);
}

static sl_status one_model(struct repro *r, const struct paper *p, struct found *f)
{
	sl_status st;

	SL_TRY_OUT(sweep(r, p, f));
	SL_TRY_OUT(several(r, p, f));
out:
	for (uint32_t i = 0; i < BATCHES; i++)
		sl_repro_close(&r->jobs[i]);
	return st;
}

/* A claim being written: how many models (or cells) agree, and their numbers. */
struct verdict {
	struct sl_repro_claim claim;
	size_t len;
	uint32_t yes, of;
	double gain, gain_all; /* of warm plans over cold ones, summed */
};

SL_PRINTF(2, 3) static void say(struct verdict *v, const char *format, ...)
{
	size_t room = sizeof(v->claim.numbers) - v->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(v->claim.numbers + v->len, room, format, args);
	va_end(args);
	v->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void judge(struct verdict *v, bool agrees)
{
	v->of++;
	v->yes += agrees;
}

typedef void (*claim_fn)(const struct repro *r, uint32_t m, struct verdict *v);

/* It shrinks where even a step more would be less than before: the grid knows a cell no
 * better. */
static void claim_batch(const struct repro *r, uint32_t m, struct verdict *v)
{
	const double *msr = r->found[m].batch_msr;
	double last = 0;
	bool grows = true;

	for (uint32_t i = 0; i < BATCHES; i++) {
		if (!has_batch(r, &paper[m], i))
			continue;
		say(v, " %.3f", msr[i]);
		grows = grows && r->found[m].batch_next[i] >= last - TOLERANCE;
		last = msr[i];
	}
	judge(v, grows);
}

static void claim_vgg(const struct repro *r, uint32_t m, struct verdict *v)
{
	double msr = r->found[m].batch_msr[AT_16];

	say(v, " %.3f", msr);
	if (m > 0)
		judge(v, msr > r->found[0].batch_msr[AT_16]);
}

static void claim_cross(const struct repro *r, uint32_t m, struct verdict *v)
{
	const struct found *f = &r->found[m];

	say(v, " %.3f without, %.3f with", f->stay_msr, f->cross_msr);
	judge(v, f->stay_msr < f->cross_msr - 0.05);
}

/* Budgets are tried in steps; one step apart is no difference. */
static void claim_warm(const struct repro *r, uint32_t m, struct verdict *v)
{
	const struct found *f = &r->found[m];

	for (uint32_t n = 0; n < max_copies(r); n++) {
		say(v, " %.3f/%.3f/%.3f", f->warm[n].msr, f->cold[n].msr,
			f->cold_all[n].msr);
		judge(v, f->warm[n].level <= f->cold[n].level + 1);
		v->gain += f->warm[n].msr - f->cold[n].msr;
		v->gain_all += f->warm[n].msr - f->cold_all[n].msr;
	}
}

static void claim_copies(const struct repro *r, uint32_t m, struct verdict *v)
{
	const double *eor = r->found[m].eor;

	for (uint32_t n = 0; n < max_copies(r); n++)
		say(v, " %.3f", eor[n]);
	judge(v, eor[max_copies(r) - 1] < eor[0]);
}

static const struct {
	const char *text;
	claim_fn fn;
	double needed; /* share of the models or cells */
} claims[] = {
	{"what is saved grows with the batch", claim_batch, 1},
	{"VGG-16 saves the least (batch 16)", claim_vgg, 1},
	{"where nothing crosses iterations, Adam's peak stays (the most saved, batch 2)",
		claim_cross, 1},
	{"a warm plan saves more than a cold one (warm/cold/cold with all effort)",
		claim_warm, 0.8},
	{"the same plan costs less time beside more copies", claim_copies, 0.6},
};

static sl_status tell_claims(const struct repro *r)
{
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct verdict v = {0};

		snprintf(v.claim.text, sizeof(v.claim.text), "%s", claims[i].text);
		for (uint32_t m = 0; m < MODELS; m++) {
			if (r->opts->quick && !in_quick(paper[m].model))
				continue;
			say(&v, "%s%s", v.len > 0 ? "; " : "", paper[m].model);
			claims[i].fn(r, m, &v);
		}
		say(&v, " (%u of %u)", v.yes, v.of);
		if (claims[i].fn == claim_warm)
			say(&v, "; in the mean %+.3f/%+.3f", v.gain / v.of,
				v.gain_all / v.of);
		v.claim.holds = v.yes >= claims[i].needed * v.of && v.gain >= 0;
		SL_TRY(r->opts->claim(r->opts->ctx, &v.claim));
	}
	return SL_OK;
}

/* By table, and there in the order of models. */
static sl_status tell_rows(const struct repro *r)
{
	for (int table = SL_REPRO_SINGLE; table <= SL_REPRO_BATCH; table++)
		for (uint32_t i = 0; i < r->n_rows; i++)
			if ((int)r->rows[i].table == table)
				SL_TRY(r->opts->row(r->opts->ctx, &r->rows[i]));
	return SL_OK;
}

sl_status sl_repro_tensile(const struct sl_repro_opts *opts)
{
	struct repro *r = sl_calloc(1, sizeof(*r));
	sl_status st = SL_OK;

	if (r == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a reproduction");
	r->opts = opts;
	for (uint32_t m = 0; m < MODELS; m++) {
		if (opts->quick && !in_quick(paper[m].model))
			continue;
		r->total += max_copies(r);
		for (uint32_t i = 0; i < BATCHES; i++)
			r->total += has_batch(r, &paper[m], i);
	}
	for (uint32_t m = 0; m < MODELS; m++)
		if (!opts->quick || in_quick(paper[m].model))
			SL_TRY_OUT(one_model(r, &paper[m], &r->found[m]));
	SL_TRY_OUT(tell_rows(r));
	SL_TRY_OUT(tell_claims(r));
out:
	sl_free(r);
	return st;
}

static sl_status run(const struct sl_repro_opts *opts)
{
	return opts->n_jobs > 0 ? sl_repro_joint(opts) : sl_repro_tensile(opts);
}

const struct sl_repro sl_repro_row_tensile = {
	.name = "tensile",
	.intro =
		"# TENSILE's tables, in virtual time\n\n"
		"Cost book `gpu` (14 TFLOP/s, 800 GB/s), host link of 12 GB/s, half "
		"duplex, "
		"Adam.\n"
		"MSR: memory saved; EOR: extra time; CBR: MSR / EOR. *Ours* is `tensile` "
		"at the "
		"least budget whose\nEOR is within the limit, the paper's of that cell "
		"(by "
		"batch: of batch 16; cold: of the warm cell).\n*Rules* are the published "
		"greedy, by its own booking, as far as it goes. *Cold* is the first plan "
		"of a\n"
		"training: predicted latencies, as wrong as a fitted cost book is, as if "
		"alone, "
		"quick where there are\n200 ops. *Warm* is the second one: latencies "
		"measured "
		"while the copies carried the cold plan out, the\njob's part of the "
		"link, all "
		"effort. Both are priced with the true times; neither falls back on the "
		"other.\n",
	.run = run,
};

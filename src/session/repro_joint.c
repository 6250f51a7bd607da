/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro tensile --jobs N`: different jobs on one device and link, planned
 * together or each for its own part, carried out beside each other. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "session/repro_int.h"
#include "session/repro_tell.h"
#include "sluice/repro.h"

#define MOST SL_REPRO_MAX_COPIES
#define BATCH 8
#define ITERATIONS 4
#define NONE ((double)NAN)

static const char *const models[] = {
	"vgg16", "inceptionv3", "resnet50", "densenet121", "inceptionv4"};
#define MODELS (sizeof(models) / sizeof(models[0]))
static const uint32_t percents[] = {80, 70, 60};

struct joint {
	const struct sl_repro_opts *opts;
	struct sl_repro_job jobs[MOST];
	struct sl_replay_source sources[MOST];
	uint32_t n, cells, better, done, total;
	uint64_t peaks; /* summed */
	double gained; /* largest share of the extra time that is saved */
};

static sl_status open_set(struct joint *j, size_t first)
{
	j->peaks = 0;
	for (uint32_t i = 0; i < j->n; i++) {
		const char *model = models[(first + i) % MODELS];

		SL_TRY(sl_repro_open(model, BATCH, &j->jobs[i]));
		j->sources[i] = (struct sl_replay_source){.planner = j->jobs[i].planner,
			.name = model,
			.policy = "tensile",
			.phase_ns = j->jobs[0].base_ns * i / j->n,
			.iterations = ITERATIONS};
		j->peaks += j->jobs[i].planner->unbudgeted_peak;
	}
	return SL_OK;
}

/* Extra time of a step, averaged over the jobs: what joint plans keep low. */
static sl_status extra(struct joint *j, uint64_t together, double *out)
{
	const struct sl_replay_config config = {.joint_budget_bytes = together};
	struct sl_replay_report reports[MOST];
	struct sl_replay_sum sum;

	SL_TRY(sl_replay_jobs(j->sources, j->n, &config, reports, &sum));
	*out = 0;
	for (uint32_t i = 0; i < j->n; i++)
		*out += reports[i].eor / j->n;
	return SL_OK;
}

/* Each for an equal share of its own peak; NaN where one has not that little. */
static sl_status extra_alone(struct joint *j, uint32_t percent, double *out)
{
	sl_status st;

	for (uint32_t i = 0; i < j->n; i++)
		j->sources[i].budget_bytes = sl_align_up(
			j->jobs[i].planner->unbudgeted_peak / 100 * percent, 4096);
	st = extra(j, 0, out);
	for (uint32_t i = 0; i < j->n; i++)
		j->sources[i].budget_bytes = 0;
	if (st == SL_E_INFEASIBLE)
		*out = NONE;
	return st == SL_E_INFEASIBLE ? SL_OK : st;
}

static const struct sl_repro_shape shape = {
	"joint", "Different jobs, planned together (last: each for its share)"};

static sl_status cell(struct joint *j, size_t first, uint32_t percent)
{
	struct sl_repro_figure f = {.shape = &shape, .paper = NONE};
	size_t len = 0;

	for (uint32_t i = 0; i < j->n; i++)
		len += (size_t)snprintf(f.subject + len, sizeof(f.subject) - len, "%s%s",
			i > 0 ? " " : "", models[(first + i) % MODELS]);
	SL_TRY(sl_repro_advance(j->opts, f.subject, &j->done, j->total));
	snprintf(f.figure, sizeof(f.figure), "extra time at %u %% of the peaks", percent);
	SL_TRY(extra_alone(j, percent, &f.beside));
	SL_TRY(extra(j, sl_align_up(j->peaks / 100 * percent, 4096), &f.ours));
	j->cells++;
	j->better += !(f.ours > f.beside + 0.005);
	if (f.beside > 0.01)
		j->gained = fmax(j->gained, 1 - f.ours / f.beside);
	return j->opts->figure(j->opts->ctx, &f);
}

static sl_status one_set(struct joint *j, size_t first)
{
	size_t n = j->opts->quick ? 1 : sizeof(percents) / sizeof(percents[0]);
	sl_status st;

	SL_TRY_OUT(open_set(j, first));
	for (size_t i = 0; i < n; i++)
		SL_TRY_OUT(cell(j, first, percents[i]));
out:
	for (uint32_t i = 0; i < j->n; i++)
		sl_repro_close(&j->jobs[i]);
	return st;
}

sl_status sl_repro_joint(const struct sl_repro_opts *opts)
{
	struct joint j = {.opts = opts, .n = opts->n_jobs};
	struct sl_repro_claim c = {
		.text = "planned together, jobs lose no more time than planned apart"};
	size_t sets = opts->quick ? 1 : MODELS;

	if (opts->n_jobs < 2 || opts->n_jobs > MOST)
		return SL_FAIL(SL_E_USAGE, "--jobs %u: there are 2 or 3 at a time",
			opts->n_jobs);
	j.total = (uint32_t)(sets *
			     (opts->quick ? 1 : sizeof(percents) / sizeof(percents[0])));
	for (size_t i = 0; i < sets; i++)
		SL_TRY(one_set(&j, i));
	snprintf(c.numbers, sizeof(c.numbers),
		"%u of %u sets and budgets; at most %.0f %% of the extra time is gone",
		j.better, j.cells, 100 * j.gained);
	c.holds = j.better >= 0.8 * j.cells;
	return opts->claim(opts->ctx, &c);
}

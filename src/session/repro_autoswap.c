/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro autoswap`: SmartPool beside an online pool, what AutoSwap saves without
 * overhead by each of its scores, and what these cost under the same limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "memory/place_pool.h"
#include "memory/policy/autoswap.h"
#include "memory/policy/policy.h"
#include "session/planner_int.h"
#include "session/repro_tell.h"
#include "sluice/repro.h"

#define ENOUGH_BYTES ((uint64_t)1 << 44)
#define GRAIN 512 /* of CnMem */
#define LEVELS 64
#define NONE ((double)NAN)
/* The paper's lines for pinned memory over PCIe 3 x16. */
#define OUT_BYTES_PER_S 13227513228u
#define OUT_LATENCY_NS 47200
#define IN_BYTES_PER_S 12150668287u
#define IN_LATENCY_NS 9700

static const struct {
	const char *name;
	int64_t batch;
	bool quick;
} models[] = {{"vgg16", 64, true}, {"resnet50", 64, false}, {"densenet121", 64, false},
	{"inceptionv3", 64, false}, {"mobilenetv2", 64, false}, {"unet", 16, true}};
#define MODELS (sizeof(models) / sizeof(models[0]))

static const char *const scores[SL_AS_SCORES] = {[SL_AS_DOA] = "DOA",
	[SL_AS_AOA] = "AOA",
	[SL_AS_WDOA] = "WDOA",
	[SL_AS_SWDOA] = "SWDOA",
	[SL_AS_VOTES] = "votes"};
static const uint32_t percents[] = {95, 90, 85, 80};
#define LIMITS (sizeof(percents) / sizeof(percents[0]))

enum shape { POOL, FREE, LIMIT };
static const struct sl_repro_shape shapes[] = {
	[POOL] = {"pool", "Addresses: SmartPool beside a best-fit pool (last)"},
	[FREE] = {"free", "Peak saved without overhead (last: tensile, within 0.1 %)"},
	[LIMIT] = {"limit", "Extra time under a limit (last: belady)"},
};

struct found {
	const struct sl_repro_opts *opts;
	struct sl_planner *planner; /* of the model at work */
	uint32_t done, total, n;
	double least_ratio, most_ratio; /* planned / load */
	double most_below; /* what the plan saves of the online pool's height */
	uint32_t at_load, below_online;
	double saved[MODELS][SL_AS_SCORES];
	double extra[SL_AS_SCORES]; /* added up over the cells in which all have a plan */
	uint32_t cells;
};

static sl_status advance(struct found *f, const char *model, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%s, %s", model, what);
	return sl_repro_advance(f->opts, text, &f->done, f->total);
}

static sl_status open_model(struct found *f, size_t m)
{
	const struct sl_session_config config = {.model = models[m].name,
		.batch = models[m].batch,
		.optim = "momentum",
		.costs = "gpu",
		.budget_bytes = ENOUGH_BYTES,
		.host_bytes = ENOUGH_BYTES,
		.disk_folder = "none"};
	const struct sl_planner_device device = {.link_bytes_per_s = OUT_BYTES_PER_S};
	struct sl_trace *t;

	SL_TRY(sl_planner_open(&config, &device, &f->planner));
	t = &f->planner->trace;
	for (uint32_t i = 0; i < t->n_links; i++) {
		bool out = t->links[i].from == SL_TIER_DEVICE;

		t->links[i].bytes_per_s = out ? OUT_BYTES_PER_S : IN_BYTES_PER_S;
		t->links[i].latency_ns = out ? OUT_LATENCY_NS : IN_LATENCY_NS;
	}
	return SL_OK;
}

/* Everything that an iteration holds: what persists lives all through. */
static size_t list_blocks(const struct sl_trace *t, const struct sl_trace_index *x,
	struct sl_place_block *blocks)
{
	size_t n = 0;

	for (uint32_t v = 0; v < t->n_values; v++) {
		uint32_t from = x->first[v], to = x->first[v + 1];
		bool lasts = sl_class_persistent(t->values[v].cls);

		if (t->values[v].alias != SL_NO_ID || (!lasts && from == to))
			continue;
		blocks[n++] =
			(struct sl_place_block){.first = lasts ? 0 : x->uses[from].op,
				.last = lasts ? t->n_ops - 1 : x->uses[to - 1].op,
				.bytes = sl_align_up(t->values[v].bytes, GRAIN),
				.align = t->values[v].align};
	}
	for (uint32_t i = 0; i < t->n_ops; i++)
		if (t->ops[i].workspace_bytes > 0)
			blocks[n++] = (struct sl_place_block){.first = i,
				.last = i,
				.bytes = sl_align_up(t->ops[i].workspace_bytes, GRAIN),
				.align = GRAIN};
	return n;
}

static sl_status tell_pool(
	struct found *f, const char *model, struct sl_place_block *blocks, size_t n)
{
	uint64_t load, first, best, online;
	double ratio, below;

	SL_TRY(sl_place_blocks_load(blocks, n, &load));
	SL_TRY(sl_place_pool(blocks, n, SL_PLACE_FIRST_FIT, &first));
	SL_TRY(sl_place_pool(blocks, n, SL_PLACE_BEST_FIT, &best));
	SL_TRY(sl_place_online(blocks, n, SL_PLACE_BEST_FIT, GRAIN, &online));
	best = first < best ? first : best;
	ratio = (double)best / (double)load;
	below = 1 - (double)best / (double)online;
	f->least_ratio = fmin(f->least_ratio, ratio);
	f->most_ratio = fmax(f->most_ratio, ratio);
	f->most_below = fmax(f->most_below, below);
	f->at_load += best == load;
	f->below_online += best <= online;
	SL_TRY(sl_repro_tell(f->opts, &shapes[POOL], model, "height / load",
		(const double[]){NONE, ratio, (double)online / (double)load}));
	return sl_repro_tell(f->opts, &shapes[POOL], model,
		"less than the pool at run time", (const double[]){NONE, below, NONE});
}

static sl_status pool(struct found *f, const char *model)
{
	const struct sl_trace *t = &f->planner->trace;
	struct sl_trace_index x = {0};
	struct sl_place_block *blocks =
		sl_calloc((size_t)t->n_values + t->n_ops + 1, sizeof(*blocks));
	sl_status st = SL_OK;

	if (blocks == NULL) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory for a reproduction");
		goto out;
	}
	SL_TRY_OUT(sl_trace_index_init(t, &x));
	SL_TRY_OUT(tell_pool(f, model, blocks, list_blocks(t, &x, blocks)));
out:
	sl_trace_index_finish(&x);
	sl_free(blocks);
	return st;
}

static uint64_t budget_at(const struct found *f, double share)
{
	return sl_align_up((uint64_t)(share * (double)f->planner->unbudgeted_peak), 4096);
}

/* By AutoSwap alone; its extra time in *eor, NaN if it has no plan there. */
static sl_status own(const struct found *f, enum sl_as_score score, bool stick,
	uint64_t budget, double *eor)
{
	const struct sl_trace *t = &f->planner->trace;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	struct sl_gaps g = {0};
	struct sl_as a = {0};
	sl_status st;

	*eor = NONE;
	SL_TRY_OUT(sl_gaps_init(&g, t));
	SL_TRY_OUT(sl_as_init(&a, &g));
	a.score = score;
	SL_TRY_OUT(sl_as_search(&a, budget, stick, "autoswap", &p));
	if (p.value_offset == NULL)
		goto out;
	SL_TRY_OUT(sl_plan_check(t, &p, budget, NULL));
	SL_TRY_OUT(sl_plan_price(t, &p, &price));
	*eor = (double)price.iter_ns / (double)price.base_iter_ns - 1;
out:
	sl_plan_finish(&p);
	sl_as_finish(&a);
	sl_gaps_finish(&g);
	return st;
}

static sl_status of_policy(
	const struct found *f, const char *name, uint64_t budget, double *eor)
{
	struct sl_policy_choice policy;
	struct sl_plan p = SL_PLAN_INIT;
	struct sl_plan_price price;
	sl_status st;

	SL_TRY(sl_policy_parse(name, &policy));
	st = sl_policy_apply(&policy, &f->planner->trace, budget, &p);
	*eor = NONE;
	if (st == SL_E_INFEASIBLE)
		return SL_OK;
	SL_TRY_OUT(st);
	SL_TRY_OUT(sl_plan_price(&f->planner->trace, &p, &price));
	*eor = (double)price.iter_ns / (double)price.base_iter_ns - 1;
out:
	sl_plan_finish(&p);
	return st;
}

/* The most that tensile saves within a thousandth of the time: bisection, then a look
 * at what is not in order. */
static sl_status best_known(const struct found *f, double *saved)
{
	int low = LEVELS / 4, high = LEVELS;
	double eor;

	while (low < high) {
		int mid = (low + high) / 2;

		SL_TRY(of_policy(f, "tensile", budget_at(f, (double)mid / LEVELS), &eor));
		if (eor <= 0.001)
			high = mid;
		else
			low = mid + 1;
	}
	*saved = 1 - (double)high / LEVELS;
	return SL_OK;
}

/* From the least budget up, the first that costs nothing. */
static sl_status most_saved(const struct found *f, enum sl_as_score score, double *saved)
{
	*saved = 0;
	for (int level = LEVELS / 4; level < LEVELS; level++) {
		double eor;

		SL_TRY(own(f, score, false, budget_at(f, (double)level / LEVELS), &eor));
		if (!(eor <= 0))
			continue;
		*saved = 1 - (double)level / LEVELS;
		return SL_OK;
	}
	return SL_OK;
}

static sl_status without_overhead(struct found *f, size_t m)
{
	double beside;

	SL_TRY(best_known(f, &beside));
	for (int s = 0; s < SL_AS_SCORES; s++) {
		double *saved = &f->saved[m][s];

		SL_TRY(most_saved(f, (enum sl_as_score)s, saved));
		SL_TRY(sl_repro_tell(f->opts, &shapes[FREE], models[m].name, scores[s],
			(const double[]){NONE, *saved, beside}));
	}
	return SL_OK;
}

static sl_status under_limit(struct found *f, size_t m, uint32_t percent)
{
	uint64_t budget = budget_at(f, percent / 100.0);
	double eor[SL_AS_SCORES], beside;
	bool all = true;
	char figure[48];

	SL_TRY(of_policy(f, "belady", budget, &beside));
	for (int s = 0; s < SL_AS_SCORES; s++) {
		SL_TRY(own(f, (enum sl_as_score)s, true, budget, &eor[s]));
		all = all && isfinite(eor[s]);
		snprintf(figure, sizeof(figure), "%s at %u %%", scores[s], percent);
		SL_TRY(sl_repro_tell(f->opts, &shapes[LIMIT], models[m].name, figure,
			(const double[]){NONE, eor[s], beside}));
	}
	f->cells += all;
	for (int s = 0; all && s < SL_AS_SCORES; s++)
		f->extra[s] += eor[s];
	return SL_OK;
}

typedef sl_status (*part_fn)(struct found *f, size_t m);

static sl_status pool_of(struct found *f, size_t m)
{
	return pool(f, models[m].name);
}

static sl_status limits_of(struct found *f, size_t m)
{
	for (size_t i = 0; i < LIMITS; i++)
		SL_TRY(under_limit(f, m, percents[i]));
	return SL_OK;
}

static const struct {
	const char *name;
	part_fn fn;
} parts[] = {
	{"addresses", pool_of}, {"no overhead", without_overhead}, {"limits", limits_of}};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* A table at a time, so models are opened once for each. */
static sl_status run_part(struct found *f, size_t part)
{
	sl_status st = SL_OK;

	for (size_t m = 0; m < MODELS && st == SL_OK; m++) {
		if (f->opts->quick && !models[m].quick)
			continue;
		SL_TRY(advance(f, models[m].name, parts[part].name));
		st = open_model(f, m);
		if (st == SL_OK)
			st = parts[part].fn(f, m);
		sl_planner_close(f->planner);
		f->planner = NULL;
	}
	return st;
}

static double most_of(const struct found *f, int score)
{
	double most = 0;

	for (size_t m = 0; m < MODELS; m++)
		most = fmax(most, f->saved[m][score]);
	return most;
}

static void claim_pool(const struct found *f, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"planned addresses need less than a pool at run time");
	snprintf(c->numbers, sizeof(c->numbers),
		"up to %.1f %% less (the paper: 13.3 %%), never more in %u of %u models; "
		"%.4f to %.4f x the load, equal to it in %u",
		100 * f->most_below, f->below_online, f->n, f->least_ratio, f->most_ratio,
		f->at_load);
	c->holds = f->below_online == f->n && f->most_below > 0.01;
}

static void claim_free(const struct found *f, struct sl_repro_claim *c)
{
	double most = 0;
	size_t len = 0;

	for (int s = 0; s < SL_AS_SCORES; s++) {
		most = fmax(most, most_of(f, s));
		len += (size_t)snprintf(c->numbers + len, sizeof(c->numbers) - len,
			"%s %s %.1f %%", s > 0 ? "," : "up to", scores[s],
			100 * most_of(f, s));
	}
	snprintf(c->text, sizeof(c->text),
		"swapping lowers the peak by a third without overhead (34.2 %%)");
	c->holds = most >= 0.3;
}

static void claim_votes(const struct found *f, struct sl_repro_claim *c)
{
	double best = f->extra[0];
	size_t len = 0;

	for (int s = 0; s < SL_AS_SCORES; s++) {
		if (s != SL_AS_VOTES)
			best = fmin(best, f->extra[s]);
		len += (size_t)snprintf(c->numbers + len, sizeof(c->numbers) - len,
			"%s%s %.3f", s > 0 ? ", " : "extra time in the mean: ", scores[s],
			f->extra[s] / f->cells);
	}
	snprintf(c->numbers + len, sizeof(c->numbers) - len,
		" (%u cells that all meet; the paper tunes weights, here they are equal)",
		f->cells);
	snprintf(c->text, sizeof(c->text), "scores together are better than each alone");
	c->holds = f->cells > 0 && f->extra[SL_AS_VOTES] <= best;
}

static sl_status tell_claims(const struct found *f)
{
	static void (*const claims[])(const struct found *, struct sl_repro_claim *) = {
		claim_pool, claim_free, claim_votes};

	for (size_t i = 0; i < SL_COUNT(claims); i++) {
		struct sl_repro_claim c = {0};

		claims[i](f, &c);
		SL_TRY(f->opts->claim(f->opts->ctx, &c));
	}
	return SL_OK;
}

static sl_status run(const struct sl_repro_opts *opts)
{
	struct found f = {.opts = opts, .least_ratio = INFINITY};

	for (size_t m = 0; m < MODELS; m++)
		f.n += !opts->quick || models[m].quick;
	f.total = (uint32_t)(f.n * PARTS);
	for (size_t i = 0; i < PARTS; i++)
		SL_TRY(run_part(&f, i));
	return tell_claims(&f);
}

const struct sl_repro sl_repro_row_autoswap = {
	.name = "autoswap",
	.intro = "# AutoSwap's and SmartPool's comparisons, in virtual time\n\n"
		 "Cost book `gpu` (14 TFLOP/s, 800 GB/s), momentum, the paper's PCIe "
		 "lines (out 0.0756 ns/B + 47.2 us,\nin 0.0823 ns/B + 9.7 us). The "
		 "paper's figures are the most of its models; its plans have no\n"
		 "addresses, ours are checked plans with them.\n",
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice repro demand`: inference that streams its weights, by pipeline and by size of
 * the ring, beside one that holds them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "memory/policy/demand_net.h"
#include "memory/policy/policy.h"
#include "session/session_int.h"
#include "session/repro_tell.h"
#include "sluice/repro.h"

#define NONE ((double)NAN)
#define MIB ((uint64_t)1 << 20)
#define DISK_BYTES ((uint64_t)1 << 40)
#define DISK_BYTES_PER_S 3000000000u
#define DISK_LATENCY_NS 10000
/* The book's 14 TFLOP/s over what the paper's board makes of YOLOv4: 128 GFLOP in 160.8
 * ms. */
#define SLOWER(ns) ((ns) / 2 * 35)

/* Images at a time that stand for the larger ones of detection. */
#define BATCH 4

static const struct {
	const char *name;
	bool quick;
} models[] = {{"resnet50", true}, {"densenet121", true}, {"inceptionv3", false},
	{"inceptionv4", false}, {"mobilenetv2", false}};
#define MODELS (sizeof(models) / sizeof(models[0]))

enum shape { DELAY, MEMORY, RING };
static const struct sl_repro_shape shapes[] = {
	[DELAY] = {"delay", "Extra delay by pipeline (last: ms with all weights there)"},
	[MEMORY] = {"memory", "Weight memory saved (last: MB of weights)"},
	[RING] = {"ring", "The ring that loses least (last: MB of ring)"},
};

enum { MODES = SL_DEMAND_ASYNC + 1 };
static const char *const modes[MODES] = {"seq", "sync", "async"};

struct cell {
	double preload_ns, weights; /* bytes */
	double extra[MODES], saved[MODES]; /* at the least buffers */
	double knee_extra_ns, knee_bytes; /* of the ring that loses least */
	double near_bytes; /* of the least ring within a ms of all weights there */
	double first_read_ns;
	double formula; /* how far the formulas are from the plans, at most */
};

struct found {
	const struct sl_repro_opts *opts;
	struct cell cells[MODELS];
	uint32_t done, total;
};

static bool is_in(const struct found *f, size_t m)
{
	return !f->opts->quick || models[m].quick;
}

/* The trace of an evaluation whose weights lie on a disk; its session is closed. */
static sl_status open_trace(const char *model, struct sl_trace *out)
{
	const struct sl_session_config config = {.model = model,
		.batch = BATCH,
		.costs = "gpu",
		.disk_folder = "none",
		.logits_only = true,
		.infer_only = true};
	const struct sl_program_tier disk = {.name = "disk",
		.bytes = DISK_BYTES,
		.bytes_per_s = DISK_BYTES_PER_S,
		.latency_ns = DISK_LATENCY_NS};
	struct sl_session *s = NULL;
	sl_status st;

	SL_TRY_OUT(sl_session_open(&config, &s));
	SL_TRY_OUT(sl_machine_costs(&s->machine, &config));
	SL_TRY_OUT(sl_program_trace(
		s->instances[SL_EVAL].program, &disk, 1, s->machine.costs, out));
	for (uint32_t i = 0; i < out->n_ops; i++)
		out->ops[i].dur_ns = SLOWER(out->ops[i].dur_ns);
out:
	sl_session_close(s);
	return st;
}

/* A checked plan with buffers of so many bytes, and what the formula says of it. */
static sl_status price(const struct sl_demand_net *d, const struct sl_demand_how *how,
	uint64_t *ns, struct cell *c)
{
	struct sl_policy_choice policy;
	struct sl_plan p = SL_PLAN_INIT;
	uint64_t bytes = sl_demand_bytes(d->layers, d->n, how), formula;
	char text[32];
	sl_status st;

	snprintf(text, sizeof(text), "demand:pipeline=%d", (int)how->mode);
	SL_TRY(sl_policy_parse(text, &policy));
	SL_TRY(sl_demand_ns(d->layers, d->n, how, &formula));
	SL_TRY_OUT(sl_policy_apply(&policy, d->t, d->base + bytes, &p));
	*ns = p.price_ns;
	c->formula = fmax(c->formula, fabs((double)p.price_ns / (double)formula - 1));
out:
	sl_plan_finish(&p);
	return st;
}

static sl_status within_a_ms(const struct sl_demand_net *d, struct cell *c)
{
	struct sl_demand_how how = {.mode = SL_DEMAND_ASYNC, .two_stages = true};
	uint64_t ns = UINT64_MAX, least = sl_demand_bytes(d->layers, d->n, &how);

	for (uint64_t k = 0; (double)(k * MIB) <= c->weights; k++) {
		how.ring_bytes = least + k * MIB;
		SL_TRY(sl_demand_ns(d->layers, d->n, &how, &ns));
		c->near_bytes = (double)how.ring_bytes;
		if ((double)ns <= c->preload_ns + 1e6)
			return SL_OK;
	}
	c->near_bytes = NONE;
	return SL_OK;
}

static sl_status measure(const struct sl_demand_net *d, struct cell *c)
{
	struct sl_demand_how how = {.two_stages = true};
	struct sl_demand_knee knee;
	uint64_t ns;

	c->preload_ns = (double)sl_demand_preload_ns(d->layers, d->n);
	for (uint32_t v = 0; v < d->t->n_values; v++)
		if (d->streams[v] != 0)
			c->weights += (double)sl_demand_weight_bytes(d, v);
	for (size_t i = d->n; i-- > 0;)
		if (d->layers[i].bytes > 0)
			c->first_read_ns = (double)d->layers[i].read_ns;
	for (int mode = 0; mode < MODES; mode++) {
		how.mode = (enum sl_demand_mode)mode;
		how.ring_bytes = 0;
		how.ring_bytes = sl_demand_bytes(d->layers, d->n, &how);
		SL_TRY(price(d, &how, &ns, c));
		c->extra[mode] = (double)ns / c->preload_ns - 1;
		c->saved[mode] =
			1 - (double)sl_demand_bytes(d->layers, d->n, &how) / c->weights;
	}
	SL_TRY(sl_demand_knee(d->layers, d->n, &how, MIB, (uint64_t)c->weights, &knee));
	how.ring_bytes = knee.ring_bytes;
	SL_TRY(price(d, &how, &ns, c));
	c->knee_extra_ns = (double)ns - c->preload_ns;
	c->knee_bytes = (double)knee.ring_bytes;
	return within_a_ms(d, c);
}

static sl_status one_model(struct found *f, size_t m)
{
	struct sl_trace t = SL_TRACE_INIT;
	struct sl_demand_net d = {0};
	sl_status st;

	SL_TRY(sl_repro_advance(f->opts, models[m].name, &f->done, f->total));
	SL_TRY_OUT(open_trace(models[m].name, &t));
	SL_TRY_OUT(sl_demand_open(&t, &d));
	SL_TRY_OUT(measure(&d, &f->cells[m]));
out:
	sl_demand_close(&d);
	sl_trace_finish(&t);
	return st;
}

static sl_status tell_model(const struct found *f, size_t m, enum shape shape)
{
	const struct cell *c = &f->cells[m];

	for (int mode = 0; mode < MODES && shape != RING; mode++)
		SL_TRY(sl_repro_tell(f->opts, &shapes[shape], models[m].name, modes[mode],
			shape == DELAY ? (const double[]){NONE, c->extra[mode],
						 c->preload_ns / 1e6}
				       : (const double[]){NONE, c->saved[mode],
						 c->weights / 1e6}));
	if (shape != RING)
		return SL_OK;
	SL_TRY(sl_repro_tell(f->opts, &shapes[RING], models[m].name, "extra delay, ms",
		(const double[]){NONE, c->knee_extra_ns / 1e6, c->knee_bytes / 1e6}));
	SL_TRY(sl_repro_tell(f->opts, &shapes[RING], models[m].name,
		"weight memory saved",
		(const double[]){
			NONE, 1 - c->knee_bytes / c->weights, c->knee_bytes / 1e6}));
	return sl_repro_tell(f->opts, &shapes[RING], models[m].name,
		"saved, delay within 1 ms",
		(const double[]){
			NONE, 1 - c->near_bytes / c->weights, c->near_bytes / 1e6});
}

/* Means over the models, beside the paper's. */
struct mean {
	double saved, extra, near_saved, knee_extra_ns, first_read_ns;
	uint32_t n, ordered, fast;
	double formula;
};

static struct mean mean_of(const struct found *f)
{
	struct mean x = {0};

	for (size_t m = 0; m < MODELS; m++) {
		const struct cell *c = &f->cells[m];

		if (!is_in(f, m))
			continue;
		x.n++;
		x.saved += c->saved[SL_DEMAND_ASYNC];
		x.extra += c->extra[SL_DEMAND_ASYNC];
		x.near_saved += 1 - c->near_bytes / c->weights;
		x.knee_extra_ns += c->knee_extra_ns;
		x.first_read_ns += c->first_read_ns;
		x.ordered += c->extra[SL_DEMAND_SEQ] > c->extra[SL_DEMAND_SYNC] &&
			     c->extra[SL_DEMAND_SEQ] >= c->extra[SL_DEMAND_ASYNC] &&
			     c->knee_extra_ns / c->preload_ns <= c->extra[SL_DEMAND_SYNC];
		x.fast += c->knee_extra_ns < 1e6;
		x.formula = fmax(x.formula, c->formula);
	}
	x.saved /= x.n;
	x.extra /= x.n;
	x.near_saved /= x.n;
	x.knee_extra_ns /= x.n;
	x.first_read_ns /= x.n;
	return x;
}

static sl_status tell_tables(const struct found *f, const struct mean *x)
{
	for (int shape = DELAY; shape <= RING; shape++)
		for (size_t m = 0; m < MODELS; m++)
			if (is_in(f, m))
				SL_TRY(tell_model(f, m, (enum shape)shape));
	SL_TRY(sl_repro_tell(f->opts, &shapes[RING], "in the mean",
		"least ring: extra delay", (const double[]){.148, x->extra, NONE}));
	SL_TRY(sl_repro_tell(f->opts, &shapes[RING], "in the mean",
		"least ring: weight memory saved",
		(const double[]){.965, x->saved, NONE}));
	return sl_repro_tell(f->opts, &shapes[RING], "in the mean",
		"saved, delay within 1 ms", (const double[]){.884, x->near_saved, NONE});
}

static void claim_least(const struct mean *x, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"the least ring saves nearly all weight memory for a little delay");
	snprintf(c->numbers, sizeof(c->numbers),
		"%.1f %% saved for %.1f %% of delay (the paper: 96.5 %% for 14.8 %%)",
		100 * x->saved, 100 * x->extra);
	c->holds = x->saved >= 0.85 && x->extra <= 0.25;
}

static void claim_knee(const struct mean *x, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"a larger ring loses less than 1 ms and still saves most");
	snprintf(c->numbers, sizeof(c->numbers),
		"%.1f %% saved (the paper: 88.4 %%); the best ring loses %.2f ms, the "
		"first read takes %.2f, less than 1 ms in %u of %u",
		100 * x->near_saved, x->knee_extra_ns / 1e6, x->first_read_ns / 1e6,
		x->fast, x->n);
	c->holds = x->fast == x->n && x->near_saved >= 0.7;
}

static void claim_order(const struct mean *x, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text),
		"sync beats seq, and a ring as large as it likes beats sync");
	snprintf(c->numbers, sizeof(c->numbers), "%u of %u models", x->ordered, x->n);
	c->holds = x->ordered == x->n;
}

static void claim_formula(const struct mean *x, struct sl_repro_claim *c)
{
	snprintf(c->text, sizeof(c->text), "the formulas tell what a plan takes");
	snprintf(c->numbers, sizeof(c->numbers),
		"checked plans differ by %.2f %% at most", 100 * x->formula);
	c->holds = x->formula <= 0.05;
}

static sl_status tell_claims(const struct found *f, const struct mean *x)
{
	static void (*const claims[])(const struct mean *, struct sl_repro_claim *) = {
		claim_least, claim_knee, claim_order, claim_formula};

	for (size_t i = 0; i < SL_COUNT(claims); i++) {
		struct sl_repro_claim c = {0};

		claims[i](x, &c);
		SL_TRY(f->opts->claim(f->opts->ctx, &c));
	}
	return SL_OK;
}

static sl_status run(const struct sl_repro_opts *opts)
{
	struct found f = {.opts = opts};
	struct mean x;

	for (size_t m = 0; m < MODELS; m++)
		f.total += is_in(&f, m);
	for (size_t m = 0; m < MODELS; m++)
		if (is_in(&f, m))
			SL_TRY(one_model(&f, m));
	x = mean_of(&f);
	SL_TRY(tell_tables(&f, &x));
	return tell_claims(&f, &x);
}

const struct sl_repro sl_repro_row_demand = {
	.name = "demand",
	.intro = "# Demand Layering's pipelines, in virtual time\n\n"
		 "Weights on a disk of 3 GB/s, norms folded, four images at a time; the "
		 "book `gpu` 17.5 times slower: what\nthe paper's board makes of its "
		 "first network (128 GFLOP in 160.8 ms). Two stages.\n",
	.run = run,
};

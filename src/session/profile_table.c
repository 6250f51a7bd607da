/* SPDX-License-Identifier: Apache-2.0 */
/* From the times of ops to rows of a table, and to what is said of the whole step. */
#include "session/profile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sim/fit.h"

static const char *const by_names[] = {
	[SL_PROFILE_BY_KERNEL] = "kernel",
	[SL_PROFILE_BY_OP] = "op",
	[SL_PROFILE_BY_SCOPE] = "scope",
	[SL_PROFILE_BY_NODE] = "node",
};

/* An op and what its row is known by. */
struct keyed {
	const char *a, *b;
	uint32_t op;
};

const char *sl_profile_by_name(size_t i)
{
	return i < sizeof(by_names) / sizeof(by_names[0]) ? by_names[i] : NULL;
}

double sl_profile_least_ns(const struct sl_peak *peak, double flops, double bytes)
{
	double by_flops = peak->flops_per_s > 0 ? flops / peak->flops_per_s * 1e9 : 0;
	double by_bytes = peak->bytes_per_s > 0 ? bytes / peak->bytes_per_s * 1e9 : 0;

	return by_flops > by_bytes ? by_flops : by_bytes;
}

static struct keyed key_of(
	const struct sl_profile_op *o, uint32_t op, enum sl_profile_by by)
{
	struct keyed k = {.a = "", .b = "", .op = op};

	if (by == SL_PROFILE_BY_KERNEL || by == SL_PROFILE_BY_OP)
		k.a = o->op;
	if (by == SL_PROFILE_BY_KERNEL)
		k.b = o->kernel;
	if (by == SL_PROFILE_BY_SCOPE)
		k.a = o->scope;
	return k;
}

static int compare_keys(const struct keyed *a, const struct keyed *b)
{
	int c = strcmp(a->a, b->a);

	return c != 0 ? c : strcmp(a->b, b->b);
}

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int c = compare_keys(x, y);

	return c != 0 ? c : (x->op > y->op) - (x->op < y->op);
}

static int by_time(const void *a, const void *b)
{
	const struct sl_profile_row *x = a, *y = b;

	if (x->ms > y->ms || x->ms < y->ms)
		return x->ms < y->ms ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Median over the steps of the ops' time a step, in their turn or again. */
static double median_ms(
	const struct sl_profile *p, const struct keyed *k, size_t n, bool again)
{
	double ns[SL_PROFILE_STEPS_MAX] = {0};
	size_t steps = p->n_steps;

	for (size_t s = 0; s < steps; s++) {
		const float *of = again ? p->steps[s].again_ns : p->steps[s].op_ns;

		for (size_t i = 0; i < n; i++)
			ns[s] += (double)of[k[i].op];
	}
	return steps > 0 ? sl_cost_median(ns, steps) / 1e6 : 0;
}

static const char *same(const char *a, const char *b)
{
	return a != NULL && strcmp(a, b) == 0 ? a : NULL;
}

static struct sl_profile_row row_of(
	const struct sl_profile *p, const struct keyed *k, size_t n)
{
	const struct sl_profile_op *first = &p->ops[k[0].op];
	struct sl_profile_row r = {.op = first->op,
		.kernel = first->kernel,
		.scope = first->scope,
		.shapes = first->shapes,
		.node = k[0].op,
		.ops = (uint32_t)n};
	double least = 0, own;

	for (size_t i = 0; i < n; i++) {
		const struct sl_profile_op *o = &p->ops[k[i].op];

		r.op = same(r.op, o->op);
		r.kernel = same(r.kernel, o->kernel);
		r.scope = same(r.scope, o->scope);
		r.shapes = same(r.shapes, o->shapes);
		r.flops += o->flops;
		r.bytes += o->bytes;
		least += sl_profile_least_ns(&p->peak, o->flops, o->bytes) / 1e6;
	}
	own = median_ms(p, k, n, false);
	r.again_ms = median_ms(p, k, n, true);
	r.ms = own + r.again_ms;
	r.roofline = own > 0 ? least / own : 0;
	return r;
}

static struct keyed *keys_of(const struct sl_profile *p, enum sl_profile_by by)
{
	struct keyed *k = sl_alloc(p->n_ops * sizeof(*k));

	for (uint32_t i = 0; k != NULL && i < p->n_ops; i++)
		k[i] = key_of(&p->ops[i], i, by);
	if (k != NULL && by != SL_PROFILE_BY_NODE)
		qsort(k, p->n_ops, sizeof(*k), by_key);
	return k;
}

static size_t group(const struct keyed *k, size_t n, enum sl_profile_by by)
{
	size_t same_key = 1;

	while (by != SL_PROFILE_BY_NODE && same_key < n &&
		compare_keys(&k[0], &k[same_key]) == 0)
		same_key++;
	return same_key;
}

sl_status sl_profile_rows(const struct sl_profile *p, enum sl_profile_by by,
	struct sl_profile_row **rows, size_t *n)
{
	struct sl_profile_row *to = sl_calloc(p->n_ops, sizeof(*to));
	struct keyed *k = keys_of(p, by);
	size_t count = 0, taken;
	double sum = 0;

	if (to == NULL || k == NULL) {
		sl_free(to);
		sl_free(k);
		return SL_FAIL(
			SL_E_NOMEM, "no host memory for a table of %u ops", p->n_ops);
	}
	for (size_t i = 0; i < p->n_ops; i += taken) {
		taken = group(k + i, p->n_ops - i, by);
		to[count] = row_of(p, k + i, taken);
		sum += to[count++].ms;
	}
	for (size_t i = 0; i < count; i++)
		to[i].share = sum > 0 ? to[i].ms / sum : 0;
	qsort(to, count, sizeof(*to), by_time);
	sl_free(k);
	*rows = to;
	*n = count;
	return SL_OK;
}

void sl_profile_rows_free(struct sl_profile_row *rows)
{
	sl_free(rows);
}

enum part { WHOLE, OPS, AGAIN, WAIT, GAP };

static double part_of(const struct sl_profile_step *s, enum part part)
{
	double whole = (double)(s->end - s->begin);
	double rest = whole - s->ops_ns - s->agains_ns - s->wait_ns;
	const double parts[] = {[WHOLE] = whole,
		[OPS] = s->ops_ns,
		[AGAIN] = s->agains_ns,
		[WAIT] = s->wait_ns,
		[GAP] = rest > 0 ? rest : 0};

	return parts[part];
}

static double part_ms(const struct sl_profile *p, enum part part)
{
	double ns[SL_PROFILE_STEPS_MAX];

	for (size_t i = 0; i < p->n_steps; i++)
		ns[i] = part_of(&p->steps[i], part);
	return sl_cost_median(ns, p->n_steps) / 1e6;
}

/* Means: copies of a step may end in its neighbour. */
static void sum_channels(struct sl_profile *p)
{
	double n = (double)p->n_steps;

	for (uint32_t c = 0; c < SL_PROFILE_CHANNELS; c++) {
		struct sl_profile_channel *to = &p->summary.channels[c];

		to->copies = to->bytes = to->ms = to->wait_ms = 0;
		for (size_t i = 0; i < p->n_steps; i++) {
			const struct sl_profile_copies *from = &p->steps[i].channels[c];

			to->copies += from->copies / n;
			to->bytes += from->bytes / n;
			to->ms += from->ns / n / 1e6;
			to->wait_ms += from->wait_ns / n / 1e6;
		}
	}
}

static void sum_work(struct sl_profile *p)
{
	struct sl_profile_summary *o = &p->summary;
	double least = 0;

	o->flops = o->bytes = 0;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		o->flops += p->ops[i].flops;
		o->bytes += p->ops[i].bytes;
		least += sl_profile_least_ns(&p->peak, p->ops[i].flops, p->ops[i].bytes);
	}
	o->roofline = o->op_ms > 0 ? least / 1e6 / o->op_ms : 0;
	o->peak_flops_per_s = p->peak.flops_per_s;
	o->peak_bytes_per_s = p->peak.bytes_per_s;
	if (o->step_ms > 0 && o->peak_flops_per_s > 0)
		o->peak_fraction = o->flops / (o->step_ms / 1e3) / o->peak_flops_per_s;
}

sl_status sl_profile_sum_up(struct sl_profile *p)
{
	struct sl_profile_summary *o = &p->summary;

	if (p->n_steps == 0)
		return SL_FAIL(SL_E_INVALID, "no step was measured; give more --steps");
	SL_ASSERT(p->n_steps <= SL_PROFILE_STEPS_MAX);
	o->ops = p->n_ops;
	o->steps = (int64_t)p->n_steps;
	o->step_ms = part_ms(p, WHOLE);
	o->op_ms = part_ms(p, OPS);
	o->again_ms = part_ms(p, AGAIN);
	o->wait_ms = part_ms(p, WAIT);
	o->gap_ms = part_ms(p, GAP);
	o->step_ms_min = o->step_ms;
	o->moved_bytes = o->again_ops = 0;
	for (size_t i = 0; i < p->n_steps; i++) {
		double ms = part_of(&p->steps[i], WHOLE) / 1e6;

		o->step_ms_min = ms < o->step_ms_min ? ms : o->step_ms_min;
		o->moved_bytes += p->steps[i].moved_bytes / (double)p->n_steps;
		o->again_ops += (double)p->steps[i].again / (double)p->n_steps;
	}
	sum_channels(p);
	sum_work(p);
	return SL_OK;
}

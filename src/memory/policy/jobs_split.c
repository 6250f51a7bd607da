/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split of a joint budget: bytes go, step by step, to the job whose slowness falls
 * most for a byte. Taking the best of all steps of a curve, not the next one alone, walks
 * along its convex hull; a step that no longer fits is left out, and shorter ones get a
 * chance.
 */
#include "memory/policy/jobs_int.h"

static bool same(const struct sl_jobs_part *p, const struct sl_jobs_part *q)
{
	const struct sl_jobs_curve *a = &p->curve, *b = &q->curve;

	if (a->n != b->n || p->weight < q->weight || p->weight > q->weight ||
		p->job->base_ns != q->job->base_ns)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->points[i].bytes != b->points[i].bytes ||
			a->points[i].quick_ns != b->points[i].quick_ns)
			return false;
	}
	return true;
}

void sl_jobs_group(struct sl_jobs_part *parts, size_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sl_jobs_curve *c = &parts[i].curve;

		c->count = 0;
		for (c->like = 0; c->like < i; c->like++) {
			if (same(&parts[c->like], &parts[i]))
				break;
		}
		parts[c->like].curve.count++;
	}
}

double sl_jobs_gain(const struct sl_jobs_curve *c, uint32_t from, uint32_t to)
{
	return (c->points[from].slow - c->points[to].slow) /
	       (double)(c->points[to].bytes - c->points[from].bytes);
}

/* Bytes for one job with this curve to step up, times all that go with it. */
static uint64_t cost(const struct sl_jobs_curve *c, uint32_t to)
{
	return (c->points[to].bytes - c->points[c->at].bytes) * c->count;
}

/* The best step that fits; NULL: none gains. */
static struct sl_jobs_curve *best_step(
	struct sl_jobs_part *parts, size_t n, uint64_t left, uint32_t *to)
{
	struct sl_jobs_curve *best = NULL;
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		struct sl_jobs_curve *c = &parts[i].curve;

		for (uint32_t k = c->at + 1; c->count > 0 && k < c->n; k++) {
			if (cost(c, k) > left || !(sl_jobs_gain(c, c->at, k) > most))
				continue;
			most = sl_jobs_gain(c, c->at, k);
			best = c;
			*to = k;
		}
	}
	return best;
}

void sl_jobs_split(struct sl_jobs_part *parts, size_t n, uint64_t budget)
{
	struct sl_jobs_curve *c;
	uint64_t left = budget;
	uint32_t to = 0;

	for (size_t i = 0; i < n; i++) {
		parts[i].curve.at = 0;
		left -= parts[i].curve.points[0].bytes;
	}
	while ((c = best_step(parts, n, left, &to)) != NULL) {
		left -= cost(c, to);
		c->at = to;
	}
	for (size_t i = 0; i < n; i++)
		parts[i].curve.at = parts[parts[i].curve.like].curve.at;
}

bool sl_jobs_split_plainly(struct sl_jobs_part *parts, size_t n, enum sl_jobs_seed seed)
{
	for (size_t i = 0; i < n; i++) {
		struct sl_jobs_curve *c = &parts[i].curve;

		if (c->points[0].bytes > parts[i].seeds[seed])
			return false;
		c->at = c->n - 1;
		while (c->points[c->at].bytes > parts[i].seeds[seed])
			c->at--;
	}
	return true;
}

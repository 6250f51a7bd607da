/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact placement on several threads: each lane takes every so-manieth run of the search.
 * The answer of the lowest run counts, and lanes end once they are beyond it, so that one
 * thread finds what several find.
 */
#include "session/place_race.h"

#include "base/alloc.h"
#include "base/atom.h"
#include "base/thread.h"
#include "base/units.h"
#include "memory/place_exact.h"

#define MAX_LANES 8
#define NODES ((uint64_t)6 << 20) /* with a capacity */
#define NODES_A_TARGET ((uint64_t)96 << 10) /* without: for each height tried */
#define FULL_ROWS 256 /* larger tables get fewer nodes, as each takes longer */
#define TELL_FROM 40 /* runs: from here on each takes a while */
#define NEAR 256 /* heights are tried down to this part of the bound */

struct lane {
	struct race *race;
	struct sl_place_worker *worker;
	uint64_t *offsets;
	struct sl_place_run run; /* the last one */
};

struct race {
	struct sl_race *r;
	struct sl_place_exact *exact;
	struct sl_pool *pool;
	struct lane lanes[MAX_LANES];
	uint32_t n_lanes, runs;
	uint64_t target, nodes;
	struct sl_atom32 answered; /* the lowest run with an answer */
	struct sl_atom32 interrupted;
};

static bool must_stop(void *ctx)
{
	struct lane *l = ctx;
	const struct sl_place_config *c = l->race->r->config;

	/* One asks for all. */
	if (l == l->race->lanes && c->stop && c->stop(c->ctx))
		sl_atom32_store(&l->race->interrupted, 1);
	return sl_atom32_load(&l->race->interrupted) ||
	       sl_atom32_load(&l->race->answered) < l->run.index;
}

static void keep_answer(struct race *race, uint32_t index)
{
	uint32_t before = sl_atom32_load(&race->answered);

	while (index < before && !sl_atom32_swap(&race->answered, before, index))
		before = sl_atom32_load(&race->answered);
}

static uint64_t spent_by(const struct race *race, uint32_t index)
{
	uint64_t nodes = sl_place_allowance(race->exact, index);

	return nodes < race->nodes ? nodes : race->nodes;
}

/* How far the first lane is; the others are about as far. Short runs say nothing. */
static void tell(const struct race *race, uint32_t index)
{
	const struct sl_race *r = race->r;
	uint64_t nodes = r->nodes;

	if (!r->config->progress || index < TELL_FROM)
		return;
	for (uint32_t i = 0; i <= index; i++)
		nodes += spent_by(race, i);
	r->config->progress(r->config->ctx, r->height, nodes);
}

static void run_lane(void *ctx, int64_t chunk)
{
	struct race *race = ctx;
	struct lane *l = &race->lanes[chunk];

	for (uint32_t i = (uint32_t)chunk; i < race->runs; i += race->n_lanes) {
		l->run = (struct sl_place_run){.target = race->target,
			.index = i,
			.most_nodes = race->nodes,
			.stop = must_stop,
			.ctx = l};
		if (must_stop(l))
			break;
		sl_place_run(l->worker, &l->run, l->offsets);
		if (l->run.answer != SL_PLACE_STOPPED) {
			keep_answer(race, i);
			break;
		}
		if (l == race->lanes)
			tell(race, i);
	}
}

static uint64_t effort(const struct sl_race *r, uint64_t nodes)
{
	if (r->config->nodes > 0)
		return r->config->nodes;
	for (int k = 0; k < 2 && r->n > FULL_ROWS; k++)
		nodes = nodes * FULL_ROWS / r->n;
	/* Nothing is found in less than a node a row. */
	return nodes > 3 * r->n ? nodes : 3 * r->n;
}

/* Looks for a placement up to the target with so many nodes. */
static enum sl_place_answer try_target(struct race *race, uint64_t target, uint64_t nodes)
{
	struct sl_race *r = race->r;
	enum sl_place_answer answer = SL_PLACE_STOPPED;
	uint32_t index, done;

	race->target = target;
	race->nodes = nodes;
	race->runs = sl_place_runs(race->exact, nodes);
	sl_atom32_store(&race->answered, UINT32_MAX);
	sl_pool_run(race->pool, race->n_lanes, run_lane, race);
	index = sl_atom32_load(&race->answered);
	/* As if one lane had gone through all of them, unless that was broken off. */
	done = index < race->runs ? index : race->runs;
	if (sl_atom32_load(&race->interrupted))
		done = race->lanes[0].run.index;
	for (uint32_t i = 0; i < done; i++)
		r->nodes += spent_by(race, i);
	for (uint32_t k = 0; k < race->n_lanes; k++) {
		struct lane *l = &race->lanes[k];

		if (index == UINT32_MAX || index % race->n_lanes != k)
			continue;
		answer = l->run.answer;
		r->nodes += l->run.nodes;
		if (answer != SL_PLACE_FOUND)
			continue;
		r->height = l->run.height;
		for (size_t i = 0; i < r->n; i++)
			r->items[i].offset = l->offsets[i];
	}
	if (answer == SL_PLACE_NONE && target + 1 > r->bound)
		r->bound = target + 1;
	r->interrupted = sl_atom32_load(&race->interrupted) != 0;
	if (r->config->progress)
		r->config->progress(r->config->ctx, r->height, r->nodes);
	return answer;
}

/* The bound first; then heights between it and the best, closing in. */
static void descend(struct race *race)
{
	struct sl_race *r = race->r;
	uint64_t nodes = effort(r, NODES_A_TARGET);
	uint64_t near = r->bound / NEAR + 1, low = r->bound, target = low;

	while (r->height > r->bound && r->height > low && !r->interrupted) {
		if (try_target(race, target, nodes) != SL_PLACE_FOUND)
			low = target;
		if (r->height <= low + near)
			break;
		target = low + (r->height - low) / 2;
	}
}

static sl_status start(struct race *race)
{
	struct sl_race *r = race->r;
	int width = r->config->threads > 0 ? r->config->threads : sl_cpu_count();
	uint64_t capacity = r->config->capacity_bytes;

	SL_TRY(sl_place_exact_new(r->items, r->n, r->config->base_bytes,
		r->height > capacity ? r->height : capacity, &race->exact));
	if (!race->exact)
		return SL_OK;
	race->n_lanes = (uint32_t)(width < MAX_LANES ? width : MAX_LANES);
	SL_TRY(sl_pool_create((int)race->n_lanes, &race->pool));
	for (uint32_t k = 0; k < race->n_lanes; k++) {
		struct lane *l = &race->lanes[k];

		l->race = race;
		l->offsets = sl_calloc(r->n + 1, sizeof(*l->offsets));
		if (!l->offsets)
			return SL_FAIL(
				SL_E_NOMEM, "no host memory left for %zu rows", r->n);
		SL_TRY(sl_place_worker_new(race->exact, &l->worker));
	}
	return SL_OK;
}

sl_status sl_place_race(struct sl_race *r)
{
	sl_status st;
	struct race race = {.r = r};

	SL_TRY_OUT(start(&race));
	if (!race.exact)
		goto out;
	if (r->config->capacity_bytes > 0)
		(void)try_target(&race, r->config->capacity_bytes, effort(r, NODES));
	else
		descend(&race);
out:
	for (uint32_t k = 0; k < race.n_lanes; k++) {
		sl_place_worker_free(race.lanes[k].worker);
		sl_free(race.lanes[k].offsets);
	}
	sl_pool_destroy(race.pool);
	sl_place_exact_free(race.exact);
	return st;
}

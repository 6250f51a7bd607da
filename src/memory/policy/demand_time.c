/* SPDX-License-Identifier: Apache-2.0 */
/* demand: how long an inference takes that streams its layers, and the ring they pass. */
#include "memory/policy/demand.h"

#include "base/alloc.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool sl_ring_place(struct sl_ring *r, uint64_t bytes, uint64_t *offset)
{
	uint64_t tail, turn;

	if (r->live == 0)
		*r = (struct sl_ring){.bytes = r->bytes};
	tail = r->tail;
	turn = r->tail_turn;
	if (turn == r->head_turn && bytes > r->bytes - tail) {
		tail = 0;
		turn++;
	}
	if (turn == r->head_turn ? bytes > r->bytes - tail : bytes > r->head - tail)
		return false;
	*offset = tail;
	r->tail = tail + bytes;
	r->tail_turn = turn;
	r->live++;
	return true;
}

void sl_ring_free(struct sl_ring *r, uint64_t next)
{
	if (--r->live == 0)
		return;
	r->head_turn += next < r->head;
	r->head = next;
}

/* The next layer from i on that has bytes, or n. */
static size_t sized(const struct sl_demand_layer *layers, size_t n, size_t i)
{
	while (i < n && layers[i].bytes == 0)
		i++;
	return i;
}

sl_status sl_ring_plan(const struct sl_demand_layer *layers, size_t n, uint64_t bytes,
	uint64_t *offset, size_t *gone)
{
	struct sl_ring r = {.bytes = bytes};
	size_t oldest = sized(layers, n, 0), free = 0; /* layers before it are gone */

	for (size_t i = 0; i < n; i++) {
		offset[i] = 0;
		gone[i] = 0;
		if (layers[i].bytes == 0)
			continue;
		if (layers[i].bytes > bytes)
			return SL_FAIL(SL_E_INFEASIBLE,
				"layer %zu has %llu bytes of weights, the ring %llu", i,
				(unsigned long long)layers[i].bytes,
				(unsigned long long)bytes);
		while (!sl_ring_place(&r, layers[i].bytes, &offset[i])) {
			free = oldest + 1;
			oldest = sized(layers, n, free);
			sl_ring_free(&r, offset[oldest]);
		}
		gone[i] = free;
	}
	return SL_OK;
}

uint64_t sl_demand_preload_ns(const struct sl_demand_layer *layers, size_t n)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		ns += layers[i].kernel_ns;
	return ns;
}

static uint64_t seq_ns(const struct sl_demand_layer *layers, size_t n, bool two_stages)
{
	uint64_t ns = sl_demand_preload_ns(layers, n);

	for (size_t i = 0; i < n; i++)
		ns += layers[i].read_ns + (two_stages ? 0 : layers[i].copy_ns);
	return ns;
}

static uint64_t sync_ns(const struct sl_demand_layer *layers, size_t n, bool two_stages)
{
	size_t last = two_stages ? 1 : 2; /* the kernel's stage */
	uint64_t ns = 0;

	for (size_t t = 0; t < n + last; t++) {
		uint64_t cycle = t < n ? layers[t].read_ns : 0;

		if (!two_stages && t >= 1 && t - 1 < n)
			cycle = later(cycle, layers[t - 1].copy_ns);
		if (t >= last)
			cycle = later(cycle, layers[t - last].kernel_ns);
		ns += cycle;
	}
	return ns;
}

/* When the stages of each layer end. */
struct ends {
	uint64_t read, copy, kernel;
};

static void run_async(const struct sl_demand_layer *layers, size_t n, bool two_stages,
	const size_t *gone, struct ends *e)
{
	struct ends was = {0};

	for (size_t i = 0; i < n; i++) {
		const struct sl_demand_layer *l = &layers[i];
		struct ends room = gone[i] > 0 ? e[gone[i] - 1] : (struct ends){0};
		uint64_t from = two_stages ? room.kernel : room.copy;

		e[i].read = later(was.read, from) + l->read_ns;
		e[i].copy = e[i].read;
		if (!two_stages)
			e[i].copy = later(later(was.copy, e[i].read), room.kernel) +
				    l->copy_ns;
		e[i].kernel = later(was.kernel, e[i].copy) + l->kernel_ns;
		if (l->bytes == 0) { /* it is no matter of the first two */
			e[i] = (struct ends){
				was.read, was.copy, was.kernel + l->kernel_ns};
		}
		was = e[i];
	}
}

static sl_status async_ns(const struct sl_demand_layer *layers, size_t n,
	const struct sl_demand_how *how, uint64_t *out)
{
	uint64_t *offset = sl_calloc(n + 1, sizeof(*offset));
	size_t *gone = sl_calloc(n + 1, sizeof(*gone));
	struct ends *ends = sl_calloc(n + 1, sizeof(*ends));
	sl_status st = SL_OK;

	if (!offset || !gone || !ends) {
		st = SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
		goto out;
	}
	SL_TRY_OUT(sl_ring_plan(layers, n, how->ring_bytes, offset, gone));
	run_async(layers, n, how->two_stages, gone, ends);
	*out = n > 0 ? ends[n - 1].kernel : 0;
out:
	sl_free(offset);
	sl_free(gone);
	sl_free(ends);
	return st;
}

sl_status sl_demand_ns(const struct sl_demand_layer *layers, size_t n,
	const struct sl_demand_how *how, uint64_t *out_ns)
{
	if (how->mode == SL_DEMAND_ASYNC)
		return async_ns(layers, n, how, out_ns);
	*out_ns = how->mode == SL_DEMAND_SEQ ? seq_ns(layers, n, how->two_stages)
					     : sync_ns(layers, n, how->two_stages);
	return SL_OK;
}

static uint64_t largest(const struct sl_demand_layer *layers, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = later(most, layers[i].bytes);
	return most;
}

uint64_t sl_demand_bytes(
	const struct sl_demand_layer *layers, size_t n, const struct sl_demand_how *how)
{
	uint64_t bytes = largest(layers, n);

	if (how->mode == SL_DEMAND_SYNC)
		bytes *= 2;
	if (how->mode == SL_DEMAND_ASYNC && how->ring_bytes > 0)
		bytes = how->ring_bytes;
	return how->two_stages ? bytes : 2 * bytes;
}

sl_status sl_demand_knee(const struct sl_demand_layer *layers, size_t n,
	const struct sl_demand_how *how, uint64_t step, uint64_t most,
	struct sl_demand_knee *out)
{
	struct sl_demand_how at = *how;
	struct sl_demand_knee best = {.ns = UINT64_MAX};
	uint64_t least = largest(layers, n), ns;

	if (least > most)
		return SL_FAIL(SL_E_INFEASIBLE,
			"a layer has %llu bytes of weights, a ring at most %llu",
			(unsigned long long)least, (unsigned long long)most);
	at.mode = SL_DEMAND_ASYNC;
	step = step > 0 ? step : 1;
	for (uint64_t ring = least;; ring = most - ring > step ? ring + step : most) {
		at.ring_bytes = ring;
		SL_TRY(sl_demand_ns(layers, n, &at, &ns));
		if (ns < best.ns)
			best = (struct sl_demand_knee){ring, ns};
		if (ring == most)
			break;
	}
	*out = best;
	return SL_OK;
}

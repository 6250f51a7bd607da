/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing persistent values at a boundary, wherever they lie. */
#include "memory/engine_int.h"

#include <string.h>

#include "base/units.h"

/* Bytes [offset, offset + len) of a copy of `bytes` bytes at tier offset `at`. */
struct window {
	struct sl_tier *tier;
	uint64_t at;
	uint64_t bytes;
	uint64_t offset;
	size_t len;
};

static sl_status check_access(
	struct sl_engine *e, uint32_t *v, uint64_t offset, size_t len)
{
	const struct sl_trace *t = e->pair.trace;

	SL_TRY(sl_engine_look(e));
	if (!t || e->in_step)
		return SL_FAIL(SL_E_INVALID,
			"values can be read and written only between steps");
	if (*v >= t->n_values)
		return SL_FAIL(
			SL_E_INVALID, "v%u: the trace has %u values", *v, t->n_values);
	*v = e->pair.index.root[*v];
	if (!sl_class_persistent(t->values[*v].cls))
		return SL_FAIL(SL_E_INVALID,
			"value %s (v%u) does not live across iterations",
			t->values[*v].name, *v);
	if (offset > t->values[*v].bytes || len > t->values[*v].bytes - offset)
		return SL_FAIL(SL_E_INVALID,
			"value %s (v%u): %zu bytes at %llu end beyond its %llu",
			t->values[*v].name, *v, len, (unsigned long long)offset,
			(unsigned long long)t->values[*v].bytes);
	return sl_engine_wire_settle(e);
}

/* The aligned blocks around the next piece of w, at most a staging block. */
static void next_blocks(
	const struct window *w, uint64_t *first, size_t *bytes, size_t *piece)
{
	uint64_t align = sl_tier_align(w->tier), end;

	*first = w->offset & ~(align - 1);
	end = sl_align_up(w->offset + w->len, align);
	if (end - *first > SL_TIER_CHUNK_BYTES)
		end = *first + SL_TIER_CHUNK_BYTES;
	*bytes = (size_t)(end - *first);
	*piece = (size_t)(end - w->offset);
	if (*piece > w->len)
		*piece = w->len;
}

static sl_status read_tier(struct sl_engine *e, struct window w, uint8_t *data)
{
	while (w.len > 0) {
		uint64_t first;
		size_t bytes, piece;

		next_blocks(&w, &first, &bytes, &piece);
		SL_TRY(sl_tier_get(w.tier, w.at + first, e->staging, bytes));
		memcpy(data, e->staging + (w.offset - first), piece);
		data += piece;
		w.offset += piece;
		w.len -= piece;
	}
	return SL_OK;
}

/* Blocks written in part are read first: their other bytes and their checksum must stay
 * true. */
static sl_status write_tier(struct sl_engine *e, struct window w, const uint8_t *data)
{
	while (w.len > 0) {
		uint64_t first;
		size_t bytes, piece;

		next_blocks(&w, &first, &bytes, &piece);
		if (piece < bytes)
			SL_TRY(sl_tier_get(w.tier, w.at + first, e->staging, bytes));
		memcpy(e->staging + (w.offset - first), data, piece);
		SL_TRY(sl_tier_put(w.tier, w.at + first, e->staging, bytes));
		data += piece;
		w.offset += piece;
		w.len -= piece;
	}
	return SL_OK;
}

static struct window window_of(const struct sl_engine *e, uint32_t v, uint32_t k)
{
	return (struct window){
		.tier = e->opts.tiers[k],
		.at = sl_residency_copy_at(&e->pair.now, v, k),
		.bytes = e->pair.trace->values[v].bytes,
	};
}

sl_status sl_engine_read(
	struct sl_engine *e, uint32_t v, uint64_t offset, void *data, size_t len)
{
	const struct sl_residency *now = &e->pair.now;
	const struct sl_engine_wire *wire = e->opts.wire;
	struct window w;
	uint32_t k = 0;

	SL_TRY(check_access(e, &v, offset, len));
	if (now->state[v] == SL_RES_RESIDENT) {
		if (wire)
			return wire->read(wire->ctx, now->at[v] + offset, data, len);
		memcpy(data, e->opts.arena + now->at[v] + offset, len);
		return SL_OK;
	}
	while (!sl_residency_has_copy(now, v, k))
		k++;
	w = window_of(e, v, k);
	w.offset = offset;
	w.len = len;
	return read_tier(e, w, data);
}

/* Every place that the plan's start calls current has to stay so. */
sl_status sl_engine_write(
	struct sl_engine *e, uint32_t v, uint64_t offset, const void *data, size_t len)
{
	const struct sl_residency *now = &e->pair.now;
	const struct sl_engine_wire *wire = e->opts.wire;

	SL_TRY(check_access(e, &v, offset, len));
	if (now->state[v] == SL_RES_RESIDENT && wire)
		SL_TRY(wire->write(wire->ctx, now->at[v] + offset, data, len));
	else if (now->state[v] == SL_RES_RESIDENT)
		memcpy(e->opts.arena + now->at[v] + offset, data, len);
	for (uint32_t k = 0; k < now->n_tiers; k++) {
		struct window w;

		if (!sl_residency_has_copy(now, v, k))
			continue;
		w = window_of(e, v, k);
		w.offset = offset;
		w.len = len;
		SL_TRY(write_tier(e, w, data));
	}
	return SL_OK;
}

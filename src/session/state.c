/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent values as streams of pieces: how they begin, and their digest. */
#include "session/state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "base/sha256.h"

static double element(
	const struct sl_storage_info *v, const struct sl_rng_key *key, uint64_t i)
{
	switch (v->init.kind) {
	case SL_INIT_CONST:
		return v->init.value;
	case SL_INIT_NORMAL:
		return v->init.value * sl_rng_normal(key, i);
	case SL_INIT_UNIFORM:
		return v->init.value *
		       (2.0 * (double)sl_rng_unit(sl_rng_u32(key, i)) - 1.0);
	case SL_INIT_ZERO:
	default:
		return 0;
	}
}

static void fill(const struct sl_storage_info *v, uint64_t seed, uint64_t begin,
	size_t count, void *data)
{
	struct sl_rng_key key = {
		.seed = seed,
		.stream = sl_crc32c(0, v->name, strlen(v->name)),
	};

	for (size_t i = 0; i < count; i++) {
		double x = element(v, &key, begin + i);

		if (v->type.dtype == SL_F32)
			((float *)data)[i] = (float)x;
		else
			((int64_t *)data)[i] = (int64_t)x;
	}
}

static sl_status init_value(
	struct sl_session *s, const struct sl_program *p, uint32_t v, void *piece)
{
	const struct sl_storage_info *info = &p->storages[v];
	size_t item = sl_dtype_bytes(info->type.dtype);

	if (info->type.dtype != SL_F32 && info->type.dtype != SL_I64)
		return SL_FAIL(
			SL_E_DTYPE, "%s: persistent values are f32 or i64", info->name);
	for (uint64_t at = 0; at < info->used_bytes; at += SL_PIECE_BYTES) {
		uint64_t left = info->used_bytes - at;
		size_t len = left < SL_PIECE_BYTES ? (size_t)left : SL_PIECE_BYTES;

		fill(info, s->config.seed, at / item, len / item, piece);
		SL_TRY(sl_engine_write(s->machine.engine, v, at, piece, len));
	}
	return SL_OK;
}

sl_status sl_session_init_state(struct sl_session *s)
{
	const struct sl_program *p = s->machine.adopted->program;
	void *piece = sl_alloc(SL_PIECE_BYTES);
	sl_status st = SL_OK;

	if (piece == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a piece of state");
	for (uint32_t v = 0; v < p->n_persistent && st == SL_OK; v++)
		st = sl_session_stopped(s) ? SL_FAIL(SL_E_INTERRUPTED,
						     "interrupted before the first step")
					   : init_value(s, p, v, piece);
	sl_free(piece);
	return st;
}

sl_status sl_session_each_piece(
	struct sl_session *s, uint32_t v, sl_piece_fn fn, void *ctx)
{
	const struct sl_storage_info *info = &s->machine.adopted->program->storages[v];
	void *piece = sl_alloc(SL_PIECE_BYTES);
	sl_status st = SL_OK;

	if (piece == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory for a piece of state");
	for (uint64_t at = 0; at < info->used_bytes && st == SL_OK;
		at += SL_PIECE_BYTES) {
		uint64_t left = info->used_bytes - at;
		size_t len = left < SL_PIECE_BYTES ? (size_t)left : SL_PIECE_BYTES;

		SL_TRY_OUT(sl_engine_read(s->machine.engine, v, at, piece, len));
		SL_TRY_OUT(fn(ctx, piece, len));
	}
out:
	sl_free(piece);
	return st;
}

static sl_status add_to_digest(void *ctx, const void *data, size_t len)
{
	return sl_sha256_add(ctx, data, len);
}

sl_status sl_session_digest(struct sl_session *s, char out[65])
{
	const struct sl_program *p = s->machine.adopted->program;
	struct sl_sha256 *sum = NULL;
	sl_status st;

	SL_TRY_OUT(sl_sha256_create(&sum));
	for (uint32_t v = 0; v < p->n_persistent; v++)
		SL_TRY_OUT(sl_session_each_piece(s, v, add_to_digest, sum));
	SL_TRY_OUT(sl_sha256_hex(sum, out));
out:
	sl_sha256_destroy(sum);
	return st;
}

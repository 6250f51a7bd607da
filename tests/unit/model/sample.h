/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MODEL_SAMPLE_H
#define SL_TESTS_MODEL_SAMPLE_H

/* A small checkpoint for tests. */
#include "model/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/harness.h"

static SL_UNUSED const struct sl_checkpoint_info info = {
	.model = "mlp:sizes=4-3,dropout=0",
	.optimizer = "adamw",
	.data = "csv:\"odd\\name\".csv",
	.step = (uint64_t)1 << 33,
	.epoch = 7,
	.position = 12345,
	.seed = UINT64_MAX,
};

static SL_UNUSED const struct sl_st_decl tensors[] = {
	{"fc1.weight", {SL_F32, {2, {3, 4}}}},
	{"empty", {SL_F32, {2, {0, 4}}}},
	{"fc1.bias", {SL_F32, {1, {3}}}},
	{"fc1.weight.m.0", {SL_F32, {1, {6}}}},
	{"step", {SL_I64, {0, {0}}}},
};

static SL_UNUSED const struct sl_checkpoint_slice slices[] = {
	{"fc1.weight.m.0", {2, {3, 4}}, 6, 6},
};

static SL_UNUSED const struct sl_checkpoint_new what = {
	.info = &info,
	.tensors = tensors,
	.n_tensors = SL_COUNT(tensors),
	.slices = slices,
	.n_slices = SL_COUNT(slices),
};

#define DATA_BYTES (4 * (12 + 3 + 6) + 8)

static SL_UNUSED sl_status write_pieces(const char *path, size_t piece)
{
	struct sl_st_writer *w = NULL;
	unsigned char data[DATA_BYTES];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7);
	SL_TRY(sl_checkpoint_create(path, &what, &w));
	for (size_t at = 0; at < sizeof(data); at += piece) {
		size_t len = sizeof(data) - at < piece ? sizeof(data) - at : piece;
		sl_status st = sl_st_write(w, data + at, len);
		if (st != SL_OK) {
			sl_st_cancel(w);
			return st;
		}
	}
	return sl_st_commit(w);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_MODEL_CHECKPOINT_H
#define SL_MODEL_CHECKPOINT_H

#include "base/buf.h"
#include "model/safetensors.h"

/*
 * What a checkpoint says beside its tensors (docs/formats/checkpoint.md): the run's
 * place, so that a resumed run continues with the same bits. Tensors have the names of
 * parameters and states.
 */
#define SL_CHECKPOINT_VERSION 1

struct sl_checkpoint_info {
	const char *model; /* sl_model_print */
	const char *optimizer; /* "adamw" */
	const char *data; /* the data spec */
	uint64_t step; /* optimizer steps done */
	uint64_t epoch; /* of the next sample */
	uint64_t position; /* of the next sample in that epoch */
	uint64_t seed;
};

/* A state that holds only elements [begin, begin + count) of a parameter's shape. */
struct sl_checkpoint_slice {
	const char *name; /* of the state */
	struct sl_shape global;
	int64_t begin, count;
};

/*
 * Begins a checkpoint: sl_st_create with the metadata of info and slices. Data follows
 * through sl_st_write, in the order of `tensors`.
 */
struct sl_checkpoint_new {
	const struct sl_checkpoint_info *info;
	const struct sl_st_decl *tensors;
	size_t n_tensors;
	const struct sl_checkpoint_slice *slices;
	size_t n_slices;
};
SL_NODISCARD sl_status sl_checkpoint_create(const char *path,
	const struct sl_checkpoint_new *what, struct sl_st_writer **out);

/*
 * Opens a checkpoint, checks its version and all checksums, and reads its metadata into
 * *info (texts borrowed from file). SL_E_FORMAT for a damaged file, for a newer version,
 * and for a file that is no checkpoint (no checksum, no version).
 */
SL_NODISCARD sl_status sl_checkpoint_open(
	const char *path, struct sl_st_file *file, struct sl_checkpoint_info *info);
/*
 * Compares with what this run has: the same tensors with the same types, each slice the
 * same, the same optimizer. SL_E_FORMAT names the first that is missing, left over or
 * different. With `weights_only` tensors beyond `what` are allowed and the optimizer may
 * differ.
 */
SL_NODISCARD sl_status sl_checkpoint_match(const struct sl_st_file *file,
	const struct sl_checkpoint_new *what, bool weights_only);

#endif

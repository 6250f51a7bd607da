/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_DATA_H
#define SLUICE_DATA_H

#include "sluice/tensor.h"

/*
 * Data sets. Nothing of a set is held in memory: samples are read by position from the
 * file itself or from an unlinked scratch file, so a process stays small whatever the
 * set's size.
 *
 * The order of an epoch is a keyed permutation of (seed, epoch), computed one position at
 * a time: to resume, (seed, epoch, position) is all there is to remember.
 *
 * Specs:
 *   idx:DIR          MNIST layout, plain or .gz: train-images-idx3-ubyte,
 * train-labels-idx1-ubyte and the same with t10k- (the test split; may be absent)
 *   images:DIR       PNG and JPEG files DIR/LABEL/FILE; the middle, scaled to
 * opts.image; ,norm=imagenet (default), half or none behind DIR says what bytes become
 *   text:FILE        bytes as tokens; windows of T + 1 bytes; the last tenth is for
 * validation csv:FILE         numbers, header optional, the last column is the label
 *   npy:FILE         X.npy [N, ...] f32 f64 u8 i64 with labels [N] in X-labels.npy, or
 * X.npy,Y.npy synthetic:SHAPE  normal features (3x64x64), labels uniform over the
 * classes; for token models synthetic:T
 */
struct sl_data;

enum sl_split { SL_SPLIT_TRAIN, SL_SPLIT_VALID, SL_SPLIT_TEST, SL_SPLIT_COUNT };
const char *sl_split_name(enum sl_split split); /* "train" */

/* Zero is the default of each field. */
struct sl_data_opts {
	const char *scratch; /* folder for scratch files; NULL: /var/tmp */
	bool refuse_ram; /* a scratch folder in RAM is SL_E_USAGE (there is a budget) */
	int64_t context; /* T of token sources; 0: 128 */
	int64_t classes; /* labels are in [0, classes), checked; 0: what the set holds */
	int64_t image[3]; /* C, H, W that the model reads, of image files; 0: 3x224x224 */
	int64_t vocab; /* > 0: the model reads tokens of this vocabulary */
	int64_t samples; /* of synthetic sets, all splits together; 0: 1024 */
	double valid; /* share held out for validation; 0: 0.1 of a text, else none; < 0:
			 none */
	uint64_t seed; /* contents of synthetic sets */
};

struct sl_data_info {
	bool tokens; /* x is i32 [N, T] and y i64 [N, T]; else x is f32, y i64 [N] */
	struct sl_shape sample; /* of one x: [C, H, W], [F], ...; tokens: [T] */
	int64_t classes; /* labels are below it; tokens: the vocabulary (256 for bytes) */
	int64_t labels; /* of a sample, without hidden ones: 1, or T, or how many are
			   masked */
	int64_t count[SL_SPLIT_COUNT]; /* samples of each split */
};

/*
 * Opens a set and checks all of its labels and headers. Errors: SL_E_USAGE for a spec it
 * does not know (the message lists the kinds), SL_E_NOT_FOUND, SL_E_READ, SL_E_FORMAT
 * (file, place, what was expected and found), SL_E_LIMIT for a sample over 16 MiB,
 * SL_E_NOSPACE in the scratch folder.
 */
SL_NODISCARD sl_status sl_data_open(
	const char *spec, const struct sl_data_opts *opts, struct sl_data **out);
void sl_data_close(struct sl_data *d);
const struct sl_data_info *sl_data_info(const struct sl_data *d);
/*
 * From here on 15 % of each sample's tokens (rounded, at least one) are hidden: x has
 * `token` there and y what it was; everywhere else y is SL_DATA_NO_LABEL. Drawn anew each
 * epoch, and for samples as stored always alike. Token sets only, before the first batch.
 */
#define SL_DATA_NO_LABEL (-1)
void sl_data_mask(struct sl_data *d, int64_t token);
/* Where to evaluate: validation if there is some, else test, else SL_SPLIT_COUNT. */
enum sl_split sl_data_eval_split(const struct sl_data *d);
/* Kinds of sources for listings; NULL past the end. */
const char *sl_data_kind_at(size_t i, const char **help);

enum sl_augment {
	SL_AUGMENT_FLIP = 1, /* left and right, by a coin a sample */
	SL_AUGMENT_CROP =
		2, /* moved by up to an eighth of height and width, black behind */
};

/* Samples [first, first + count) of an epoch's order; the training split is shuffled and
 * augmented unless `as_stored`, the others come as they are stored. */
struct sl_data_request {
	enum sl_split split;
	uint64_t seed;
	uint64_t epoch;
	int64_t first;
	int64_t count;
	uint32_t augment; /* enum sl_augment; images only */
	bool as_stored; /* in the file's order, whatever seed, epoch and augment */
};

/*
 * Fills x (count samples of info->sample, f32 or i32) and y (i64, [count] or [count, T]).
 * One thread at a time. SL_E_INVALID when the request leaves the epoch; SL_E_NUMERIC is
 * never given for data: a value that is not finite is SL_E_FORMAT.
 */
SL_NODISCARD sl_status sl_data_batch(
	struct sl_data *d, const struct sl_data_request *r, void *x, int64_t *y);

/*
 * Prepares the next batch in a thread of its own, into one staging buffer of at most 8
 * MiB (a larger batch is simply read when asked for). Bytes are the same with and without
 * it. While it lives, use the set only through it.
 */
struct sl_prefetch;
SL_NODISCARD sl_status sl_prefetch_create(struct sl_data *d, struct sl_prefetch **out);
/* Gives batch r and begins with `next` (NULL: nothing); a failure of either comes when it
 * is asked for. */
SL_NODISCARD sl_status sl_prefetch_batch(struct sl_prefetch *p,
	const struct sl_data_request *r, const struct sl_data_request *next, void *x,
	int64_t *y);
/* Whether a batch is being read ahead now. */
bool sl_prefetch_is_busy(struct sl_prefetch *p);
/* Waits until none is, for at most `most_ns` (negative: for ever); whether none is. */
bool sl_prefetch_wait(struct sl_prefetch *p, int64_t most_ns);
void sl_prefetch_destroy(
	struct sl_prefetch *p); /* waits for its thread; the set stays open */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DATA_SOURCE_H
#define SL_DATA_SOURCE_H

#include "sluice/data.h"

/*
 * What a kind of data set is: it opens, and gives sample `index` of a split. The order of
 * an epoch, batches and augmentation are data.c's.
 */
#define SL_SAMPLE_MAX_BYTES ((uint64_t)16 << 20) /* of one x */

struct sl_data_pick {
	enum sl_split split;
	int64_t index; /* in the split, in [0, count) */
	uint64_t seed, epoch;
	bool as_stored;
};

struct sl_data_source {
	const char *name;
	const char *help;
	/* Fills d->info, d->pad_value and d->own. After a failure close is called as
	 * well. */
	sl_status (*open)(
		struct sl_data *d, const char *arg, const struct sl_data_opts *o);
	/* x: one sample; y: one label, or T of them. */
	sl_status (*read)(
		struct sl_data *d, const struct sl_data_pick *p, void *x, int64_t *y);
	void (*close)(struct sl_data *d);
};

struct sl_data {
	const struct sl_data_source *source;
	struct sl_data_info info;
	float pad_value; /* of a black pixel after normalisation */
	bool masked;
	int32_t mask; /* token that hides others */
	float *row; /* one sample, for augmentation; made when first needed */
	void *own; /* the source's */
};

#define SL_DATA_SOURCE(name) extern const struct sl_data_source sl_data_source_##name;
#include "data/sources.def"
#undef SL_DATA_SOURCE

/* Sets info.sample after checking it against the limit; `what` names the file. */
SL_NODISCARD sl_status sl_data_set_sample(
	struct sl_data *d, const char *what, const struct sl_shape *shape);
/* Cuts `total` samples into training and validation by opts->valid (dflt where it is 0).
 */
SL_NODISCARD sl_status sl_data_split(
	struct sl_data *d, int64_t total, const struct sl_data_opts *o, double dflt);
/* Sets info.classes from the largest label seen (-1: none) and the classes asked for. */
void sl_data_set_classes(
	struct sl_data *d, const struct sl_data_opts *o, int64_t largest);
/* Opens the scratch file of a set. */
SL_NODISCARD sl_status sl_data_scratch(const struct sl_data_opts *o, int *out_fd);

#endif

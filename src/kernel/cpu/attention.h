/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_ATTENTION_H
#define SL_KERNEL_CPU_ATTENTION_H

#include "graph/op_attention.h"
#include "kernel/cpu/cpu.h"
#include "kernel/cpu/philox.h"

/* What attention and its gradient share: one head, and one row of a tile of scores. */

#define SL_ATT_ROWS 32 /* queries of a tile */
#define SL_ATT_KEYS 64 /* keys of a tile */
#define SL_ATT_DEPTH 256 /* largest D */

/* Whole vectors. */
static inline int64_t sl_att_padded(int64_t n)
{
	return (n + 15) / 16 * 16;
}

struct sl_att_head {
	int64_t t, s, d;
	int64_t head; /* in [B, H] */
	int64_t row, y_row; /* from one row to the next in q, k, v; in y */
	const float *q, *k, *v; /* of this head */
	float scale;
	bool causal;
	const float *mask; /* at [b, h, 0, 0], or NULL */
	int64_t mask_row, mask_col; /* 0 where repeated */
	struct sl_rng_key key;
	uint64_t base;
	uint32_t keep_from;
	float keep_scale; /* 0 where there is no dropout */
};

/* D within limits, all f32. */
bool sl_att_accepts(const struct sl_node_info *n);
struct sl_att_head sl_att_head_at(
	const struct sl_call *c, const struct sl_attention_layout *l, int64_t head);

/* Keys of [first, first + n) that query `row` sees: that many from the front. */
int64_t sl_att_seen(const struct sl_att_head *h, int64_t row, int64_t first, int64_t n);

/*
 * Products of n rows of depth d with n keys, unscaled, into s; rows of s are SL_ATT_KEYS
 * apart. kt is the keys' tile transposed by sl_att_turn. Columns from n to the next
 * multiple of 16 are 0.
 */
struct sl_att_rows {
	const float *at;
	int64_t step, n;
};
void sl_att_turn(const struct sl_att_head *h, const float *keys, int64_t n, float *kt);
void sl_att_products(
	const struct sl_att_rows *of, int64_t d, int64_t n, const float *kt, float *s);

/* Rows of depth d side by side: those of one matrix may all want the same few sets of a
 * cache. */
void sl_att_copy(const struct sl_att_rows *from, int64_t d, float *to);

/* Keys [first, first + n) of a tile, of which a row sees that many from the front. */
struct sl_att_keys {
	int64_t first, n, seen;
};
/* Scales row `row` of the scores and adds the mask; from `seen` to the next multiple of
 * 16 after n they become -inf. */
void sl_att_scale(
	const struct sl_att_head *h, int64_t row, const struct sl_att_keys *k, float *s);
/* Multiplies by 0 or 1 / (1 - ratio); nothing without dropout. */
void sl_att_drop(
	const struct sl_att_head *h, int64_t row, int64_t first, int64_t n, float *s);

#endif

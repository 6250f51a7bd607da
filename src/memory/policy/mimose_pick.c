/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks mimose checkpoints: buckets of about equal savings, smallest sufficient
 * block first. */
#include <stdlib.h>

#include "base/alloc.h"
#include "memory/policy/mimose.h"

struct ranked {
	struct sl_mimose_block *block;
	uint32_t bucket;
};

static int by_saving(const void *a, const void *b)
{
	const struct sl_mimose_block *x = ((const struct ranked *)a)->block;
	const struct sl_mimose_block *y = ((const struct ranked *)b)->block;

	if (x->saving != y->saving)
		return x->saving > y->saving ? -1 : 1;
	return x < y ? 1 : -1;
}

static int by_bucket(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return x->block < y->block ? 1 : -1;
}

/* Largest bucket first, in each the later layers first. */
static void rank(struct ranked *list, uint32_t n)
{
	uint64_t largest = 0;
	uint32_t bucket = 0;

	qsort(list, n, sizeof(*list), by_saving);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t saving = list[i].block->saving;

		if (i == 0 || saving < largest - largest / 10) {
			largest = saving;
			bucket = i;
		}
		list[i].bucket = bucket;
	}
	qsort(list, n, sizeof(*list), by_bucket);
}

static bool is_free(const struct ranked *r)
{
	return !r->block->picked && r->block->saving > 0;
}

/* From the tail: the first that is sufficient; NULL: there is none. */
static struct sl_mimose_block *sufficient(struct ranked *list, uint32_t n, uint64_t need)
{
	for (uint32_t i = n; i-- > 0;) {
		if (is_free(&list[i]) && list[i].block->saving >= need)
			return list[i].block;
	}
	return NULL;
}

/* Of the largest bucket that is left, the earliest layer; NULL: all are picked. */
static struct sl_mimose_block *largest(struct ranked *list, uint32_t n)
{
	struct sl_mimose_block *best = NULL;
	uint32_t bucket = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!is_free(&list[i]))
			continue;
		if (best != NULL && list[i].bucket != bucket)
			break;
		best = list[i].block;
		bucket = list[i].bucket;
	}
	return best;
}

sl_status sl_mimose_pick(struct sl_mimose_block *blocks, uint32_t n, uint64_t need)
{
	struct ranked *list = sl_calloc((size_t)n + 1, sizeof(*list));

	if (list == NULL)
		return SL_FAIL(SL_E_NOMEM, "no host memory left to plan");
	for (uint32_t i = 0; i < n; i++) {
		blocks[i].picked = false;
		list[i].block = &blocks[i];
	}
	rank(list, n);
	while (need > 0) {
		struct sl_mimose_block *b = sufficient(list, n, need);

		if (b == NULL)
			b = largest(list, n);
		if (b == NULL)
			break;
		b->picked = true;
		need -= b->saving < need ? b->saving : need;
	}
	sl_free(list);
	return SL_OK;
}

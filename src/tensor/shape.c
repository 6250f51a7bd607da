/* SPDX-License-Identifier: Apache-2.0 */
/* Dense row-major shapes: counting, comparing, broadcasting. */
#include "sluice/tensor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"

#define COUNT_MAX ((int64_t)1 << 48)

bool sl_shape_equal(const struct sl_shape *a, const struct sl_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

int64_t sl_shape_span(const struct sl_shape *s, int from, int to)
{
	int64_t n = 1;

	SL_ASSERT(from >= 0 && to <= s->rank);
	for (int i = from; i < to; i++)
		n *= s->dim[i];
	return n;
}

int64_t sl_shape_count(const struct sl_shape *s)
{
	return sl_shape_span(s, 0, s->rank);
}

sl_status sl_shape_check(const struct sl_shape *s, int64_t *out_count)
{
	/* Without the zeros, so that no span of a checked shape can overflow either. */
	int64_t full = 1;
	bool empty = false;

	if (s->rank < 0 || s->rank > SL_MAX_RANK)
		return SL_FAIL(SL_E_SHAPE, "rank %d; a shape has 0 to %d dimensions",
			s->rank, SL_MAX_RANK);
	for (int i = 0; i < s->rank; i++) {
		char text[SL_SHAPE_TEXT];
		if (s->dim[i] < 0)
			return SL_FAIL(SL_E_SHAPE, "shape %s: dimension %d is negative",
				sl_shape_print(s, text), i);
		empty = empty || s->dim[i] == 0;
		if (s->dim[i] && full > COUNT_MAX / s->dim[i])
			return SL_FAIL(SL_E_SHAPE, "shape %s has over 2^48 elements",
				sl_shape_print(s, text));
		full *= s->dim[i] ? s->dim[i] : 1;
	}
	if (out_count)
		*out_count = empty ? 0 : full;
	return SL_OK;
}

sl_status sl_shape_broadcast(
	const struct sl_shape *a, const struct sl_shape *b, struct sl_shape *out)
{
	struct sl_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};

	for (int i = 0; i < r.rank; i++) {
		/* Missing leading dimensions count as 1. */
		int in_a = i - (r.rank - a->rank);
		int in_b = i - (r.rank - b->rank);
		int64_t da = in_a >= 0 ? a->dim[in_a] : 1;
		int64_t db = in_b >= 0 ? b->dim[in_b] : 1;
		if (da != db && da != 1 && db != 1) {
			char text_a[SL_SHAPE_TEXT];
			char text_b[SL_SHAPE_TEXT];
			return SL_FAIL(SL_E_SHAPE,
				"shapes %s and %s do not broadcast: dimension "
				"%d is %" PRId64 " and %" PRId64,
				sl_shape_print(a, text_a), sl_shape_print(b, text_b), i,
				da, db);
		}
		r.dim[i] = da == 1 ? db : da;
	}
	*out = r;
	return SL_OK;
}

char *sl_shape_print(const struct sl_shape *s, char text[SL_SHAPE_TEXT])
{
	int rank = s->rank < 0 ? 0 : s->rank > SL_MAX_RANK ? SL_MAX_RANK : s->rank;
	size_t used = 0;

	text[used++] = '[';
	for (int i = 0; i < rank; i++) {
		int n = snprintf(text + used, SL_SHAPE_TEXT - used, "%s%" PRId64,
			i ? ", " : "", s->dim[i]);
		used += (size_t)n;
	}
	text[used++] = ']';
	text[used] = '\0';
	return text;
}

size_t sl_type_bytes(const struct sl_type *t)
{
	return (size_t)sl_shape_count(&t->shape) * sl_dtype_bytes(t->dtype);
}

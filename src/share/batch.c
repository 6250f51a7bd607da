/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in order of urgency, and the moment the next batch of them starts. */
#include "share/batch.h"

#include <string.h>

#include "base/alloc.h"

void sl_batcher_init(struct sl_batcher *b, uint32_t most, sl_ns run_ns)
{
	*b = (struct sl_batcher){.most = most, .run_ns = run_ns};
}

void sl_batcher_finish(struct sl_batcher *b)
{
	sl_free(b->queue);
	*b = (struct sl_batcher){0};
}

sl_status sl_batcher_add(struct sl_batcher *b, const struct sl_batch_request *r)
{
	size_t i = b->n;

	if (b->n == SL_BATCH_QUEUE)
		return SL_FAIL(SL_E_BUSY,
			"%u requests wait already; ask less often or again later",
			SL_BATCH_QUEUE);
	if (sl_grow((void **)&b->queue, &b->cap, b->n + 1, sizeof(*b->queue),
		    SL_BATCH_QUEUE))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for a request");
	while (i > 0 && b->queue[i - 1].due_ns > r->due_ns)
		i--;
	memmove(&b->queue[i + 1], &b->queue[i], (b->n - i) * sizeof(*b->queue));
	b->queue[i] = *r;
	b->n++;
	return SL_OK;
}

sl_ns sl_batcher_start(const struct sl_batcher *b, sl_ns now_ns)
{
	const struct sl_batch_request *first = b->queue;
	sl_ns latest;

	if (b->n == 0)
		return -1;
	if (b->n >= b->most || !b->contended)
		return now_ns;
	latest = first->due_ns - (first->due_ns - first->at_ns) / 10 - b->run_ns;
	return latest > now_ns ? latest : now_ns;
}

size_t sl_batcher_take(struct sl_batcher *b, struct sl_batch_request *out)
{
	size_t n = b->n < b->most ? b->n : b->most;

	if (n == 0)
		return 0;
	memcpy(out, b->queue, n * sizeof(*out));
	memmove(b->queue, b->queue + n, (b->n - n) * sizeof(*out));
	b->n -= n;
	return n;
}

/* Up at once, down by an eighth: an objective is missed by hoping, not by caution. */
void sl_batcher_measured(struct sl_batcher *b, sl_ns run_ns, sl_ns wait_ns)
{
	b->contended = wait_ns > run_ns / 8;
	b->run_ns = run_ns >= b->run_ns ? run_ns : b->run_ns - (b->run_ns - run_ns) / 8;
}

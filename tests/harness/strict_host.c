/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/strict_host.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "harness/harness.h"

static void protect(struct strict_host *h, int how)
{
	if (h->e_bytes > 0)
		assert_int_equal(mprotect(h->base + h->p_bytes, h->e_bytes, how), 0);
}

static sl_status join(void *ctx, const struct sl_menu *menu, struct sl_host_grant *out)
{
	struct strict_host *h = ctx;

	h->n_rows = menu->n;
	for (uint32_t i = 0; i < menu->n; i++) {
		h->rows[i].persistent_bytes = menu->rows[i].persistent_bytes;
		h->rows[i].ephemeral_bytes = menu->rows[i].ephemeral_bytes;
		h->rows[i].turn_ns = menu->rows[i].turn_ns;
	}
	h->row = h->row < menu->n ? h->row : menu->n - 1;
	h->p_bytes = menu->rows[h->row].persistent_bytes;
	h->e_bytes = menu->rows[h->row].ephemeral_bytes;
	h->base = mmap(NULL, h->p_bytes + h->e_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(h->base != MAP_FAILED);
	protect(h, PROT_NONE);
	*out = (struct sl_host_grant){
		.row = h->row, .base = h->base, .bytes = h->p_bytes + h->e_bytes};
	return SL_OK;
}

static sl_status ready(void *ctx)
{
	((struct strict_host *)ctx)->ready = true;
	return SL_OK;
}

static sl_status enter(void *ctx)
{
	struct strict_host *h = ctx;

	assert_true(h->ready);
	h->enters++;
	if (h->stop_at == h->enters) {
		h->stop = true;
		return SL_FAIL(SL_E_INTERRUPTED, "stopped in the queue");
	}
	protect(h, PROT_READ | PROT_WRITE);
	h->inside = true;
	return SL_OK;
}

static bool wanted(void *ctx)
{
	(void)ctx;
	return true;
}

/* Everything that was in the lane goes; P moves elsewhere and comes back. */
static void disturb(struct strict_host *h)
{
	uint8_t *copy = sl_alloc(h->p_bytes + 1);

	memset(h->base + h->p_bytes, 0xA5, h->e_bytes);
	protect(h, PROT_NONE);
	h->inside = false;
	assert_non_null(copy);
	if (h->ways++ % 3 == 0) {
		memcpy(copy, h->base, h->p_bytes);
		memset(h->base, 0x5A, h->p_bytes);
		memcpy(h->base, copy, h->p_bytes);
	}
	sl_free(copy);
}

static sl_status leave(void *ctx, sl_ns used_ns, bool rests)
{
	((struct strict_host *)ctx)->idles += rests;
	assert_true(used_ns >= 0);
	assert_true(((struct strict_host *)ctx)->inside);
	disturb(ctx);
	return SL_OK;
}

static sl_status idle(void *ctx)
{
	((struct strict_host *)ctx)->idles++;
	return SL_OK;
}

static sl_status tend(void *ctx)
{
	((struct strict_host *)ctx)->tends++;
	return SL_OK;
}

static bool behind(void *ctx, int wait_ms)
{
	assert_true(wait_ms >= 0);
	return ((struct strict_host *)ctx)->late > 0 &&
	       ((struct strict_host *)ctx)->late-- > 0;
}

static bool lost(void *ctx)
{
	struct strict_host *h = ctx;

	return h->lose_at > 0 && h->enters >= h->lose_at && h->looks++ >= 2;
}

static bool stopped(void *ctx)
{
	return ((struct strict_host *)ctx)->stop;
}

static void stats(void *ctx, struct sl_shared_stats *out)
{
	*out = (struct sl_shared_stats){
		.turns = (uint64_t)((struct strict_host *)ctx)->enters};
}

void strict_host_init(struct strict_host *h)
{
	*h = (struct strict_host){.door = {
					  .gate = {.ctx = h,
						  .enter = enter,
						  .wanted = wanted,
						  .leave = leave,
						  .idle = idle,
						  .tend = tend,
						  .lost = lost},
					  .join = join,
					  .ready = ready,
					  .stopped = stopped,
					  .stats = stats,
				  }};
}

static void on_step(void *ctx, const struct sl_step_report *r)
{
	assert_int_equal(((struct strict_host *)ctx)->late, 0);
	assert_true(r->is_shared);
}

static void host_finish(struct strict_host *h)
{
	if (h->base != NULL)
		munmap(h->base, h->p_bytes + h->e_bytes);
}

sl_status strict_host_train(struct strict_host *h, const struct sl_session_config *config,
	struct sl_summary *out)
{
	const struct sl_session_events events = {
		.ctx = h, .step = on_step, .behind = behind};
	struct sl_session *s = NULL;
	sl_status st;

	SL_TRY(sl_session_open(config, &s));
	s->host = &h->door;
	SL_TRY_OUT(sl_session_prepare(s, &events));
	SL_TRY_OUT(sl_session_train(s, out));
out:
	sl_session_close(s);
	host_finish(h);
	return st;
}

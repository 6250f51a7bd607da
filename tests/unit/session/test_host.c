/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of src/session/host.c, menu.c and turn.c: a session in memory of another. The
 * host here is a strict one: outside of turns the lane cannot be touched at all, and what
 * was in it is overwritten; now and then P is taken away too and brought back.
 */
#include "harness/harness.h"
#include "harness/session_run.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/units.h"
#include "session/host.h"

struct host {
	struct sl_host door;
	uint32_t row; /* to admit with */
	uint64_t p_bytes, e_bytes;
	uint8_t *base;
	bool inside, ready, lose, stop;
	int enters, idles, ways;
	int lose_at, stop_at; /* of enters; 0: never */
	int looks; /* until it is lost */
	uint32_t n_rows;
	struct sl_menu_row rows[SL_MENU_ROWS]; /* without plans */
};

static void protect(struct host *h, int how)
{
	if (h->e_bytes > 0)
		assert_int_equal(mprotect(h->base + h->p_bytes, h->e_bytes, how), 0);
}

static sl_status join(void *ctx, const struct sl_menu *menu, struct sl_host_grant *out)
{
	struct host *h = ctx;

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
	((struct host *)ctx)->ready = true;
	return SL_OK;
}

static sl_status enter(void *ctx)
{
	struct host *h = ctx;

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
static void disturb(struct host *h)
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
	((struct host *)ctx)->idles += rests;
	assert_true(used_ns >= 0);
	assert_true(((struct host *)ctx)->inside);
	disturb(ctx);
	return SL_OK;
}

static sl_status idle(void *ctx)
{
	((struct host *)ctx)->idles++;
	return SL_OK;
}

static bool lost(void *ctx)
{
	struct host *h = ctx;

	return h->lose_at > 0 && h->enters >= h->lose_at && h->looks++ >= 2;
}

static bool stopped(void *ctx)
{
	return ((struct host *)ctx)->stop;
}

static void stats(void *ctx, struct sl_shared_stats *out)
{
	*out = (struct sl_shared_stats){.turns = (uint64_t)((struct host *)ctx)->enters};
}

static void host_init(struct host *h)
{
	*h = (struct host){.door = {
				   .gate = {.ctx = h,
					   .enter = enter,
					   .wanted = wanted,
					   .leave = leave,
					   .idle = idle,
					   .lost = lost},
				   .join = join,
				   .ready = ready,
				   .stopped = stopped,
				   .stats = stats,
			   }};
}

static void host_finish(struct host *h)
{
	if (h->base != NULL)
		munmap(h->base, h->p_bytes + h->e_bytes);
}

static sl_status train_in(
	struct host *h, const struct sl_session_config *config, struct sl_summary *out)
{
	struct sl_session *s = NULL;
	sl_status st;

	SL_TRY(sl_session_open(config, &s));
	s->host = &h->door;
	SL_TRY_OUT(sl_session_prepare(s, NULL));
	SL_TRY_OUT(sl_session_train(s, out));
out:
	sl_session_close(s);
	host_finish(h);
	return st;
}

static void check_same(const struct sl_session_config *config, uint32_t row)
{
	struct sl_session_run alone;
	struct sl_summary shared;
	struct host h;

	host_init(&h);
	h.row = row;
	sl_assert_ok(sl_session_run_all(config, &alone));
	sl_assert_ok(train_in(&h, config, &shared));
	assert_string_equal(shared.digest, alone.summary.digest);
	assert_true(shared.loss_last == alone.summary.loss_last);
	assert_true(shared.is_shared);
	assert_int_equal(shared.shared.turns, h.enters);
	assert_true(shared.peak_device_bytes <= h.p_bytes + h.e_bytes);
	assert_true(h.idles > 0);
}

static void every_model_is_the_same_whatever_becomes_of_its_lane(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		assert_true(sl_session_small(i, &config));
		config.eval = true;
		config.eval_steps = 2;
		check_same(&config, 0);
		config.budget_ratio = 0.85;
		check_same(&config, 0);
	}
}

static void lesser_rows_of_the_menu_give_the_same_bits(void **state)
{
	struct sl_session_config config;

	(void)state;
	for (int i = 0; i < SL_SMALL_MODELS; i++) {
		assert_true(sl_session_small(i, &config));
		config.steps = 8; /* new plans come */
		config.allow_slowdown = 1e6;
		for (uint32_t row = 1; row < 6; row += 2)
			check_same(&config, row);
	}
}

static void a_menu_goes_from_fast_to_small_within_what_is_allowed(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct host h;

	(void)state;
	assert_true(sl_session_small(3, &config));
	config.allow_slowdown = 1e6;
	host_init(&h);
	sl_assert_ok(train_in(&h, &config, &summary));
	assert_true(h.n_rows >= 4);
	for (uint32_t i = 1; i < h.n_rows; i++) {
		const struct sl_menu_row *a = &h.rows[i - 1], *b = &h.rows[i];

		assert_true(a->persistent_bytes % 4096 == 0);
		assert_true(b->persistent_bytes + b->ephemeral_bytes <
			    a->persistent_bytes + a->ephemeral_bytes);
		assert_true(b->turn_ns >= h.rows[0].turn_ns);
	}
	config.allow_slowdown = 0;
	host_init(&h);
	sl_assert_ok(train_in(&h, &config, &summary));
	assert_int_equal(h.n_rows, 1);
}

static void lost_memory_ends_the_step(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct host h;

	(void)state;
	assert_true(sl_session_small(0, &config));
	host_init(&h);
	h.lose_at = 2;
	sl_assert_fails(train_in(&h, &config, &summary), SL_E_LOST, "taken");
	assert_int_equal(h.enters, 2);
}

static void a_stop_in_the_queue_is_an_interruption(void **state)
{
	struct sl_session_config config;
	struct sl_summary summary;
	struct host h;

	(void)state;
	assert_true(sl_session_small(0, &config));
	host_init(&h);
	h.stop_at = 3;
	sl_assert_fails(train_in(&h, &config, &summary), SL_E_INTERRUPTED, "step 2");
	assert_int_equal(summary.run_steps, 2);
	assert_int_equal(strlen(summary.digest), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SL_TEST(every_model_is_the_same_whatever_becomes_of_its_lane),
		SL_TEST(lesser_rows_of_the_menu_give_the_same_bits),
		SL_TEST(a_menu_goes_from_fast_to_small_within_what_is_allowed),
		SL_TEST(lost_memory_ends_the_step),
		SL_TEST(a_stop_in_the_queue_is_an_interruption),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

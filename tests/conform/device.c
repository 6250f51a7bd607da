/* SPDX-License-Identifier: Apache-2.0 */
/* What every device of devices.def owes its callers, plain and under each wrapper. */
#include "harness/harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/wrap/wrap.h"

#define MIB ((uint64_t)1 << 20)

static void hear(void *ctx, const char *call, uint64_t arg)
{
	(void)call;
	(void)arg;
	++*(int *)ctx;
}

static int heard;

/* 0: plain. NULL: that device is not to be had here. */
static struct sl_device *make(const struct sl_device_kind *kind, int wrapper)
{
	struct sl_device *d = NULL, *outer = NULL;

	sl_status st = kind->create(&d);

	/* Who names a driver wants its device. */
	if (st == SL_E_UNSUPPORTED && getenv("SLUICE_CUDA_DRIVER") == NULL)
		return NULL;
	sl_assert_ok(st);
	if (wrapper == 1)
		sl_assert_ok(sl_device_fault_create(d, 0, SL_E_LOST, &outer));
	if (wrapper == 2)
		sl_assert_ok(sl_device_limit_create(d, 64 * MIB, &outer));
	if (wrapper == 3)
		sl_assert_ok(sl_device_trace_create(d, hear, &heard, &outer));
	return outer ? outer : d;
}

static void each_device(void (*check)(struct sl_device *d))
{
	for (size_t i = 0; sl_device_kind_at(i); i++) {
		for (int wrapper = 0; wrapper < 4; wrapper++) {
			struct sl_device *d = make(sl_device_kind_at(i), wrapper);
			if (d == NULL)
				continue;
			assert_string_equal(
				sl_device_name(d), sl_device_kind_at(i)->name);
			check(d);
			sl_device_destroy(d);
		}
	}
}

/* Fills and copies through the device alone, whoever sees the bytes. */
static void check_arena(struct sl_device *d)
{
	const uint64_t sizes[] = {4096, 3 * MIB + 4096};
	struct sl_stream *s = NULL;

	sl_assert_ok(sl_device_stream_create(d, &s));
	for (size_t i = 0; i < SL_COUNT(sizes); i++) {
		struct sl_device_arena a = {0};
		void *p = NULL;
		uint8_t *seen;

		sl_assert_ok(sl_device_pinned_create(d, sizes[i], &p));
		assert_int_equal((uintptr_t)p % 4096, 0);
		memset(p, 0, sizes[i]);
		sl_assert_ok(sl_device_arena_create(d, sizes[i], &a));
		assert_true(a.bytes == sizes[i]);
		assert_int_equal((uintptr_t)a.base % 4096, 0);
		if (sl_device_host_sees(d))
			memset(a.base, 0xa5, a.bytes);
		sl_assert_ok(sl_device_fill(d, s, a.base, 0x5a, a.bytes));
		sl_assert_ok(sl_device_copy(d, s, p, a.base, a.bytes));
		sl_assert_ok(sl_device_sync(d, s));
		seen = p;
		for (uint64_t k = 0; k < sizes[i]; k++)
			assert_int_equal(seen[k], 0x5a);
		sl_device_arena_destroy(d, &a);
		assert_null(a.base);
		sl_device_arena_destroy(d, &a);
		sl_device_pinned_destroy(d, p);
	}
	sl_device_stream_destroy(d, s);
}

static void an_arena_has_exactly_its_bytes(void **state)
{
	(void)state;
	each_device(check_arena);
}

static void check_refusals(struct sl_device *d)
{
	struct sl_device_arena a = {0};

	sl_assert_fails(sl_device_arena_create(d, 0, &a), SL_E_INVALID, "4096");
	sl_assert_fails(sl_device_arena_create(d, 4097, &a), SL_E_INVALID, "4097");
	sl_assert_fails(sl_device_arena_create(d, (uint64_t)1 << 60, &a),
		SL_E_NOMEM_DEVICE, "--budget");
	assert_null(a.base);
}

static void wrong_sizes_and_too_much_are_refused(void **state)
{
	(void)state;
	each_device(check_refusals);
}

struct log {
	int seen[64];
	int n;
};

struct note {
	struct log *log;
	int id;
	sl_status st;
};

static sl_status take_note(void *ctx)
{
	struct note *x = ctx;

	x->log->seen[x->log->n++] = x->id;
	return x->st == SL_OK ? SL_OK : SL_FAIL(x->st, "note %d", x->id);
}

static void check_order(struct sl_device *d)
{
	struct log log = {0};
	struct note notes[40];
	struct sl_stream *s = NULL;

	sl_assert_ok(sl_device_stream_create(d, &s));
	for (int i = 0; i < 40; i++) {
		notes[i] = (struct note){.log = &log, .id = i};
		sl_assert_ok(sl_device_submit(d, s, take_note, &notes[i]));
	}
	sl_assert_ok(sl_device_sync(d, s));
	assert_int_equal(log.n, 40);
	for (int i = 0; i < 40; i++)
		assert_int_equal(log.seen[i], i);
	sl_device_stream_destroy(d, s);
}

static void a_stream_runs_in_order(void **state)
{
	(void)state;
	each_device(check_order);
}

static void check_failure(struct sl_device *d)
{
	struct log log = {0};
	struct note bad = {&log, 1, SL_E_LOST}, good = {&log, 2, SL_OK};
	struct sl_stream *s = NULL;
	struct sl_fence *f = NULL;

	sl_assert_ok(sl_device_stream_create(d, &s));
	sl_assert_ok(sl_device_fence_create(d, &f));
	sl_assert_ok(sl_device_submit(d, s, take_note, &bad));
	sl_assert_ok(sl_device_submit(d, s, take_note, &good));
	sl_assert_ok(sl_device_fence_record(d, f, s));
	sl_assert_ok(sl_device_fence_wait(d, f));
	sl_assert_fails(sl_device_sync(d, s), SL_E_LOST, "note 1");
	assert_int_equal(log.n, 1);
	sl_assert_ok(sl_device_submit(d, s, take_note, &good));
	sl_assert_ok(sl_device_sync(d, s));
	assert_int_equal(log.n, 2);
	sl_device_fence_destroy(d, f);
	sl_device_stream_destroy(d, s);
}

static void a_failure_stops_the_stream_until_it_is_reported(void **state)
{
	(void)state;
	each_device(check_failure);
}

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool open;
};

static sl_status pass_gate(void *ctx)
{
	struct gate *g = ctx;

	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->opened, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return SL_OK;
}

static void open_gate(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->opened);
	pthread_mutex_unlock(&g->lock);
}

static void check_fence(struct sl_device *d)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	struct sl_stream *s = NULL;
	struct sl_fence *f = NULL;
	bool passed = false;

	sl_assert_ok(sl_device_stream_create(d, &s));
	sl_assert_ok(sl_device_fence_create(d, &f));
	sl_assert_ok(sl_device_fence_query(d, f, &passed));
	assert_true(passed);
	sl_assert_ok(sl_device_submit(d, s, pass_gate, &g));
	sl_assert_ok(sl_device_fence_record(d, f, s));
	sl_assert_ok(sl_device_fence_query(d, f, &passed));
	assert_false(passed);
	open_gate(&g);
	sl_assert_ok(sl_device_fence_wait(d, f));
	sl_assert_ok(sl_device_fence_query(d, f, &passed));
	assert_true(passed);
	sl_device_fence_destroy(d, f);
	sl_device_stream_destroy(d, s);
}

static void a_fence_passes_when_what_was_before_it_is_done(void **state)
{
	(void)state;
	each_device(check_fence);
}

/* From pinned memory into the arena, within the arena, and out again, in order. */
static void check_copies(struct sl_device *d)
{
	struct sl_device_arena a = {0};
	struct sl_stream *s = NULL;
	uint8_t *in, *back;
	void *p = NULL, *q = NULL;

	sl_assert_ok(sl_device_stream_create(d, &s));
	sl_assert_ok(sl_device_arena_create(d, 2 * MIB, &a));
	sl_assert_ok(sl_device_pinned_create(d, MIB, &p));
	sl_assert_ok(sl_device_pinned_create(d, MIB, &q));
	in = p;
	back = q;
	for (size_t i = 0; i < MIB; i++)
		in[i] = (uint8_t)(i * 7 + (i >> 9));
	memset(back, 0, MIB);
	sl_assert_ok(sl_device_copy(d, s, a.base, in, MIB));
	sl_assert_ok(sl_device_copy(d, s, a.base + MIB + 1, a.base, MIB - 1));
	sl_assert_ok(sl_device_fill(d, s, a.base + MIB + 5, 0xee, 3));
	sl_assert_ok(sl_device_fill(d, s, a.base, 0, MIB));
	sl_assert_ok(sl_device_copy(d, s, back, a.base + MIB + 1, MIB - 1));
	sl_assert_ok(sl_device_copy(d, s, back, NULL, 0));
	sl_assert_ok(sl_device_sync(d, s));
	in[4] = in[5] = in[6] = 0xee;
	assert_memory_equal(in, back, MIB - 1);
	assert_int_equal(back[MIB - 1], 0);
	sl_device_pinned_destroy(d, q);
	sl_device_pinned_destroy(d, p);
	sl_device_pinned_destroy(d, NULL);
	sl_device_arena_destroy(d, &a);
	sl_device_stream_destroy(d, s);
}

static void copies_and_fills_follow_the_order_of_their_stream(void **state)
{
	(void)state;
	each_device(check_copies);
}

static void no_pinned_bytes_are_refused(void **state)
{
	struct sl_device *d = make(sl_device_kind_at(0), 0);
	void *p = NULL;

	(void)state;
	sl_assert_fails(sl_device_pinned_create(d, 0, &p), SL_E_INVALID, "0 bytes");
	assert_null(p);
	sl_device_destroy(d);
}

/* One stream holds what another is to see; the other waits, the host does not. */
static void check_stream_wait(struct sl_device *d)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	struct sl_stream *first = NULL, *second = NULL;
	struct log log = {0};
	struct note early = {&log, 1, SL_OK}, late = {&log, 2, SL_OK};
	struct sl_fence *f = NULL;

	sl_assert_ok(sl_device_stream_create(d, &first));
	sl_assert_ok(sl_device_stream_create(d, &second));
	sl_assert_ok(sl_device_fence_create(d, &f));
	/* Never recorded: nothing to wait for. */
	sl_assert_ok(sl_device_stream_wait(d, second, f));
	sl_assert_ok(sl_device_sync(d, second));
	sl_assert_ok(sl_device_submit(d, first, pass_gate, &g));
	sl_assert_ok(sl_device_submit(d, first, take_note, &early));
	sl_assert_ok(sl_device_fence_record(d, f, first));
	sl_assert_ok(sl_device_stream_wait(d, second, f));
	/* A record behind the wait, of the same fence, makes no circle. */
	sl_assert_ok(sl_device_submit(d, second, take_note, &late));
	sl_assert_ok(sl_device_fence_record(d, f, second));
	open_gate(&g);
	sl_assert_ok(sl_device_sync(d, second));
	assert_int_equal(log.n, 2);
	assert_int_equal(log.seen[0], 1);
	assert_int_equal(log.seen[1], 2);
	sl_device_fence_destroy(d, f);
	sl_device_stream_destroy(d, second);
	sl_device_stream_destroy(d, first);
}

static void a_stream_waits_for_a_fence_as_it_was(void **state)
{
	(void)state;
	each_device(check_stream_wait);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(an_arena_has_exactly_its_bytes),
		SL_TEST(wrong_sizes_and_too_much_are_refused),
		SL_TEST(a_stream_runs_in_order),
		SL_TEST(a_failure_stops_the_stream_until_it_is_reported),
		SL_TEST(a_fence_passes_when_what_was_before_it_is_done),
		SL_TEST(copies_and_fills_follow_the_order_of_their_stream),
		SL_TEST(no_pinned_bytes_are_refused),
		SL_TEST(a_stream_waits_for_a_fence_as_it_was),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

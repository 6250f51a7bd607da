/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device on the test driver: each failing call and allocation, a lost card,
 * caps, memory handed on. What it owes as any device, tests/conform/device.c asks. */
#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cuda/rig/rig.h"
#include "device/device.h"
#include "device/plugin.h"

#define MIB ((uint64_t)1 << 20)

static void want_quiet(void)
{
	char text[300];

	fake_alive(text, sizeof(text));
	assert_string_equal(text, "");
	assert_string_equal(fake_complaint(), "");
}

static void start(uint64_t seed, uint64_t fail_at, unsigned code)
{
	fake_reset(&(struct fake_options){
		.seed = seed, .fail_at = fail_at, .code = code, .keep = true});
}

struct use {
	struct sl_device *d;
	struct sl_device_arena arena;
	struct sl_stream *in, *compute;
	struct sl_fence *f;
	void *pinned;
	int calls;
};

static sl_status count(void *ctx)
{
	++*(int *)ctx;
	return SL_OK;
}

static sl_status open_use(struct use *u)
{
	SL_TRY(sl_device_create("cuda", &u->d));
	SL_TRY(sl_device_arena_create(u->d, 3 * 4096, &u->arena));
	SL_TRY(sl_device_stream_create(u->d, &u->in));
	SL_TRY(sl_device_stream_create(u->d, &u->compute));
	SL_TRY(sl_device_fence_create(u->d, &u->f));
	return sl_device_pinned_create(u->d, 8192, &u->pinned);
}

static sl_status step(struct use *u)
{
	struct sl_device *d = u->d;
	bool passed;

	SL_TRY(sl_device_fill(d, u->in, u->pinned, 9, 4096));
	SL_TRY(sl_device_copy(d, u->in, u->arena.base, u->pinned, 4096));
	SL_TRY(sl_device_fence_record(d, u->f, u->in));
	SL_TRY(sl_device_stream_wait(d, u->compute, u->f));
	SL_TRY(sl_device_copy(d, u->compute, u->arena.base + 4096, u->arena.base, 4096));
	SL_TRY(sl_device_submit(d, u->compute, count, &u->calls));
	SL_TRY(sl_device_copy(
		d, u->compute, (uint8_t *)u->pinned + 4096, u->arena.base + 4096, 4096));
	SL_TRY(sl_device_fence_query(d, u->f, &passed));
	SL_TRY(sl_device_fence_wait(d, u->f));
	SL_TRY(sl_device_sync(d, u->compute));
	return sl_device_sync(d, u->in);
}

static void close_use(struct use *u)
{
	if (u->d == NULL)
		return;
	sl_device_stream_destroy(u->d, u->compute);
	sl_device_stream_destroy(u->d, u->in);
	sl_device_fence_destroy(u->d, u->f);
	sl_device_pinned_destroy(u->d, u->pinned);
	sl_device_arena_destroy(u->d, &u->arena);
	sl_device_destroy(u->d);
}

static sl_status life(void *ctx)
{
	struct use u = {0};
	sl_status st = open_use(&u);

	(void)ctx;
	for (int i = 0; i < 2 && st == SL_OK; i++)
		st = step(&u);
	if (st == SL_OK &&
		(u.calls != 2 || memcmp(u.pinned, (uint8_t *)u.pinned + 4096, 4096) != 0))
		st = SL_FAIL(SL_E_NO, "%d calls, or other bytes", u.calls);
	close_use(&u);
	return st;
}

/* The status a code is to give, whichever call it hits. */
static bool fits(sl_status st, unsigned code)
{
	if (code == SL_CU_ERROR_OUT_OF_MEMORY)
		return st == SL_E_NOMEM_DEVICE || st == SL_E_NOMEM;
	if (code == SL_CU_ERROR_INVALID_VALUE)
		return st == SL_E_UNSUPPORTED;
	return st == SL_E_LOST;
}

static void each_call_may_fail_and_nothing_is_left(void **state)
{
	static const unsigned codes[] = {SL_CU_ERROR_OUT_OF_MEMORY,
		SL_CU_ERROR_INVALID_VALUE, SL_CU_ERROR_LAUNCH_FAILED,
		SL_CU_ERROR_ILLEGAL_ADDRESS};

	(void)state;
	for (size_t i = 0; i < SL_COUNT(codes); i++) {
		long live = sl_alloc_live();
		unsigned told = 0;
		uint64_t n;

		for (n = 1; n == 1 || fake_calls() >= n - 1; n++) {
			sl_status st;

			start(n % 3, n, codes[i]);
			st = life(NULL);
			told += st != SL_OK;
			if (st != SL_OK && !fits(st, codes[i]))
				fail_msg("call %llu: %s: %s", (unsigned long long)n,
					sl_status_name(st), sl_last_error());
			assert_int_equal(sl_alloc_live(), live);
			want_quiet();
		}
		/* Of those that only give back nobody hears. */
		assert_true(told > 50 && told < n);
	}
}

static void each_allocation_may_fail_and_nothing_is_left(void **state)
{
	(void)state;
	start(0, 0, 0);
	assert_true(sl_torture(life, NULL) >= 7);
	want_quiet();
}

static void a_lost_device_refuses_all_that_follows(void **state)
{
	struct use u = {0};
	struct sl_device_arena more = {0};

	(void)state;
	start(0, 0, 0);
	sl_assert_ok(open_use(&u));
	sl_assert_ok(step(&u));
	start(0, 3, SL_CU_ERROR_ILLEGAL_ADDRESS);
	sl_assert_fails(step(&u), SL_E_LOST, "cu");
	/* Even where the driver would take it. */
	start(0, 0, 0);
	sl_assert_fails(step(&u), SL_E_LOST, "lost before");
	sl_assert_fails(
		sl_device_arena_create(u.d, 4096, &more), SL_E_LOST, "lost before");
	assert_int_equal(fake_calls(), 0);
	close_use(&u);
	want_quiet();
}

static void a_card_that_is_full_is_said_with_its_bytes(void **state)
{
	struct sl_device_arena a = {0}, b = {0};
	struct sl_device *d = NULL;

	(void)state;
	fake_reset(&(struct fake_options){.bytes = 8 * MIB, .keep = true});
	sl_assert_ok(sl_device_create("cuda", &d));
	assert_true(sl_device_bytes(d) == 8 * MIB);
	sl_assert_ok(sl_device_arena_create(d, 6 * MIB, &a));
	sl_assert_fails(sl_device_arena_create(d, 3 * MIB, &b), SL_E_NOMEM_DEVICE,
		"2.00 MiB free, 4.00 MiB were asked for");
	assert_null(b.base);
	sl_device_arena_destroy(d, &a);
	sl_assert_ok(sl_device_arena_create(d, 8 * MIB, &b));
	sl_device_arena_destroy(d, &b);
	sl_device_destroy(d);
	want_quiet();
}

static void pinned_memory_has_a_cap(void **state)
{
	struct sl_device *d = NULL;
	void *a = NULL, *b = NULL;

	(void)state;
	start(0, 0, 0);
	(void)setenv("SLUICE_PINNED", "many", 1);
	sl_assert_fails(sl_device_create("cuda", &d), SL_E_USAGE, "SLUICE_PINNED");
	(void)setenv("SLUICE_PINNED", "1MiB", 1);
	sl_assert_ok(sl_device_create("cuda", &d));
	(void)unsetenv("SLUICE_PINNED");
	sl_assert_ok(sl_device_pinned_create(d, MIB / 2, &a));
	sl_assert_fails(sl_device_pinned_create(d, MIB / 2 + 1, &b), SL_E_NOMEM,
		"512.00 KiB of the 1.00 MiB");
	sl_device_pinned_destroy(d, a);
	sl_assert_ok(sl_device_pinned_create(d, MIB, &b));
	sl_device_pinned_destroy(d, b);
	sl_device_destroy(d);
	want_quiet();
}

/* As a lane's memory goes from one process to the next. */
static void memory_is_handed_on_by_a_descriptor(void **state)
{
	struct use from = {0}, to = {0};
	struct sl_device_arena a = {0}, b = {0};
	const struct sl_plugin_memory *m;
	uint8_t *seen;
	int fd = -1;

	(void)state;
	start(2, 0, 0);
	sl_assert_ok(open_use(&from));
	sl_assert_ok(open_use(&to));
	m = sl_device_plugin(from.d)->memory;
	sl_assert_ok(m->create(from.d, 2 * MIB, &fd));
	sl_assert_ok(m->open(from.d, fd, 2 * MIB, &a));
	sl_assert_ok(m->open(to.d, fd, 2 * MIB, &b));
	assert_int_equal(close(fd), 0);
	assert_ptr_not_equal(a.base, b.base);
	sl_assert_ok(sl_device_fill(from.d, from.compute, a.base, 0x6b, 2 * MIB));
	sl_assert_ok(sl_device_sync(from.d, from.compute));
	sl_device_arena_destroy(from.d, &a);
	sl_assert_ok(sl_device_copy(to.d, to.compute, to.pinned, b.base + MIB, 4096));
	sl_assert_ok(sl_device_sync(to.d, to.compute));
	seen = to.pinned;
	for (int i = 0; i < 4096; i++)
		assert_int_equal(seen[i], 0x6b);
	sl_device_arena_destroy(to.d, &b);
	close_use(&to);
	close_use(&from);
	want_quiet();
}

static void the_probe_says_what_is_there(void **state)
{
	const struct sl_plugin *p = NULL;
	char text[200];

	(void)state;
	start(0, 0, 0);
	sl_assert_ok(sl_plugin_find("cuda", &p));
	sl_assert_ok(p->probe(text, sizeof(text)));
	assert_non_null(strstr(text, "test driver, 1.00 GiB, sm_90"));
	start(0, 1, SL_CU_ERROR_NO_DEVICE);
	sl_assert_fails(p->probe(text, sizeof(text)), SL_E_UNSUPPORTED, "cuInit");
	want_quiet();
}

/* The plug-in of this build. */
static void find_plug_in(void)
{
	char path[1024];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	for (int up = 0; n > 0 && up < 3; up++) {
		path[n] = '\0';
		n = strrchr(path, '/') - path;
	}
	path[n > 0 ? n : 0] = '\0';
	(void)setenv("SLUICE_PLUGINS", path, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(each_call_may_fail_and_nothing_is_left),
		SL_TEST(each_allocation_may_fail_and_nothing_is_left),
		SL_TEST(a_lost_device_refuses_all_that_follows),
		SL_TEST(a_card_that_is_full_is_said_with_its_bytes),
		SL_TEST(pinned_memory_has_a_cap),
		SL_TEST(memory_is_handed_on_by_a_descriptor),
		SL_TEST(the_probe_says_what_is_there),
	};

	find_plug_in();
	(void)unsetenv("SLUICE_CUDA_DRIVER");
	return sl_test_run(tests, SL_COUNT(tests));
}

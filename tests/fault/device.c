/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose n-th call fails: each run ends with a status, nothing hangs, nothing
 * leaks. */
#include "harness/harness.h"

#include "device/device.h"
#include "device/wrap/wrap.h"

static sl_status count(void *ctx)
{
	++*(int *)ctx;
	return SL_OK;
}

struct use {
	struct sl_device_arena arena;
	struct sl_stream *s;
	struct sl_fence *f;
	void *pinned;
	int done;
};

static sl_status work(struct sl_device *d, struct use *u)
{
	bool passed = false;

	SL_TRY(sl_device_arena_create(d, 8192, &u->arena));
	SL_TRY(sl_device_stream_create(d, &u->s));
	SL_TRY(sl_device_fence_create(d, &u->f));
	SL_TRY(sl_device_pinned_create(d, 4096, &u->pinned));
	for (int i = 0; i < 3; i++) {
		SL_TRY(sl_device_submit(d, u->s, count, &u->done));
		SL_TRY(sl_device_fill(d, u->s, u->arena.base, 7, 4096));
		SL_TRY(sl_device_copy(d, u->s, u->pinned, u->arena.base, 4096));
		SL_TRY(sl_device_fence_record(d, u->f, u->s));
		SL_TRY(sl_device_stream_wait(d, u->s, u->f));
		SL_TRY(sl_device_fence_wait(d, u->f));
		SL_TRY(sl_device_fence_query(d, u->f, &passed));
		assert_true(passed);
		SL_TRY(sl_device_sync(d, u->s));
	}
	return SL_OK;
}

static void every_failed_call_ends_with_its_status(void **state)
{
	const sl_status codes[] = {SL_E_LOST, SL_E_NOMEM_DEVICE};
	long n = 0;

	(void)state;
	for (size_t i = 0; i < SL_COUNT(codes); i++) {
		sl_status st = codes[i];

		for (n = 1; st != SL_OK; n++) {
			struct sl_device *cpu = NULL, *d = NULL;
			struct use u = {0};
			sl_assert_ok(sl_device_create("cpu", &cpu));
			sl_assert_ok(sl_device_fault_create(cpu, n, codes[i], &d));
			st = work(d, &u);
			if (st != SL_OK)
				sl_assert_fails(st, codes[i], "injected");
			else
				assert_int_equal(u.done, 3);
			sl_device_fence_destroy(d, u.f);
			sl_device_stream_destroy(d, u.s);
			sl_device_pinned_destroy(d, u.pinned);
			sl_device_arena_destroy(d, &u.arena);
			sl_device_destroy(d);
		}
		assert_int_equal(n - 2, 4 + 3 * 8); /* calls of work() */
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_failed_call_ends_with_its_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The disk tier when the n-th system call fails, with each reason a disk has. */
#include "harness/harness.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "memory/tier/tier.h"

#define LEN ((size_t)9 << 20) /* three pieces each way */

static sl_status put_and_get(void *ctx)
{
	unsigned flags = *(const unsigned *)ctx;
	struct sl_tier *t = NULL;
	uint8_t *data = sl_alloc_aligned(4096, LEN);
	sl_status st;

	if (!data)
		return SL_FAIL(SL_E_NOMEM, "nothing to put");
	memset(data, 0x17, LEN);
	SL_TRY_OUT(sl_tier_disk_create_forced(sl_test_path(""), LEN, flags, &t));
	SL_TRY_OUT(sl_tier_put(t, 0, data, LEN));
	memset(data, 0, LEN);
	SL_TRY_OUT(sl_tier_get(t, 0, data, LEN));
	assert_int_equal(data[0] + data[LEN - 1], 2 * 0x17);
out:
	sl_tier_destroy(t);
	sl_free_aligned(data);
	return st;
}

static void every_failed_system_call_ends_with_a_status(void **state)
{
	const int errors[] = {EIO, ENOSPC, EDQUOT, ENOMEM};
	unsigned flags[] = {SL_TIER_DISK_NO_URING, SL_TIER_DISK_BUFFERED};

	(void)state;
	for (size_t f = 0; f < SL_COUNT(flags); f++) {
		for (size_t i = 0; i < SL_COUNT(errors); i++)
			assert_true(
				sl_torture_fs(put_and_get, &flags[f], errors[i]) >= 8);
	}
}

static void every_failed_allocation_ends_with_a_status(void **state)
{
	unsigned flags = 0;

	(void)state;
	assert_true(sl_torture(put_and_get, &flags) >= 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(every_failed_system_call_ends_with_a_status),
		SL_TEST(every_failed_allocation_ends_with_a_status),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

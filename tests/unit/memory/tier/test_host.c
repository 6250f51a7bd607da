/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "memory/tier/tier.h"

static void host_bytes_come_back_at_any_offset_and_length(void **state)
{
	struct sl_tier *t = NULL;
	uint8_t in[37], back[37] = {0};

	(void)state;
	assert_int_equal(sl_tier_host_create(100, &t), SL_OK);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 7 + 1);
	assert_int_equal(sl_tier_put(t, 63, in, sizeof(in)), SL_OK);
	assert_int_equal(sl_tier_get(t, 63, back, sizeof(back)), SL_OK);
	assert_memory_equal(in, back, sizeof(in));
	sl_tier_destroy(t);
}

static void more_memory_than_the_system_has_is_an_error(void **state)
{
	struct sl_tier *t = NULL;

	(void)state;
	assert_int_equal(sl_tier_host_create((uint64_t)1 << 60, &t), SL_E_NOMEM);
	assert_non_null(strstr(sl_last_error(), "--host"));
	assert_int_equal(sl_tier_host_create(UINT64_MAX, &t), SL_E_NOMEM);
	assert_null(t);
}

static void a_host_of_no_bytes_takes_nothing(void **state)
{
	struct sl_tier *t = NULL;
	uint8_t one = 1;

	(void)state;
	assert_int_equal(sl_tier_host_create(0, &t), SL_OK);
	assert_int_equal(sl_tier_put(t, 0, &one, 0), SL_OK);
	assert_int_equal(sl_tier_put(t, 0, &one, 1), SL_E_INVALID);
	sl_tier_destroy(t);
}

static void a_failed_allocation_is_an_error_without_leak(void **state)
{
	struct sl_tier *t = NULL;
	long live = sl_alloc_live();

	(void)state;
	sl_alloc_fail_at(1);
	assert_int_equal(sl_tier_host_create(4096, &t), SL_E_NOMEM);
	sl_alloc_fail_at(0);
	assert_int_equal(sl_alloc_live(), live);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(host_bytes_come_back_at_any_offset_and_length),
		SL_TEST(more_memory_than_the_system_has_is_an_error),
		SL_TEST(a_host_of_no_bytes_takes_nothing),
		SL_TEST(a_failed_allocation_is_an_error_without_leak),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

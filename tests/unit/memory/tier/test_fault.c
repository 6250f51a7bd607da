/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "memory/tier/tier.h"

static void only_the_named_call_fails(void **state)
{
	struct sl_tier *host = NULL, *t = NULL;
	uint8_t data[64] = {1, 2, 3};

	(void)state;
	assert_int_equal(sl_tier_host_create(4096, &host), SL_OK);
	assert_int_equal(sl_tier_fault_create(host, 2, SL_E_IO, &t), SL_OK);
	assert_int_equal(sl_tier_align(t), sl_tier_align(host));
	assert_int_equal(sl_tier_put(t, 0, data, sizeof(data)), SL_OK);
	memset(data, 0, sizeof(data));
	assert_int_equal(sl_tier_get(t, 0, data, sizeof(data)), SL_E_IO);
	assert_non_null(strstr(sl_last_error(), "injected"));
	assert_int_equal(data[1], 0);
	assert_int_equal(sl_tier_get(t, 0, data, sizeof(data)), SL_OK);
	assert_int_equal(data[1], 2);
	sl_tier_destroy(t);
}

static void without_memory_the_inner_tier_stays_the_callers(void **state)
{
	struct sl_tier *host = NULL, *t = NULL;

	(void)state;
	assert_int_equal(sl_tier_host_create(4096, &host), SL_OK);
	sl_alloc_fail_at(1);
	assert_int_equal(sl_tier_fault_create(host, 2, SL_E_IO, &t), SL_E_NOMEM);
	sl_alloc_fail_at(0);
	assert_null(t);
	sl_tier_destroy(host);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(only_the_named_call_fails),
		SL_TEST(without_memory_the_inner_tier_stays_the_callers),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

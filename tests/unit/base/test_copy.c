/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "harness/harness.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/copy.h"

#define ROOM ((size_t)300 << 10)

static void bytes_arrive_and_no_others_change(void **state)
{
	static const size_t lens[] = {
		0, 1, 63, 64, 4096, 65535, 65536, 65537, 81920, 100001, 262144, 262145};
	uint8_t *from = sl_alloc(ROOM), *to = sl_alloc(ROOM);

	(void)state;
	assert_non_null(from);
	assert_non_null(to);
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
		size_t a = k * 7 % 67, b = k * 13 % 71;

		memset(to, 0x5a, ROOM);
		sl_copy_stream(to + a, from + b, lens[k]);
		assert_memory_equal(to + a, from + b, lens[k]);
		for (size_t i = 0; i < a; i++)
			assert_int_equal(to[i], 0x5a);
		for (size_t i = a + lens[k]; i < ROOM; i++)
			assert_int_equal(to[i], 0x5a);
	}
	sl_free(from);
	sl_free(to);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(bytes_arrive_and_no_others_change),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

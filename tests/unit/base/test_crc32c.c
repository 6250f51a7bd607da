/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C against the examples of RFC 3720, appendix B.4, and a bitwise twin. */
#include "harness/harness.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"

static void the_published_answers_come_out(void **state)
{
	unsigned char data[32];

	(void)state;
	assert_int_equal(sl_crc32c(0, "123456789", 9), 0xe3069283);
	memset(data, 0, sizeof(data));
	assert_int_equal(sl_crc32c(0, data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(sl_crc32c(0, data, sizeof(data)), 0x62a8ab43);
	for (unsigned char i = 0; i < 32; i++)
		data[i] = i;
	assert_int_equal(sl_crc32c(0, data, sizeof(data)), 0x46dd794e);
	assert_int_equal(sl_crc32c(5, data, 0), 5);
}

static uint32_t bitwise(const unsigned char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void any_length_cut_and_offset_agree_with_the_twin(void **state)
{
	struct sl_rng_key key = {.seed = 4};
	unsigned char data[200];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)sl_rng_u32(&key, i);
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; from + len <= sizeof(data); len += 3) {
			uint32_t want = bitwise(data + from, len);
			uint32_t half = sl_crc32c(0, data + from, len / 3);
			assert_int_equal(sl_crc32c(0, data + from, len), want);
			assert_int_equal(sl_crc32c_plain(0, data + from, len), want);
			assert_int_equal(
				sl_crc32c(half, data + from + len / 3, len - len / 3),
				want);
		}
	}
}

static void blocks_side_by_side_agree_with_each_alone(void **state)
{
	struct sl_rng_key key = {.seed = 5};
	unsigned char data[9 * 40];
	uint32_t sums[9];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)sl_rng_u32(&key, i);
	for (size_t len = 1; len <= 40; len++) {
		for (size_t n = 0; n <= 9; n++) {
			sl_crc32c_blocks(data, len, n, sums);
			for (size_t k = 0; k < n; k++)
				assert_int_equal(sums[k], bitwise(data + k * len, len));
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_answers_come_out),
		SL_TEST(any_length_cut_and_offset_agree_with_the_twin),
		SL_TEST(blocks_side_by_side_agree_with_each_alone),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

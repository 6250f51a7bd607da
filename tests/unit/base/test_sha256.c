/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the answers of FIPS 180-4's examples. */
#include "harness/harness.h"

#include <string.h>

#include "base/sha256.h"

static void sum(const char *text, size_t piece, char out[65])
{
	struct sl_sha256 *h = NULL;
	size_t len = strlen(text);

	sl_assert_ok(sl_sha256_create(&h));
	for (size_t at = 0; at < len; at += piece)
		sl_assert_ok(
			sl_sha256_add(h, text + at, len - at < piece ? len - at : piece));
	sl_assert_ok(sl_sha256_hex(h, out));
	sl_sha256_destroy(h);
}

static void the_published_answers_come_out(void **state)
{
	char hex[65];

	(void)state;
	sum("", 1, hex);
	assert_string_equal(
		hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sum("abc", 3, hex);
	assert_string_equal(
		hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 5, hex);
	assert_string_equal(
		hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void an_ended_sum_takes_no_more(void **state)
{
	struct sl_sha256 *h = NULL;
	char hex[65];

	(void)state;
	sl_assert_ok(sl_sha256_create(&h));
	sl_assert_ok(sl_sha256_hex(h, hex));
	sl_assert_fails(sl_sha256_hex(h, hex), SL_E_INVALID, "ended already");
	sl_assert_fails(sl_sha256_add(h, "x", 1), SL_E_INVALID, "ended already");
	sl_sha256_destroy(h);
	sl_sha256_destroy(NULL);
}

static sl_status create(void *ctx)
{
	struct sl_sha256 *h = NULL;

	(void)ctx;
	SL_TRY(sl_sha256_create(&h));
	sl_sha256_destroy(h);
	return SL_OK;
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(sl_torture(create, NULL), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(the_published_answers_come_out),
		SL_TEST(an_ended_sum_takes_no_more),
		SL_TEST(every_failing_allocation_is_an_error),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

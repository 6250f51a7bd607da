/* SPDX-License-Identifier: Apache-2.0 */
/* Names for listings, and the options of policies among them. */
#include "harness/harness.h"

#include <string.h>

#include "sluice/memory.h"

static void options_of_a_policy_come_with_bounds_and_help(void **state)
{
	struct sl_policy_option_row row;
	size_t n = 0;
	bool effort = false;

	(void)state;
	for (; sl_policy_option_at("tensile", n, &row); n++) {
		assert_true(row.min <= row.usual && row.usual <= row.max);
		assert_true(strlen(row.help) > 0);
		effort = effort || strcmp(row.name, "effort") == 0;
	}
	assert_true(n > 1);
	assert_true(effort);
}

static void a_policy_without_options_and_none_at_all_have_none(void **state)
{
	struct sl_policy_option_row row;

	(void)state;
	assert_false(sl_policy_option_at("belady", 0, &row));
	assert_false(sl_policy_option_at("nobody", 0, &row));
	assert_false(sl_policy_option_at("tensile", 1000, &row));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(options_of_a_policy_come_with_bounds_and_help),
		SL_TEST(a_policy_without_options_and_none_at_all_have_none),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

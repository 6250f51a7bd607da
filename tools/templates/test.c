/* SPDX-License-Identifier: Apache-2.0 */
/* @KIND@ @NAME@. */
#include "harness/harness.h"

static void it_is_found_by_its_name(void **state)
{
	(void)state;
	fail_msg("write what @NAME@ promises");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(it_is_found_by_its_name),
	};
	return sl_test_run(tests, SL_COUNT(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "device/device.h"
#include "device/plugin.h"

static void a_plug_in_that_is_nowhere_is_refused_with_the_places(void **state)
{
	const struct sl_plugin *p = NULL;

	(void)state;
	(void)setenv("SLUICE_PLUGINS", "/nowhere/a::/nowhere/b", 1);
	sl_assert_fails(sl_plugin_find("cuda", &p), SL_E_UNSUPPORTED,
		"/nowhere/a/libsluice_cuda.so /nowhere/b/libsluice_cuda.so");
	(void)unsetenv("SLUICE_PLUGINS");
	sl_assert_fails(sl_plugin_find("none", &p), SL_E_UNSUPPORTED,
		"/lib/sluice/libsluice_none");
	assert_null(p);
}

static void a_file_that_is_no_library_is_refused(void **state)
{
	const struct sl_plugin *p = NULL;

	(void)state;
	sl_assert_ok(sl_fs_write(sl_test_path("libsluice_text.so"), "text", 4));
	(void)setenv("SLUICE_PLUGINS", sl_test_path(""), 1);
	sl_assert_fails(sl_plugin_find("text", &p), SL_E_UNSUPPORTED, "does not load");
	assert_null(p);
}

static void a_library_that_is_no_plug_in_is_refused(void **state)
{
	const struct sl_plugin *p = NULL;
	Dl_info info = {0};

	(void)state;
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "fopen"), &info) != 0);
	assert_int_equal(symlink(info.dli_fname, sl_test_path("libsluice_c.so")), 0);
	(void)setenv("SLUICE_PLUGINS", sl_test_path(""), 1);
	sl_assert_fails(sl_plugin_find("c", &p), SL_E_UNSUPPORTED, "was not made for");
	assert_null(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SL_TEST(a_plug_in_that_is_nowhere_is_refused_with_the_places),
		SL_TEST(a_file_that_is_no_library_is_refused),
		SL_TEST(a_library_that_is_no_plug_in_is_refused),
	};

	return sl_test_run(tests, SL_COUNT(tests));
}

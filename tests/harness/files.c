/* SPDX-License-Identifier: Apache-2.0 */
/* The test program's own folder, and golden files. */
#include "harness/harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "harness/harness_int.h"

#define PATH_BYTES 512
#define GOLDEN_MAX ((size_t)16 << 20)

static char folder[PATH_BYTES / 2];

const char *sl_test_path(const char *name)
{
	static char path[4][PATH_BYTES];
	static unsigned next;
	const char *base = getenv("SL_TEST_DIR");
	char *out = path[next++ % 4];

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/sluice-test-XXXXXX",
			base ? base : "/var/tmp");
		if (!mkdtemp(folder))
			fail_msg("cannot make the folder %s", folder);
	}
	int n = snprintf(out, PATH_BYTES, "%s%s%s", folder, *name ? "/" : "", name);
	if (n >= PATH_BYTES)
		fail_msg("the name is too long: %s", name);
	return out;
}

static int remove_one(
	const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

void sl_test_remove_folder(void)
{
	if (folder[0])
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	folder[0] = '\0';
}

void sl_test_golden(const char *name, const char *text)
{
	struct sl_buf want = SL_BUF_INIT;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("SL_GOLDEN_UPDATE")) {
		sl_assert_ok(sl_fs_write(path, text, strlen(text)));
		return;
	}
	if (sl_fs_read(path, GOLDEN_MAX, &want) != SL_OK)
		fail_msg("%s; `make golden-update` writes it", sl_last_error());
	if (strcmp(sl_buf_text(&want), text) == 0) {
		sl_buf_finish(&want);
		return;
	}
	print_error("%s differs; `make golden-update` rewrites it. Now it is:\n%s", path,
		text);
	sl_buf_finish(&want);
	fail();
}

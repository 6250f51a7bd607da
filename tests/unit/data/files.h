/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_DATA_FILES_H
#define SL_TESTS_DATA_FILES_H

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/units.h"
#include "harness/harness.h"
#include "sluice/data.h"

/* Small files for tests of data sets. */
static SL_UNUSED const char *put_file(const char *name, const void *data, size_t len)
{
	const char *path = sl_test_path(name);

	sl_assert_ok(sl_fs_write(path, data, len));
	return path;
}

static SL_UNUSED const char *put_gz(const char *name, const void *data, size_t len)
{
	const char *path = sl_test_path(name);
	gzFile f = gzopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(gzwrite(f, data, (unsigned)len), (int)len);
	assert_int_equal(gzclose(f), Z_OK);
	return path;
}

/* Opens "kind:path" and returns the status. */
static SL_UNUSED sl_status open_kind(const char *kind, const char *path,
	const struct sl_data_opts *opts, struct sl_data **out)
{
	char spec[9000];

	snprintf(spec, sizeof(spec), "%s:%s", kind, path);
	return sl_data_open(spec, opts, out);
}

#endif

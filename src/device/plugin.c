/* SPDX-License-Identifier: Apache-2.0 */
/* Finds plug-ins and loads them; the devices that they bring. */
#include "device/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/fs.h"
#include "device/device_impl.h"

static void bug_at(const char *file, int line, const char *what)
{
	sl_bug_at(file, line, what);
}

static const struct sl_plugin_host host = {
	.abi = SL_PLUGIN_ABI,
	.stamp = &sl_plugin_stamp,
	.fail_at = sl_fail_at,
	.fail_prefix = sl_fail_prefix,
	.last_error = sl_last_error,
	.bug_at = bug_at,
	.alloc = sl_alloc,
	.calloc = sl_calloc,
	.realloc = sl_realloc,
	.free = sl_free,
	.grow = sl_grow,
	.fs_read = sl_fs_read,
	.fs_write = sl_fs_write,
};

/* The file stays mapped: drivers and their threads do not survive dlclose. */
static sl_status load(const char *path, const struct sl_plugin **out)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct sl_plugin *p = NULL;
	sl_plugin_start_fn start = NULL;
	void *sym;

	if (lib == NULL)
		return SL_FAIL(
			SL_E_UNSUPPORTED, "the plug-in does not load: %s", dlerror());
	sym = dlsym(lib, SL_PLUGIN_START);
	/* ISO C converts no object pointer to a function's; POSIX says the bits fit. */
	memcpy(&start, &sym, sizeof(sym));
	if (start != NULL)
		p = start(&host);
	(void)dlclose(lib);
	if (p == NULL || p->abi != SL_PLUGIN_ABI || *p->stamp != *host.stamp)
		return SL_FAIL(SL_E_UNSUPPORTED,
			"%s was not made for this program; build and install both "
			"together",
			path);
	*out = p;
	return SL_OK;
}

/* One place; *out stays NULL if nothing is there. */
static sl_status try_folder(struct sl_buf *tried, const char *folder, size_t len,
	const char *name, const struct sl_plugin **out)
{
	char path[PATH_MAX];
	int n = snprintf(
		path, sizeof(path), "%.*s/libsluice_%s.so", (int)len, folder, name);

	if (len == 0 || n < 0 || (size_t)n >= sizeof(path))
		return SL_OK;
	if (access(path, F_OK) == 0)
		return load(path, out);
	return sl_buf_printf(tried, " %s", path);
}

static sl_status try_named(struct sl_buf *tried, const char *folders, const char *name,
	const struct sl_plugin **out)
{
	while (*out == NULL) {
		size_t len = strcspn(folders, ":");

		SL_TRY(try_folder(tried, folders, len, name, out));
		if (folders[len] == '\0')
			break;
		folders += len + 1;
	}
	return SL_OK;
}

static sl_status try_program(
	struct sl_buf *tried, const char *name, const struct sl_plugin **out)
{
	char self[PATH_MAX], up[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *end;

	if (n <= 0)
		return SL_OK;
	self[n] = '\0';
	end = strrchr(self, '/');
	if (end == NULL)
		return SL_OK;
	SL_TRY(try_folder(tried, self, (size_t)(end - self), name, out));
	if (*out != NULL)
		return SL_OK;
	n = snprintf(up, sizeof(up), "%.*s/../lib/sluice", (int)(end - self), self);
	if (n < 0 || (size_t)n >= sizeof(up))
		return SL_OK;
	return try_folder(tried, up, (size_t)n, name, out);
}

sl_status sl_plugin_find(const char *name, const struct sl_plugin **out)
{
	const char *folders = getenv("SLUICE_PLUGINS");
	const struct sl_plugin *found = NULL;
	struct sl_buf tried = SL_BUF_INIT;
	sl_status st = SL_OK;

	if (folders != NULL)
		SL_TRY_OUT(try_named(&tried, folders, name, &found));
	else
		SL_TRY_OUT(try_program(&tried, name, &found));
	if (found != NULL)
		*out = found;
	else
		st = SL_FAIL(SL_E_UNSUPPORTED,
			"the %s plug-in is not installed; looked for:%s", name,
			sl_buf_text(&tried));
out:
	sl_buf_finish(&tried);
	return st;
}

sl_status sl_device_create_cuda(struct sl_device **out)
{
	const struct sl_plugin *p = NULL;
	struct sl_device *d = NULL;

	SL_TRY(sl_plugin_find("cuda", &p));
	SL_TRY(p->create(&d));
	d->plugin = p;
	*out = d;
	return SL_OK;
}

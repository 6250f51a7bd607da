/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-in's door, and the base functions that it has of its host: one message of the
 * last failure a thread and one count of allocations in the process. Code of the plug-in
 * calls them as everywhere.
 *
 * Mutable state: the host's table, the same at each start.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fs.h"
#include "device/cuda/cuda_int.h"
#include "device/plugin.h"

#define MESSAGE_BYTES 1024

static const struct sl_plugin_host *host;

sl_status sl_fail_at(sl_status st, const char *file, int line, const char *fmt, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return host->fail_at(st, file, line, "%s", text);
}

sl_status sl_fail_prefix(sl_status st, const char *fmt, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return host->fail_prefix(st, "%s", text);
}

const char *sl_last_error(void)
{
	return host->last_error();
}

void sl_bug_at(const char *file, int line, const char *what)
{
	host->bug_at(file, line, what);
	__builtin_unreachable();
}

void *sl_alloc(size_t size_bytes)
{
	return host->alloc(size_bytes);
}

void *sl_calloc(size_t count, size_t size_bytes)
{
	return host->calloc(count, size_bytes);
}

void *sl_realloc(void *p, size_t size_bytes)
{
	return host->realloc(p, size_bytes);
}

void sl_free(void *p)
{
	host->free(p);
}

/* The kernels' side defines it (src/kernel/cuda); a plug-in without kernels has none. */
extern const struct sl_kernel_set sl_cuda_kernels __attribute__((weak));

int sl_grow(void **items, size_t *cap, size_t need, size_t item_bytes, size_t max)
{
	return host->grow(items, cap, need, item_bytes, max);
}

sl_status sl_fs_read(const char *path, size_t max, struct sl_buf *out)
{
	return host->fs_read(path, max, out);
}

sl_status sl_fs_write(const char *path, const void *data, size_t len)
{
	return host->fs_write(path, data, len);
}

static const struct sl_plugin plugin = {
	.abi = SL_PLUGIN_ABI,
	.stamp = &sl_plugin_stamp,
	.name = "cuda",
	.summary = "NVIDIA GPUs through the driver's own interface",
	.create = sl_cuda_create,
	.kernels = &sl_cuda_kernels,
	.memory = &sl_cuda_memory,
	.probe = sl_cuda_probe,
};

/* The one symbol that is seen from outside. */
__attribute__((visibility("default"))) const struct sl_plugin *sl_plugin_start(
	const struct sl_plugin_host *h);

const struct sl_plugin *sl_plugin_start(const struct sl_plugin_host *h)
{
	if (h->abi != SL_PLUGIN_ABI || *h->stamp != sl_plugin_stamp)
		return NULL;
	host = h;
	return &plugin;
}

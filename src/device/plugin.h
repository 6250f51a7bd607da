/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_PLUGIN_H
#define SL_DEVICE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

/*
 * Plug-ins: a device with its kernels in a file of its own, libsluice_NAME.so, found at
 * run time (docs/adr/0051). The library it is made for gives it the functions whose state
 * must be one in the process; the plug-in gives its table. Both sides are built from the
 * same headers: `stamp` is a sum over them, and a plug-in of other headers is refused.
 */
#define SL_PLUGIN_ABI 1

struct sl_buf;
struct sl_device;
struct sl_device_arena;
struct sl_kernel_set; /* kernel/kernel.h */

struct sl_plugin_host {
	uint32_t abi;
	const uint32_t *stamp;
	sl_status (*fail_at)(sl_status st, const char *file, int line, const char *fmt,
		...) SL_PRINTF(4, 5);
	sl_status (*fail_prefix)(sl_status st, const char *fmt, ...) SL_PRINTF(2, 3);
	const char *(*last_error)(void);
	void (*bug_at)(const char *file, int line, const char *what);
	void *(*alloc)(size_t size_bytes);
	void *(*calloc)(size_t count, size_t size_bytes);
	void *(*realloc)(void *p, size_t size_bytes);
	void (*free)(void *p);
	int (*grow)(
		void **items, size_t *cap, size_t need, size_t item_bytes, size_t max);
	sl_status (*fs_read)(const char *path, size_t max, struct sl_buf *out);
	sl_status (*fs_write)(const char *path, const void *data, size_t len);
};

/*
 * Device memory that processes hand on by descriptors, for lanes. `create` makes some and
 * maps it nowhere; it is there while a descriptor or an arena holds it. `open` makes an
 * arena of it, at addresses of this device's own; the bytes are those of its creation,
 * and the descriptor stays the caller's. An arena of `open` ends as any other.
 */
struct sl_plugin_memory {
	sl_status (*create)(struct sl_device *d, uint64_t bytes, int *out_fd);
	sl_status (*open)(
		struct sl_device *d, int fd, uint64_t bytes, struct sl_device_arena *out);
};

struct sl_plugin {
	uint32_t abi;
	const uint32_t *stamp;
	const char *name;
	const char *summary;
	sl_status (*create)(struct sl_device **out);
	const struct sl_kernel_set *kernels; /* NULL: none */
	const struct sl_plugin_memory *memory; /* NULL: none can be handed on */
	/* What is there, in a line of text; a failure says what is missing. */
	sl_status (*probe)(char *text, size_t size);
};

/* The sum over the headers; the build defines it on both sides. */
extern const uint32_t sl_plugin_stamp;

/* The one symbol a plug-in exports; NULL if it cannot work with such a host. */
#define SL_PLUGIN_START "sl_plugin_start"
typedef const struct sl_plugin *(*sl_plugin_start_fn)(const struct sl_plugin_host *host);

/*
 * The plug-in of that name: from the folders of SLUICE_PLUGINS (with colons between),
 * else from beside the program or its lib/sluice. It stays loaded until the process ends.
 * SL_E_UNSUPPORTED with the places that were looked at, or with what is wrong with the
 * file.
 */
SL_NODISCARD sl_status sl_plugin_find(const char *name, const struct sl_plugin **out);

#endif

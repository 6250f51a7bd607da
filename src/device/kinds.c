/* SPDX-License-Identifier: Apache-2.0 */
/* The table of devices. */
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "device/device_impl.h"

static const struct sl_device_kind kinds[] = {
#define SL_DEVICE(name, summary) {#name, summary, sl_device_create_##name},
#include "device/devices.def"
#undef SL_DEVICE
};

const struct sl_device_kind *sl_device_kind_at(size_t i)
{
	return i < SL_COUNT(kinds) ? &kinds[i] : NULL;
}

static sl_status unknown_name(const char *name)
{
	struct sl_buf names = SL_BUF_INIT;
	sl_status st = SL_OK;

	for (size_t i = 0; i < SL_COUNT(kinds); i++)
		SL_TRY_OUT(sl_buf_printf(&names, " %s", kinds[i].name));
	st = SL_FAIL(SL_E_USAGE, "--device %s: no such device; there are:%s", name,
		sl_buf_text(&names));
out:
	sl_buf_finish(&names);
	return st;
}

sl_status sl_device_create(const char *name, struct sl_device **out)
{
	for (size_t i = 0; i < SL_COUNT(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].create(out);
	}
	return unknown_name(name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A decorator that makes a device smaller than it is. */
#include "device/wrap/wrap_int.h"

struct limit {
	struct sl_wrap wrap;
	uint64_t used;
};

/* Only arenas have an argument. */
static sl_status count_bytes(struct sl_wrap *w, const char *call, uint64_t arg)
{
	struct limit *l = (struct limit *)w;

	if (arg > w->base.bytes - l->used)
		return SL_FAIL(SL_E_NOMEM_DEVICE,
			"%s of %llu bytes: %llu of the %llu bytes of the %s device are "
			"in use",
			call, (unsigned long long)arg, (unsigned long long)l->used,
			(unsigned long long)w->base.bytes, sl_device_name(w->inner));
	l->used += arg;
	return SL_OK;
}

static void give_back(struct sl_wrap *w, uint64_t arg)
{
	((struct limit *)w)->used -= arg;
}

sl_status sl_device_limit_create(
	struct sl_device *inner, uint64_t bytes, struct sl_device **out)
{
	uint64_t most = sl_device_bytes(inner);
	struct limit *l = sl_wrap_alloc(sizeof(*l), inner, bytes < most ? bytes : most);

	if (!l)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	l->wrap.ask = count_bytes;
	l->wrap.undo = give_back;
	*out = &l->wrap.base;
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A decorator for tests: the n-th call that can fail does. */
#include "device/wrap/wrap_int.h"

struct fault {
	struct sl_wrap wrap;
	long left;
	sl_status st;
};

static sl_status count_call(struct sl_wrap *w, const char *call, uint64_t arg)
{
	struct fault *f = (struct fault *)w;

	(void)arg;
	if (f->left <= 0 || --f->left > 0)
		return SL_OK;
	return SL_FAIL(f->st, "injected failure of %s on the %s device", call,
		sl_device_name(w->inner));
}

sl_status sl_device_fault_create(
	struct sl_device *inner, long n, sl_status st, struct sl_device **out)
{
	struct fault *f = sl_wrap_alloc(sizeof(*f), inner, sl_device_bytes(inner));

	if (!f)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	f->wrap.ask = count_call;
	f->left = n;
	f->st = st;
	*out = &f->wrap.base;
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A decorator that tells each call to a listener. */
#include "device/wrap/wrap_int.h"

struct trace {
	struct sl_wrap wrap;
	sl_device_say_fn say;
	void *ctx;
};

static sl_status tell(struct sl_wrap *w, const char *call, uint64_t arg)
{
	struct trace *t = (struct trace *)w;

	t->say(t->ctx, call, arg);
	return SL_OK;
}

sl_status sl_device_trace_create(
	struct sl_device *inner, sl_device_say_fn say, void *ctx, struct sl_device **out)
{
	struct trace *t = sl_wrap_alloc(sizeof(*t), inner, sl_device_bytes(inner));

	if (!t)
		return SL_FAIL(SL_E_NOMEM, "no memory for a device");
	t->wrap.ask = tell;
	t->say = say;
	t->ctx = ctx;
	*out = &t->wrap.base;
	return SL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What implementers call; a plug-in has a copy of its own. */
#include "device/device_impl.h"

#include "base/assert.h"

void sl_device_init(
	struct sl_device *d, const struct sl_device_impl *impl, uint64_t bytes)
{
	SL_BUG(!impl->name || !impl->destroy || !impl->arena_create ||
		!impl->arena_destroy);
	SL_BUG(!impl->stream_create || !impl->stream_destroy || !impl->submit ||
		!impl->sync);
	SL_BUG(!impl->fence_create || !impl->fence_destroy || !impl->fence_record);
	SL_BUG(!impl->fence_wait || !impl->fence_query);
	SL_BUG(!impl->copy || !impl->fill || !impl->stream_wait);
	SL_BUG(!impl->pinned_create || !impl->pinned_destroy);
	d->impl = impl;
	d->bytes = bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_WRAP_WRAP_INT_H
#define SL_DEVICE_WRAP_WRAP_INT_H

#include <pthread.h>

#include "device/device_impl.h"
#include "device/wrap/wrap.h"

/*
 * What the decorators share: every slot passes on to the inner device after `ask` was
 * asked, which may refuse. `undo` (may be NULL) hears that what ask allowed then failed
 * inside, or that an arena of `arg` bytes is gone.
 */
struct sl_wrap {
	struct sl_device base;
	struct sl_device_impl impl; /* a copy, named as the inner device */
	struct sl_device *inner;
	pthread_mutex_t lock; /* for ask and undo */
	sl_status (*ask)(struct sl_wrap *w, const char *call, uint64_t arg);
	void (*undo)(struct sl_wrap *w, uint64_t arg);
};

/* Allocates `size` zeroed bytes that begin with a struct sl_wrap; NULL: no memory. */
void *sl_wrap_alloc(size_t size, struct sl_device *inner, uint64_t bytes);

#endif

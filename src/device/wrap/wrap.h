/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_WRAP_WRAP_H
#define SL_DEVICE_WRAP_WRAP_H

#include "device/device.h"

/*
 * Decorators over any device. Each takes `inner` when it succeeds; on failure inner is
 * still the caller's. Streams, fences and arenas are the inner device's own.
 */

/* The n-th call that can fail, from now, gives `st` and does nothing (0: never). */
SL_NODISCARD sl_status sl_device_fault_create(
	struct sl_device *inner, long n, sl_status st, struct sl_device **out);
/* All arenas together have at most `bytes`. */
SL_NODISCARD sl_status sl_device_limit_create(
	struct sl_device *inner, uint64_t bytes, struct sl_device **out);
/* Each call is told to `say`, before it is made, on the caller's thread, one at a time.
 */
typedef void (*sl_device_say_fn)(void *ctx, const char *call, uint64_t arg);
SL_NODISCARD sl_status sl_device_trace_create(
	struct sl_device *inner, sl_device_say_fn say, void *ctx, struct sl_device **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_LAZY_DEVICE_H
#define SL_TESTS_LAZY_DEVICE_H

#include "device/device.h"

/*
 * A device whose host sees no arena and whose streams go in any order that fences allow,
 * chosen by a seed: each stream has a rank; streams above a bar run what they have as
 * soon as they may, the others only when somebody waits, the higher ones first; with some
 * seeds who is next is chosen anew each time. All of it on the caller's thread, so that a
 * seed always gives the same order. Work that touches memory which is no arena's or
 * pinned any more fails, as does waiting for a fence that can never be passed.
 */
SL_NODISCARD sl_status lazy_device_create(uint64_t seed, struct sl_device **out);

/* The next wait of a stream is left out: a mutation that tests must notice. */
void lazy_device_skip_wait(struct sl_device *d);

/* Objects that were made and not destroyed, over all lazy devices. */
long lazy_device_live(void);

#endif

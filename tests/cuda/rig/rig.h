/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CUDA_RIG_H
#define SL_TESTS_CUDA_RIG_H

#include "cuda/driver/fake.h"
#include "device/cuda/driver_abi.h"

#define SL_CU(name, args) sl_cu_result name args;
#include "device/cuda/driver.def"
#undef SL_CU

/* Memory of the card, pinned memory, three streams: what most tests of the driver want.
 */
enum { RIG_STREAMS = 3, RIG_BYTES = 2 << 20, RIG_PINNED = 64 << 10 };
struct rig {
	sl_cu_context ctx;
	sl_cu_mem mem;
	sl_cu_ptr card; /* RIG_BYTES */
	uint8_t *pinned; /* RIG_PINNED */
	sl_cu_stream stream[RIG_STREAMS];
	sl_cu_event event;
	sl_cu_module module;
};

/* After fake_reset with this seed, complaints kept; the first call that fails. */
sl_cu_result rig_open(struct rig *r, uint64_t seed);
/* The same without the reset. */
sl_cu_result rig_build(struct rig *r);
/* Gives back what there is, whatever fails; then nothing may live. */
void rig_close(struct rig *r);

/* What waits for what: the event after all of `from`, and `to` behind it. */
sl_cu_result rig_order(struct rig *r, sl_cu_stream from, sl_cu_stream to);
/* One dimension of blocks and threads. */
sl_cu_result rig_launch(struct rig *r, const char *name, unsigned blocks,
	unsigned threads, sl_cu_stream s, void **params);

#endif

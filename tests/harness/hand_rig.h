/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_HAND_RIG_H
#define SL_TESTS_HAND_RIG_H

#include "memory/engine.h"

/* An engine over 32 KiB of arena and a host tier of 64 KiB, for traces and plans written
 * by hand. */
#define SL_HAND_BLOCK 4096u

struct sl_hand_rig {
	struct sl_trace t;
	struct sl_plan plans[2];
	struct sl_tier *host;
	uint8_t *arena;
	struct sl_engine *e;
	sl_status (*on_again)(struct sl_hand_rig *r, uint32_t op); /* NULL: nothing */
};

/* host_fails: the n-th call of the tier, 0 for never. Failures fail the test. */
void sl_hand_open(struct sl_hand_rig *r, const char *trace, long host_fails);
void sl_hand_close(struct sl_hand_rig *r);
/* Plan i is not the one in force. */
void sl_hand_plan(struct sl_hand_rig *r, size_t i, const char *text);
/* The first 4096 bytes of a persistent value. */
void sl_hand_write(struct sl_hand_rig *r, uint32_t v, int fill);
void sl_hand_assert(struct sl_hand_rig *r, uint32_t v, int fill);
SL_NODISCARD sl_status sl_hand_step(struct sl_hand_rig *r);

#endif

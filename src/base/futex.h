/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_BASE_FUTEX_H
#define SL_BASE_FUTEX_H

#include "base/atom.h"
#include "base/clock.h"
#include "sluice/status.h"

/*
 * Waiting for a word that another process changes (Linux futex, not private: the word may
 * lie in memory that processes share). Waiting is passive.
 *
 * SL_OK after a wake, a signal or timeout_ns (CLOCK_MONOTONIC; < 0: for ever), and at
 * once if the word is not `expected`: the caller looks at the word again in any case.
 * SL_E_INVALID if the memory is gone.
 */
SL_NODISCARD sl_status sl_futex_wait(
	struct sl_atom32 *word, uint32_t expected, sl_ns timeout_ns);
/* Wakes at most `most` of those who wait; how many it woke. No failure matters: nobody
 * waits then. */
int sl_futex_wake(struct sl_atom32 *word, int most);

#endif

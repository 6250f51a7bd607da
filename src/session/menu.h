/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_MENU_H
#define SL_SESSION_MENU_H

#include "session/session_int.h"

/*
 * What a job that shares its device can run in: rows of P and E (contracts 5), the
 * fastest first. All instances of a session live in one pair of them: P is the largest
 * part that any plan leaves at the boundary, in whole pages, and P + E the largest peak.
 */
#define SL_MENU_ROWS 8

struct sl_menu_row {
	uint64_t persistent_bytes, ephemeral_bytes;
	uint64_t turn_ns; /* an iteration, by the plan's price */
	struct sl_plan plans[SL_INSTANCE_COUNT]; /* empty in row 0: the instances' own */
};

struct sl_menu {
	struct sl_menu_row rows[SL_MENU_ROWS];
	uint32_t n;
	bool swaps; /* row 0 does */
};

/* Row 0 is the plans that the instances have; below it are quick ones for less memory, as
 * far as they cost no more than the slowdown allowed. */
SL_NODISCARD sl_status sl_menu_make(const struct sl_session *s, struct sl_menu *out);
/* The instances take the plans of a row over, or better ones that live in it. */
SL_NODISCARD sl_status sl_menu_take(
	struct sl_session *s, struct sl_menu *menu, uint32_t row);
void sl_menu_finish(struct sl_menu *menu);

#endif

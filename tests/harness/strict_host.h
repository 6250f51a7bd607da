/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_STRICT_HOST_H
#define SL_TESTS_STRICT_HOST_H

#include "session/host.h"

/*
 * Memory of another for a session, and a strict host: outside of turns the lane cannot be
 * touched at all, and what was in it is overwritten; now and then P is taken away too and
 * brought back.
 */
struct strict_host {
	struct sl_host door;
	uint32_t row; /* to admit with */
	uint64_t p_bytes, e_bytes;
	uint8_t *base;
	bool inside, ready, lose, stop;
	int enters, idles, ways, tends, late; /* late: looks at a reader that is */
	int lose_at, stop_at; /* of enters; 0: never */
	int looks; /* until it is lost */
	uint32_t n_rows;
	struct sl_menu_row rows[SL_MENU_ROWS]; /* without plans */
};

void strict_host_init(struct strict_host *h);
/* Opens a session in the host's memory and trains it; the host is done with then. */
SL_NODISCARD sl_status strict_host_train(struct strict_host *h,
	const struct sl_session_config *config, struct sl_summary *out);

#endif

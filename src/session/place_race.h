/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_PLACE_RACE_H
#define SL_SESSION_PLACE_RACE_H

#include "memory/place.h"
#include "sluice/memory.h"

/* What is placed so far, and how low it is known to be possible. */
struct sl_race {
	const struct sl_place_config *config;
	struct sl_place_item *items; /* with the offsets of the best placement */
	size_t n;
	uint64_t height; /* of that */
	uint64_t bound; /* no placement is lower */
	uint64_t nodes; /* spent */
	bool interrupted;
};

/*
 * Lowers the height by exact search, on as many threads as the configuration says: to
 * the capacity if there is one, else as far as its nodes go. The result does not depend
 * on the threads unless it is interrupted. `bound` rises with what is proved.
 */
SL_NODISCARD sl_status sl_place_race(struct sl_race *r);

#endif

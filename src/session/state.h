/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_STATE_H
#define SL_SESSION_STATE_H

#include "session/session_int.h"

/* Persistent values pass through one piece of host memory; a tier's block is as large. */
#define SL_PIECE_BYTES ((size_t)4 << 20)

typedef sl_status (*sl_piece_fn)(void *ctx, const void *data, size_t len);
/* Gives the bytes of a persistent value in order, at a boundary. */
SL_NODISCARD sl_status sl_session_each_piece(
	struct sl_session *s, uint32_t v, sl_piece_fn fn, void *ctx);

#endif
